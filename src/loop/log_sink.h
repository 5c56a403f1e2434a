/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stddef.h>

/*
 * Standard error as a place for whole lines that never makes a thread wait:
 * a reader that has stopped reading must not stop payments.  Lines of several
 * threads never run into each other.  Any thread.
 */

/*
 * Finds out what standard error is; once, before the threads.  A pipe or a
 * terminal is opened a second time, so that the mode of the one that we share
 * with others stays as it is.
 */
void log_sink_open(void);

/*
 * Takes as much of these lines as there is room for and returns how many
 * bytes that were; self names the thread's buffer.  What cannot be written
 * at all, to a full disk or a closed pipe, counts as taken: nobody will ever
 * read it.
 */
size_t log_sink_write(const void *self, const char *lines, size_t len);

/* Waits until there may be room, at most so many ms. */
void log_sink_wait(int ms);

/* The thread ends; others go on behind a line that it has half written. */
void log_sink_leave(const void *self);
