/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "messages/relay/relay_text.h"
#include "messages/relay/webhook_private.h"

enum {
	CHUNK_EVENTS = 100, /* kept with one call, … */
	CHUNK_BYTES = 1 << 20, /* … or fewer, of so many bytes */
	DROPS = 500,
	FAILING_MS = 1000,
};

static void
arena_anew(struct arena **arena)
{
	arena_free(arena);
	*arena = arena_new();
}

static bool
is_answered(const struct kept_op *op)
{
	return op->op.op.error == 0;
}

/* --- what an earlier turn kept --- */

static int
compare_kept(const void *a, const void *b)
{
	struct event_id x = {0}, y = {0};
	const struct kept_event *one = a, *other = b;
	if (!event_read(one->id, &x) || !event_read(other->id, &y))
		return 0;
	return event_compare(&x, &y);
}

static void
take_listed(struct webhook *hook)
{
	if (hook->n_listed > 0)
		qsort(hook->listed, hook->n_listed, sizeof *hook->listed,
		    compare_kept);
	for (size_t i = 0; i < hook->n_listed; i++)
		webhook_lane_add(hook, &hook->listed[i], NULL);
	free(hook->listed);
	hook->listed = NULL;
	hook->n_listed = 0;
	arena_anew(&hook->list.arena);
	hook->loaded = true;
	webhook_send_more(hook);
	webhook_keep_more(hook);
}

static void
add_listed(struct webhook *hook)
{
	const struct kept_op *list = &hook->list;
	struct event_id id;
	hook->listed = mem_grow(hook->listed,
	    (hook->n_listed + list->count + 1) * sizeof *hook->listed);
	for (size_t i = 0; i < list->count; i++)
		if (event_read(list->list[i].id, &id) &&
		    list->list[i].key_id.len <= DIGEST_HEX)
			hook->listed[hook->n_listed++] = list->list[i];
}

static void
on_list_timer(void *arg)
{
	struct webhook *hook = arg;
	kept_list(&hook->shared, &hook->list);
}

static void
on_kept_listed(void *owner)
{
	struct webhook *hook = owner;
	if (!is_answered(&hook->list)) {
		timer_set(&hook->list_timer, WEBHOOK_AGAIN_MS);
		return;
	}
	hook->ahead_ms = hook->list.op.now_ms - clock_wall_ms();
	add_listed(hook);
	if (strcmp(hook->list.cursor, "0") == 0)
		take_listed(hook);
	else
		kept_list(&hook->shared, &hook->list);
}

void
webhook_keep_load(struct webhook *hook)
{
	snprintf(hook->list.cursor, sizeof hook->list.cursor, "0");
	kept_list(&hook->shared, &hook->list);
}

/* --- keeping --- */

static bool
is_failing(const struct webhook *hook)
{
	return hook->failures >= WEBHOOK_FAILING;
}

/* How many events may be kept now. */
static size_t
room_for(struct webhook *hook)
{
	int64_t left_ms;
	if (hook->kept == 0)
		return CHUNK_EVENTS;
	if (hook->kept >= WEBHOOK_KEPT_MAX || hook->n_ready >=
		WEBHOOK_READY_MAX || hook->kept_bytes >= WEBHOOK_KEPT_BYTES)
		return 0;
	if (!is_failing(hook))
		return CHUNK_EVENTS;
	left_ms = hook->tried_ms + FAILING_MS - loop_now_ms(hook->loop);
	if (left_ms > 0) {
		timer_set(&hook->keep_timer, left_ms);
		return 0;
	}
	hook->tried_ms = loop_now_ms(hook->loop);
	return 1;
}

/* Puts the next events of the batch into keeping_list, with their bodies. */
static void
fill_chunk(struct webhook *hook, size_t most)
{
	const struct relay_batch *batch = hook->first_batch;
	struct arena *arena = hook->keep.arena;
	size_t bytes = 0, count = 0;
	hook->keeping_list =
	    arena_alloc(arena, most * sizeof *hook->keeping_list);
	while (count < most && bytes < CHUNK_BYTES &&
	    hook->batch_at + count < batch->n_events) {
		const struct relay_event *event =
		    &batch->events[hook->batch_at + count];
		struct span body = relay_text_event(arena, event);
		hook->keeping_list[count++] = (struct kept_event){
		    .id = event->id, .key_id = event->key_id, .body = body,
		    .body_bytes = body.len};
		bytes += body.len;
	}
	hook->keeping = count;
}

static void
end_batch(struct webhook *hook)
{
	struct relay_batch *batch = hook->first_batch;
	hook->first_batch = batch->token;
	hook->batch_at = 0;
	batch->kept = batch->n_events;
	op_done(&batch->op, 0);
}

