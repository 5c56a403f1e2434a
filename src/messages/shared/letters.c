/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/digits.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/mem.h"
#include "base/must.h"
#include "messages/shared/letter_stored.h"
#include "messages/shared/letters.h"

enum {
	LOAD_MS = 10000,
	RETRY_MS = 500, /* where Redis did not say */
	/* What is told of each (lua/letters.lua): id, lane, and time or act. */
	WRITTEN_CHARS = 2 * DIGEST_HEX + LETTERS_STAMP_DIGITS,
	BEGUN_CHARS = 2 * DIGEST_HEX + 1,
};

/* What is known of a shard; an answer that is older changes nothing. */
struct letters_shard {
	struct list lanes, written; /* of struct known */
	uint64_t dead, parked, n_lanes;
	struct store_call *call; /* by which it is looked at; NULL: none */
	bool due;    /* it is to be looked at */
	bool known;  /* it was, since letters_load */
	bool failed; /* the last look */
	/* By Redis' clock: the last look, and the last change from here. */
	int64_t looked_ms, changed_ms;
};

/* A lane, or a letter that may be WRITTEN. */
struct known {
	struct hash_item in_table;
	struct list in_shard;
	uint8_t digest[DIGEST_BYTES];
};

/* --- what is known --- */

static struct known *
find_known(const struct hash *table, const uint8_t digest[DIGEST_BYTES])
{
	struct known *known;
	HASH_EACH_OF(known, table, hash_of_digest(digest), in_table)
		if (!memcmp(known->digest, digest, DIGEST_BYTES))
			return known;
	return NULL;
}

/* The same digest may be known of two shards, where an order has changed. */
static void
add_known(struct hash *table, struct list *of_shard,
    const uint8_t digest[DIGEST_BYTES])
{
	struct known *known = mem_zero(sizeof *known);
	memcpy(known->digest, digest, DIGEST_BYTES);
	hash_add(table, &known->in_table, hash_of_digest(digest));
	list_add_last(of_shard, &known->in_shard);
}

static void
forget(struct hash *table, struct known *known)
{
	hash_remove(table, &known->in_table);
	list_remove(&known->in_shard);
	free(known);
}

static void
forget_all(struct hash *table, struct list *of_shard)
{
	struct known *known;
	LIST_EACH(known, of_shard, in_shard)
		forget(table, known);
}

bool
letters_are_known(const struct letters *letters)
{
	return letters->n_unknown == 0;
}

const char *
letters_trouble(const struct letters *letters)
{
	return letters->shared.trouble;
}

bool
letters_have_lane(
    const struct letters *letters, const struct letters_lane *lane)
{
	must(letters->n_unknown == 0);
	return find_known(&letters->lanes, lane->bytes) != NULL;
}

bool
letters_may_be_written(const struct letters *letters, struct span position)
{
	const struct letter_name name = letter_name_of(position, NULL);
	return letters->n_unknown > 0 ||
	    find_known(&letters->written, name.id) != NULL;
}

struct letters_count
letters_count(const struct letters *letters)
{
	return letters->count;
}

static void
set_counts(struct letters *letters, struct letters_shard *shard,
    uint64_t dead, uint64_t parked)
{
	letters->count.dead += dead - shard->dead;
	letters->count.parked += parked - shard->parked;
	letters->count.lanes = letters->lanes.count;
	shard->dead = dead;
	shard->parked = parked;
}

/* --- looking --- */

static void on_looked(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply);

/* As many of those that are due as may be asked at once. */
static void
look(struct letters *letters)
{
	unsigned n_shards =
	    (unsigned)letters->shared.store->conf->store.shards;
	for (unsigned i = 0;
	     i < n_shards && letters->n_calls < LETTERS_AT_ONCE; i++) {
		struct letters_shard *shard = &letters->shards[i];
		if (!shard->due || shard->call != NULL)
			continue;
		struct store_call *call =
		    letter_stored_call(
			&letters->shared, i, SCRIPT_letters, 1);
		resp_arg(&call->args, SPAN("look"));
		call->done = on_looked;
		call->arg = letters;
		shard->due = false;
		shard->call = call;
		letters->n_calls++;
		call_start(call);
	}
}

static void
set_load_timer(struct letters *letters)
{
	int64_t left_ms = LOAD_MS - (clock_us() - letters->all_us) / 1000;
	if (letters->n_failed > 0 && left_ms > RETRY_MS)
		left_ms = RETRY_MS;
	timer_set(&letters->timer, left_ms);
}

/* Looks at all where it is time for that, else at those that failed. */
static void
on_load_timer(void *arg)
{
	struct letters *letters = arg;
	bool all = letters->all_us == 0 ||
	    clock_us() - letters->all_us >= LOAD_MS * INT64_C(1000);
	if (all)
		letters->all_us = clock_us();
	for (int64_t i = 0; i < letters->shared.store->conf->store.shards; i++)
		letters->shards[i].due |= all || letters->shards[i].failed;
	set_load_timer(letters);
	look(letters);
}

