/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <time.h>
#include <uv.h>

#include "base/loop.h"
#include "base/mem.h"
#include "base/must.h"
#include "base/timers.h"

/*
 * libuv calls in this order: timers, the prepare handle, poll.  The prepare
 * handle is our end of a turn; the idle handle runs only while a turn was
 * left with work to do, and keeps the poll from blocking.
 */

/* So many rounds of work in one turn before descriptors are looked at. */
enum { ROUNDS_MAX = 64 };

struct rested {
	struct rested *next;
	void *ptr;
	void (*destroy)(void *ptr);
};

struct message {
	struct message *next;
	void (*run)(void *arg);
	void *arg;
};

struct loop {
	uv_loop_t uv;
	uv_prepare_t turn_end;
	uv_idle_t unfinished;
	uv_timer_t alarm;
	uv_async_t posted;
	int64_t alarm_at_ms; /* what the alarm is set to; -1: not set */
	struct timers timers;

	struct task *ready;
	struct task **ready_end;
	struct hook *hooks[HOOK_KINDS];

	struct rested *rested;     /* in this turn */
	struct rested *rested_old; /* in the one before */

	uv_mutex_t mutex; /* guards messages, and only those */
	struct message *messages;
	struct message **messages_end;
};

struct watch {
	uv_poll_t poll;
	unsigned wanted;
	void (*ready)(void *arg, unsigned events);
	void *arg;
};

