/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * `onceproxy keys …` shows operators their records, and acts on these, through
 * the admin interface of a running gateway, whose configuration has its
 * address.  It touches no Redis.  Main thread.
 */
extern const struct command keys_command;
