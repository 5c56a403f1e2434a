/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/digits.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "messages/relay/relay_text.h"
#include "messages/relay/webhook_queue.h"
#include "store/record/seal.h"

enum {
	CHUNK_BYTES = 1 << 20,
	BODIES_BYTES = 8 << 20, /* in memory, too */
	TOGETHER = 500,         /* events that Redis is told of at a time */
	LARGE_BYTES = 65536,
	TICK_MS = 1000,
	NOTE_S = 10, /* Redis hears at least so often how long it has run */
};

/* --- lanes --- */

struct webhook_event *
webhook_queue_first(const struct webhook_lane *lane)
{
	return CONTAINER_OF(lane->events.next, struct webhook_event, item);
}

static void
make_ready(struct webhook_lane *lane)
{
	struct webhook_queue *q = lane->queue;
	timer_clear(&lane->timer);
	list_remove(&lane->state);
	list_add_last(&q->ready, &lane->state);
	q->n_ready++;
}

static void
on_lane_due(void *arg)
{
	struct webhook_lane *lane = arg;
	make_ready(lane);
	lane->queue->events.changed(lane->queue->events.arg);
}

struct webhook_lane *
webhook_queue_next(struct webhook_queue *q)
{
	struct webhook_lane *lane =
	    LIST_FIRST(&q->ready, struct webhook_lane, state);
	if (lane == NULL)
		return NULL;
	list_remove(&lane->state);
	q->n_ready--;
	return lane;
}

static void
forget_body(struct webhook_queue *q, struct webhook_event *event)
{
	if (event->body != NULL)
		q->bodies_bytes -= event->len;
	free(event->body);
	event->body = NULL;
}

static uint64_t
hash_of(const char *key_id)
{
	uint8_t digest[DIGEST_BYTES];
	return hex_decode(span_str(key_id), digest, sizeof digest)
	    ? hash_of_digest(digest)
	    : 0;
}

/* Adds it behind the others of its record, unless it is there. */
static void
add_event(struct webhook_queue *q, struct webhook_event *event)
{
	struct webhook_lane *lane = NULL, *at;
	struct webhook_event *other;
	HASH_EACH_OF(at, &q->lanes, hash_of(event->key_id), item)
		if (!strcmp(webhook_queue_first(at)->key_id, event->key_id))
			lane = at;
	if (lane != NULL) {
		LIST_EACH(other, &lane->events, item)
			if (!strcmp(other->id, event->id)) {
				free(event->body);
				free(event);
				return;
			}
	} else {
		lane = mem_zero(sizeof *lane);
		lane->queue = q;
		list_init(&lane->events);
		timer_init(&lane->timer, q->loop, on_lane_due, lane);
		hash_add(&q->lanes, &lane->item, hash_of(event->key_id));
		make_ready(lane);
	}
	list_add_last(&lane->events, &event->item);
	q->count++;
	q->bytes += event->bytes;
	if (event->body != NULL)
		q->bodies_bytes += event->len;
	if (q->bodies_bytes > BODIES_BYTES)
		forget_body(q, event);
}

static void
free_lane(struct webhook_lane *lane)
{
	list_remove(&lane->state);
	timer_clear(&lane->timer);
	hash_remove(&lane->queue->lanes, &lane->item);
	free(lane);
}

static void
free_events(struct list *events)
{
	struct webhook_event *event;
	LIST_EACH(event, events, item) {
		list_remove(&event->item);
		free(event->body);
		free(event);
	}
}

void
webhook_queue_done(struct webhook_lane *lane)
{
	struct webhook_queue *q = lane->queue;
	struct webhook_event *event = webhook_queue_first(lane);
	q->count--;
	q->bytes -= event->bytes;
	forget_body(q, event);
	list_remove(&event->item);
	list_add_last(&q->brought, &event->item);
	if (list_empty(&lane->events))
		free_lane(lane);
	else
		make_ready(lane);
	/* Those of this turn of the loop go together. */
	task_ready(q->loop, &q->ask);
}

void
webhook_queue_rest(struct webhook_lane *lane, int64_t ms, bool is_told)
{
	forget_body(lane->queue, webhook_queue_first(lane));
	lane->is_told = is_told;
	list_add_last(&lane->queue->resting, &lane->state);
	timer_set(&lane->timer, ms);
}

