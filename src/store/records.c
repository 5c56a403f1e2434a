/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/log.h"
#include "record/answer_codec.h"
#include "record/redis_keys.h"
#include "store/operation.h"
#include "store/records.h"

enum {
	/* Shards that are asked for a page at the same time. */
	LIST_AT_ONCE = 16,
	STAMP_DIGITS = 13,
};
_Static_assert((int)OWNER_CHARS == (int)TOKEN_CHARS, "two sizes of owners");

/* --- a record out of a reply --- */

static struct span
text_of(const redisReply *reply)
{
	if (reply->type != REDIS_REPLY_STRING)
		return SPAN("");
	return span_of(reply->str, reply->len);
}

static struct store_record
to_show(const struct record *from, const struct key_id *key_id,
    int64_t expires_ms)
{
	bool owned = !span_eq(from->owner, SPAN("----------------------"));
	return (struct store_record){
	    .key_id = *key_id,
	    .state = from->state,
	    .reason = from->reason,
	    .attempt = from->attempt,
	    .route = from->route,
	    .owner = owned ? from->owner : SPAN(""),
	    .fingerprint = from->fingerprint,
	    .created_ms = from->created_ms,
	    .changed_ms = from->changed_ms,
	    .lease_until_ms = from->lease_until_ms,
	    .expires_ms = expires_ms,
	};
}

/* Its texts, which are of the reply, become the arena's. */
static void
keep(struct arena *arena, struct store_record *record)
{
	record->route = arena_dup(arena, record->route);
	record->owner = arena_dup(arena, record->owner);
	record->fingerprint = arena_dup(arena, record->fingerprint);
}

/* Two elements, ms-left and the value: 0 or E_MALFORMED. */
static int
read_pair(const struct call_reply *reply, size_t at,
    const struct key_id *key_id, struct store_record *ret_shown,
    struct record *ret_record)
{
	struct record record;
	if (at + 2 > reply->n_extra ||
	    reply->extra[at]->type != REDIS_REPLY_INTEGER)
		return E_MALFORMED;
	int error = record_read(text_of(reply->extra[at + 1]), &record);
	if (error != 0)
		return error;
	int64_t left_ms = reply->extra[at]->integer;
	*ret_shown = to_show(
	    &record, key_id, left_ms >= 0 ? reply->now_ms + left_ms : 0);
	*ret_record = record;
	return 0;
}

/* --- one record --- */

/* Of a record whose head can be shown all the same. */
static const char *
unreadable_message(struct arena *arena, struct span stored, int error)
{
	struct span id = SPAN("");
	bool sealed = seal_key_of(stored, &id);
	must(sealed);
	return arena_printf(arena,
	    error == E_NO_KEY
		? "it is encrypted with the key \"%.*s\", which "
		  "store.encryption_keys does not have"
		: "it does not open with the key \"%.*s\": that was another "
		  "key once, or the record was changed in Redis",
	    SPAN_FMT(id))
	    .ptr;
}

/* State, and, unless it is gone now, ms-left and the record. */
static int
read_look(struct store *store, struct store_look *look,
    const struct key_id *key_id, const struct call_reply *reply)
{
	struct store_op *op = &look->op;
	struct span letter =
	    reply->n_extra > 0 ? text_of(reply->extra[0]) : SPAN("");
	if (op->verdict == VERDICT_BROKEN)
		return E_MALFORMED;
	if (op->verdict == VERDICT_GONE)
		return 0;
	if (letter.len != 1 || !state_of(*letter.ptr, &op->state))
		return E_MALFORMED;
	if (op->verdict == VERDICT_FENCED || reply->n_extra == 1)
		return 0;

	struct record record;
	int error = read_pair(reply, 1, key_id, &look->record, &record);
	if (error != 0)
		return error;
	keep(look->arena, &look->record);
	if (record.state != STATE_COMPLETED || record.rest.len == 0)
		return 0;
	error = answer_codec_read(&store->codec, key_id, &record, &op->answer);
	if (error != E_NO_KEY && error != E_SEALED)
		return error;
	look->unreadable =
	    unreadable_message(look->arena, record.rest, error);
	return 0;
}

