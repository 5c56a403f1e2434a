/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/must.h"

struct connection;
struct loop;

/*
 * The idle connections of one target.  Each stays watched, and one that
 * becomes readable is closed, whatever it says: nobody asked, so it is no
 * answer (RFC 9112, section 9.2).  It knows nothing of messages.  The
 * worker's thread only.
 */
struct pool {
	/* The pool's own: */
	struct loop *loop;
	struct connection *newest;
	struct connection *oldest;
	size_t count;
	size_t limit;
};

void pool_init(struct pool *pool, struct loop *loop, size_t limit);
void pool_end(struct pool *pool);

/*
 * Takes over a connection that nothing more is expected from, for idle_ms
 * at most (1 or more); nulls the caller's pointer.  Beyond the limit the one
 * that has been idle longest is closed.
 */
void pool_put(
    struct pool *pool, struct connection **connection, int64_t idle_ms);
/* Closes the one that has been idle longest; false: there is none. */
bool pool_drop(struct pool *pool);
/*
 * The one that was used last and that is silent and open at this moment, or
 * NULL; those that are not are closed.
 */
MUST_USE struct connection *pool_take(struct pool *pool);
