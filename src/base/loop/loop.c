/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/container.h"
#include "base/loop/loop.h"
#include "base/loop/loop_uv.h"
#include "base/loop/turn.h"
#include "base/mem.h"
#include "base/must.h"
#include "base/test_build.h"

/*
 * libuv's order is: timers, the prepare handle, poll.  The prepare handle is
 * our end of a turn; the idle handle runs only while a turn has left work, and
 * keeps poll from blocking.
 *
 * When its timer says that one of ours is due, poll is run once more without
 * blocking, and the turn is worked to its end, before ours fires, and with it
 * what was due before that poll, and nothing later: a process that was stopped,
 * or a turn that took long, must not take for late what has come in time and
 * lies in a socket.
 */

int64_t
loop_now_ms(const struct loop *loop)
{
	return (int64_t)uv_now(&loop->uv);
}

/* --- a turn --- */

static void
on_alarm(uv_timer_t *alarm)
{
	struct loop *loop = CONTAINER_OF(alarm, struct loop, alarm);
	int64_t at_ms = timer_next(&loop->state.timers);
	loop->alarm_at_ms = -1;
	if (at_ms >= 0 && at_ms <= loop_now_ms(loop) && loop->due == DUE_NONE)
		loop->due = INVARIANT(read_first) ? DUE_POLL : DUE_POLLED;
	loop->polled_ms = loop_now_ms(loop);
}

static void
on_unfinished(uv_idle_t *idle)
{
	(void)idle;
}

static void
on_turn_end(uv_prepare_t *prepare)
{
	struct loop *loop = CONTAINER_OF(prepare, struct loop, turn_end);
	bool more = turn_run_ready(&loop->state);
	if (loop->due == DUE_POLLED) {
		loop->due = DUE_NONE;
		timer_fire(&loop->state.timers, loop->polled_ms);
		more = turn_run_ready(&loop->state);
	} else if (loop->due == DUE_POLL) {
		loop->due = DUE_POLLED;
		more = true;
	}
	/*
	 * An alarm that is too early does no harm: most timers are deadlines
	 * that never fire, and setting it anew for each would cost time.
	 */
	int64_t at_ms = timer_next(&loop->state.timers);
	if (at_ms >= 0 && loop->due == DUE_NONE &&
	    (loop->alarm_at_ms < 0 || loop->alarm_at_ms > at_ms)) {
		int64_t wait_ms = at_ms - loop_now_ms(loop);
		loop->alarm_at_ms = at_ms;
		uv_timer_start(&loop->alarm, on_alarm,
		    wait_ms > 0 ? (uint64_t)wait_ms : 0, 0);
	}
	if (more)
		uv_idle_start(&loop->unfinished, on_unfinished);
	else
		uv_idle_stop(&loop->unfinished);
}

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

/* --- other threads --- */

static void
on_posted(uv_async_t *async)
{
	struct loop *loop = CONTAINER_OF(async, struct loop, wakeup);
	struct list taken;
	list_init(&taken);
	uv_mutex_lock(&loop->mutex);
	list_move_all(&loop->posted, &taken);
	uv_mutex_unlock(&loop->mutex);
	task_run_all(&taken);
}

void
loop_post(struct loop *loop, void (*run)(void *arg), void *arg)
{
	struct task *posted = task_new(run, arg);
	uv_mutex_lock(&loop->mutex);
	list_add_last(&loop->posted, &posted->link);
	uv_mutex_unlock(&loop->mutex);
	must(uv_async_send(&loop->wakeup) == 0);
}

/* --- life --- */

struct loop *
loop_new(void)
{
	struct loop *loop = mem_zero(sizeof *loop);
	must(uv_loop_init(&loop->uv) == 0);
	must(uv_mutex_init(&loop->mutex) == 0);
	must(uv_prepare_init(&loop->uv, &loop->turn_end) == 0);
	must(uv_idle_init(&loop->uv, &loop->unfinished) == 0);
	must(uv_timer_init(&loop->uv, &loop->alarm) == 0);
	must(uv_async_init(&loop->uv, &loop->wakeup, on_posted) == 0);
	loop->alarm_at_ms = -1;
	turn_init(&loop->state, loop_now_ms);
	list_init(&loop->posted);
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
	on_posted(&l->wakeup);
	turn_free(&l->state);
	uv_close((uv_handle_t *)&l->turn_end, NULL);
	uv_close((uv_handle_t *)&l->unfinished, NULL);
	uv_close((uv_handle_t *)&l->alarm, NULL);
	uv_close((uv_handle_t *)&l->wakeup, NULL);
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
