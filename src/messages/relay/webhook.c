/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/random.h"
#include "http/head/header_value.h"
#include "http/upstream/forward.h"
#include "http/upstream/upstreams.h"
#include "messages/relay/relay_text.h"
#include "messages/relay/webhook.h"
#include "messages/relay/webhook_queue.h"

enum {
	IN_FLIGHT = 64,
	READY_MAX = 256, /* lanes: with so many, no more events are taken */
	DOWN = 3,        /* failures in a row: the receiver is down */
	/*
	 * After so many one new event a second is taken, and when the receiver
	 * is back all that rest are tried.
	 */
	FAILING = 64,
	FAILING_MS = 1000,
	AWAY_MS = 500, /* Redis did not give the body */
	ANSWER_HEAD_BYTES = 65536,
	ANSWER_BYTES = 65536, /* which nobody looks at */
	GONE = 410,
	FIRST_MS = 1000,
	MOST_MS = 3600 * 1000,
	JITTER_PART = 4, /* of the whole, at most */
	TRIES_MIN = 12,
	LAST_S = 3 * 24 * 3600,
};

struct webhook {
	struct relay_target target; /* first */
	struct relay_target_events events;
	const struct conf_relay *relay;
	const struct leadership *leader;
	struct loop *loop;
	/* The receiver; what stands behind its authority is the target. */
	struct conf_upstream receiver;
	struct conf_target place;
	char no_path[1]; /* "" */
	struct upstreams *upstreams;
	struct webhook_queue queue;
	bool holds; /* nothing new is begun: the core says so … */
	bool gone;  /* … or the receiver did (410) */

	struct list tries; /* under way */
	size_t in_flight;
	size_t allowed;    /* in flight: fewer, while the receiver says so */
	unsigned failures; /* in a row */
	int64_t tried_ms;  /* when one was last taken while it is failing */
	char trouble[200]; /* the last; "" for none */

	struct relay_batch *batch; /* that is put; NULL: none */
	size_t put;                /* so many of its events Redis has … */
	size_t putting;            /* … or is about to have */
};

/* A try of a lane's first event. */
struct try {
	struct list item;
	struct webhook *hook;
	struct webhook_lane *lane;
	struct arena *arena;
	struct webhook_read read;
	struct forward forward;
};

bool
webhook_retry_ms(unsigned tries, int64_t ran_s, int64_t after_ms,
    uint32_t chance, int64_t *ret_ms)
{
	int64_t ms = FIRST_MS, left_ms = (LAST_S - ran_s) * 1000;
	if (tries >= TRIES_MIN && left_ms <= 0)
		return false;
	for (unsigned i = 1; i < tries && ms < MOST_MS; i++)
		ms *= 2;
	if (ms > MOST_MS)
		ms = MOST_MS;
	ms += chance % (uint32_t)(ms / JITTER_PART);
	if (ms < after_ms)
		ms = after_ms;
	*ret_ms = left_ms > 0 && ms > left_ms ? left_ms : ms;
	return true;
}

/* --- what became of a try --- */

static void
end_try(struct try *try)
{
	list_remove(&try->item);
	try->hook->in_flight--;
	webhook_queue_unread(&try->read);
	forward_stop(&try->forward);
	forward_clear(&try->forward);
	arena_free(&try->arena);
	free(try);
}

static void
note_trouble(struct webhook *hook, const char *trouble)
{
	bool other = strcmp(hook->trouble, trouble) != 0;
	hook->failures++;
	snprintf(hook->trouble, sizeof hook->trouble, "%s", trouble);
	if (other || hook->failures == DOWN)
		hook->events.changed(hook->events.arg);
}

static void
taken(struct try *try)
{
	struct webhook *hook = try->hook;
	bool was_failing = hook->failures >= FAILING;
	bool was_down = hook->failures >= DOWN;
	hook->failures = 0;
	webhook_queue_done(try->lane);
	if (was_failing)
		webhook_queue_wake(&hook->queue);
	hook->events.brought(hook->events.arg, 1);
	if (was_down)
		hook->events.changed(hook->events.arg);
}

/* It is not brought, and never will be. */
static void
lose(struct try *try, enum event event, const char *why)
{
	struct webhook *hook = try->hook;
	const struct webhook_event *first = webhook_queue_first(try->lane);
	char text[400];
	snprintf(text, sizeof text, "event %s of key %s %s", first->id,
	    first->key_id, why);
	webhook_queue_done(try->lane);
	hook->events.lost(hook->events.arg, event, 1, text);
}

static void
failed(struct try *try, const char *trouble, int64_t after_ms)
{
	struct webhook *hook = try->hook;
	int64_t ran_s = webhook_queue_failed(try->lane), ms;
	unsigned tries = webhook_queue_first(try->lane)->tries;
	char why[300];
	uint32_t chance;
	random_bytes(&chance, sizeof chance);
	note_trouble(hook, trouble);
	if (webhook_retry_ms(tries, ran_s, after_ms, chance, &ms)) {
		webhook_queue_rest(try->lane, ms, after_ms > 0);
		return;
	}
	snprintf(why, sizeof why,
	    "was not taken by the receiver for three days, in %u tries: %s",
	    tries, trouble);
	lose(try, EV_relay_lost, why);
}

