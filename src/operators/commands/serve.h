/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/commands/command.h"

/*
 * `onceproxy serve` is the whole gateway in the foreground.  It opens sockets,
 * starts the managed Redis and the workers, waits for signals, and ends all
 * that it started.  Main thread.
 */

/* Returns the exit status: 0 after a drain, 1 where it could not start. */
int serve_run(const struct command_line *line);
