/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "base/random.h"
#include "http/head/header_value.h"
#include "messages/relay/signature.h"
#include "messages/relay/webhook_private.h"
#include "messages/relay/webhook_retry.h"

enum {
	ANSWER_HEAD_BYTES = 65536,
	ANSWER_BYTES = 65536, /* which nobody looks at */
	GONE = 410,
};

static void read_body(struct webhook_slot *slot);

static void
empty_slot(struct webhook_slot *slot)
{
	slot->lane = NULL;
	slot->hook->in_flight--;
	arena_free(&slot->arena);
	slot->arena = arena_new();
	slot->read.arena = slot->arena;
}

/* --- what became of it --- */

static bool
is_busy_answer(int status)
{
	return status == 429 || status == 502 || status == 503 ||
	    status == 504;
}

/* Fewer at a time where it says that it is too much, and one more for each
 * that it takes. */
static void
adjust(struct webhook *hook, bool taken, int status)
{
	if (taken && hook->allowed < WEBHOOK_IN_FLIGHT)
		hook->allowed++;
	else if (!taken && is_busy_answer(status) && hook->allowed > 1)
		hook->allowed -= hook->allowed / 2;
}

static void
note_trouble(struct webhook *hook, const char *trouble)
{
	bool other = strcmp(hook->trouble, trouble) != 0;
	bool was_up = hook->failures < WEBHOOK_DOWN;
	hook->failures++;
	snprintf(hook->trouble, sizeof hook->trouble, "%s", trouble);
	if (other || was_up != (hook->failures < WEBHOOK_DOWN)) {
		hook->changed = true;
		webhook_tell(hook);
	}
}

static void
taken(struct webhook_slot *slot)
{
	struct webhook *hook = slot->hook;
	struct webhook_lane *lane = slot->lane;
	hook->changed = hook->changed || hook->failures >= WEBHOOK_DOWN;
	hook->failures = 0;
	hook->late++;
	webhook_keep_drop(hook, lane->first->id);
	webhook_lane_done(lane);
	webhook_lane_forward(hook, WEBHOOK_FORWARD);
	webhook_tell(hook);
}

static void
give_up(struct webhook_slot *slot)
{
	struct webhook *hook = slot->hook;
	struct webhook_lane *lane = slot->lane;
	hook->lost++;
	snprintf(hook->lost_why, sizeof hook->lost_why,
	    "the receiver did not take event %s of key %s for three days: %s",
	    lane->first->id, lane->key_id, hook->trouble);
	webhook_keep_drop(hook, lane->first->id);
	webhook_lane_done(lane);
	webhook_tell(hook);
}

static void
failed(struct webhook_slot *slot, const char *trouble, int64_t after_ms)
{
	struct webhook *hook = slot->hook;
	struct webhook_lane *lane = slot->lane;
	int64_t now_ms = clock_wall_ms() + hook->ahead_ms, ms;
	uint32_t chance;
	random_bytes(&chance, sizeof chance);
	note_trouble(hook, trouble);
	if (!webhook_retry_next(++lane->tries, now_ms - lane->first->since_ms,
		after_ms, chance, &ms))
		give_up(slot);
	else if (hook->failures >= WEBHOOK_FAILING && after_ms <= 0)
		webhook_lane_rest_down(lane, ms);
	else
		webhook_lane_rest(lane, ms);
}

/* It wants no more; the event stays, for when the relay is resumed. */
static void
stop_for_good(struct webhook_slot *slot)
{
	struct webhook *hook = slot->hook;
	note_trouble(hook, "the receiver answered 410 (Gone)");
	hook->gone = hook->wants_pause = true;
	webhook_lane_rest(slot->lane, WEBHOOK_RETRY_FIRST_MS);
	timer_set(&hook->gone_timer, WEBHOOK_GONE_MS);
	webhook_tell(hook);
}

static void
judge_answer(struct webhook_slot *slot)
{
	const struct forward *forward = &slot->forward;
	int status =
	    forward->result == FORWARD_ANSWERED ? forward->status : 0;
	char trouble[200];
	bool ok = status >= 200 && status < 300;
	adjust(slot->hook, ok, status);
	if (ok) {
		taken(slot);
	} else if (status == GONE) {
		stop_for_good(slot);
	} else if (status != 0) {
		snprintf(trouble, sizeof trouble, "the receiver answered %d",
		    status);
		failed(slot, trouble,
		    header_value_retry_after(
			&forward->fields, clock_wall_ms()));
	} else {
		snprintf(trouble, sizeof trouble, "no answer of %s: %s",
		    slot->hook->place.authority,
		    error_message(forward->op.error));
		failed(slot, trouble, 0);
	}
}