void
webhook_queue_wake(struct webhook_queue *q)
{
	struct webhook_lane *lane;
	LIST_EACH(lane, &q->resting, state)
		if (!lane->is_told)
			make_ready(lane);
}

/* --- bodies in Redis --- */

/* As it rests there; the caller frees it. */
static char *
close_body(const struct webhook_queue *q, const struct webhook_event *event,
    size_t *ret_len)
{
	const struct conf_store *conf = &q->shared.store->conf->store;
	struct seal_about about =
	    seal_about_event(span_str(q->shared.name), span_str(event->id),
		span_str(event->key_id));
	char *sealed;
	*ret_len = event->len;
	if (conf->n_encryption_keys == 0)
		return mem_copy(event->body, event->len);
	seal_close(conf, &about, span_of(event->body, event->len), &sealed,
	    ret_len);
	return sealed;
}

static enum webhook_found
open_body(const struct webhook_queue *q, const struct webhook_event *event,
    struct span stored, char **ret_body, size_t *ret_len)
{
	const struct conf_store *conf = &q->shared.store->conf->store;
	struct seal_about about =
	    seal_about_event(span_str(q->shared.name), span_str(event->id),
		span_str(event->key_id));
	struct span key;
	if (!seal_key_of(stored, &key) &&
	    (conf->n_encryption_keys == 0 || !INVARIANT(unsealed_kept_back))) {
		*ret_body = mem_copy(stored.ptr, stored.len);
		*ret_len = stored.len;
		return WEBHOOK_FOUND;
	}
	int error = seal_open(conf, &about, stored, ret_body, ret_len);
	return error == 0 ? WEBHOOK_FOUND
	    : error == E_NO_KEY ? WEBHOOK_FOUND_NO_KEY
				: WEBHOOK_FOUND_OTHER;
}

/* --- asking Redis --- */

static void on_asked(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply);

static struct store_call *
kept_call(const struct webhook_queue *q, const char *act, size_t n_more)
{
	static const char *const ends[] = {"", ":bodies", ":ran"};
	struct store_call *call =
	    shared_call(&q->shared, SCRIPT_kept, 1 + 4 + 1 + n_more);
	resp_number(&call->args, 4);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		shared_arg_key(&q->shared, call, "kept", ends[i]);
	shared_arg_key(&q->shared, call, "leadership", "");
	resp_arg(&call->args, span_str(act));
	return call;
}

static void
start_call(
    struct webhook_queue *q, enum webhook_act act, struct store_call *call)
{
	q->calls[act] = call;
	call->done = on_asked;
	call->arg = q;
	call_start(call);
}

static void
ask_put(struct webhook_queue *q)
{
	struct webhook_event *event;
	size_t count = 0;
	LIST_EACH(event, &q->putting, item)
		count++;
	struct store_call *call = kept_call(q, "put", 2 + 3 * count);
	leadership_arg_token(q->leader, call);
	resp_number(&call->args, q->ran_s);
	LIST_EACH(event, &q->putting, item) {
		char *body = close_body(q, event, &event->bytes);
		resp_arg(&call->args, span_str(event->id));
		resp_arg(&call->args, span_str(event->key_id));
		resp_arg(&call->args, span_of(body, event->bytes));
		free(body);
		event->kept_s = q->ran_s;
	}
	call->large = call->args.len > LARGE_BYTES;
	start_call(q, WEBHOOK_PUT, call);
}

/* Those of a turn of the loop together. */
static void
ask_drop(struct webhook_queue *q)
{
	struct webhook_event *event;
	size_t count = 0;
	LIST_EACH(event, &q->brought, item) {
		list_remove(&event->item);
		list_add_last(&q->forgetting, &event->item);
		if (++count == TOGETHER)
			break;
	}
	struct store_call *call = kept_call(q, "drop", count);
	LIST_EACH(event, &q->forgetting, item)
		resp_arg(&call->args, span_str(event->id));
	start_call(q, WEBHOOK_DROP, call);
}

/*
 * How long the relay has run, and how often that event was tried (NULL: none).
 * What Redis does not hear it hears the next time, or an event is tried once
 * more.
 */
