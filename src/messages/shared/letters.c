/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/digits.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/mem.h"
#include "base/must.h"
#include "messages/shared/letter_codec.h"
#include "messages/shared/letters.h"
#include "store/record/redis_keys.h"
#include "store/record/seal.h"
#include "store/store.h"

enum {
	AT_ONCE = 16, /* shards that are asked at the same time */
	LOAD_MS = 10000,
	LOAD_LANES = 10000, /* as long again for so many more */
	RETRY_MS = 500, /* where Redis did not say */
	STAMP_DIGITS = 13,
	/* What is told of each (lua/letters.lua): id, lane, and time or act. */
	WRITTEN_CHARS = 2 * DIGEST_HEX + STAMP_DIGITS,
	BEGUN_CHARS = 2 * DIGEST_HEX + 1,
	KEYS = 7,
};
#define ALONE "--------------------------------"

/* What scripts say of a letter (about() of lua/letter_keys.lua), … */
enum {
	SAID_ID,
	SAID_STATE,
	SAID_ACT,
	SAID_LANE,
	SAID_PUT,
	SAID_PARKED,
	SAID_COUNT_DEAD,
	SAID_COUNT_PARKED,
	SAID_LANE_IS_THERE,
	SAID_REASON,
	SAID_HEAD,
	SAID_BODY,
};
/* … and of each one in a list. */
enum {
	LISTED_REASON = SAID_PARKED + 1,
	LISTED_HEAD,
	LISTED_TEXTS,
};

/* What is known of a shard; an answer that is older changes nothing. */
struct letters_shard {
	struct list lanes, written; /* of struct known */
	uint64_t dead, parked, n_lanes;
	uint64_t sum; /* of what lanes have for hashes */
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

/* --- names --- */

struct letter_name
letters_name(struct span position, const struct letters_lane *lane)
{
	struct letter_name name = {.in_order = lane != NULL};
	struct digest digest;
	digest_begin(&digest, SPAN("letter"), SPAN(""));
	digest_part(&digest, position);
	digest_end(&digest, name.id);
	memcpy(name.lane, lane != NULL ? lane->bytes : name.id, DIGEST_BYTES);
	return name;
}

static unsigned
shard_of(const struct letters *letters, const struct letter_name *name)
{
	struct digest digest;
	struct key_id of;
	digest_begin(&digest, SPAN("letters"), SPAN(""));
	digest_part(&digest, span_str(letters->shared.name));
	digest_part(&digest, span_of(name->lane, DIGEST_BYTES));
	digest_end(&digest, of.bytes);
	return redis_keys_shard(letters->shared.store->conf, &of);
}

/* As Redis has it: in hex, a lane of dashes or none where it stands alone. */
static bool
read_name(struct span id, struct span lane, struct letter_name *ret_name)
{
	if (!hex_decode(id, ret_name->id, DIGEST_BYTES))
		return false;
	ret_name->in_order = lane.len > 0 && !span_eq(lane, SPAN(ALONE));
	if (ret_name->in_order)
		return hex_decode(lane, ret_name->lane, DIGEST_BYTES);
	memcpy(ret_name->lane, ret_name->id, DIGEST_BYTES);
	return true;
}

/* --- calls --- */

/* Any script's, with its keys; n_argv arguments are still to come. */
static struct store_call *
new_call(const struct letters *letters, unsigned shard, enum script script,
    size_t n_argv)
{
	static const char *const words[KEYS][2] = {{"letter", ":"},
	    {"lane", ":"}, {"lanes", ""}, {"letters", ""}, {"behind", ""},
	    {"written", ""}, {"begun", ""}};
	struct shared shared = letters->shared;
	shared.shard = shard;
	struct store_call *call =
	    shared_call(&shared, script, 1 + KEYS + n_argv);
	resp_number(&call->args, KEYS);
	for (size_t i = 0; i < KEYS; i++)
		shared_arg_key(&shared, call, words[i][0], words[i][1]);
	return call;
}

static void
arg_digest(struct store_call *call, const uint8_t digest[DIGEST_BYTES])
{
	char hex[DIGEST_HEX + 1];
	hex_encode(digest, DIGEST_BYTES, hex);
	resp_arg(&call->args, span_of(hex, DIGEST_HEX));
}

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
	const struct letter_name name = letters_name(position, NULL);
	return letters->n_unknown > 0 ||
	    find_known(&letters->written, name.id) != NULL;
}