static void
look_at(struct letters *letters, struct letters_shard *shard)
{
	shard->due = true;
	look(letters);
}

/* Texts of that many characters each, all of them names at least. */
static bool
are_names(struct span list, size_t chars)
{
	struct letter_name name;
	if (list.len % chars != 0)
		return false;
	for (; list.len > 0; list = span_from(list, chars))
		if (!letter_name_read(span_of(list.ptr, DIGEST_HEX),
			span_of(list.ptr + DIGEST_HEX,
			    chars > DIGEST_HEX ? DIGEST_HEX : 0),
			&name))
			return false;
	return true;
}

/* What the shard has takes the place of what was known of it. */
static void
take_shard(struct letters *letters, struct letters_shard *shard,
    const struct call_reply *reply)
{
	uint8_t digest[DIGEST_BYTES];
	struct span lanes = call_reply_text(reply, 2);
	struct span written = call_reply_text(reply, 3);
	forget_all(&letters->lanes, &shard->lanes);
	forget_all(&letters->written, &shard->written);
	for (; lanes.len > 0; lanes = span_from(lanes, DIGEST_HEX)) {
		(void)hex_decode(
		    span_of(lanes.ptr, DIGEST_HEX), digest, sizeof digest);
		add_known(&letters->lanes, &shard->lanes, digest);
	}
	for (; written.len > 0; written = span_from(written, WRITTEN_CHARS)) {
		(void)hex_decode(
		    span_of(written.ptr, DIGEST_HEX), digest, sizeof digest);
		add_known(&letters->written, &shard->written, digest);
	}
	set_counts(letters, shard, (uint64_t)shared_number(reply, 0),
	    (uint64_t)shared_number(reply, 1));
	shard->looked_ms = reply->now_ms;
	if (!shard->known)
		letters->n_unknown--;
	shard->known = true;
}

/* What somebody has to go on with. */
static void
tell_of_work(struct letters *letters, const struct call_reply *reply)
{
	const struct letters_events *events = &letters->events;
	struct span written = call_reply_text(reply, 3);
	struct span begun = call_reply_text(reply, 4);
	struct letter_name name;
	int64_t put_ms;
	for (; written.len > 0; written = span_from(written, WRITTEN_CHARS))
		if (letter_name_read(span_of(written.ptr, DIGEST_HEX),
			span_of(written.ptr + DIGEST_HEX, DIGEST_HEX),
			&name) &&
		    digits_read(span_of(written.ptr + (size_t)2 * DIGEST_HEX,
				    LETTERS_STAMP_DIGITS),
			INT64_MAX, &put_ms) &&
		    put_ms + LETTERS_LEASE_MS <= reply->now_ms)
			events->unconfirmed(events->arg, &name);
	for (; begun.len > 0; begun = span_from(begun, BEGUN_CHARS))
		if (letter_name_read(span_of(begun.ptr, DIGEST_HEX),
			span_of(begun.ptr + DIGEST_HEX, DIGEST_HEX), &name))
			events->left(events->arg, &name,
			    begun.ptr[BEGUN_CHARS - 1] == 'r' ? LETTER_REPLAY
							      : LETTER_DROP);
}

static void
on_looked(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	struct letters *letters = call->arg;
	if (letters == NULL)
		return;
	struct letters_shard *shard = &letters->shards[call->shard];
	bool ok = how == CALL_ANSWERED && shared_number(reply, 0) >= 0 &&
	    shared_number(reply, 1) >= 0 &&
	    are_names(call_reply_text(reply, 2), DIGEST_HEX) &&
	    are_names(call_reply_text(reply, 3), WRITTEN_CHARS) &&
	    are_names(call_reply_text(reply, 4), BEGUN_CHARS);
	if (how == CALL_ANSWERED && !ok) {
		call_log_odd(call);
		error = E_STORE_REFUSED;
	}
	shard->call = NULL;
	letters->n_calls--;
	letters->n_failed += !ok - (size_t)shard->failed;
	shard->failed = !ok;
	/* Trouble with one is not over because another one is well. */
	struct shared of = letters->shared;
	of.shard = call->shard;
	if (!ok || letters->n_failed == 0)
		shared_ended(&of, "letters", call, error, shard->known);
	memcpy(letters->shared.trouble, of.trouble, sizeof of.trouble);
	if (!ok) {
		set_load_timer(letters);
	} else if (reply->now_ms <= shard->changed_ms) {
		/* It may be older than what was changed from here since. */
		shard->changed_ms = 0;
		look_at(letters, shard);
	} else {
		take_shard(letters, shard, reply);
		look(letters);
		if (letters->n_unknown == 0)
			letters->events.changed(letters->events.arg);
		tell_of_work(letters, reply);
	}
}

