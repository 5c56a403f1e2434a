/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <time.h>
#include <uv.h>

#include "base/loop.h"
#include "base/mem.h"
#include "base/must.h"
#include "base/turn.h"

/*
 * libuv calls in this order: timers, the prepare handle, poll.  The prepare
 * handle is our end of a turn; the idle handle runs only while a turn was
 * left with work to do, and keeps the poll from blocking.
 */

struct message {
	struct message *next;
	void (*run)(void *arg);
	void *arg;
};

struct loop {
	struct turn turn; /* first: turn.c knows no more of it */
	uv_loop_t uv;
	uv_prepare_t turn_end;
	uv_idle_t unfinished;
	uv_timer_t alarm;
	uv_async_t posted;
	int64_t alarm_at_ms; /* what the alarm is set to; -1: not set */
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
on_alarm(uv_timer_t *alarm)
{
	struct loop *loop = alarm->data;
	loop->alarm_at_ms = -1;
	timers_fire(&loop->turn.timers, loop_now_ms(loop));
}

/* Sets libuv's one timer to our earliest, where that has changed. */
static void
set_alarm(struct loop *loop)
{
	int64_t at_ms = timers_next(&loop->turn.timers);
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
	bool more = turn_end(&loop->turn);
	set_alarm(loop);
	if (more)
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
	turn_init(&loop->turn);
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
	turn_free(&l->turn);
	uv_close((uv_handle_t *)&l->turn_end, NULL);
	uv_close((uv_handle_t *)&l->unfinished, NULL);
	uv_close((uv_handle_t *)&l->alarm, NULL);
	uv_close((uv_handle_t *)&l->posted, NULL);
	uv_run(&l->uv, UV_RUN_DEFAULT);
	must(uv_loop_close(&l->uv) == 0);
	uv_mutex_destroy(&l->mutex);
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
