/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * The reserve: the highest descriptor numbers of this process, which clients
 * and upstreams leave free for the admin interface, Redis, the journal and
 * refusals.  The kernel gives out the lowest number that is free, so one from
 * the reserve says that all below it are in use.  It knows nothing of who
 * opens what; commands/descriptors.c says how many there are, and why.  Set
 * once, before there is a second thread; read by any.
 */

/*
 * Numbers from first on are kept back, and a pool of idle connections may have
 * most of them.  Without this call nothing is kept back.
 */
void fd_reserve_set(int first, size_t most);
bool fd_reserve_has(int fd);
/*
 * Gives a descriptor a number of the reserve, so that another one may have its
 * own; -1: there is none, and it is closed.
 */
int fd_reserve_move(int fd);
/* The number of idle connections that a pool may have, of those wanted. */
size_t fd_reserve_idle(size_t wanted);
