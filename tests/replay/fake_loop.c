/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/loop/loop.h"
#include "base/loop/turn.h"
#include "base/loop/work.h"
#include "base/mem.h"
#include "base/must.h"
#include "replay/fakes.h"

/*
 * In place of src/base/loop/loop.c, clock.c, watch.c and work.c: turns are the
 * real ones (loop/turn.h), there are no descriptors, other threads do something
 * when the scheduler says so, and the clock stands still until it moves it.
 */
struct loop {
	struct loop_state state; /* first: see loop/loop_state.h */
	struct gateway *gateway;
	struct list posted; /* of tasks */
	struct work *works;
	bool stopped;
	bool turns; /* something has happened, so a turn follows */
};

/* What another thread would do; it is done when the scheduler says so. */
struct work {
	struct work *next;
	struct loop *loop;
	bool over; /* and the loop has not heard of it */
	void (*run)(void *arg);
	void (*done)(void *arg);
	void *arg;
};

/* --- clocks --- */

int64_t
clock_us(void)
{
	return world.now_us;
}

int64_t
clock_wall_ms(void)
{
	return redis_now_ms();
}

int64_t
loop_now_ms(const struct loop *loop)
{
	(void)loop;
	return world.now_us / 1000;
}

/* --- a turn --- */

void
loop_hook(struct loop *loop, enum hook_kind kind, struct hook *hook,
    bool (*run)(void *arg), void *arg)
{
	*hook = (struct hook){.run = run, .arg = arg};
	list_add_first(&loop->state.hooks[kind], &hook->link);
}

void
loop_unhook(struct hook *hook)
{
	must(list_linked(&hook->link));
	list_remove(&hook->link);
}

static void
run_posted(struct loop *loop)
{
	struct list taken;
	list_init(&taken);
	list_move_all(&loop->posted, &taken);
	task_run_all(&taken);
}

void
loop_post(struct loop *loop, void (*run)(void *arg), void *arg)
{
	list_add_last(&loop->posted, &task_new(run, arg)->link);
}

bool
fake_loop_has_work(const struct loop *loop)
{
	return !list_empty(&loop->state.ready) ||
	    !list_empty(&loop->posted) || loop->turns;
}

void
fake_loop_turn(struct loop *loop)
{
	loop->turns = true;
}

void
fake_loop_work(struct loop *loop)
{
	bool more = true;
	loop->turns = false;
	while (more || !list_empty(&loop->posted)) {
		run_posted(loop);
		more = turn_run_ready(&loop->state);
	}
}

bool
fake_loop_any(const struct loop *loop,
    bool (*wanted)(const struct gateway *gateway, const struct timer *timer))
{
	const struct timer_heap *timers = &loop->state.timers;
	for (unsigned i = 1; i <= timers->count; i++)
		if (wanted(loop->gateway, timers->list[i]))
			return true;
	return false;
}

void
fake_loop_fire(struct loop *loop)
{
	timer_fire(&loop->state.timers, loop_now_ms(loop));
	fake_loop_turn(loop);
}

/* --- the other threads --- */

/* While the disk writes, nobody knows whether it takes what comes. */
static void
expect_the_disk(const struct loop *loop)
{
	for (unsigned i = 0; i < world.n_clients; i++) {
		struct client *client = &world.clients[i];
		const struct gateway *g = client->gateway;
		if (g != NULL && g->worker != NULL && g->worker->loop == loop)
			client->unkept = false;
	}
}

struct work *
work_start(struct loop *loop, void (*run)(void *arg), void (*done)(void *arg),
    void *arg)
{
	struct work *work = mem_zero(sizeof *work);
	*work = (struct work){.loop = loop, .run = run, .done = done,
	    .arg = arg};
	struct work **end = &loop->works;
	while (*end != NULL)
		end = &(*end)->next;
	*end = work;
	expect_the_disk(loop);
	return work;
}

void
work_finish(struct work **work)
{
	struct work *w = *work;
	*work = NULL;
	if (w == NULL)
		return;
	struct work **at = &w->loop->works;
	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	if (!w->over)
		w->run(w->arg);
	w->done(w->arg);
	free(w);
}

void
fake_loop_run_work(struct work *work)
{
	work->over = true;
	work->run(work->arg);
}

void
fake_loop_end_work(struct loop *loop, struct work *work)
{
	fake_loop_turn(loop);
	work_finish(&work);
}

bool
fake_loop_end_works(struct loop *loop, const struct work *but)
{
	struct work *work = loop->works;
	while (work != NULL && work == but)
		work = work->next;
	if (work == NULL)
		return false;
	fake_loop_end_work(loop, work);
	return true;
}

/* --- life --- */

struct loop *
loop_new(void)
{
	struct loop *loop = mem_zero(sizeof *loop);
	turn_init(&loop->state, loop_now_ms);
	loop->gateway = world.starting;
	list_init(&loop->posted);
	return loop;
}

struct gateway *
loop_gateway(const struct loop *loop)
{
	return loop->gateway;
}

/* The scheduler runs loops itself, until they are stopped or killed. */
void
loop_run(struct loop *loop)
{
	must(loop->stopped || loop->gateway->dead);
}

void
loop_stop(struct loop *loop)
{
	loop->stopped = true;
}

bool
fake_loop_is_stopped(const struct loop *loop)
{
	return loop->stopped;
}

void
loop_free(struct loop **loop)
{
	struct loop *l = *loop;
	*loop = NULL;
	run_posted(l);
	CHECK(l->state.timers.count == 0, "a timer outlives its worker");
	CHECK(l->works == NULL, "another thread outlives its worker");
	for (unsigned kind = 0; kind < HOOK_KINDS; kind++)
		CHECK(list_empty(&l->state.hooks[kind]),
		    "a hook outlives its worker");
	turn_free(&l->state);
	free(l);
}

/* --- descriptors, of which a replay has none --- */

struct watch *
watch_new(struct loop *loop, int fd, unsigned events,
    void (*ready)(void *arg, unsigned events), void *arg)
{
	(void)loop;
	(void)fd;
	(void)events;
	(void)ready;
	(void)arg;
	must(false);
	return NULL;
}

void
watch_want(struct watch *watch, unsigned events)
{
	(void)watch;
	(void)events;
	must(false);
}

void
watch_free(struct watch **watch)
{
	(void)watch;
	must(false);
}
