/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/digits.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/hex.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/test_build.h"
#include "gate/worker.h"
#include "http/head/header_value.h"
#include "http/upstream/forward.h"
#include "http/upstream/upstreams.h"
#include "messages/relay/webhook.h"
#include "messages/shared/leadership.h"
#include "store/record/event.h"
#include "store/record/seal.h"

/*
 * The events that are still to be sent wait in lanes: one for each record,
 * whose first is tried until it was taken or is given up, and holds up no
 * others.  All of them are in Redis (lua/kept.lua), each with the body that
 * every try has, sealed where the store has encryption keys, and how often it
 * was tried; so whoever leads the relay next goes on with them.  Time is
 * counted in seconds in which the relay ran, by ticks of a timer: no clock, and
 * no pause, makes an event older.
 */
enum {
	/* With so many, or of so many bytes, no more are put. */
	COUNT_MAX = 10000,
	BYTES_MAX = 64 << 20,
	/* Of a call, about. */
	CHUNK = 100,
	CHUNK_BYTES = 1 << 20,
	LARGE_BYTES = 65536,
	TICK_MS = 1000,
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

/* What Redis is asked for, one call of each at a time. */
enum act { ACT_LIST, ACT_PUT, ACT_DROP, ACTS };

struct waiting {
	struct list item; /* of its lane; or it is to be forgotten */
	char id[EVENT_ID_MAX];
	char key_id[DIGEST_HEX + 1]; /* in hex: its record */
	int64_t kept_s; /* for so long the relay had run when it was put */
	unsigned tries; /* that have failed */
	size_t bytes;   /* of its body */
};

struct webhook_lane {
	struct webhook *hook;
	struct hash_item item;
	struct list events; /* one at least, in their order */
	struct list ready;  /* it is; or else is being tried, or … */
	struct timer timer; /* … rests until then */
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

	struct shared shared;
	bool loaded;   /* what was kept before is known */
	int64_t ran_s; /* for so long the relay has run */
	size_t bytes;  /* of the bodies of those that wait */
	struct hash lanes;
	struct list ready;
	const struct relay_batch *batch; /* that is put; NULL: none */
	size_t put, putting; /* of its events: Redis has, and is to have */
	struct list brought, forgetting; /* events; the latter under way */
	struct store_call *calls[ACTS];  /* under way */
	struct timer tick;
	struct task ask;