/* It wants no more; the event stays, for when the relay is resumed. */
static void
stop_for_good(struct try *try)
{
	struct webhook *hook = try->hook;
	note_trouble(hook, "the receiver answered 410 (Gone)");
	hook->gone = true;
	hook->queue.runs = false;
	webhook_queue_rest(try->lane, FIRST_MS, false);
	hook->events.pause(hook->events.arg, hook->trouble);
}

/*
 * Fewer at a time where the receiver says that it is too much, and one more for
 * each that it takes.
 */
static void
judge_answer(struct try *try)
{
	struct webhook *hook = try->hook;
	const struct forward *forward = &try->forward;
	int status =
	    forward->result == FORWARD_ANSWERED ? forward->status : 0;
	bool busy = status == 429 || (status >= 502 && status <= 504);
	char trouble[sizeof hook->trouble];
	if (busy && hook->allowed > 1)
		hook->allowed -= hook->allowed / 2;
	if (status >= 200 && status < 300) {
		hook->allowed += hook->allowed < IN_FLIGHT;
		taken(try);
	} else if (status == GONE) {
		stop_for_good(try);
	} else if (status != 0) {
		snprintf(trouble, sizeof trouble, "the receiver answered %d",
		    status);
		failed(try, trouble,
		    header_value_retry_after(
			&forward->fields, clock_wall_ms()));
	} else {
		snprintf(trouble, sizeof trouble, "no answer of %s: %s",
		    hook->place.authority, error_message(forward->op.error));
		failed(try, trouble, 0);
	}
}

/* --- sending --- */

static void go_on(void *arg);

static void
on_forwarded(void *owner)
{
	struct try *try = owner;
	struct webhook *hook = try->hook;
	judge_answer(try);
	end_try(try);
	go_on(hook);
}

static void
send_event(struct try *try, struct span body)
{
	struct webhook *hook = try->hook;
	struct arena *arena = try->arena;
	const struct conf_relay *relay = hook->relay;
	struct span id = arena_dup(
	    arena, span_str(webhook_queue_first(try->lane)->id));
	int64_t time_s = clock_wall_ms() / 1000;
	body = arena_dup(arena, body);
	const struct field list[] = {
	    {SPAN("Content-Type"), SPAN("application/json")},
	    {SPAN("User-Agent"), SPAN("onceproxy/" PACKAGE_VERSION)},
	    {SPAN("webhook-id"), id},
	    {SPAN("webhook-timestamp"),
		arena_printf(arena, "%" PRId64, time_s)},
	    {SPAN("webhook-signature"),
		relay_text_signature(arena, relay->secrets, relay->n_secrets,
		    id, time_s, body)},
	};
	struct field *fields = arena_alloc(arena, sizeof list);
	memcpy(fields, list, sizeof list);
	const struct message message = {
	    .method = SPAN("POST"),
	    .target = span_str(relay->receiver.targets[0].base_path),
	    .fields = {fields, sizeof list / sizeof *list},
	    .body = body,
	    .has_body = true,
	};
	const struct forward_limits limits = {
	    .max_head = ANSWER_HEAD_BYTES,
	    .max_body = ANSWER_BYTES,
	    .close_delimited = true,
	    .reuse = true,
	};
	forward_start(hook->upstreams, &try->forward, &hook->receiver,
	    &message, &limits);
}

static void
on_read(
    struct webhook_read *read, enum webhook_found found, struct span body)
{
	struct try *try = CONTAINER_OF(read, struct try, read);
	switch (found) {
	case WEBHOOK_FOUND:
		send_event(try, body);
		return;
	case WEBHOOK_FOUND_AWAY:
		webhook_queue_rest(try->lane, AWAY_MS, true);
		break;
	case WEBHOOK_FOUND_NONE:
		webhook_queue_done(try->lane);
		break;
	case WEBHOOK_FOUND_NO_KEY:
		failed(try,
		    "an event waits in Redis that none of "
		    "store.encryption_keys opens",
		    0);
		break;
	case WEBHOOK_FOUND_OTHER:
		lose(try, EV_relay_unsealed,
		    "is not in Redis as it was put there, and was not sent");
		break;
	}
	end_try(try);
}

static void
begin_try(struct webhook *hook, struct webhook_lane *lane)
{
	const struct webhook_event *event = webhook_queue_first(lane);
	struct try *try = mem_zero(sizeof *try);
	try->hook = hook;
	try->lane = lane;
	try->arena = arena_new();
	try->read.done = on_read;
	op_init(&try->forward.op, hook->loop, on_forwarded, try);
	list_add_last(&hook->tries, &try->item);
	hook->in_flight++;
	if (event->body != NULL)
		send_event(try, span_of(event->body, event->len));
	else
		webhook_queue_read(&try->read, lane);
}

