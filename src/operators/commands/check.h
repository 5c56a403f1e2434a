/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/commands/command.h"

/*
 * `onceproxy check` validates a configuration without opening a port.  It
 * prints "FILE: ok", or one line per error, in the order of the file's members,
 * and one per warning, on standard output; or it explains the configuration.
 * --against names the file of another one, which runs.  Main thread.
 */

/* Returns the exit status: 1 of errors, or with --strict of warnings; or 0. */
int check_run(const struct command_line *line);
