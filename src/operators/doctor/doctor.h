/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/commands/command.h"

/*
 * `onceproxy doctor`: looks at the configuration, this machine, Redis and the
 * upstreams, and says what endangers the promise, each with what to do about
 * it.  It changes nothing anywhere.  Main thread.
 */

/* The exit code: 0, or 1 where there is a failure. */
int doctor_run(const struct command_line *line);
