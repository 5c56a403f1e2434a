/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/commands/command.h"

/*
 * `onceproxy check`: validates a configuration without opening a port.  Prints
 * "FILE: ok", or one line per error, in the order of the file's members, and
 * one per warning, on standard output; or explains what the configuration comes
 * to.  What --against names is a file, or the address of a gateway that runs,
 * whose admin interface tells what its keys depend on.  Main thread.
 */

/* The exit code: 0, or 1 where there are errors, or with --strict warnings. */
int check_run(const struct command_line *line);
