/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "base/counter.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "http/upstream/target.h"

enum { DOWN_FIRST_MS = 1000, DOWN_MAX_MS = 10000 };

/* --- idle connections --- */

static void
take_out(struct connection *c)
{
	list_remove(&c->idle);
	c->keeper->n_idle--;
	c->keeper = NULL;
}

static void
on_idle_readable(void *arg, unsigned events)
{
	struct connection *c = arg;
	(void)events;
	take_out(c);
	connection_close(&c);
}

/*
 * The timer fires at the end of a rest, or before: nearly every rest is over
 * before it has come, and moves no timer.
 */
static void
on_idle_end(void *arg)
{
	struct connection *c = arg;
	if (c->keeper != NULL && c->idle_until_ms > c->idle_end.at_ms)
		timer_set_at(&c->idle_end, c->idle_until_ms);
	else if (c->keeper != NULL)
		on_idle_readable(c, 0);
}

void
target_keep(
    struct target *target, struct connection **connection, int64_t idle_ms)
{
	struct connection *c = *connection;
	*connection = NULL;
	connection_watch(c, on_idle_readable, c);
	c->keeper = target;
	list_add_first(&target->idle, &c->idle);
	struct loop *loop = c->dialler->connector->loop;
	if (c->idle_end.loop == NULL)
		timer_init(&c->idle_end, loop, on_idle_end, c);
	c->idle_until_ms = loop_now_ms(loop) + idle_ms;
	timer_set_by(&c->idle_end, c->idle_until_ms);
	if (++target->n_idle > target->max_idle)
		target_drop(target);
}

bool
target_drop(struct target *target)
{
	struct connection *c =
	    LIST_LAST(&target->idle, struct connection, idle);
	if (c == NULL)
		return false;
	take_out(c);
	connection_close(&c);
	return true;
}

struct connection *
target_take(struct target *target)
{
	struct connection *c;
	LIST_EACH(c, &target->idle, idle) {
		/* A timer that is due has not fired yet when turns are long. */
		bool old = c->idle_until_ms <= loop_now_ms(c->idle_end.loop);
		take_out(c);
		if (!old &&
		    (connection_is_silent(c) || !INVARIANT(idle_looked_at)))
			return c;
		connection_close(&c);
	}
	return NULL;
}

/* --- up or down --- */

static void
show_up(const struct target *target)
{
	if (target->up != NULL)
		counter_set(
		    target->up, !target->out && target->down_ms == 0);
}

void
target_judge(struct target *target, bool out)
{
	target->out = out;
	show_up(target);
}

void
target_reached(struct target *target)
{
	target->down_until_ms = 0;
	if (target->down_ms == 0)
		return;
	target->down_ms = 0;
	show_up(target);
}

void
target_failed(struct target *target, int64_t now_ms)
{
	/* Many requests that fail together are one failure. */
	if (now_ms < target->down_until_ms)
		return;
	target->down_ms = target->down_ms ? 2 * target->down_ms : DOWN_FIRST_MS;
	if (target->down_ms > DOWN_MAX_MS)
		target->down_ms = DOWN_MAX_MS;
	target->down_until_ms = now_ms + target->down_ms;
	show_up(target);
}

/* --- a round --- */

void
target_round_begin(struct target_round *round, struct target_list *targets)
{
	if (round->size < targets->count) {
		round->tried = mem_grow(
		    round->tried, targets->count * sizeof *round->tried);
		round->size = targets->count;
	}
	memset(round->tried, 0, targets->count * sizeof *round->tried);
	round->targets = targets;
	round->first = targets->next;
}

struct target *
target_round_next(struct target_round *round, int64_t now_ms)
{
	struct target_list *targets = round->targets;
	/* Those that are down come second. */
	for (size_t i = 0; i < 2 * targets->count; i++) {
		size_t at = (round->first + i) % targets->count;
		struct target *target = &targets->list[at];
		bool down = target->out || now_ms < target->down_until_ms;
		if (round->tried[at] || (down && i < targets->count))
			continue;
		round->tried[at] = true;
		/* Or the one behind a down one had both turns. */
		targets->next = (at + 1) % targets->count;
		return target;
	}
	return NULL;
}