int64_t
clock_us(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t
clock_wall_ms(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t
loop_now_ms(const struct loop *loop)
{
	return (int64_t)uv_now(&loop->uv);
}

/* --- a turn --- */

static void
run_ready(struct loop *loop)
{
	while (loop->ready != NULL) {
		struct task *task = loop->ready;
		task_cancel(task);
		task->run(task->arg);
	}
}

/* Runs a kind of hooks; true when one of them wants to go on. */
static bool
run_hooks(struct loop *loop, enum hook_kind kind)
{
	bool more = false;
	struct hook *next;
	for (struct hook *hook = loop->hooks[kind]; hook; hook = next) {
		next = hook->next;
		more |= hook->run(hook->arg);
	}
	return more;
}

static void
destroy_rested(struct rested **list)
{
	struct rested *rested = *list;
	*list = NULL;
	while (rested != NULL) {
		struct rested *next = rested->next;
		rested->destroy(rested->ptr);
		free(rested);
		rested = next;
	}
}

static void
on_alarm(uv_timer_t *alarm)
{
	struct loop *loop = alarm->data;
	loop->alarm_at_ms = -1;
	timers_fire(&loop->timers, loop_now_ms(loop));
}

/* Sets libuv's one timer to our earliest, where that has changed. */
static void
set_alarm(struct loop *loop)
{
	int64_t at_ms = timers_next(&loop->timers);
	/*
	 * An alarm that is too early is harmless and is left: most timers
	 * are deadlines that never fire, and re-arming for each would cost.
	 */
	if (at_ms < 0 ||
	    (loop->alarm_at_ms >= 0 && loop->alarm_at_ms <= at_ms))
		return;
	int64_t wait_ms = at_ms - loop_now_ms(loop);
	loop->alarm_at_ms = at_ms;
	uv_timer_start(
	    &loop->alarm, on_alarm, wait_ms > 0 ? (uint64_t)wait_ms : 0, 0);
}

static void
on_unfinished(uv_idle_t *idle)
{
	(void)idle;
}

static void
on_turn_end(uv_prepare_t *prepare)
{
	struct loop *loop = prepare->data;
	bool more = true;
	for (int round = 0; more && round < ROUNDS_MAX; round++) {
		run_ready(loop);
		more = run_hooks(loop, HOOK_WORK);
		more |= loop->ready != NULL;
	}
	more |= run_hooks(loop, HOOK_FLUSH);
	more |= loop->ready != NULL;

	struct rested *old = loop->rested_old;
	loop->rested_old = loop->rested;
	loop->rested = NULL;
	destroy_rested(&old);
	set_alarm(loop);

	/* What rests must go in the next turn, not only when one comes. */
	if (more || loop->rested_old != NULL)
		uv_idle_start(&loop->unfinished, on_unfinished);
	else
		uv_idle_stop(&loop->unfinished);
}

/* --- life --- */

static void
on_posted(uv_async_t *async)
{
	struct loop *loop = async->data;
	uv_mutex_lock(&loop->mutex);
	struct message *message = loop->messages;
	loop->messages = NULL;
	loop->messages_end = &loop->messages;
	uv_mutex_unlock(&loop->mutex);
	while (message != NULL) {
		struct message *next = message->next;
		message->run(message->arg);
		free(message);
		message = next;
	}
}

struct loop *
loop_new(void)
{
	struct loop *loop = mem_zero(sizeof *loop);
	must(uv_loop_init(&loop->uv) == 0);
	must(uv_mutex_init(&loop->mutex) == 0);
	must(uv_prepare_init(&loop->uv, &loop->turn_end) == 0);
	must(uv_idle_init(&loop->uv, &loop->unfinished) == 0);
	must(uv_timer_init(&loop->uv, &loop->alarm) == 0);
	must(uv_async_init(&loop->uv, &loop->posted, on_posted) == 0);
	loop->turn_end.data = loop->alarm.data = loop->posted.data = loop;
	loop->alarm_at_ms = -1;
	loop->ready_end = &loop->ready;
	loop->messages_end = &loop->messages;
	uv_prepare_start(&loop->turn_end, on_turn_end);
	return loop;
}

void
loop_free(struct loop **loop)
{
	struct loop *l = *loop;
	if (l == NULL)
		return;
	*loop = NULL;
	on_posted(&l->posted);
	run_ready(l);
	while (l->rested_old != NULL || l->rested != NULL) {
		destroy_rested(&l->rested_old);
		destroy_rested(&l->rested);
	}
	uv_close((uv_handle_t *)&l->turn_end, NULL);
	uv_close((uv_handle_t *)&l->unfinished, NULL);
	uv_close((uv_handle_t *)&l->alarm, NULL);
	uv_close((uv_handle_t *)&l->posted, NULL);
	uv_run(&l->uv, UV_RUN_DEFAULT);
	must(uv_loop_close(&l->uv) == 0);
	uv_mutex_destroy(&l->mutex);
	timers_free(&l->timers);
	free(l);
}

void
loop_run(struct loop *loop)
{
	uv_run(&loop->uv, UV_RUN_DEFAULT);
}

void
loop_stop(struct loop *loop)
{
	uv_stop(&loop->uv);
}

void
loop_post(struct loop *loop, void (*run)(void *arg), void *arg)
{
	struct message *message = mem_zero(sizeof *message);
	message->run = run;
	message->arg = arg;
	uv_mutex_lock(&loop->mutex);
	*loop->messages_end = message;
	loop->messages_end = &message->next;
	uv_mutex_unlock(&loop->mutex);
	must(uv_async_send(&loop->posted) == 0);
}

void
loop_rest(struct loop *loop, void *ptr, void (*destroy)(void *ptr))
{
	struct rested *rested = mem_zero(sizeof *rested);
	*rested = (struct rested){loop->rested, ptr, destroy};
	loop->rested = rested;
}

void
loop_hook(struct loop *loop, enum hook_kind kind, struct hook *hook,
    bool (*run)(void *arg), void *arg)
{
	*hook = (struct hook){loop->hooks[kind], run, arg};
	loop->hooks[kind] = hook;
}

void
loop_unhook(struct loop *loop, enum hook_kind kind, struct hook *hook)
{
	struct hook **at = &loop->hooks[kind];
	while (*at != NULL && *at != hook)
		at = &(*at)->next;
	must(*at == hook);
	*at = hook->next;
}

/* --- the ready list --- */

void
task_init(struct task *task, void (*run)(void *arg), void *arg)
{
	*task = (struct task){.run = run, .arg = arg};
}

void
task_ready(struct loop *loop, struct task *task)
{
	if (task->link != NULL)
		return;
	task->loop = loop;
	task->next = NULL;
	task->link = loop->ready_end;
	*task->link = task;
	loop->ready_end = &task->next;
}

void
task_cancel(struct task *task)
{
	if (task->link == NULL)
		return;
	*task->link = task->next;
	if (task->next != NULL)
		task->next->link = task->link;
	else
		task->loop->ready_end = task->link;
	task->link = NULL;
	task->next = NULL;
}

/* --- timers --- */

void
timer_init(struct timer *timer, struct loop *loop,
    void (*fire)(void *arg), void *arg)
{
	*timer = (struct timer){.loop = loop, .fire = fire, .arg = arg};
}

void
timer_set(struct timer *timer, int64_t ms)
{
	timers_remove(&timer->loop->timers, timer);
	timer->at_ms = loop_now_ms(timer->loop) + (ms > 0 ? ms : 0);
	timers_add(&timer->loop->timers, timer);
}

void
timer_clear(struct timer *timer)
{
	if (timer->place != 0)
		timers_remove(&timer->loop->timers, timer);
}

/* --- descriptors --- */

static void
on_poll(uv_poll_t *poll, int status, int events)
{
	struct watch *watch = poll->data;
	unsigned seen = 0;
	if (events & UV_READABLE)
		seen |= WATCH_READ;
	if (events & UV_DISCONNECT)
		seen |= WATCH_HANG_UP;
	if (events & UV_WRITABLE)
		seen |= WATCH_WRITE;
	if (status < 0)
		seen = watch->wanted;
	seen &= watch->wanted;
	if (seen != 0)
		watch->ready(watch->arg, seen);
}

struct watch *
watch_new(struct loop *loop, int fd, void (*ready)(void *arg, unsigned events),
    void *arg)
{
	struct watch *watch = mem_zero(sizeof *watch);
	must(uv_poll_init(&loop->uv, &watch->poll, fd) == 0);
	watch->poll.data = watch;
	watch->ready = ready;
	watch->arg = arg;
	return watch;
}

void
watch_want(struct watch *watch, unsigned events)
{
	if (events == watch->wanted)
		return;
	watch->wanted = events;
	if (events == 0) {
		uv_poll_stop(&watch->poll);
		return;
	}
	int flags = (events & WATCH_READ ? UV_READABLE : 0) |
	    (events & WATCH_WRITE ? UV_WRITABLE : 0) |
	    (events & WATCH_HANG_UP ? UV_DISCONNECT : 0);
	must(uv_poll_start(&watch->poll, flags, on_poll) == 0);
}

static void
on_watch_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void
watch_free(struct watch **watch)
{
	struct watch *w = *watch;
	*watch = NULL;
	if (w != NULL)
		uv_close((uv_handle_t *)&w->poll, on_watch_closed);
}
