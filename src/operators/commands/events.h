/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/commands/command.h"

/*
 * `onceproxy events` prints the entries of the events streams, and waits for
 * more.  Main thread.  Returns the exit status: 0; 1 where Redis cannot be
 * reached, events are off, or some of the wanted entries are gone; 2 of wrong
 * usage.
 */
int events_run(const struct command_line *line);