	bool holds; /* nothing new is begun: the core says so … */
	bool gone;  /* … or the receiver did (410) */
	struct list tries; /* under way */
	size_t in_flight;
	unsigned failures; /* in a row */
};

static const char gone_words[] = "the receiver answered 410 (Gone)";

/* A try of a lane's first event. */
struct try {
	struct list item;
	struct webhook *hook;
	struct webhook_lane *lane;
	struct arena *arena;
	struct store_call *call; /* for bodies; NULL: its own was read */
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

struct span
webhook_signature(struct arena *arena,
    const struct conf_webhook_secret *secrets, size_t n_secrets,
    struct span id, int64_t time_s, struct span body)
{
	struct span head =
	    arena_printf(arena, "%.*s.%" PRId64 ".", SPAN_FMT(id), time_s);
	size_t len = head.len + body.len;
	uint8_t *content = arena_alloc(arena, len + 1);
	struct span all = SPAN("");
	memcpy(content, head.ptr, head.len);
	memcpy(content + head.len, body.ptr, body.len);
	for (size_t i = 0; i < n_secrets; i++) {
		const struct conf_webhook_secret *secret = &secrets[i];
		uint8_t signature[crypto_sign_BYTES];
		size_t signature_len = crypto_auth_hmacsha256_BYTES;
		char text[BASE64_CHARS];
		if (secret->ed25519) {
			uint8_t public_key[crypto_sign_PUBLICKEYBYTES];
			uint8_t secret_key[crypto_sign_SECRETKEYBYTES];
			must(secret->len == crypto_sign_SEEDBYTES);
			crypto_sign_seed_keypair(
			    public_key, secret_key, secret->key);
			crypto_sign_detached(
			    signature, NULL, content, len, secret_key);
			sodium_memzero(secret_key, sizeof secret_key);
			signature_len = crypto_sign_BYTES;
		} else {
			crypto_auth_hmacsha256_state state;
			crypto_auth_hmacsha256_init(
			    &state, secret->key, secret->len);
			crypto_auth_hmacsha256_update(&state, content, len);
			crypto_auth_hmacsha256_final(&state, signature);
			sodium_memzero(&state, sizeof state);
		}
		sodium_bin2base64(text, sizeof text, signature, signature_len,
		    sodium_base64_VARIANT_ORIGINAL);
		all = arena_printf(arena, "%.*s%s%s,%s", SPAN_FMT(all),
		    i > 0 ? " " : "", secret->ed25519 ? "v1a" : "v1", text);
	}
	return all;
}

/* --- lanes --- */

static void go_on(struct webhook *hook);

static struct waiting *
first_of(const struct webhook_lane *lane)
{
	return CONTAINER_OF(lane->events.next, struct waiting, item);
}

static void
on_lane_due(void *arg)
{
	struct webhook_lane *lane = arg;
	list_add_last(&lane->hook->ready, &lane->ready);
	task_ready(lane->hook->loop, &lane->hook->ask);
}

/* Adds it behind the others of its record, unless it is there. */
static void
add_event(struct webhook *hook, struct waiting event)
{
	struct webhook_lane *lane = NULL, *at;
	struct waiting *other;
	uint8_t digest[DIGEST_BYTES];
	uint64_t hash =
	    hex_decode(span_str(event.key_id), digest, sizeof digest)
	    ? hash_of_digest(digest)
	    : 0;
	HASH_EACH_OF(at, &hook->lanes, hash, item)
		if (!strcmp(first_of(at)->key_id, event.key_id))
			lane = at;
	if (lane == NULL) {
		lane = mem_zero(sizeof *lane);
		lane->hook = hook;
		list_init(&lane->events);
		timer_init(&lane->timer, hook->loop, on_lane_due, lane);
		hash_add(&hook->lanes, &lane->item, hash);
		list_add_last(&hook->ready, &lane->ready);
	}
	LIST_EACH(other, &lane->events, item)
		if (!strcmp(other->id, event.id))
			return;
	struct waiting *own = mem_copy(&event, sizeof event);
	list_add_last(&lane->events, &own->item);
	hook->target.waiting++;
	hook->bytes += own->bytes;
}

static void
free_lane(struct webhook_lane *lane)
{
	list_remove(&lane->ready);
	timer_clear(&lane->timer);
	hash_remove(&lane->hook->lanes, &lane->item);
	free(lane);
}

static void
free_events(struct list *events)
{
	struct waiting *event;
	LIST_EACH(event, events, item) {
		list_remove(&event->item);
		free(event);
	}
}

/* The first is done with; the lane may be gone then. */
static void
end_first(struct webhook_lane *lane)
{
	struct webhook *hook = lane->hook;
	struct waiting *event = first_of(lane);
	hook->target.waiting--;
	hook->bytes -= event->bytes;
	list_remove(&event->item);
	list_add_last(&hook->brought, &event->item);
	if (list_empty(&lane->events))
		free_lane(lane);
	else
		list_add_last(&hook->ready, &lane->ready);
	/* Those of this turn of the loop go together. */
	task_ready(hook->loop, &hook->ask);
}

/* --- asking Redis --- */

static struct store_call *
kept_call(const struct webhook *hook, const char *act, size_t n_more)
{
	static const char *const ends[] = {"", ":bodies", ":ran"};
	struct store_call *call =
	    call_new(hook->shared.store, hook->shared.shard, SCRIPT_kept,
		1 + 4 + 1 + n_more);
	resp_number(&call->args, 4);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		shared_arg_key(&hook->shared, call, "kept", ends[i]);
	shared_arg_key(&hook->shared, call, "leadership", "");
	resp_arg(&call->args, span_str(act));
	return call;
}

static void on_asked(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply);

static void
start_call(struct webhook *hook, enum act act, struct store_call *call)
{
	hook->calls[act] = call;
	call->large = act == ACT_LIST || call->args.len > LARGE_BYTES;
	call->done = on_asked;
	call->arg = hook;
	call_start(call);
}

/* The next events of the batch, as they rest in Redis. */
static void
ask_put(struct webhook *hook)
{
	const struct conf_store *conf = &hook->shared.store->conf->store;
	const struct relay_event *events = hook->batch->events + hook->put;
	size_t left = hook->batch->n_events - hook->put, bytes = 0;
	for (hook->putting = 0; hook->putting < left && hook->putting < CHUNK &&
	     bytes < CHUNK_BYTES;
	     hook->putting++)
		bytes += events[hook->putting].text.len;
	struct store_call *call = kept_call(hook, "put", 2 + 3 * hook->putting);
	leadership_arg_token(hook->leader, call);
	resp_number(&call->args, hook->ran_s);
	for (size_t i = 0; i < hook->putting; i++) {
		const struct relay_event *event = &events[i];
		struct seal_about about = seal_about_event(
		    span_str(hook->shared.name), event->id, event->key_id);
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
	start_call(hook, ACT_PUT, call);
}

/*
 * Whatever there is to say, one call of each act at a time; and what has become
 * ready in this turn of the loop is tried together.
 */
static void
ask(void *arg)
{
	struct webhook *hook = arg;
	bool has_room =
	    hook->target.waiting < COUNT_MAX && hook->bytes < BYTES_MAX;
	if (!hook->loaded && hook->calls[ACT_LIST] == NULL)
		start_call(hook, ACT_LIST, kept_call(hook, "list", 0));
	if (!list_empty(&hook->brought) && hook->calls[ACT_DROP] == NULL) {
		struct waiting *event;
		size_t count = 0;
		list_move_all(&hook->brought, &hook->forgetting);
		LIST_EACH(event, &hook->forgetting, item)
			count++;
		struct store_call *call = kept_call(hook, "drop", count);
		LIST_EACH(event, &hook->forgetting, item)
			resp_arg(&call->args, span_str(event->id));
		start_call(hook, ACT_DROP, call);
	}
	go_on(hook);
	if (hook->batch == NULL || !hook->loaded ||
	    hook->calls[ACT_PUT] != NULL)
		return;
	if (hook->put == hook->batch->n_events) {
		hook->batch = NULL;
		hook->target.events->done(hook->target.arg);
	} else if (!hook->holds && !hook->gone && has_room) {
		ask_put(hook);
	}
}

/* What Redis did not take is said again, too. */
static void
on_tick(void *arg)
{
	struct webhook *hook = arg;
	timer_set(&hook->tick, TICK_MS);
	hook->ran_s += !hook->holds && !hook->gone;
	ask(hook);
}

/* --- replies --- */

/* "KEPT TRIES BYTES RECORD"; false: somebody else wrote that. */
static bool
read_event(struct span id, struct span text, struct waiting *event)
{
	struct event_id place;
	struct span words[3];
	int64_t numbers[3];
	for (size_t i = 0; i < 3; i++)
		if (!span_next(&text, ' ', &words[i]) ||
		    !digits_read(words[i], UINT32_MAX, &numbers[i]))
			return false;
	/* It may have more zeros before its numbers than we write. */
	if (!event_read(id, &place) || id.len >= sizeof event->id ||
	    text.len != DIGEST_HEX)
		return false;
	*event = (struct waiting){.kept_s = numbers[0],
	    .tries = (unsigned)numbers[1], .bytes = (size_t)numbers[2]};
	memcpy(event->id, id.ptr, id.len);
	memcpy(event->key_id, text.ptr, text.len);
	return true;
}

static int
compare_events(const void *a, const void *b)
{
	struct event_id x = {0}, y = {0};
	const struct waiting *one = a, *other = b;
	if (!event_read(span_str(one->id), &x) ||
	    !event_read(span_str(other->id), &y))
		return 0;
	return event_compare(&x, &y);
}

static void
take_list(struct webhook *hook, const struct call_reply *reply)
{
	size_t count = 0;
	struct waiting *events =
	    mem_zero((reply->n_extra / 2 + 1) * sizeof *events);
	int64_t ran_s = shared_number(reply, 0);
	hook->ran_s = ran_s > 0 ? ran_s : 0;
	for (size_t i = 1; i + 1 < reply->n_extra; i += 2)
		count += read_event(call_reply_text(reply, i),
		    call_reply_text(reply, i + 1), &events[count]);
	qsort(events, count, sizeof *events, compare_events);
	for (size_t i = 0; i < count; i++)
		add_event(hook, events[i]);
	free(events);
	hook->loaded = true;
}

static void
on_asked(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	struct webhook *hook = call->arg;
	int act = ACT_LIST;
	(void)error;
	if (hook == NULL)
		return;
	while (hook->calls[act] != call)
		act++;
	hook->calls[act] = NULL;
	if (how != CALL_ANSWERED) {
		/* The next tick says it again. */
		if (act == ACT_DROP)
			list_move_all(&hook->forgetting, &hook->brought);
		return;
	}
	if (reply->verdict == VERDICT_FENCED) {
		hook->target.events->fenced(hook->target.arg);
		return;
	}
	if (act == ACT_LIST) {
		take_list(hook, reply);
	} else if (act == ACT_DROP) {
		free_events(&hook->forgetting);
	} else {
		for (; hook->putting > 0; hook->putting--, hook->put++) {
			const struct relay_event *event =
			    &hook->batch->events[hook->put];
			struct waiting kept = {.kept_s = hook->ran_s,
			    .bytes = event->text.len};
			snprintf(kept.id, sizeof kept.id, "%.*s",
			    SPAN_FMT(event->id));
			snprintf(kept.key_id, sizeof kept.key_id, "%.*s",
			    SPAN_FMT(event->key_id));
			add_event(hook, kept);
		}
	}
	task_ready(hook->loop, &hook->ask);
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

/* What it says of the receiver; "": that has taken the event. */
static void
note_trouble(struct webhook *hook, const char *trouble)
{
	hook->failures = trouble[0] != '\0' ? hook->failures + 1 : 0;
	relay_target_say(&hook->target, hook->failures < DOWN && !hook->gone,
	    hook->gone ? gone_words : trouble);
}

/* It is not brought, and never will be. */
static void
lose(struct try *try, enum event event, const char *why)
{
	struct webhook *hook = try->hook;
	const struct waiting *first = first_of(try->lane);
	char text[400];
	snprintf(text, sizeof text, "event %s of key %s %s", first->id,
	    first->key_id, why);
	end_first(try->lane);
	hook->target.events->lost(hook->target.arg, event, 1, text);
}

static void
failed(struct try *try, const char *trouble, int64_t after_ms)
{
	struct webhook *hook = try->hook;
	struct waiting *event = first_of(try->lane);
	int64_t ran_s = hook->ran_s - event->kept_s, ms;
	char why[300];
	uint32_t chance;
	random_bytes(&chance, sizeof chance);
	note_trouble(hook, trouble);
	event->tries++;
	if (webhook_retry_ms(event->tries, ran_s, after_ms, chance, &ms)) {
		timer_set(&try->lane->timer, ms);
		return;
	}
	snprintf(why, sizeof why,
	    "was not taken by the receiver for three days, in %u tries: %s",
	    event->tries, trouble);
	lose(try, EV_relay_lost, why);
}

static void
on_forwarded(void *owner)
{
	struct try *try = owner;
	struct webhook *hook = try->hook;
	const struct forward *forward = &try->forward;
	int status =
	    forward->result == FORWARD_ANSWERED ? forward->status : 0;
	char trouble[200];
	if (status >= 200 && status < 300) {
		end_first(try->lane);
		note_trouble(hook, "");
		hook->target.events->brought(hook->target.arg);
	} else if (status == GONE) {
		/* The event stays, for when the relay is resumed. */
		hook->gone = true;
		note_trouble(hook, gone_words);
		timer_set(&try->lane->timer, FIRST_MS);
		hook->target.events->pause(hook->target.arg, gone_words);
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
	task_ready(hook->loop, &hook->ask);
}

/* --- sending --- */

static void
send_event(struct try *try, struct span body)
{
	struct webhook *hook = try->hook;
	struct arena *arena = try->arena;
	const struct conf_relay *relay = hook->relay;
	struct span id =
	    arena_dup(arena, span_str(first_of(try->lane)->id));
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

/*
 * Opens what that has read; the caller frees it.  E_NO_KEY: it is sealed with a
 * key that is not here; another error: it is not what was put there.
 */
MUST_USE static int
open_body(const struct webhook_lane *lane, struct span stored,
    char **ret_body, size_t *ret_len)
{
	const struct webhook *hook = lane->hook;
	const struct waiting *event = first_of(lane);
	const struct conf_store *conf = &hook->shared.store->conf->store;
	struct seal_about about = seal_about_event(span_str(hook->shared.name),
	    span_str(event->id), span_str(event->key_id));
	struct span key;
	if (seal_key_of(stored, &key) ||
	    (conf->n_encryption_keys > 0 && INVARIANT(unsealed_kept_back)))
		return seal_open(conf, &about, stored, ret_body, ret_len);
	*ret_body = mem_copy(stored.ptr, stored.len);
	*ret_len = stored.len;
	return 0;
}

/* What was read: "=" and its body, or "-": it is not kept. */
static void
was_read(struct try *try, struct span kept)
{
	char *body = NULL;
	size_t len;
	try->call = NULL;
	if (span_eq(kept, SPAN("-"))) {
		end_first(try->lane);
	} else if (!span_skip(&kept, SPAN("="))) {
		timer_set(&try->lane->timer, AWAY_MS);
	} else {
		int error = open_body(try->lane, kept, &body, &len);
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

/* Those that a call is for stand in the order in which it asks for them. */
static void
on_read(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	struct webhook *hook = call->arg;
	struct try *try;
	size_t count = 0, at = 0;
	(void)error;
	if (hook == NULL)
		return;
	LIST_EACH(try, &hook->tries, item)
		count += try->call == call;
	bool whole = how == CALL_ANSWERED && reply->n_extra == count;
	LIST_EACH(try, &hook->tries, item)
		if (try->call == call)
			was_read(try,
			    whole ? call_reply_text(reply, at++) : SPAN(""));
	if (how == CALL_ANSWERED && reply->verdict == VERDICT_FENCED)
		hook->target.events->fenced(hook->target.arg);
}

/* Tries what is ready; what is large by itself, and the rest thereafter. */
static void
go_on(struct webhook *hook)
{
	struct webhook_lane *lane;
	struct store_call *call = NULL;
	size_t bytes = 0;
	while (!hook->holds && !hook->gone && hook->in_flight < IN_FLIGHT &&
	    leadership_is_held(hook->leader) &&
	    (lane = LIST_FIRST(
		 &hook->ready, struct webhook_lane, ready)) != NULL &&
	    (call == NULL || bytes + first_of(lane)->bytes <= LARGE_BYTES)) {
		struct try *try = mem_zero(sizeof *try);
		list_remove(&lane->ready);
		try->hook = hook;
		try->lane = lane;
		try->arena = arena_new();
		op_init(&try->forward.op, hook->loop, on_forwarded, try);
		list_add_last(&hook->tries, &try->item);
		hook->in_flight++;
		/* It counts a try of each, and reads the bodies. */
		if (call == NULL) {
			call = kept_call(hook, "try", 2);
			leadership_arg_token(hook->leader, call);
			resp_number(&call->args, hook->ran_s);
		}
		resp_arg(&call->args, span_str(first_of(lane)->id));
		call->n_args++;
		try->call = call;
		bytes += first_of(lane)->bytes;
	}
	if (call != NULL) {
		call->large = bytes > LARGE_BYTES;
		call->done = on_read;
		call->arg = hook;
		call_start(call);
		task_ready(hook->loop, &hook->ask);
	}
	/* Perhaps Redis did not take the pause. */
	if (hook->gone && !hook->holds)
		hook->target.events->pause(hook->target.arg, gone_words);
}

/* --- the target --- */

static struct relay_target *
hook_open(const struct relay_target_start *start)
{
	struct webhook *hook = mem_zero(sizeof *hook);
	struct worker *worker = start->worker;
	hook->target.events = start->events;
	hook->target.arg = start->arg;
	hook->target.up = true; /* until its receiver is known not to be */
	hook->relay = start->relay;
	hook->leader = start->leader;
	hook->loop = start->loop;
	list_init(&hook->tries);
	list_init(&hook->ready);
	list_init(&hook->brought);
	list_init(&hook->forgetting);
	hook->place = hook->relay->receiver.targets[0];
	hook->place.base_path = hook->no_path;
	hook->receiver = hook->relay->receiver;
	hook->receiver.index = 0;
	hook->receiver.targets = &hook->place;
	hook->upstreams = upstreams_new(
	    hook->loop, start->conf, worker->budget, &hook->receiver, 1);
	shared_init(&hook->shared, worker->store, "relay", hook->relay->name);
	timer_init(&hook->tick, hook->loop, on_tick, hook);
	hook->ask = (struct task){.run = ask, .arg = hook};
	timer_set(&hook->tick, TICK_MS);
	ask(hook);
	return &hook->target;
}

static void
hook_put(struct relay_target *target, struct relay_batch *batch)
{
	struct webhook *hook = CONTAINER_OF(target, struct webhook, target);
	hook->batch = batch;
	hook->put = hook->putting = 0;
	task_ready(hook->loop, &hook->ask);
}

static void
hook_hold(struct relay_target *target, bool holds)
{
	struct webhook *hook = CONTAINER_OF(target, struct webhook, target);
	hook->holds = holds;
	if (hook->gone && !holds) {
		hook->gone = false;
		note_trouble(hook, "");
	}
	task_ready(hook->loop, &hook->ask);
}

static bool
hook_is_idle(const struct relay_target *target)
{
	const struct webhook *hook = (const void *)target;
	return hook->in_flight == 0 && hook->calls[ACT_PUT] == NULL &&
	    list_empty(&hook->brought) && list_empty(&hook->forgetting);
}

static void
hook_close(struct relay_target *target)
{
	struct webhook *hook = CONTAINER_OF(target, struct webhook, target);
	struct try *try;
	struct webhook_lane *lane;
	LIST_EACH(try, &hook->tries, item)
		end_try(try);
	timer_clear(&hook->tick);
	task_cancel(&hook->ask);
	for (int i = 0; i < ACTS; i++)
		if (hook->calls[i] != NULL)
			hook->calls[i]->arg = NULL;
	free_events(&hook->brought);
	free_events(&hook->forgetting);
	HASH_EACH(lane, &hook->lanes, item) {
		free_events(&lane->events);
		free_lane(lane);
	}
	hash_free(&hook->lanes);
	upstreams_free(&hook->upstreams);
	free(hook);
}

const struct relay_target_kind webhook_kind = {
    .keeps_place = false,
    .events = 1000,
    .open = hook_open,
    .put = hook_put,
    .hold = hook_hold,
    .is_idle = hook_is_idle,
    .close = hook_close,
};
