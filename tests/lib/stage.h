/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The machine around a test program: it stands in for the C library's
 * resolver, clock and connect, in all libraries of the process.  Any thread.
 */

/*
 * Names in ".test" resolve to these addresses, in that order, at most four;
 * NULL ends the list.  Other names are the C library's.
 */
void stage_addresses(const char *const *addresses);
/* From now on resolving a ".test" name does not return, until it is false. */
void stage_resolver_hangs(bool hangs);
unsigned stage_resolved(void); /* so many names in ".test", so far */

/* Lets that much time pass at once on the monotonic clocks and time(). */
void stage_pass(int64_t ms);

/* Calls this (NULL: nothing) at the end of each connect(). */
void stage_after_connect(void (*call)(void *arg), void *arg);
