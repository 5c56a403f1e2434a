/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * `onceproxy keys …`: the operator's view of records, and what an operator
 * decides about them, through the admin interface of a running gateway, whose
 * configuration says where that is.  It touches no Redis.  Main thread.
 */

/*
 * argv[0] is "keys".  Returns the exit code: 0, 1 where the gateway refused
 * or there is no such record, 2 for wrong usage.
 */
int keys_run(int argc, char **argv, const char *default_file);