static void
on_look(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	struct store_look *look = (struct store_look *)(void *)call->op;
	if (look == NULL)
		return;
	if (how == CALL_ANSWERED) {
		look->op.verdict = reply->verdict;
		look->op.attempt = reply->attempt;
		error = read_look(call->store, look, &call->key_id, reply);
	}
	if (error == E_MALFORMED) {
		answer_codec_log_broken(&call->key_id);
		look->op.verdict = VERDICT_BROKEN;
		error = 0;
	}
	operation_end_call(call, error);
}

static struct store_call *
look_call(struct store *store, struct store_look *look, enum script script,
    const struct key_id *key_id, size_t n_argv)
{
	operation_begin(store, &look->op);
	look->record = (struct store_record){0};
	look->unreadable = NULL;
	struct store_call *call = operation_call(store, script, key_id, n_argv);
	call->done = on_look;
	operation_add(call, &look->op);
	return call;
}

void
store_look(struct store *store, struct store_look *look,
    const struct key_id *key_id, bool whole)
{
	struct store_call *call =
	    look_call(store, look, SCRIPT_show, key_id, 1);
	resp_number(&call->args, whole);
	call_start(call);
}

/* The order's answer, if any, as its argument. */
static void
answer_arg(struct store *store, struct store_call *call,
    const struct store_order *order)
{
	char *bytes = NULL;
	size_t len = 0;
	if (order->answer != NULL) {
		struct seal_about about = {.key_id = call->key_id,
		    .state = STATE_COMPLETED,
		    .attempt = order->attempt};
		must(order->fingerprint.len == sizeof about.fingerprint);
		memcpy(about.fingerprint, order->fingerprint.ptr,
		    sizeof about.fingerprint);
		answer_codec_write(
		    &store->codec, &about, order->answer, &bytes, &len);
	}
	resp_arg(&call->args, span_of(bytes ? bytes : "", len));
	free(bytes);
}

void
store_operate(struct store *store, struct store_look *look,
    const struct key_id *key_id, const struct store_order *order)
{
	static const char *const message[] = {
	    [ACT_RELEASE] = "release",
	    [ACT_COMPLETE] = "complete",
	    [ACT_DELETE] = "delete",
	};
	const struct answer *answer = order->answer;
	must((order->act == ACT_COMPLETE) == (answer != NULL));
	struct store_call *call =
	    look_call(store, look, SCRIPT_operate, key_id, 6);
	resp_arg(&call->args, span_str(message[order->act]));
	resp_number(&call->args, order->retention_ms);
	answer_arg(store, call, order);
	resp_number(&call->args, answer != NULL ? answer->status : 0);
	resp_number(&call->args, order->attempt);
	resp_arg(&call->args, order->fingerprint);
	call_start(call);
}

/* --- a page of records --- */

void
store_list_place(
    const struct store_record *record, char ret_place[PLACE_CHARS + 1])
{
	must(snprintf(ret_place, STAMP_DIGITS + 1, "%013" PRId64,
		 record->changed_ms) == STAMP_DIGITS);
	hex_encode(
	    record->key_id.bytes, DIGEST_BYTES, ret_place + STAMP_DIGITS);
}

bool
store_list_is_place(struct span place)
{
	uint8_t bytes[DIGEST_BYTES];
	if (place.len != PLACE_CHARS)
		return false;
	for (size_t i = 0; i < STAMP_DIGITS; i++)
		if (place.ptr[i] < '0' || place.ptr[i] > '9')
			return false;
	return hex_decode(span_from(place, STAMP_DIGITS), bytes, sizeof bytes);
}