/* Answers that are under way may be older, and are not enough. */
void
letters_load(struct letters *letters)
{
	int64_t n_shards = letters->shared.store->conf->store.shards;
	for (int64_t i = 0; i < n_shards; i++) {
		struct letters_shard *shard = &letters->shards[i];
		if (shard->call != NULL)
			shard->call->arg = NULL;
		shard->call = NULL;
		shard->known = false;
	}
	letters->n_calls = 0;
	letters->n_unknown = (size_t)n_shards;
	letters->all_us = 0;
	timer_set(&letters->timer, 0);
}

void
letters_look(struct letters *letters)
{
	letters->all_us = 0;
	timer_set(&letters->timer, 0);
}

void
letters_note(struct letters *letters, unsigned at,
    const struct letter_name *name, const struct call_reply *reply)
{
	struct letters_shard *shard = &letters->shards[at];
	int64_t dead = shared_number(reply, SAID_COUNT_DEAD);
	int64_t parked = shared_number(reply, SAID_COUNT_PARKED);
	bool lane_is_there = call_reply_text(reply, SAID_LANE_IS_THERE).len > 0;
	struct known *lane = find_known(&letters->lanes, name->lane);
	struct known *written = find_known(&letters->written, name->id);
	struct letter_name said;
	enum letter_state state;
	bool is_written = letter_name_read(call_reply_text(reply, SAID_ID),
			      call_reply_text(reply, SAID_LANE), &said) &&
	    !memcmp(said.id, name->id, DIGEST_BYTES) &&
	    letter_stored_read_state(
		call_reply_text(reply, SAID_STATE), &state) &&
	    state == LETTER_WRITTEN;
	bool older = reply->now_ms < shard->looked_ms;
	if (reply->now_ms <= shard->looked_ms)
		look_at(letters, shard);
	if (older || dead < 0 || parked < 0)
		return;
	shard->changed_ms = reply->now_ms;
	if (name->in_order && lane_is_there && lane == NULL)
		add_known(&letters->lanes, &shard->lanes, name->lane);
	else if (name->in_order && !lane_is_there && lane != NULL)
		forget(&letters->lanes, lane);
	if (is_written && written == NULL)
		add_known(&letters->written, &shard->written, name->id);
	else if (!is_written && written != NULL)
		forget(&letters->written, written);
	set_counts(letters, shard, (uint64_t)dead, (uint64_t)parked);
}

/* "letters SHARD" (tell() of lua/letter_keys.lua). */
static void
on_letters_notice(void *arg, struct span notice)
{
	struct letters *letters = arg;
	struct span what;
	int64_t shard;
	if (!shared_notice(&letters->shared, notice, &what))
		return;
	if (what.len == 0) {
		letters_look(letters);
	} else if (span_starts(what, SPAN("letters ")) &&
	    digits_read(span_from(what, 8),
		letters->shared.store->conf->store.shards - 1, &shard)) {
		look_at(letters, &letters->shards[shard]);
	}
}

/* --- life --- */

void
letters_init(struct letters *letters, struct store *store, const char *source)
{
	*letters = (struct letters){0};
	shared_init(&letters->shared, store, "source", source);
}

void
letters_start(struct letters *letters, struct store *store, struct loop *loop,
    const char *source, const struct letters_events *events)
{
	letters_init(letters, store, source);
	size_t n_shards = (size_t)store->conf->store.shards;
	letters->events = *events;
	letters->shards = mem_zero(n_shards * sizeof *letters->shards);
	for (size_t i = 0; i < n_shards; i++) {
		list_init(&letters->shards[i].lanes);
		list_init(&letters->shards[i].written);
	}
	timer_init(&letters->timer, loop, on_load_timer, letters);
	letters->hearing = (struct subscriber_hearing){
	    .heard = on_letters_notice, .arg = letters};
	subscriber_hear(store, &letters->hearing);
	letters_load(letters);
}

void
letters_stop(struct letters *letters)
{
	if (letters->shards == NULL)
		return;
	timer_clear(&letters->timer);
	subscriber_unhear(&letters->hearing);
	for (int64_t i = 0; i < letters->shared.store->conf->store.shards;
	     i++) {
		struct letters_shard *shard = &letters->shards[i];
		if (shard->call != NULL)
			shard->call->arg = NULL;
		forget_all(&letters->lanes, &shard->lanes);
		forget_all(&letters->written, &shard->written);
	}
	hash_free(&letters->lanes);
	hash_free(&letters->written);
	free(letters->shards);
	*letters = (struct letters){0};
}
