/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/commands/command.h"

/*
 * `check`, whose --against may name a gateway that runs in place of a file:
 * its admin interface tells what its keys depend on.  Main thread.
 */

/* The command; its exit status. */
int running_check(const struct command_line *line);
