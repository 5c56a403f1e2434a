/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/random.h"
#include "gate/worker.h"
#include "http/head/header_value.h"
#include "http/upstream/forward.h"
#include "http/upstream/upstreams.h"
#include "messages/relay/webhook.h"
#include "messages/relay/webhook_queue.h"

enum {
	IN_FLIGHT = 64,
	DOWN = 3,      /* failures in a row: the receiver is down */
	AWAY_MS = 500, /* Redis did not give the body */
	ANSWER_HEAD_BYTES = 65536,
	ANSWER_BYTES = 65536, /* which nobody looks at */
	GONE = 410,
	FIRST_MS = 1000,
	MOST_MS = 3600 * 1000,
	JITTER_PART = 4, /* of the whole, at most */
	TRIES_MIN = 12,
	LAST_S = 3 * 24 * 3600,
	/* Of the longer of both, an Ed25519 signature. */
	BASE64_CHARS = sodium_base64_ENCODED_LEN(
	    crypto_sign_BYTES, sodium_base64_VARIANT_ORIGINAL),
};

struct webhook {
	struct relay_target target; /* first */
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
	unsigned failures; /* in a row */
	char trouble[200]; /* the last; "" for none */
};

/* A try of a lane's first event. */
struct try {
	struct list item;
	struct webhook *hook;
	struct webhook_lane *lane;
	struct arena *arena;
	struct store_call *call; /* for its body; NULL: none is under way */
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

/* What one secret says of it. */
static struct span
sign(struct arena *arena, const struct conf_webhook_secret *secret,
    struct span content)
{
	const uint8_t *bytes = (const uint8_t *)content.ptr;
	uint8_t signature[crypto_sign_BYTES];
	size_t len = crypto_auth_hmacsha256_BYTES;
	char text[BASE64_CHARS];
	if (secret->ed25519) {
		uint8_t public_key[crypto_sign_PUBLICKEYBYTES];
		uint8_t secret_key[crypto_sign_SECRETKEYBYTES];
		must(secret->len == crypto_sign_SEEDBYTES);
		crypto_sign_seed_keypair(public_key, secret_key, secret->key);
		crypto_sign_detached(
		    signature, NULL, bytes, content.len, secret_key);
		sodium_memzero(secret_key, sizeof secret_key);
		len = crypto_sign_BYTES;
	} else {
		crypto_auth_hmacsha256_state state;
		crypto_auth_hmacsha256_init(&state, secret->key, secret->len);
		crypto_auth_hmacsha256_update(&state, bytes, content.len);
		crypto_auth_hmacsha256_final(&state, signature);
		sodium_memzero(&state, sizeof state);
	}
	sodium_bin2base64(text, sizeof text, signature, len,
	    sodium_base64_VARIANT_ORIGINAL);
	return arena_printf(
	    arena, "%s,%s", secret->ed25519 ? "v1a" : "v1", text);
}

struct span
webhook_signature(struct arena *arena,
    const struct conf_webhook_secret *secrets, size_t n_secrets,
    struct span id, int64_t time_s, struct span body)
{
	struct span head =
	    arena_printf(arena, "%.*s.%" PRId64 ".", SPAN_FMT(id), time_s);
	char *content = arena_alloc(arena, head.len + body.len + 1);
	struct span all = SPAN("");
	memcpy(content, head.ptr, head.len);
	memcpy(content + head.len, body.ptr, body.len);
	for (size_t i = 0; i < n_secrets; i++) {
		struct span one = sign(arena, &secrets[i],
		    span_of(content, head.len + body.len));
		all = arena_printf(arena, "%.*s%s%.*s", SPAN_FMT(all),
		    i > 0 ? " " : "", SPAN_FMT(one));
	}
	return all;
}

/* --- what became of a try --- */

static void
end_try(struct try *try)
{
	list_remove(&try->item);
	try->hook->in_flight--;
	if (try->call != NULL)
		try->call->arg = NULL;
	forward_stop(&try->forward);
	forward_clear(&try->forward);
	arena_free(&try->arena);
	free(try);
}

static void
note_trouble(struct webhook *hook, const char *trouble)
{
	hook->failures++;
	snprintf(hook->trouble, sizeof hook->trouble, "%s", trouble);
	hook->target.events->changed(hook->target.arg);
}

/* What has failed while the receiver was down is tried again at once. */
static void
taken(struct try *try)
{
	struct webhook *hook = try->hook;
	webhook_queue_done(try->lane);
	if (hook->failures >= DOWN)
		webhook_queue_wake(&hook->queue);
	hook->failures = 0;
	hook->target.events->brought(hook->target.arg);
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
	hook->target.events->lost(hook->target.arg, event, text);
}

static void
failed(struct try *try, const char *trouble, int64_t after_ms)
{
	struct webhook *hook = try->hook;
	struct webhook_event *event = webhook_queue_first(try->lane);
	int64_t ran_s = hook->queue.ran_s - event->kept_s, ms;
	char why[300];
	uint32_t chance;
	random_bytes(&chance, sizeof chance);
	note_trouble(hook, trouble);
	event->tries++;
	if (webhook_retry_ms(event->tries, ran_s, after_ms, chance, &ms)) {
		webhook_queue_rest(try->lane, ms, after_ms > 0);
		return;
	}
	snprintf(why, sizeof why,
	    "was not taken by the receiver for three days, in %u tries: %s",
	    event->tries, trouble);
	lose(try, EV_relay_lost, why);
}

/* It wants no more; the event stays, for when the relay is resumed. */
static void
stop_for_good(struct try *try)
{
	struct webhook *hook = try->hook;
	note_trouble(hook, "the receiver answered 410 (Gone)");
	hook->gone = true;
	webhook_queue_run(&hook->queue, false);
	webhook_queue_rest(try->lane, FIRST_MS, false);
	hook->target.events->pause(hook->target.arg, hook->trouble);
}

static void go_on(void *arg);

static void
on_forwarded(void *owner)
{
	struct try *try = owner;
	struct webhook *hook = try->hook;
	const struct forward *forward = &try->forward;
	int status =
	    forward->result == FORWARD_ANSWERED ? forward->status : 0;
	char trouble[sizeof hook->trouble];
	if (status >= 200 && status < 300) {
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
	end_try(try);
	go_on(hook);
}

/* --- sending --- */

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
		webhook_signature(arena, relay->secrets, relay->n_secrets, id,
		    time_s, body)},
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
on_read(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	struct try *try = call->arg;
	char *body = NULL;
	size_t len;
	if (try == NULL)
		return;
	struct webhook *hook = try->hook;
	try->call = NULL;
	if (how != CALL_ANSWERED) {
		webhook_queue_rest(try->lane, AWAY_MS, true);
	} else if (reply->verdict == VERDICT_FENCED) {
		webhook_queue_rest(try->lane, AWAY_MS, true);
		hook->target.events->fenced(hook->target.arg);
	} else if (reply->verdict == VERDICT_GONE) {
		webhook_queue_done(try->lane);
	} else {
		error = webhook_queue_body(
		    try->lane, call_reply_text(reply, 0), &body, &len);
		if (error == 0) {
			send_event(try, span_of(body, len));
			free(body);
			return;
		}
		if (error == E_NO_KEY)
			failed(try,
			    "an event waits in Redis that none of "
			    "store.encryption_keys opens",
			    0);
		else
			lose(try, EV_relay_unsealed,
			    "is not in Redis as it was put there, and was not "
			    "sent");
	}
	end_try(try);
}

/* Tries what is ready. */
static void
go_on(void *arg)
{
	struct webhook *hook = arg;
	while (!hook->holds && !hook->gone && hook->in_flight < IN_FLIGHT &&
	    leadership_is_held(hook->leader)) {
		struct webhook_lane *lane = webhook_queue_next(&hook->queue);
		if (lane == NULL)
			break;
		struct try *try = mem_zero(sizeof *try);
		try->hook = hook;
		try->lane = lane;
		try->arena = arena_new();
		op_init(&try->forward.op, hook->loop, on_forwarded, try);
		list_add_last(&hook->tries, &try->item);
		hook->in_flight++;
		try->call = webhook_queue_try(lane);
		try->call->done = on_read;
		try->call->arg = try;
		call_start(try->call);
	}
	/* Perhaps Redis did not take the pause. */
	if (hook->gone && !hook->holds)
		hook->target.events->pause(hook->target.arg, hook->trouble);
}

/* --- the target --- */

static struct webhook *
hook_of(struct relay_target *target)
{
	return CONTAINER_OF(target, struct webhook, target);
}

static struct relay_target *
hook_open(const struct relay_target_start *start)
{
	struct webhook *hook = mem_zero(sizeof *hook);
	struct worker *worker = start->worker;
	hook->target =
	    (struct relay_target){&webhook_kind, start->events, start->arg};
	hook->relay = start->relay;
	hook->leader = start->leader;
	hook->loop = start->loop;
	list_init(&hook->tries);
	hook->place = hook->relay->receiver.targets[0];
	hook->place.base_path = hook->no_path;
	hook->receiver = hook->relay->receiver;
	hook->receiver.index = 0;
	hook->receiver.targets = &hook->place;
	hook->upstreams = upstreams_new(
	    hook->loop, start->conf, worker->budget, &hook->receiver, 1);
	webhook_queue_open(&hook->queue, worker->store, hook->loop,
	    hook->relay->name, hook->leader, &hook->target, go_on, hook);
	return &hook->target;
}

static void
hook_put(struct relay_target *target, struct relay_batch *batch)
{
	webhook_queue_put(&hook_of(target)->queue, batch);
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
	webhook_queue_run(&hook->queue, !holds);
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
    .keeps_place = false,
    .events = 1000,
    .open = hook_open,
    .put = hook_put,
    .health = hook_health,
    .hold = hook_hold,
    .is_idle = hook_is_idle,
    .close = hook_close,
};