static bool
is_before(const struct store_record *a, const struct store_record *b)
{
	if (a->changed_ms != b->changed_ms)
		return a->changed_ms < b->changed_ms;
	return memcmp(&a->key_id, &b->key_id, sizeof a->key_id) < 0;
}

/* Into its place; one more than the page has is kept, to know of more. */
static void
insert(struct store_list *list, const struct store_record *record)
{
	size_t at = list->count;
	while (at > 0 && is_before(record, &list->records[at - 1]))
		at--;
	if (at > list->limit)
		return;
	if (list->count <= list->limit)
		list->count++;
	memmove(&list->records[at + 1], &list->records[at],
	    (list->count - 1 - at) * sizeof *record);
	list->records[at] = *record;
	keep(list->arena, &list->records[at]);
}

/* Names, ms-left and records; what cannot be read is not listed. */
static void
read_page(struct store_list *list, const struct call_reply *reply)
{
	for (size_t i = 0; i + 3 <= reply->n_extra; i += 3) {
		struct key_id key_id;
		struct store_record record;
		struct record read;
		if (hex_decode(text_of(reply->extra[i]), key_id.bytes,
			sizeof key_id.bytes) &&
		    read_pair(reply, i + 1, &key_id, &record, &read) == 0)
			insert(list, &record);
	}
}

static struct store_call *list_call(
    struct store *store, struct store_list *list);

static void
on_list(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	struct store_list *list = (struct store_list *)(void *)call->op;
	if (list == NULL)
		return;
	if (how == CALL_ANSWERED) {
		read_page(list, reply);
		if (list->op.failure == 0 &&
		    list->shard < call->store->conf->store.shards)
			call_start(list_call(call->store, list));
	}
	if (list->op.call == call && call->sibling == NULL) {
		list->op.verdict = VERDICT_DONE;
		list->more = list->count > list->limit;
		if (list->more)
			list->count = list->limit;
	}
	operation_end_call(call, error);
}

/* Asks the next shard, for no more than may still come into the page. */
static struct store_call *
list_call(struct store *store, struct store_list *list)
{
	static const char letters[] = {
#define STATE(name, letter, ...) letter,
#include "tbl/states.h"
#undef STATE
	};
	char wanted[STATE_COUNT_];
	size_t n_wanted = 0;
	for (size_t i = 0; i < STATE_COUNT_; i++)
		if (list->wanted[i] && i != STATE_COMPLETED)
			wanted[n_wanted++] = letters[i];
	char latest[PLACE_CHARS + 1] = "9999999999999";
	if (list->count > list->limit)
		store_list_place(&list->records[list->limit], latest);

	unsigned shard = list->shard++;
	struct store_call *call = call_new(store, shard, SCRIPT_list, 7);
	resp_number(&call->args, 2);
	redis_keys_index(&call->args, store->conf, shard, "leases");
	redis_keys_index(&call->args, store->conf, shard, "held");
	resp_arg(&call->args, span_of(wanted, n_wanted));
	resp_arg(&call->args, list->after);
	resp_arg(&call->args, span_of(latest, STAMP_DIGITS));
	resp_number(&call->args, (int64_t)list->limit + 1);
	call->done = on_list;
	operation_add(call, &list->op);
	return call;
}

void
store_list(struct store *store, struct store_list *list)
{
	must(list->limit > 0);
	operation_begin(store, &list->op);
	list->records = arena_alloc(
	    list->arena, (list->limit + 1) * sizeof *list->records);
	list->count = 0;
	list->more = false;
	list->shard = 0;
	struct store_call *calls[LIST_AT_ONCE];
	size_t count = 0;
	while (count < LIST_AT_ONCE &&
	    list->shard < store->conf->store.shards)
		calls[count++] = list_call(store, list);
	/* All of them belong before one can end: then the last ends it. */
	for (size_t i = 0; i < count; i++)
		call_start(calls[i]);
}
