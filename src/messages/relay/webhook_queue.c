/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/digits.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "messages/relay/webhook_queue.h"
#include "store/record/seal.h"

enum {
	/* With so many, or of so many bytes, no more are put. */
	COUNT_MAX = 10000,
	BYTES_MAX = 64 << 20,
	/* Of a call, about. */
	CHUNK = 100,
	CHUNK_BYTES = 1 << 20,
	LARGE_BYTES = 65536,
	TICK_MS = 1000,
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
	timer_clear(&lane->timer);
	list_add_last(&lane->queue->ready, &lane->ready);
}

static void
on_lane_due(void *arg)
{
	struct webhook_lane *lane = arg;
	make_ready(lane);
	lane->queue->changed(lane->queue->arg);
}

struct webhook_lane *
webhook_queue_next(struct webhook_queue *q)
{
	struct webhook_lane *lane =
	    LIST_FIRST(&q->ready, struct webhook_lane, ready);
	if (lane != NULL)
		list_remove(&lane->ready);
	return lane;
}

/* Adds it behind the others of its record, unless it is there. */
static void
add_event(struct webhook_queue *q, struct webhook_event event)
{
	struct webhook_lane *lane = NULL, *at;
	struct webhook_event *other;
	uint8_t digest[DIGEST_BYTES];
	uint64_t hash =
	    hex_decode(span_str(event.key_id), digest, sizeof digest)
	    ? hash_of_digest(digest)
	    : 0;
	HASH_EACH_OF(at, &q->lanes, hash, item)
		if (!strcmp(webhook_queue_first(at)->key_id, event.key_id))
			lane = at;
	if (lane == NULL) {
		lane = mem_zero(sizeof *lane);
		lane->queue = q;
		list_init(&lane->events);
		timer_init(&lane->timer, q->loop, on_lane_due, lane);
		hash_add(&q->lanes, &lane->item, hash);
		make_ready(lane);
	}
	LIST_EACH(other, &lane->events, item)
		if (!strcmp(other->id, event.id))
			return;
	struct webhook_event *own = mem_copy(&event, sizeof event);
	list_add_last(&lane->events, &own->item);
	q->count++;
	q->bytes += own->bytes;
}

static void
free_lane(struct webhook_lane *lane)
{
	list_remove(&lane->ready);
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
	lane->is_told = is_told;
	timer_set(&lane->timer, ms);
}

void
webhook_queue_wake(struct webhook_queue *q)
{
	struct webhook_lane *lane;
	HASH_EACH(lane, &q->lanes, item)
		if (timer_is_set(&lane->timer) && !lane->is_told)
			make_ready(lane);
}

/* --- asking Redis --- */

static struct seal_about
about_event(
    const struct webhook_queue *q, struct span id, struct span key_id)
{
	return seal_about_event(span_str(q->shared.name), id, key_id);
}

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

static void on_asked(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply);

static void
start_call(
    struct webhook_queue *q, enum webhook_act act, struct store_call *call)
{
	q->calls[act] = call;
	call->large = act == WEBHOOK_LIST || call->args.len > LARGE_BYTES;
	call->done = on_asked;
	call->arg = q;
	call_start(call);
}

/* The next events of the batch, as they rest in Redis. */
static void
ask_put(struct webhook_queue *q)
{
	const struct conf_store *conf = &q->shared.store->conf->store;
	const struct relay_event *events = q->batch->events + q->put;
	size_t left = q->batch->n_events - q->put, bytes = 0;
	for (q->putting = 0; q->putting < left && q->putting < CHUNK &&
	     bytes < CHUNK_BYTES;
	     q->putting++)
		bytes += events[q->putting].text.len;
	struct store_call *call = kept_call(q, "put", 2 + 3 * q->putting);
	leadership_arg_token(q->leader, call);
	resp_number(&call->args, q->ran_s);
	for (size_t i = 0; i < q->putting; i++) {
		const struct relay_event *event = &events[i];
		struct seal_about about =
		    about_event(q, event->id, event->key_id);
		char *sealed = NULL;
		struct span body = event->text;
		if (conf->n_encryption_keys > 0) {
			seal_close(
			    conf, &about, event->text, &sealed, &body.len);
			body.ptr = sealed;
		}
		resp_arg(&call->args, event->id);
		resp_arg(&call->args, event->key_id);
		resp_arg(&call->args, body);
		free(sealed);
	}
	start_call(q, WEBHOOK_PUT, call);
}

static void
ask_drop(struct webhook_queue *q)
{
	struct webhook_event *event;
	size_t count = 0;
	list_move_all(&q->brought, &q->forgetting);
	LIST_EACH(event, &q->forgetting, item)
		count++;
	struct store_call *call = kept_call(q, "drop", count);
	LIST_EACH(event, &q->forgetting, item)
		resp_arg(&call->args, span_str(event->id));
	start_call(q, WEBHOOK_DROP, call);
}

/* Whatever there is to say, one call of each act at a time. */
static void
ask(void *arg)
{
	struct webhook_queue *q = arg;
	bool has_room = q->count < COUNT_MAX && q->bytes < BYTES_MAX;
	if (!q->loaded && q->calls[WEBHOOK_LIST] == NULL)
		start_call(q, WEBHOOK_LIST, kept_call(q, "list", 0));
	if (!list_empty(&q->brought) && q->calls[WEBHOOK_DROP] == NULL)
		ask_drop(q);
	if (q->batch == NULL || !q->loaded || q->calls[WEBHOOK_PUT] != NULL)
		return;
	if (q->put == q->batch->n_events) {
		q->batch = NULL;
		q->target->events->done(q->target->arg);
	} else if (q->runs && has_room) {
		ask_put(q);
	}
}

