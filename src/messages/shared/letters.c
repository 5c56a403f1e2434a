/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/digits.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/mem.h"
#include "base/must.h"
#include "messages/shared/letters.h"

enum {
	LOAD_MS = 10000,
	RETRY_MS = 500, /* where Redis did not say */
	/* What is told of each (lua/letters.lua): id, lane, and time or act. */
	WRITTEN_CHARS = 2 * DIGEST_HEX + LETTERS_STAMP_DIGITS,
	BEGUN_CHARS = 2 * DIGEST_HEX + 1,
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
forget_all(struct letters *letters, struct letters_shard *shard)
{
	struct known *known;
	LIST_EACH(known, &shard->lanes, in_shard)
		forget(&letters->lanes, known);
	LIST_EACH(known, &shard->written, in_shard)
		forget(&letters->written, known);
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
	const struct letter_name name = letter_stored_name(position, NULL);
	return letters->n_unknown > 0 ||
	    find_known(&letters->written, name.id) != NULL;
}

static void
set_counts(struct letters *letters, struct letters_shard *shard,
    uint64_t dead, uint64_t parked)
{
	letters->dead += dead - shard->dead;
	letters->parked += parked - shard->parked;
	shard->dead = dead;
	shard->parked = parked;
}

/* --- looking --- */

static void on_looked(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply);

/* Once, and once more where that is under way already. */
static void
look_at(struct letters *letters, struct letters_shard *shard)
{
	shard->due = shard->call != NULL;
	if (shard->due)
		return;
	shard->call = letter_stored_call(&letters->shared,
	    (unsigned)(shard - letters->shards), SCRIPT_letters, 1);
	resp_arg(&shard->call->args, SPAN("look"));
	shard->call->done = on_looked;
	shard->call->arg = letters;
	call_start(shard->call);
}

static void
on_load_timer(void *arg)
{
	struct letters *letters = arg;
	timer_set(&letters->timer, LOAD_MS);
	for (int64_t i = 0; i < letters->shared.store->conf->store.shards; i++)
		look_at(letters, &letters->shards[i]);
}

/* Takes a letter's name off the list, and the text that stands behind it. */
static bool
take_name(struct span *list, size_t chars, struct letter_name *ret_name,
    struct span *ret_more)
{
	const size_t names = (size_t)2 * DIGEST_HEX;
	if (list->len < chars ||
	    !letter_stored_read_name(span_of(list->ptr, DIGEST_HEX),
		span_of(list->ptr + DIGEST_HEX, DIGEST_HEX), ret_name))
		return false;
	*ret_more = span_of(list->ptr + names, chars - names);
	*list = span_from(*list, chars);
	return true;
}

/*
 * What the shard has takes the place of what was known of it; false: the reply
 * has something else.
 */
static bool
take_shard(struct letters *letters, struct letters_shard *shard,
    const struct call_reply *reply)
{
	uint8_t digest[DIGEST_BYTES];
	struct letter_name name;
	struct span lanes = call_reply_text(reply, 2), more;
	struct span written = call_reply_text(reply, 3);
	int64_t dead = shared_number(reply, 0);
	int64_t parked = shared_number(reply, 1);
	forget_all(letters, shard);
	while (lanes.len >= DIGEST_HEX &&
	    hex_decode(span_of(lanes.ptr, DIGEST_HEX), digest, sizeof digest)) {
		add_known(&letters->lanes, &shard->lanes, digest);
		lanes = span_from(lanes, DIGEST_HEX);
	}
	while (take_name(&written, WRITTEN_CHARS, &name, &more))
		add_known(&letters->written, &shard->written, name.id);
	letters->n_unknown += shard->known;
	shard->known =
	    dead >= 0 && parked >= 0 && lanes.len == 0 && written.len == 0;
	if (!shard->known)
		return false;
	letters->n_unknown--;
	set_counts(letters, shard, (uint64_t)dead, (uint64_t)parked);
	shard->looked_ms = reply->now_ms;
	return true;
}

/* What somebody has to go on with. */
static void
tell_of_work(struct letters *letters, const struct call_reply *reply)
{
	const struct letters_events *events = &letters->events;
	struct span written = call_reply_text(reply, 3), more;
	struct span begun = call_reply_text(reply, 4);
	struct letter_name name;
	int64_t put_ms;
	while (take_name(&written, WRITTEN_CHARS, &name, &more))
		if (digits_read(more, INT64_MAX, &put_ms) &&
		    put_ms + LETTERS_LEASE_MS <= reply->now_ms)
			events->left(
			    events->arg, &name, LETTER_ACKNOWLEDGE);
	while (take_name(&begun, BEGUN_CHARS, &name, &more))
		events->left(events->arg, &name,
		    more.ptr[0] == 'r' ? LETTER_REPLAY : LETTER_DROP);
}

static void
on_looked(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	struct letters *letters = call->arg;
	if (letters == NULL)
		return;
	struct letters_shard *shard = &letters->shards[call->shard];
	shard->call = NULL;
	/* It may be older than what was changed from here since. */
	bool older = how == CALL_ANSWERED && reply->now_ms <= shard->changed_ms;
	bool ok = older ||
	    (how == CALL_ANSWERED && take_shard(letters, shard, reply));
	if (how == CALL_ANSWERED && !ok)
		error = call_log_odd(call);
	letters->n_failed += !ok - (size_t)shard->failed;
	shard->failed = !ok;
	/* Trouble with one is not over because another one is well. */
	struct shared of = letters->shared;
	of.shard = call->shard;
	if (!ok || letters->n_failed == 0)
		shared_ended(&of, "letters", call, error, shard->known);
	memcpy(letters->shared.trouble, of.trouble, sizeof of.trouble);
	if (!ok) { /* its link is ending, perhaps */
		timer_set(&letters->timer, RETRY_MS);
		return;
	}
	if (older || shard->due) {
		shard->changed_ms = 0;
		look_at(letters, shard);
	}
	if (older)
		return;
	if (letters->n_unknown == 0)
		letters->events.changed(letters->events.arg);
	tell_of_work(letters, reply);
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
	letters->n_unknown = (size_t)n_shards;
	timer_set(&letters->timer, 0);
}

void
letters_look(struct letters *letters)
{
	timer_set(&letters->timer, 0);
}

void
letters_note(struct letters *letters, unsigned at,
    const struct letter_name *name, const struct letter *letter,
    const struct call_reply *reply)
{
	struct letters_shard *shard = &letters->shards[at];
	int64_t dead = shared_number(reply, SAID_DEAD);
	int64_t parked = shared_number(reply, SAID_PARKED);
	bool lane_is_there = call_reply_text(reply, SAID_LANE_IS_THERE).len > 0;
	struct known *lane = find_known(&letters->lanes, name->lane);
	struct known *written = find_known(&letters->written, name->id);
	bool is_written = letter->state == LETTER_WRITTEN &&
	    !memcmp(letter->name.id, name->id, DIGEST_BYTES);
	bool older = reply->now_ms < shard->looked_ms;
	if (reply->now_ms <= shard->looked_ms)
		look_at(letters, shard);
	if (older)
		return;
	if (is_written && written == NULL)
		add_known(&letters->written, &shard->written, name->id);
	else if (!is_written && written != NULL)
		forget(&letters->written, written);
	/* It may say no more than that there is no such letter. */
	if (dead < 0 || parked < 0)
		return;
	shard->changed_ms = reply->now_ms;
	if (name->in_order && lane_is_there && lane == NULL)
		add_known(&letters->lanes, &shard->lanes, name->lane);
	else if (name->in_order && !lane_is_there && lane != NULL)
		forget(&letters->lanes, lane);
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
	list_remove(&letters->hearing.in_store);
	for (int64_t i = 0; i < letters->shared.store->conf->store.shards;
	     i++) {
		struct letters_shard *shard = &letters->shards[i];
		if (shard->call != NULL)
			shard->call->arg = NULL;
		forget_all(letters, shard);
	}
	hash_free(&letters->lanes);
	hash_free(&letters->written);
	free(letters->shards);
	*letters = (struct letters){0};
}

/* --- a page of them --- */

bool
letters_list_is_next(struct span next)
{
	uint8_t id[DIGEST_BYTES];
	int64_t put_ms;
	return next.len == LETTERS_STAMP_DIGITS + DIGEST_HEX &&
	       digits_read(span_of(next.ptr, LETTERS_STAMP_DIGITS), INT64_MAX,
		   &put_ms) &&
	       hex_decode(span_from(next, LETTERS_STAMP_DIGITS), id, sizeof id);
}

/* Keeps one more than the page has, to know of more. */
static void
insert_letter(struct letters_list *list, const struct letter *letter)
{
	size_t at = list->count;
	for (; at > 0; at--) {
		const struct letter *before = &list->letters[at - 1];
		if (letter->put_ms > before->put_ms ||
		    (letter->put_ms == before->put_ms &&
			memcmp(letter->name.id, before->name.id,
			    DIGEST_BYTES) > 0))
			break;
	}
	if (at > list->limit)
		return;
	if (list->count <= list->limit)
		list->count++;
	memmove(&list->letters[at + 1], &list->letters[at],
	    (list->count - 1 - at) * sizeof *letter);
	list->letters[at] = *letter;
}

static void
on_listed(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	if (call->op == NULL)
		return;
	struct letters_list *list =
	    CONTAINER_OF(call->op, struct letters_list, op);
	struct letter letter;
	bool shut;
	for (size_t i = 0; how == CALL_ANSWERED && error == 0 &&
	     i + LETTER_BODY <= reply->n_extra;
	     i += LETTER_BODY) {
		error = letter_stored_read(&list->of->shared, reply, i,
		    i + LETTER_BODY, list->arena, &letter, &shut);
		if (error == 0)
			insert_letter(list, &letter);
	}
	call_end_op(call, error == E_MALFORMED ? E_STORE_REFUSED : error);
	if (list->op.op.state == OP_PENDING)
		return;
	list->op.verdict = VERDICT_DONE;
	if (list->count <= list->limit)
		return;
	/* It goes on behind when the last one was put, and its id. */
	const struct letter *last = &list->letters[list->limit - 1];
	list->count = list->limit;
	snprintf(list->next, sizeof list->next, "%013" PRId64, last->put_ms);
	hex_encode(
	    last->name.id, DIGEST_BYTES, list->next + LETTERS_STAMP_DIGITS);
}

void
letters_list(const struct letters *letters, struct letters_list *list)
{
	must(list->limit > 0 && list->limit <= LETTERS_PAGE_MAX);
	size_t n_shards = (size_t)letters->shared.store->conf->store.shards;
	struct store_call **calls = mem_zero(n_shards * sizeof *calls);
	char wanted[3];
	call_begin_op(letters->shared.store, &list->op);
	list->letters =
	    arena_alloc(list->arena, (list->limit + 1) * sizeof *list->letters);
	list->count = 0;
	list->next[0] = '\0';
	list->of = letters;
	snprintf(wanted, sizeof wanted, "%s%s", list->dead ? "d" : "",
	    list->parked ? "p" : "");
	/* All are added before one can end: with the last it ends. */
	for (size_t i = 0; i < n_shards; i++) {
		calls[i] = letter_stored_call(
		    &letters->shared, (unsigned)i, SCRIPT_letters, 4);
		resp_arg(&calls[i]->args, SPAN("list"));
		resp_arg(&calls[i]->args, span_str(wanted));
		resp_arg(&calls[i]->args, span_str(list->after));
		resp_number(&calls[i]->args, (int64_t)list->limit + 1);
		calls[i]->done = on_listed;
		call_join_op(calls[i], &list->op);
	}
	for (size_t i = 0; i < n_shards; i++)
		call_start(calls[i]);
	free(calls);
}
