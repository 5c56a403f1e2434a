/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stddef.h>

/*
 * The reserve: the highest descriptor numbers of this process, which clients
 * and upstreams leave free for the admin interface, Redis, the journal and
 * refusals.  The kernel gives out the lowest number that is free, so one from
 * the reserve says that all below it are in use.  It knows nothing of who
 * opens what; commands/descriptors.c says how many there are, and why.  Set
 * once, before there is a second thread; read by any.
 */

extern struct fd_reserve {
	int first; /* numbers from here on; INT_MAX: nothing is kept back */
	size_t idle_most; /* connections that a pool of idle ones may have */
} fd_reserve;

/*
 * Gives a descriptor a number of the reserve, so that another one may have its
 * own; -1: there is none, and it is closed.
 */
int fd_reserve_move(int fd);
