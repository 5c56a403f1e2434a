/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * Prints what makes the tables of the witnesses that routes have (on_unknown),
 * once each, by a file that is valid; route NULL: of all.  Returns an exit
 * status: 1, and why on standard error.  Main thread.
 */
int witness_sql_run(const char *file, const char *route);
