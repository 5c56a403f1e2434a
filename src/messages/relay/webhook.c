/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "messages/relay/webhook.h"
#include "messages/relay/webhook_private.h"

enum { BATCHES = 4 };

static struct webhook *
hook_of(struct relay_target *target)
{
	return (struct webhook *)(void *)target;
}

/* --- what the core is told --- */

void
webhook_tell(struct webhook *hook)
{
	task_ready(hook->loop, &hook->tell);
}

/* The core closes nothing from within these. */
static void
tell_core(void *arg)
{
	struct webhook *hook = arg;
	const struct relay_target_events *events = &hook->events;
	if (hook->late > 0)
		events->late(events->arg, hook->late);
	if (hook->lost > 0)
		events->lost(events->arg, hook->lost, hook->lost_why);
	hook->late = hook->lost = 0;
	if (hook->changed)
		events->changed(events->arg);
	hook->changed = false;
	if (hook->wants_pause)
		events->pause(events->arg, hook->trouble);
	hook->wants_pause = false;
	if (hook->fenced)
		events->fenced(events->arg);
	hook->fenced = false;
}

/* Redis did not take the pause. */
static void
on_gone_timer(void *arg)
{
	struct webhook *hook = arg;
	if (!hook->gone || hook->holds)
		return;
	hook->wants_pause = true;
	timer_set(&hook->gone_timer, WEBHOOK_GONE_MS);
	webhook_tell(hook);
}

/* --- the target --- */

static struct relay_target *
hook_open(const struct relay_target_start *start)
{
	struct webhook *hook = mem_zero(sizeof *hook);
	struct worker *worker = start->worker;
	hook->target.kind = &webhook_kind;
	hook->events = *start->events;
	hook->relay = start->relay;
	hook->turn = start->turn;
	hook->loop = worker->loop;
	hook->ready_end = &hook->ready;
	hook->down_end = &hook->down;
	hook->place = hook->relay->receiver.targets[0];
	hook->place.base_path = hook->no_path;
	hook->receiver = hook->relay->receiver;
	hook->receiver.index = 0;
	hook->receiver.targets = &hook->place;
	hook->upstreams = upstreams_new(worker->loop, start->conf,
	    worker->budget, &hook->receiver, 1);
	shared_init(
	    &hook->shared, worker->store, "relay", hook->relay->name);
	task_init(&hook->tell, tell_core, hook);
	timer_init(&hook->gone_timer, hook->loop, on_gone_timer, hook);
	webhook_keep_init(hook);
	webhook_send_init(hook);
	webhook_keep_load(hook);
	return &hook->target;
}

static void
hook_put(struct relay_target *target, struct relay_batch *batch)
{
	struct webhook *hook = hook_of(target);
	struct relay_batch *last = hook->first_batch;
	while (last != NULL && last->token != NULL)
		last = last->token;
	if (last != NULL)
		last->token = batch;
	else
		hook->first_batch = batch;
	batch->token = NULL;
	op_start(&batch->op, 0, NULL);
	webhook_keep_more(hook);
}

static struct relay_target_health
hook_health(const struct relay_target *target)
{
	const struct webhook *hook =
	    (const struct webhook *)(const void *)target;
	return (struct relay_target_health){
	    .up = hook->failures < WEBHOOK_DOWN && !hook->gone,
	    .message = hook->trouble,
	    .waiting = hook->kept,
	};
}

static void
hook_hold(struct relay_target *target, bool holds)
{
	struct webhook *hook = hook_of(target);
	hook->holds = holds;
	if (holds)
		return;
	hook->gone = false;
	webhook_send_more(hook);
	webhook_keep_more(hook);
}

static bool
hook_is_idle(const struct relay_target *target)
{
	const struct webhook *hook =
	    (const struct webhook *)(const void *)target;
	return hook->in_flight == 0 && !webhook_keep_is_busy(hook);
}

static void
hook_close(struct relay_target *target)
{
	struct webhook *hook = hook_of(target);
	task_cancel(&hook->tell);
	timer_clear(&hook->gone_timer);
	webhook_send_end(hook);
	webhook_keep_end(hook);
	webhook_lane_end(hook);
	upstreams_free(&hook->upstreams);
	free(hook);
}

const struct relay_target_kind webhook_kind = {
    .batches = BATCHES,
    .events = 1000,
    .open = hook_open,
    .put = hook_put,
    .health = hook_health,
    .hold = hook_hold,
    .is_idle = hook_is_idle,
    .close = hook_close,
};
