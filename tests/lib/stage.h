/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The machine around a test program: replaces the C library's resolver, clock
 * and connect(), for all libraries of the process.  Any thread.
 */

/*
 * Names in ".test" resolve to these addresses, in order, at most four; NULL
 * ends the list.  Other names are left to the C library.
 */
void stage_addresses(const char *const *addresses);
/* While true, resolving a ".test" name does not return. */
void stage_resolver_hangs(bool hangs);
unsigned stage_resolved(void); /* names in ".test" that were resolved so far */

/* Makes that much time pass at once on the monotonic clocks and time(). */
void stage_pass(int64_t ms);

/* Calls this function (NULL: none) at the end of each connect(). */
void stage_after_connect(void (*call)(void *arg), void *arg);