static void
on_forwarded(void *owner)
{
	struct webhook_slot *slot = owner;
	struct webhook *hook = slot->hook;
	judge_answer(slot);
	forward_stop(&slot->forward);
	forward_clear(&slot->forward);
	empty_slot(slot);
	webhook_send_more(hook);
	webhook_keep_more(hook);
}

/* --- sending --- */

static void
put_header(struct fields *fields, struct span name, struct span value)
{
	fields->list[fields->count++] = (struct field){name, value};
}

static void
send_event(struct webhook_slot *slot, struct span body)
{
	struct webhook *hook = slot->hook;
	struct span id =
	    arena_dup(slot->arena, span_str(slot->lane->first->id));
	int64_t time_s = clock_wall_ms() / 1000;
	struct field list[5];
	struct fields fields = {list, 0};
	put_header(&fields, SPAN("Content-Type"), SPAN("application/json"));
	put_header(&fields, SPAN("User-Agent"),
	    SPAN("onceproxy/" PACKAGE_VERSION));
	put_header(&fields, SPAN("webhook-id"), id);
	put_header(&fields, SPAN("webhook-timestamp"),
	    arena_printf(slot->arena, "%" PRId64, time_s));
	put_header(&fields, SPAN("webhook-signature"),
	    signature_text(slot->arena, hook->relay->secrets,
		hook->relay->n_secrets, id, time_s, body));
	fields.list = arena_alloc(slot->arena, sizeof list);
	memcpy(fields.list, list, sizeof list);
	const struct message message = {
	    .method = SPAN("POST"),
	    .target = span_str(hook->relay->receiver.targets[0].base_path),
	    .fields = fields,
	    .body = body,
	    .has_body = true,
	};
	const struct forward_limits limits = {
	    .max_head = ANSWER_HEAD_BYTES,
	    .max_body = ANSWER_BYTES,
	    .close_delimited = true,
	    .reuse = true,
	};
	forward_start(hook->upstreams, &slot->forward, &hook->receiver,
	    &message, &limits);
}

static void
on_body_read(void *owner)
{
	struct webhook_slot *slot = owner;
	struct webhook *hook = slot->hook;
	if (slot->read.op.op.error != 0) {
		webhook_lane_rest(slot->lane, WEBHOOK_AGAIN_MS);
		empty_slot(slot);
	} else if (slot->read.op.verdict == VERDICT_GONE) {
		/* An earlier turn brought it after all. */
		webhook_lane_done(slot->lane);
		empty_slot(slot);
		webhook_send_more(hook);
	} else {
		send_event(slot, slot->read.body);
	}
}

static void
read_body(struct webhook_slot *slot)
{
	const struct webhook_event *event = slot->lane->first;
	kept_read(&slot->hook->shared, &slot->read, span_str(event->id),
	    event->body_bytes);
}

/* There is one: fewer are in flight than there are. */
static struct webhook_slot *
free_slot(struct webhook *hook)
{
	size_t i = 0;
	while (hook->slots[i].lane != NULL)
		must(++i < WEBHOOK_IN_FLIGHT);
	return &hook->slots[i];
}

void
webhook_send_more(struct webhook *hook)
{
	while (!hook->holds && !hook->gone && turn_is_held(hook->turn) &&
	    hook->in_flight < hook->allowed) {
		struct webhook_lane *lane = webhook_lane_next(hook);
		if (lane == NULL)
			return;
		struct webhook_slot *slot = free_slot(hook);
		slot->lane = lane;
		hook->in_flight++;
		if (lane->first->body != NULL)
			send_event(slot, arena_dup(slot->arena,
			    span_of(lane->first->body,
				lane->first->body_bytes)));
		else
			read_body(slot);
	}
}

/* --- life --- */

void
webhook_send_init(struct webhook *hook)
{
	hook->allowed = WEBHOOK_IN_FLIGHT;
	for (size_t i = 0; i < WEBHOOK_IN_FLIGHT; i++) {
		struct webhook_slot *slot = &hook->slots[i];
		slot->hook = hook;
		slot->arena = slot->read.arena = arena_new();
		op_init(&slot->read.op.op, hook->loop, on_body_read, slot);
		op_init(&slot->forward.op, hook->loop, on_forwarded, slot);
	}
}

void
webhook_send_end(struct webhook *hook)
{
	for (size_t i = 0; i < WEBHOOK_IN_FLIGHT; i++) {
		struct webhook_slot *slot = &hook->slots[i];
		op_cancel(&slot->read.op.op);
		forward_stop(&slot->forward);
		forward_clear(&slot->forward);
		arena_free(&slot->arena);
	}
}
