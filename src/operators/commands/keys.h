/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * `onceproxy keys …` shows operators their records, and acts on these, through
 * the admin interface of a running gateway, whose configuration has its
 * address.  It touches no Redis.  Main thread.
 */

/*
 * argv[0] is "keys".  Returns the exit status: 0, 1 where the gateway refused
 * or there is no such record, 2 of wrong usage.
 */
int keys_run(int argc, char **argv, const char *default_file);
