/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/commands/command.h"

/*
 * `onceproxy events`: prints what the events streams have, and waits for more.
 * Main thread.  Returns the exit code: 0 well; 1 where Redis cannot be reached,
 * events are off, or some of what was asked for is gone; 2 wrong usage.
 */
int events_run(const struct command_line *line);
