/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/commands/command.h"

/*
 * Prints what makes the tables of the witnesses that routes have (on_unknown),
 * once each, by a file that is valid; or those of the route that the line
 * names.  Returns an exit status: 1, and why on standard error.  Main thread.
 */
int witness_sql_run(const struct command_line *line);