static void
note(struct webhook_queue *q, const struct webhook_event *tried)
{
	struct store_call *call =
	    kept_call(q, "note", tried != NULL ? 4 : 2);
	leadership_arg_token(q->leader, call);
	resp_number(&call->args, q->ran_s);
	if (tried != NULL) {
		resp_arg(&call->args, span_str(tried->id));
		resp_number(&call->args, tried->tries);
	}
	call_start(call);
}

int64_t
webhook_queue_failed(struct webhook_lane *lane)
{
	struct webhook_event *event = webhook_queue_first(lane);
	event->tries++;
	note(lane->queue, event);
	return lane->queue->ran_s - event->kept_s;
}

/* Whatever there is to say, one call of each act at a time. */
static void
ask(void *arg)
{
	struct webhook_queue *q = arg;
	if (!q->loaded && q->calls[WEBHOOK_LIST] == NULL) {
		struct store_call *call = kept_call(q, "list", 0);
		call->large = true;
		start_call(q, WEBHOOK_LIST, call);
	}
	if (!list_empty(&q->putting) && q->calls[WEBHOOK_PUT] == NULL)
		ask_put(q);
	if (!list_empty(&q->brought) && q->calls[WEBHOOK_DROP] == NULL)
		ask_drop(q);
}

/* What Redis did not take is said again, too. */
static void
on_tick(void *arg)
{
	struct webhook_queue *q = arg;
	timer_set(&q->tick, TICK_MS);
	q->ran_s += q->runs;
	if (q->count > 0 && q->runs && q->ran_s % NOTE_S == 0)
		note(q, NULL);
	ask(q);
	q->events.changed(q->events.arg);
}

/* --- replies --- */

/* "KEPT TRIES BYTES RECORD"; NULL: somebody else wrote that. */
static struct webhook_event *
read_event(struct span id, struct span text)
{
	struct event_id place;
	struct span words[3];
	int64_t numbers[3];
	for (size_t i = 0; i < 3; i++)
		if (!span_next(&text, ' ', &words[i]) ||
		    !digits_read(words[i], INT64_MAX, &numbers[i]))
			return NULL;
	if (!event_read(id, &place) || text.len != DIGEST_HEX)
		return NULL;
	struct webhook_event *event = mem_zero(sizeof *event);
	memcpy(event->id, id.ptr, id.len);
	memcpy(event->key_id, text.ptr, text.len);
	event->kept_s = numbers[0];
	event->tries = numbers[1] > UINT32_MAX ? UINT32_MAX
					       : (unsigned)numbers[1];
	event->bytes = (size_t)numbers[2];
	return event;
}

static int
compare_events(const void *a, const void *b)
{
	struct event_id x = {0}, y = {0};
	const struct webhook_event *const *one = a, *const *other = b;
	if (!event_read(span_str((*one)->id), &x) ||
	    !event_read(span_str((*other)->id), &y))
		return 0;
	return event_compare(&x, &y);
}

static void
take_list(struct webhook_queue *q, const struct call_reply *reply)
{
	size_t count = 0;
	struct webhook_event **events =
	    mem_zero((reply->n_extra / 2 + 1) * sizeof(void *));
	int64_t ran_s = shared_number(reply, 0);
	q->ran_s = ran_s > 0 ? ran_s : 0;
	for (size_t i = 1; i + 1 < reply->n_extra; i += 2) {
		events[count] = read_event(
		    call_reply_text(reply, i), call_reply_text(reply, i + 1));
		count += events[count] != NULL;
	}
	qsort(events, count, sizeof *events, compare_events);
	for (size_t i = 0; i < count; i++)
		add_event(q, events[i]);
	free(events);
	q->loaded = true;
}

static void
on_asked(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	struct webhook_queue *q = call->arg;
	struct webhook_event *event;
	int act = WEBHOOK_LIST;
	(void)error;
	if (q == NULL)
		return;
	while (q->calls[act] != call)
		act++;
	q->calls[act] = NULL;
	if (how != CALL_ANSWERED) {
		/* The next tick says it again. */
		if (act == WEBHOOK_DROP)
			list_move_all(&q->forgetting, &q->brought);
		return;
	}
	if (reply->verdict == VERDICT_FENCED) {
		q->events.fenced(q->events.arg);
		return;
	}
	if (act == WEBHOOK_LIST)
		take_list(q, reply);
	else if (act == WEBHOOK_DROP)
		free_events(&q->forgetting);
	else
		LIST_EACH(event, &q->putting, item) {
			list_remove(&event->item);
			add_event(q, event);
		}
	task_ready(q->loop, &q->ask);
	q->events.changed(q->events.arg);
}