void
webhook_keep_more(struct webhook *hook)
{
	size_t room;
	while (hook->first_batch != NULL &&
	    hook->batch_at == hook->first_batch->n_events)
		end_batch(hook);
	if (hook->first_batch == NULL || !hook->loaded || hook->holds ||
	    hook->gone || hook->keeping > 0 ||
	    timer_is_set(&hook->keep_timer) || (room = room_for(hook)) == 0)
		return;
	arena_anew(&hook->keep.arena);
	fill_chunk(hook, room);
	kept_put(&hook->shared, &hook->keep, hook->turn, hook->keeping_list,
	    hook->keeping);
}

static void
on_keep_timer(void *arg)
{
	webhook_keep_more(arg);
}

static void
take_kept(struct webhook *hook)
{
	int64_t now_ms = hook->keep.op.now_ms;
	size_t count = hook->keeping;
	hook->ahead_ms = now_ms - clock_wall_ms();
	hook->keeping = 0;
	hook->batch_at += count;
	for (size_t i = 0; i < count; i++) {
		struct kept_event *event = &hook->keeping_list[i];
		event->since_ms = now_ms;
		webhook_lane_add(hook, event, event->body.ptr);
	}
	webhook_send_more(hook);
	webhook_keep_more(hook);
}

static void
on_event_kept(void *owner)
{
	struct webhook *hook = owner;
	if (!is_answered(&hook->keep)) {
		hook->keeping = 0;
		timer_set(&hook->keep_timer, WEBHOOK_AGAIN_MS);
	} else if (hook->keep.op.verdict == VERDICT_FENCED) {
		hook->fenced = true;
		webhook_tell(hook);
	} else {
		take_kept(hook);
	}
}

/* --- dropping --- */

static void
drop_some(struct webhook *hook)
{
	if (hook->dropping > 0 || hook->n_dropped == 0 ||
	    timer_is_set(&hook->drop_timer))
		return;
	arena_anew(&hook->drop.arena);
	size_t count = hook->n_dropped < DROPS ? hook->n_dropped : DROPS;
	struct span *ids =
	    arena_alloc(hook->drop.arena, count * sizeof *ids);
	for (size_t i = 0; i < count; i++)
		ids[i] = span_str(hook->dropped[i]);
	hook->dropping = count;
	kept_drop(&hook->shared, &hook->drop, ids, count);
}

static void
on_drop_timer(void *arg)
{
	drop_some(arg);
}

/* Those that were added meanwhile come next. */
static void
on_event_dropped(void *owner)
{
	struct webhook *hook = owner;
	size_t count = hook->dropping;
	hook->dropping = 0;
	if (is_answered(&hook->drop)) {
		hook->n_dropped -= count;
		memmove(hook->dropped, hook->dropped + count,
		    hook->n_dropped * sizeof *hook->dropped);
	} else {
		timer_set(&hook->drop_timer, WEBHOOK_AGAIN_MS);
	}
	drop_some(hook);
}

void
webhook_keep_drop(struct webhook *hook, const char *id)
{
	if (hook->n_dropped == hook->dropped_size) {
		hook->dropped_size = hook->dropped_size * 2 + DROPS;
		hook->dropped = mem_grow(hook->dropped,
		    hook->dropped_size * sizeof *hook->dropped);
	}
	snprintf(hook->dropped[hook->n_dropped++], EVENT_ID_MAX, "%s", id);
	/* Those of this turn of the loop go together. */
	if (hook->dropping == 0 && !timer_is_set(&hook->drop_timer))
		timer_set(&hook->drop_timer, 0);
}

/* --- life --- */

bool
webhook_keep_is_busy(const struct webhook *hook)
{
	return hook->keeping > 0 || hook->n_dropped > 0;
}

static void
init_op(struct webhook *hook, struct kept_op *op, void (*wake)(void *owner))
{
	op_init(&op->op.op, hook->loop, wake, hook);
	op->arena = arena_new();
}

void
webhook_keep_init(struct webhook *hook)
{
	init_op(hook, &hook->list, on_kept_listed);
	init_op(hook, &hook->keep, on_event_kept);
	init_op(hook, &hook->drop, on_event_dropped);
	timer_init(&hook->list_timer, hook->loop, on_list_timer, hook);
	timer_init(&hook->keep_timer, hook->loop, on_keep_timer, hook);
	timer_init(&hook->drop_timer, hook->loop, on_drop_timer, hook);
}

static void
end_op(struct kept_op *op)
{
	op_cancel(&op->op.op);
	arena_free(&op->arena);
}

void
webhook_keep_end(struct webhook *hook)
{
	end_op(&hook->list);
	end_op(&hook->keep);
	end_op(&hook->drop);
	timer_clear(&hook->list_timer);
	timer_clear(&hook->keep_timer);
	timer_clear(&hook->drop_timer);
	free(hook->listed);
	free(hook->dropped);
}