static bool
may_begin(const struct webhook *hook)
{
	return !hook->holds && !hook->gone && leadership_is_held(hook->leader);
}

/* How many events may be taken of the batch now. */
static size_t
room_of(struct webhook *hook)
{
	const struct webhook_queue *q = &hook->queue;
	int64_t now_ms = loop_now_ms(hook->loop);
	if (q->count == 0)
		return WEBHOOK_QUEUE_CHUNK;
	if (q->count >= WEBHOOK_QUEUE_MAX || q->bytes >= WEBHOOK_QUEUE_BYTES ||
	    q->n_ready >= READY_MAX)
		return 0;
	if (hook->failures < FAILING)
		return WEBHOOK_QUEUE_CHUNK;
	/* The queue ticks at least so often. */
	if (now_ms - hook->tried_ms < FAILING_MS)
		return 0;
	hook->tried_ms = now_ms;
	return 1;
}

/* Takes more of the batch, which is done when Redis has all of it. */
static void
take_more(struct webhook *hook)
{
	struct relay_batch *batch = hook->batch;
	if (batch == NULL || !may_begin(hook) || !hook->queue.loaded ||
	    !list_empty(&hook->queue.putting))
		return;
	hook->put += hook->putting;
	hook->putting = 0;
	if (hook->put < batch->n_events) {
		size_t left = batch->n_events - hook->put;
		size_t room = room_of(hook);
		hook->putting = webhook_queue_put(&hook->queue,
		    batch->events + hook->put, left, room);
		return;
	}
	hook->batch = NULL;
	op_done(&batch->op, 0);
}

static void
go_on(void *arg)
{
	struct webhook *hook = arg;
	while (may_begin(hook) && hook->in_flight < hook->allowed) {
		struct webhook_lane *lane = webhook_queue_next(&hook->queue);
		if (lane == NULL)
			break;
		begin_try(hook, lane);
	}
	take_more(hook);
	/* Perhaps Redis did not take the pause. */
	if (hook->gone && !hook->holds)
		hook->events.pause(hook->events.arg, hook->trouble);
}

/* --- the target --- */

static struct webhook *
hook_of(struct relay_target *target)
{
	return CONTAINER_OF(target, struct webhook, target);
}

static void
on_fenced(void *arg)
{
	struct webhook *hook = arg;
	hook->events.fenced(hook->events.arg);
}

static struct relay_target *
hook_open(const struct relay_target_start *start)
{
	struct webhook *hook = mem_zero(sizeof *hook);
	struct worker *worker = start->worker;
	hook->target.kind = &webhook_kind;
	hook->events = *start->events;
	hook->relay = start->relay;
	hook->leader = start->leader;
	hook->loop = worker->loop;
	hook->allowed = IN_FLIGHT;
	list_init(&hook->tries);
	hook->place = hook->relay->receiver.targets[0];
	hook->place.base_path = hook->no_path;
	hook->receiver = hook->relay->receiver;
	hook->receiver.index = 0;
	hook->receiver.targets = &hook->place;
	hook->upstreams = upstreams_new(worker->loop, start->conf,
	    worker->budget, &hook->receiver, 1);
	const struct webhook_queue_events events = {
	    .changed = go_on, .fenced = on_fenced, .arg = hook};
	webhook_queue_open(&hook->queue, worker, hook->relay->name,
	    hook->leader, &events);
	return &hook->target;
}

static void
hook_put(struct relay_target *target, struct relay_batch *batch)
{
	struct webhook *hook = hook_of(target);
	must(hook->batch == NULL);
	hook->batch = batch;
	hook->put = hook->putting = 0;
	op_start(&batch->op, 0, NULL);
	take_more(hook);
}

static struct relay_target_health
hook_health(const struct relay_target *target)
{
	const struct webhook *hook = (const void *)target;
	return (struct relay_target_health){
	    .up = hook->failures < DOWN && !hook->gone,
	    .message = hook->trouble,
	    .waiting = hook->queue.count,
	};
}

static void
hook_hold(struct relay_target *target, bool holds)
{
	struct webhook *hook = hook_of(target);
	hook->holds = holds;
	hook->gone = hook->gone && holds;
	hook->queue.runs = !holds;
	go_on(hook);
}

static bool
hook_is_idle(const struct relay_target *target)
{
	const struct webhook *hook = (const void *)target;
	return hook->in_flight == 0 && !webhook_queue_is_busy(&hook->queue);
}

static void
hook_close(struct relay_target *target)
{
	struct webhook *hook = hook_of(target);
	struct try *try;
	LIST_EACH(try, &hook->tries, item)
		end_try(try);
	webhook_queue_close(&hook->queue);
	upstreams_free(&hook->upstreams);
	free(hook);
}

const struct relay_target_kind webhook_kind = {
    .keeps_events = true,
    .events = 1000,
    .open = hook_open,
    .put = hook_put,
    .health = hook_health,
    .hold = hook_hold,
    .is_idle = hook_is_idle,
    .close = hook_close,
};