/* --- for the owner --- */

size_t
webhook_queue_put(struct webhook_queue *q, const struct relay_event *events,
    size_t count, size_t most)
{
	size_t taken = 0, bytes = 0;
	struct arena *arena = arena_new();
	if (!q->loaded || !list_empty(&q->putting))
		most = 0;
	for (; taken < count && taken < most && taken < WEBHOOK_QUEUE_CHUNK &&
	     bytes < CHUNK_BYTES; taken++) {
		struct webhook_event *event = mem_zero(sizeof *event);
		struct span body = relay_text_event(arena, &events[taken]);
		snprintf(event->id, sizeof event->id, "%.*s",
		    SPAN_FMT(events[taken].id));
		snprintf(event->key_id, sizeof event->key_id, "%.*s",
		    SPAN_FMT(events[taken].key_id));
		event->body = mem_copy(body.ptr, body.len);
		event->len = body.len;
		bytes += body.len;
		list_add_last(&q->putting, &event->item);
	}
	arena_free(&arena);
	if (taken > 0)
		ask(q);
	return taken;
}

static void
on_body_read(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	struct webhook_read *read = call->arg;
	enum webhook_found found = WEBHOOK_FOUND_AWAY;
	char *body = NULL;
	size_t len = 0;
	(void)error;
	if (read == NULL)
		return;
	read->call = NULL;
	if (how == CALL_ANSWERED && reply->verdict == VERDICT_GONE)
		found = WEBHOOK_FOUND_NONE;
	else if (how == CALL_ANSWERED)
		found = open_body(read->queue, read->event,
		    call_reply_text(reply, 0), &body, &len);
	read->done(read, found, span_of(body, len));
	free(body);
}

void
webhook_queue_read(struct webhook_read *read, const struct webhook_lane *lane)
{
	struct webhook_queue *q = lane->queue;
	struct webhook_event *event = webhook_queue_first(lane);
	struct store_call *call = kept_call(q, "read", 1);
	read->queue = q;
	read->event = event;
	read->call = call;
	resp_arg(&call->args, span_str(event->id));
	call->large = event->bytes > LARGE_BYTES;
	call->done = on_body_read;
	call->arg = read;
	call_start(call);
}

void
webhook_queue_unread(struct webhook_read *read)
{
	if (read->call != NULL)
		read->call->arg = NULL;
	read->call = NULL;
}

bool
webhook_queue_is_busy(const struct webhook_queue *q)
{
	return !list_empty(&q->putting) || !list_empty(&q->brought) ||
	    !list_empty(&q->forgetting);
}

void
webhook_queue_open(struct webhook_queue *q, struct worker *worker,
    const char *name, const struct leadership *leader,
    const struct webhook_queue_events *events)
{
	struct list *const lists[] = {&q->ready, &q->resting, &q->putting,
	    &q->brought, &q->forgetting};
	*q = (struct webhook_queue){
	    .loop = worker->loop, .leader = leader, .events = *events};
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		list_init(lists[i]);
	shared_init(&q->shared, worker->store, "relay", name);
	timer_init(&q->tick, q->loop, on_tick, q);
	task_init(&q->ask, ask, q);
	timer_set(&q->tick, TICK_MS);
	ask(q);
}

void
webhook_queue_close(struct webhook_queue *q)
{
	struct webhook_lane *lane;
	timer_clear(&q->tick);
	task_cancel(&q->ask);
	for (int i = 0; i < WEBHOOK_ACTS; i++)
		if (q->calls[i] != NULL)
			q->calls[i]->arg = NULL;
	free_events(&q->putting);
	free_events(&q->brought);
	free_events(&q->forgetting);
	HASH_EACH(lane, &q->lanes, item) {
		free_events(&lane->events);
		free_lane(lane);
	}
	hash_free(&q->lanes);
}