/* What Redis did not take is said again, too. */
static void
on_tick(void *arg)
{
	struct webhook_queue *q = arg;
	timer_set(&q->tick, TICK_MS);
	q->ran_s += q->runs;
	ask(q);
	q->changed(q->arg);
}

/* --- replies --- */

/* "KEPT TRIES BYTES RECORD"; false: somebody else wrote that. */
static bool
read_event(struct span id, struct span text, struct webhook_event *event)
{
	struct event_id place;
	struct span words[3];
	int64_t numbers[3];
	for (size_t i = 0; i < 3; i++)
		if (!span_next(&text, ' ', &words[i]) ||
		    !digits_read(words[i], UINT32_MAX, &numbers[i]))
			return false;
	if (!event_read(id, &place) || text.len != DIGEST_HEX)
		return false;
	*event = (struct webhook_event){.kept_s = numbers[0],
	    .tries = (unsigned)numbers[1], .bytes = (size_t)numbers[2]};
	memcpy(event->id, id.ptr, id.len);
	memcpy(event->key_id, text.ptr, text.len);
	return true;
}

static int
compare_events(const void *a, const void *b)
{
	struct event_id x = {0}, y = {0};
	const struct webhook_event *one = a, *other = b;
	if (!event_read(span_str(one->id), &x) ||
	    !event_read(span_str(other->id), &y))
		return 0;
	return event_compare(&x, &y);
}

static void
take_list(struct webhook_queue *q, const struct call_reply *reply)
{
	size_t count = 0;
	struct webhook_event *events =
	    mem_zero((reply->n_extra / 2 + 1) * sizeof *events);
	int64_t ran_s = shared_number(reply, 0);
	q->ran_s = ran_s > 0 ? ran_s : 0;
	for (size_t i = 1; i + 1 < reply->n_extra; i += 2)
		count += read_event(call_reply_text(reply, i),
		    call_reply_text(reply, i + 1), &events[count]);
	qsort(events, count, sizeof *events, compare_events);
	for (size_t i = 0; i < count; i++)
		add_event(q, events[i]);
	free(events);
	q->loaded = true;
}

static void
take_put(struct webhook_queue *q)
{
	for (; q->putting > 0; q->putting--, q->put++) {
		const struct relay_event *event = &q->batch->events[q->put];
		struct webhook_event kept = {
		    .kept_s = q->ran_s, .bytes = event->text.len};
		snprintf(kept.id, sizeof kept.id, "%.*s",
		    SPAN_FMT(event->id));
		snprintf(kept.key_id, sizeof kept.key_id, "%.*s",
		    SPAN_FMT(event->key_id));
		add_event(q, kept);
	}
}

static void
on_asked(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	struct webhook_queue *q = call->arg;
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
		q->target->events->fenced(q->target->arg);
		return;
	}
	if (act == WEBHOOK_LIST)
		take_list(q, reply);
	else if (act == WEBHOOK_DROP)
		free_events(&q->forgetting);
	else
		take_put(q);
	task_ready(q->loop, &q->ask);
	q->changed(q->arg);
}

/* --- for the owner --- */

void
webhook_queue_put(struct webhook_queue *q, const struct relay_batch *batch)
{
	q->batch = batch;
	q->put = q->putting = 0;
	task_ready(q->loop, &q->ask);
}

struct store_call *
webhook_queue_try(const struct webhook_lane *lane)
{
	const struct webhook_queue *q = lane->queue;
	const struct webhook_event *event = webhook_queue_first(lane);
	struct store_call *call = kept_call(q, "try", 3);
	leadership_arg_token(q->leader, call);
	resp_number(&call->args, q->ran_s);
	resp_arg(&call->args, span_str(event->id));
	call->large = event->bytes > LARGE_BYTES;
	return call;
}

int
webhook_queue_body(const struct webhook_lane *lane, struct span stored,
    char **ret_body, size_t *ret_len)
{
	const struct webhook_queue *q = lane->queue;
	const struct webhook_event *event = webhook_queue_first(lane);
	const struct conf_store *conf = &q->shared.store->conf->store;
	struct seal_about about =
	    about_event(q, span_str(event->id), span_str(event->key_id));
	struct span key;
	if (seal_key_of(stored, &key) ||
	    (conf->n_encryption_keys > 0 && INVARIANT(unsealed_kept_back)))
		return seal_open(conf, &about, stored, ret_body, ret_len);
	*ret_body = mem_copy(stored.ptr, stored.len);
	*ret_len = stored.len;
	return 0;
}

bool
webhook_queue_is_busy(const struct webhook_queue *q)
{
	return q->calls[WEBHOOK_PUT] != NULL || !list_empty(&q->brought) ||
	    !list_empty(&q->forgetting);
}

void
webhook_queue_run(struct webhook_queue *q, bool runs)
{
	q->runs = runs;
	task_ready(q->loop, &q->ask);
}

void
webhook_queue_open(struct webhook_queue *q, struct store *store,
    struct loop *loop, const char *name, const struct leadership *leader,
    const struct relay_target *target, void (*changed)(void *arg), void *arg)
{
	*q = (struct webhook_queue){.loop = loop, .leader = leader,
	    .target = target, .changed = changed, .arg = arg};
	list_init(&q->ready);
	list_init(&q->brought);
	list_init(&q->forgetting);
	shared_init(&q->shared, store, "relay", name);
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
	free_events(&q->brought);
	free_events(&q->forgetting);
	HASH_EACH(lane, &q->lanes, item) {
		free_events(&lane->events);
		free_lane(lane);
	}
	hash_free(&q->lanes);
}
