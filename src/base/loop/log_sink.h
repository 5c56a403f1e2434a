/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stddef.h>

/*
 * Writes whole lines to standard error without ever making a thread wait: a
 * reader that has stopped reading must not stop payments.  Lines of several
 * threads are never mixed.  It knows nothing of what a line says.  Any thread.
 */

/*
 * Finds out what standard error is; call it once, before other threads start.
 * A pipe or a terminal is opened a second time, so that the mode of the
 * description that we share with other processes stays as it is.
 */
void log_sink_open(void);

/*
 * Writes as much of these lines as there is room for, and returns how many
 * bytes that was; self names the thread's buffer.  What can never be written (a
 * full disk, a closed pipe) counts as written: nobody will ever read it.
 */
size_t log_sink_write(const void *self, const char *lines, size_t len);

/* Waits until there may be room, at most ms milliseconds. */
void log_sink_wait(int ms);

/*
 * The thread ends; others may now write after a line that it left half written.
 */
void log_sink_leave(const void *self);