struct letters_count
letters_count(const struct letters *letters)
{
	return letters->count;
}

/* True where they are other ones than before. */
static bool
set_counts(struct letters *letters, struct letters_shard *shard,
    uint64_t dead, uint64_t parked)
{
	bool is_new = dead != shard->dead || parked != shard->parked;
	letters->count.dead += dead - shard->dead;
	letters->count.parked += parked - shard->parked;
	letters->count.lanes = letters->lanes.count;
	shard->dead = dead;
	shard->parked = parked;
	return is_new;
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
	for (unsigned i = 0; i < n_shards && letters->n_calls < AT_ONCE; i++) {
		struct letters_shard *shard = &letters->shards[i];
		if (!shard->due || shard->call != NULL)
			continue;
		struct store_call *call =
		    new_call(letters, i, SCRIPT_letters, 1);
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
	int64_t all_ms = LOAD_MS *
	    (1 + (int64_t)letters->lanes.count / LOAD_LANES);
	int64_t left_ms = all_ms - (clock_us() - letters->all_us) / 1000;
	if (letters->n_failed > 0 && left_ms > RETRY_MS)
		left_ms = RETRY_MS;
	timer_set(&letters->timer, left_ms);
}

/* Looks at all where it is time for that, else at those that failed. */
static void
on_load_timer(void *arg)
{
	struct letters *letters = arg;
	int64_t all_ms = LOAD_MS *
	    (1 + (int64_t)letters->lanes.count / LOAD_LANES);
	bool all = letters->all_us == 0 ||
	    clock_us() - letters->all_us >= all_ms * 1000;
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
		if (!read_name(span_of(list.ptr, DIGEST_HEX),
			span_of(list.ptr + DIGEST_HEX,
			    chars > DIGEST_HEX ? DIGEST_HEX : 0),
			&name))
			return false;
	return true;
}

/* What the shard has takes the place of what was known of it. */
static bool
take_shard(struct letters *letters, struct letters_shard *shard,
    const struct call_reply *reply)
{
	uint64_t sum = 0;
	uint8_t digest[DIGEST_BYTES];
	struct span lanes = call_reply_text(reply, 2);
	struct span written = call_reply_text(reply, 3);
	forget_all(&letters->lanes, &shard->lanes);
	forget_all(&letters->written, &shard->written);
	for (; lanes.len > 0; lanes = span_from(lanes, DIGEST_HEX)) {
		(void)hex_decode(
		    span_of(lanes.ptr, DIGEST_HEX), digest, sizeof digest);
		add_known(&letters->lanes, &shard->lanes, digest);
		sum += hash_of_digest(digest);
	}
	for (; written.len > 0; written = span_from(written, WRITTEN_CHARS)) {
		(void)hex_decode(
		    span_of(written.ptr, DIGEST_HEX), digest, sizeof digest);
		add_known(&letters->written, &shard->written, digest);
	}
	bool is_new = set_counts(letters, shard,
	    (uint64_t)shared_number(reply, 0),
	    (uint64_t)shared_number(reply, 1));
	is_new |= sum != shard->sum || !shard->known;
	shard->sum = sum;
	shard->looked_ms = reply->now_ms;
	if (!shard->known)
		letters->n_unknown--;
	shard->known = true;
	return is_new && letters->n_unknown == 0;
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
		if (read_name(span_of(written.ptr, DIGEST_HEX),
			span_of(written.ptr + DIGEST_HEX, DIGEST_HEX),
			&name) &&
		    digits_read(span_of(written.ptr + (size_t)2 * DIGEST_HEX,
				    STAMP_DIGITS),
			INT64_MAX, &put_ms) &&
		    put_ms + LETTERS_LEASE_MS <= reply->now_ms)
			events->unconfirmed(events->arg, &name);
	for (; begun.len > 0; begun = span_from(begun, BEGUN_CHARS))
		if (read_name(span_of(begun.ptr, DIGEST_HEX),
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
		bool is_new = take_shard(letters, shard, reply);
		look(letters);
		if (is_new)
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

/* --- what is stored --- */

/* So that no letter opens as another's. */
static struct seal_about
seal_of(const struct letters *letters, const uint8_t id[DIGEST_BYTES])
{
	struct seal_about about = {.kind = SEAL_LETTER};
	struct digest digest;
	digest_begin(&digest, SPAN("letter"), SPAN(""));
	digest_part(&digest, span_str(letters->shared.name));
	digest_part(&digest, span_of(id, DIGEST_BYTES));
	digest_end(&digest, about.key_id.bytes);
	return about;
}

/* Appends a head or a body, which is freed. */
static void
arg_sealed(struct store_call *call, const struct letters *letters,
    const uint8_t id[DIGEST_BYTES], char *bytes, size_t len)
{
	const struct conf_store *conf = &letters->shared.store->conf->store;
	char *sealed = bytes;
	if (conf->n_encryption_keys > 0) {
		const struct seal_about about = seal_of(letters, id);
		seal_close(conf, &about, span_of(bytes, len), &sealed, &len);
		free(bytes);
	}
	resp_arg(&call->args, span_of(sealed, len));
	free(sealed);
}

/*
 * The text in the arena, opened where it is sealed; empty where it does not
 * open.  False: there is no memory for it.
 */
static bool
open_text(const struct letters *letters, struct arena *arena,
    const uint8_t id[DIGEST_BYTES], struct span stored, struct span *ret_text)
{
	const struct conf_store *conf = &letters->shared.store->conf->store;
	const struct seal_about about = seal_of(letters, id);
	struct span key;
	char *plain = NULL;
	size_t len;
	*ret_text = SPAN("");
	if (seal_key_of(stored, &key)) {
		if (seal_open(conf, &about, stored, &plain, &len) != 0)
			return true;
		stored = span_of(plain, len);
	} else if (conf->encryption_strict) {
		return true;
	}
	char *copy = arena_dup_large(arena, stored);
	*ret_text = span_of(copy, stored.len);
	free(plain);
	return copy != NULL;
}

/* The head of a letter whose name is known; false: it does not open. */
static bool
read_head(struct letter *letter, struct span head)
{
	struct letter read = *letter;
	if (!letter_codec_read_head(head, &read))
		return false;
	struct letter_name name = letters_name(read.position, NULL);
	if (memcmp(name.id, letter->name.id, DIGEST_BYTES) != 0)
		return false;
	*letter = read;
	return true;
}

/* False: Redis has another word there. */
static bool
read_state(struct span word, enum letter_state *ret_state)
{
	static const char *const words[] = {[LETTER_WRITTEN] = "written",
	    [LETTER_CONFIRMED] = "confirmed",
	    [LETTER_BEGUN] = "begun"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (span_eq(word, span_str(words[i]))) {
			*ret_state = (enum letter_state)i;
			return true;
		}
	return false;
}

/* What a reply says of a letter from its text at on, but for head and body. */
static bool
read_said(const struct call_reply *reply, size_t at, struct arena *arena,
    size_t reason, struct letter *letter)
{
	*letter = (struct letter){.position = SPAN(""),
	    .key_id = SPAN(""),
	    .route = SPAN(""),
	    .detail = SPAN(""),
	    .label = SPAN(""),
	    .time_ms = -1};
	letter->put_ms = shared_number(reply, at + SAID_PUT);
	letter->parked = call_reply_text(reply, at + SAID_PARKED).len > 0;
	letter->reason = arena_dup(arena, call_reply_text(reply, at + reason));
	return letter->put_ms >= 0 &&
	    read_name(call_reply_text(reply, at + SAID_ID),
		call_reply_text(reply, at + SAID_LANE), &letter->name) &&
	    read_state(call_reply_text(reply, at + SAID_STATE), &letter->state);
}

/* --- operations --- */

/*
 * What is known of the shard, after an operation on that letter; true where it
 * is something else than before.
 */
static bool
note(struct letters *letters, unsigned at, const struct letter_name *name,
    const struct call_reply *reply)
{
	struct letters_shard *shard = &letters->shards[at];
	int64_t dead = shared_number(reply, SAID_COUNT_DEAD);
	int64_t parked = shared_number(reply, SAID_COUNT_PARKED);
	bool lane_is_there = call_reply_text(reply, SAID_LANE_IS_THERE).len > 0;
	struct known *lane = find_known(&letters->lanes, name->lane);
	struct known *written = find_known(&letters->written, name->id);
	struct letter_name said;
	enum letter_state state;
	bool is_written = read_name(call_reply_text(reply, SAID_ID),
			      call_reply_text(reply, SAID_LANE), &said) &&
	    !memcmp(said.id, name->id, DIGEST_BYTES) &&
	    read_state(call_reply_text(reply, SAID_STATE), &state) &&
	    state == LETTER_WRITTEN;
	bool older = reply->now_ms < shard->looked_ms;
	if (reply->now_ms <= shard->looked_ms)
		look_at(letters, shard);
	if (older || dead < 0 || parked < 0)
		return false;
	shard->changed_ms = reply->now_ms;
	bool is_new = name->in_order && lane_is_there != (lane != NULL);
	if (is_new && lane_is_there)
		add_known(&letters->lanes, &shard->lanes, name->lane);
	else if (is_new)
		forget(&letters->lanes, lane);
	if (is_new)
		shard->sum += lane_is_there
		    ? hash_of_digest(name->lane)
		    : -hash_of_digest(name->lane);
	if (is_written && written == NULL)
		add_known(&letters->written, &shard->written, name->id);
	else if (!is_written && written != NULL)
		forget(&letters->written, written);
	is_new |= set_counts(
	    letters, shard, (uint64_t)dead, (uint64_t)parked);
	return is_new && letters->n_unknown == 0;
}

/* What an answer says of a letter; 0 or an error. */
static int
read_answer(struct letter_op *op, const struct call_reply *reply)
{
	struct span head, body;
	const struct letters *letters = op->letters;
	struct letter *letter = &op->letter;
	if (call_reply_text(reply, SAID_ID).len == 0)
		return 0;
	if (!read_said(reply, SAID_ID, op->arena, SAID_REASON, letter))
		return E_MALFORMED;
	op->state = letter->state;
	if (reply->n_extra <= SAID_HEAD)
		return 0;
	if (!open_text(letters, op->arena, letter->name.id,
		call_reply_text(reply, SAID_HEAD), &head))
		return E_NO_MEMORY;
	op->sealed_shut = !read_head(letter, head);
	if (reply->n_extra <= SAID_BODY)
		return 0;
	if (!open_text(letters, op->arena, letter->name.id,
		call_reply_text(reply, SAID_BODY), &body))
		return E_NO_MEMORY;
	op->sealed_shut |=
	    !letter_codec_read_body(body, op->arena, letter);
	return 0;
}

static void
on_letter_told(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	if (call->op == NULL)
		return;
	struct letter_op *op = CONTAINER_OF(call->op, struct letter_op, op);
	struct letters *letters = op->letters;
	bool is_new = false;
	if (how == CALL_ANSWERED) {
		op->op.verdict = reply->verdict;
		op->op.now_ms = reply->now_ms;
		error = read_answer(op, reply);
		op->has_next = op->ends && reply->verdict == VERDICT_DONE &&
		    op->letter.name.in_order;
		if (error == E_MALFORMED) {
			call_log_odd(call);
			error = E_STORE_REFUSED;
		} else if (letters->shards != NULL) {
			is_new = note(
			    letters, call->shard, &op->name, reply);
		}
	}
	call_end_op(call, error);
	if (is_new)
		letters->events.changed(letters->events.arg);
}

/* A call of that operation; n_more arguments are still to come. */
static struct store_call *
begin_call(struct letters *letters, struct letter_op *op, enum script script,
    const char *act, const struct letter_name *name, size_t n_more)
{
	call_begin_op(letters->shared.store, &op->op);
	op->letter = (struct letter){.position = SPAN("")};
	op->state = LETTER_WRITTEN;
	op->has_next = op->sealed_shut = op->ends = false;
	op->letters = letters;
	op->name = *name;
	struct store_call *call = new_call(
	    letters, shard_of(letters, name), script, 3 + n_more);
	resp_arg(&call->args, span_str(act));
	arg_digest(call, name->id);
	if (name->in_order)
		arg_digest(call, name->lane);
	else
		resp_arg(&call->args, SPAN(""));
	call->done = on_letter_told;
	call_join_op(call, &op->op);
	return call;
}

static void
put(struct letters *letters, struct letter_op *op, const char *act,
    const struct letter *letter)
{
	char *bytes;
	size_t len;
	struct store_call *call = begin_call(
	    letters, op, SCRIPT_letter_put, act, &letter->name, 4);
	resp_arg(&call->args, letter->reason);
	letter_codec_put_head(letter, &bytes, &len);
	arg_sealed(call, letters, letter->name.id, bytes, len);
	letter_codec_put_body(letter, &bytes, &len);
	arg_sealed(call, letters, letter->name.id, bytes, len);
	shared_arg_notice(&letters->shared, call);
	call->large = store_is_large(call->args.len);
	call_start(call);
}

void
letters_put(struct letters *letters, struct letter_op *op,
    const struct letter *letter, bool behind)
{
	must(!behind || letter->name.in_order);
	put(letters, op, behind ? "behind" : "first", letter);
}

void
letters_restore(struct letters *letters, struct letter_op *op,
    const struct letter *letter)
{
	put(letters, op, "restore", letter);
}

/* owner NULL: nobody; n_more arguments are still to come. */
static struct store_call *
begin_act(struct letters *letters, struct letter_op *op, const char *word,
    const struct letter_name *name, const struct owner *owner,
    enum letter_act act, size_t n_more)
{
	struct store_call *call = begin_call(
	    letters, op, SCRIPT_letter, word, name, 3 + n_more);
	shared_arg_notice(&letters->shared, call);
	if (owner != NULL)
		call_arg_token(call, owner->bytes);
	else
		resp_arg(&call->args, SPAN(""));
	resp_arg(&call->args,
	    act == LETTER_REPLAY ? SPAN("replay") : SPAN("drop"));
	return call;
}

void
letters_find(struct letters *letters, struct letter_op *op,
    const struct letter_name *name)
{
	call_start(begin_act(letters, op, "find", name, NULL, 0, 0));
}

void
letters_confirm(struct letters *letters, struct letter_op *op,
    const struct letter_name *name)
{
	call_start(begin_act(letters, op, "confirm", name, NULL, 0, 0));
}

void
letters_begin(struct letters *letters, struct letter_op *op,
    const struct letter_name *name, enum letter_act act,
    const struct owner *owner)
{
	struct store_call *call =
	    begin_act(letters, op, "begin", name, owner, act, 0);
	call->large = true; /* its body may be */
	call_start(call);
}

void
letters_ask(struct letters *letters, struct letter_op *op,
    const struct letter_name *name, enum letter_act act)
{
	call_start(begin_act(letters, op, "ask", name, NULL, act, 0));
}

void
letters_renew(struct letters *letters, struct letter_op *op,
    const struct letter_name *name, const struct owner *owner)
{
	call_start(begin_act(letters, op, "renew", name, owner, 0, 0));
}

void
letters_put_back(struct letters *letters, struct letter_op *op,
    const struct letter_name *name, const struct owner *owner,
    const struct letter *head)
{
	char *bytes;
	size_t len;
	struct store_call *call =
	    begin_act(letters, op, "put_back", name, owner, 0, 2);
	if (head != NULL) {
		resp_arg(&call->args, head->reason);
		letter_codec_put_head(head, &bytes, &len);
		arg_sealed(call, letters, name->id, bytes, len);
	} else {
		resp_arg(&call->args, SPAN(""));
		resp_arg(&call->args, SPAN(""));
	}
	call_start(call);
}

void
letters_end(struct letters *letters, struct letter_op *op,
    const struct letter_name *name, const struct owner *owner)
{
	struct store_call *call =
	    begin_act(letters, op, "end", name, owner, 0, 0);
	op->ends = true;
	call_start(call);
}

/* --- reading one --- */

static struct store_call *
show_call(struct letter_op *op, unsigned shard,
    const uint8_t id[DIGEST_BYTES])
{
	struct store_call *call =
	    new_call(op->letters, shard, SCRIPT_letters, 2);
	resp_arg(&call->args, SPAN("show"));
	arg_digest(call, id);
	call->large = true; /* its body may be */
	call_join_op(call, &op->op);
	return call;
}

static void
begin_reading(struct letters *letters, struct letter_op *op,
    const struct letter_name *name)
{
	call_begin_op(letters->shared.store, &op->op);
	op->op.verdict = VERDICT_GONE;
	op->letter = (struct letter){.position = SPAN("")};
	op->has_next = op->sealed_shut = false;
	op->letters = letters;
	op->name = *name;
	op->n_asked = 0;
	op->first = shard_of(letters, name);
}

static void on_sought(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply);

/* The next shard that is to be asked. */
static struct store_call *
seek_call(struct letter_op *op)
{
	int64_t n_shards = op->letters->shared.store->conf->store.shards;
	unsigned shard = (unsigned)((op->first + op->n_asked++) % n_shards);
	struct store_call *call = show_call(op, shard, op->name.id);
	call->done = on_sought;
	return call;
}

static void
on_sought(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	if (call->op == NULL)
		return;
	struct letter_op *op = CONTAINER_OF(call->op, struct letter_op, op);
	int64_t n_shards = op->letters->shared.store->conf->store.shards;
	bool found = op->op.verdict == VERDICT_DONE;
	if (!found && how == CALL_ANSWERED &&
	    reply->verdict == VERDICT_DONE) {
		found = true;
		op->op.verdict = VERDICT_DONE;
		op->op.now_ms = reply->now_ms;
		error = read_answer(op, reply);
		if (error == E_MALFORMED)
			error = E_STORE_REFUSED;
		/* Whatever other shards cannot say does not matter then. */
		op->op.failure = 0;
	} else if (found) {
		error = 0;
	}
	if (!found && error == 0 && op->op.failure == 0 &&
	    op->n_asked < n_shards)
		call_start(seek_call(op));
	call_end_op(call, error);
}

void
letters_seek(
    struct letters *letters, struct letter_op *op, struct span position)
{
	const struct letter_name name = letters_name(position, NULL);
	int64_t n_shards = letters->shared.store->conf->store.shards;
	struct store_call *calls[AT_ONCE];
	size_t count = 0;
	begin_reading(letters, op, &name);
	while (count < AT_ONCE && op->n_asked < n_shards)
		calls[count++] = seek_call(op);
	/*
	 * All are added before one can end: the last to end ends the operation.
	 */
	for (size_t i = 0; i < count; i++)
		call_start(calls[i]);
}

void
letters_show(struct letters *letters, struct letter_op *op,
    const struct letter_name *name)
{
	begin_reading(letters, op, name);
	op->n_asked = UINT_MAX; /* no other shard has it */
	struct store_call *call = show_call(op, op->first, name->id);
	call->done = on_sought;
	call_start(call);
}

/* --- a list --- */

/* Where the page after this letter goes on: when it was put, and its id. */
static void
put_next(const struct letter *letter, char ret_next[LETTERS_NEXT_BYTES])
{
	snprintf(ret_next, LETTERS_NEXT_BYTES, "%013" PRId64, letter->put_ms);
	hex_encode(letter->name.id, DIGEST_BYTES, ret_next + STAMP_DIGITS);
}

bool
letters_is_next(struct span next)
{
	uint8_t id[DIGEST_BYTES];
	int64_t put_ms;
	return next.len == STAMP_DIGITS + DIGEST_HEX &&
	    digits_read(
		span_of(next.ptr, STAMP_DIGITS), INT64_MAX, &put_ms) &&
	    hex_decode(span_from(next, STAMP_DIGITS), id, sizeof id);
}

static bool
is_before(const struct letter *a, const struct letter *b)
{
	if (a->put_ms != b->put_ms)
		return a->put_ms < b->put_ms;
	return memcmp(a->name.id, b->name.id, DIGEST_BYTES) < 0;
}

/* Keeps one more than the page has, to know of more. */
static bool
insert_letter(struct letters_list *list, struct letter *letter,
    struct span stored)
{
	size_t at = list->count;
	struct span head;
	while (at > 0 && is_before(letter, &list->letters[at - 1]))
		at--;
	if (at > list->limit)
		return true;
	if (!open_text(
		list->of, list->arena, letter->name.id, stored, &head))
		return false;
	read_head(letter, head);
	if (list->count <= list->limit)
		list->count++;
	memmove(&list->letters[at + 1], &list->letters[at],
	    (list->count - 1 - at) * sizeof *letter);
	list->letters[at] = *letter;
	return true;
}

static int
read_page(struct letters_list *list, const struct call_reply *reply)
{
	struct letter letter;
	for (size_t i = 0; i + LISTED_TEXTS <= reply->n_extra;
	     i += LISTED_TEXTS)
		if (!read_said(
			reply, i, list->arena, LISTED_REASON, &letter))
			return E_STORE_REFUSED;
		else if (!insert_letter(list, &letter,
			     call_reply_text(reply, i + LISTED_HEAD)))
			return E_NO_MEMORY;
	return 0;
}

static void on_listed(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply);

/* Asks the next shard for what may still belong on the page. */
static struct store_call *
list_call(struct letters_list *list)
{
	char wanted[3];
	char latest[LETTERS_NEXT_BYTES] = "9999999999999";
	if (list->count > list->limit)
		put_next(&list->letters[list->limit], latest);
	snprintf(wanted, sizeof wanted, "%s%s", list->dead ? "d" : "",
	    list->parked ? "p" : "");
	struct store_call *call =
	    new_call(list->of, list->n_asked++, SCRIPT_letters, 5);
	resp_arg(&call->args, SPAN("list"));
	resp_arg(&call->args, span_str(wanted));
	resp_arg(&call->args, span_str(list->after));
	resp_arg(&call->args, span_of(latest, STAMP_DIGITS));
	resp_number(&call->args, (int64_t)list->limit + 1);
	call->done = on_listed;
	call_join_op(call, &list->op);
	return call;
}

static void
on_listed(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	if (call->op == NULL)
		return;
	struct letters_list *list =
	    CONTAINER_OF(call->op, struct letters_list, op);
	if (how == CALL_ANSWERED)
		error = read_page(list, reply);
	if (error == 0 && list->op.failure == 0 &&
	    list->n_asked < call->store->conf->store.shards)
		call_start(list_call(list));
	call_end_op(call, error);
	if (op_pending(&list->op.op))
		return;
	list->op.verdict = VERDICT_DONE;
	if (list->count > list->limit) {
		list->count = list->limit;
		put_next(&list->letters[list->limit - 1], list->next);
	}
}

void
letters_list(const struct letters *letters, struct letters_list *list)
{
	must(list->limit > 0 && list->limit <= LETTERS_PAGE_MAX);
	struct store_call *calls[AT_ONCE];
	size_t count = 0;
	call_begin_op(letters->shared.store, &list->op);
	list->letters = arena_alloc(
	    list->arena, (list->limit + 1) * sizeof *list->letters);
	list->count = 0;
	list->next[0] = '\0';
	list->of = letters;
	list->n_asked = 0;
	while (count < AT_ONCE &&
	    list->n_asked < letters->shared.store->conf->store.shards)
		calls[count++] = list_call(list);
	/*
	 * All are added before one can end: the last to end ends the operation.
	 */
	for (size_t i = 0; i < count; i++)
		call_start(calls[i]);
}
