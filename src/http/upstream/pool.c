/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/test_build.h"
#include "http/upstream/connection_private.h"
#include "http/upstream/pool.h"

void
pool_init(struct pool *pool, struct loop *loop, size_t limit)
{
	*pool = (struct pool){.loop = loop, .limit = limit};
}

static void
take_out(struct pool *pool, struct connection *c)
{
	if (c->newer != NULL)
		c->newer->older = c->older;
	else
		pool->newest = c->older;
	if (c->older != NULL)
		c->older->newer = c->newer;
	else
		pool->oldest = c->newer;
	c->newer = c->older = NULL;
	c->pool = NULL;
	pool->count--;
	timer_clear(&c->idle);
}

static void
discard(struct connection *c)
{
	take_out(c->pool, c);
	connection_close(&c);
}

static void
on_idle_readable(void *arg, unsigned events)
{
	(void)events;
	discard(arg);
}

static void
on_old(void *arg)
{
	discard(arg);
}

void
pool_end(struct pool *pool)
{
	while (pool->newest != NULL)
		discard(pool->newest);
}

void
pool_put(struct pool *pool, struct connection **connection, int64_t idle_ms)
{
	struct connection *c = *connection;
	*connection = NULL;
	connection_watch(c, on_idle_readable, c);
	c->pool = pool;
	c->newer = NULL;
	c->older = pool->newest;
	if (pool->newest != NULL)
		pool->newest->newer = c;
	else
		pool->oldest = c;
	pool->newest = c;
	pool->count++;
	timer_init(&c->idle, pool->loop, on_old, c);
	timer_set(&c->idle, idle_ms);
	if (pool->count > pool->limit)
		discard(pool->oldest);
}

bool
pool_drop(struct pool *pool)
{
	if (pool->oldest == NULL)
		return false;
	discard(pool->oldest);
	return true;
}

struct connection *
pool_take(struct pool *pool)
{
	while (pool->newest != NULL) {
		struct connection *c = pool->newest;
		/* A timer that is due has not fired yet when turns are long. */
		bool old = c->idle.at_ms <= loop_now_ms(pool->loop);
		take_out(pool, c);
		if (!old &&
		    (connection_is_silent(c) || !INVARIANT(idle_looked_at)))
			return c;
		connection_close(&c);
	}
	return NULL;
}
