/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/digits.h"
#include "base/error.h"
#include "base/loop/log.h"
#include "store/call.h"
#include "store/outcome.h"
#include "store/record/answer_codec.h"
#include "store/record/label.h"
#include "store/record/redis_keys.h"
#include "store/record_reply.h"
#include "store/records.h"

enum {
	STAMP_DIGITS = 13,
	/* Shards that are asked at the same time, for a page. */
	LIST_AT_ONCE = 16,
};

/* --- a record out of a reply --- */

/* Reads the two elements from at on, ms-left and value: 0 or E_MALFORMED. */
static int
read_pair(const struct call_reply *reply, size_t at,
    const struct key_id *key_id, struct record *ret_record)
{
	if (at + 2 > reply->n_extra ||
	    reply->extra[at]->type != REDIS_REPLY_INTEGER ||
	    reply->extra[at]->integer > REDIS_CLOCK_MAX_MS ||
	    record_read(call_reply_text(reply, at + 1), ret_record) != 0)
		return E_MALFORMED;
	int64_t left_ms = reply->extra[at]->integer;
	ret_record->key_id = *key_id;
	ret_record->expires_ms = left_ms >= 0 ? reply->now_ms + left_ms : 0;
	if (span_eq(ret_record->owner, SPAN("----------------------")))
		ret_record->owner = SPAN("");
	return 0;
}

/*
 * Copies its texts, which are part of the reply, into the arena; the label is
 * then what people read.
 */
static void
keep(const struct store *store, struct arena *arena, struct record *record)
{
	struct provenance *from = &record->from;
	struct span *const parts[] = {&from->route, &from->method, &from->path,
	    &from->instance, &from->label, &from->request_id, &from->history};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		*parts[i] = arena_dup(arena, *parts[i]);
	if (!label_read(arena, &store->conf->store, &record->key_id,
		from->label, &from->label))
		from->label = SPAN("");
	record->owner = arena_dup(arena, record->owner);
	record->fingerprint = arena_dup(arena, record->fingerprint);
	record->rest = SPAN("");
}

/* --- one record --- */

/*
 * The answer of a COMPLETED record, which was wanted with it; or why it cannot
 * be shown, as the head can.
 */
static int
read_answer(struct store *store, struct records_op *shown,
    const struct record *record)
{
	struct span id;
	int error = answer_codec_read(
	    &store->codec, &record->key_id, record, &shown->op.answer);
	if (error == E_MALFORMED) {
		answer_codec_log(
		    EV_record_broken, &record->key_id, SPAN(""));
		shown->unreadable = "it is damaged";
		shown->damaged = true;
		return 0;
	}
	shown->op.beyond = error == E_TOO_LARGE;
	if (!answer_codec_is_shut(error))
		return shown->op.beyond ? E_NO_MEMORY : error;
	if (!seal_key_of(record->rest, &id)) {
		shown->unreadable = "it is not encrypted, and "
				    "store.encryption_strict is true";
		return 0;
	}
	const struct span why = arena_printf(shown->arena,
	    error == E_NO_KEY
		? "it is encrypted with the key \"%.*s\", which "
		  "store.encryption_keys does not have"
		: "it cannot be decrypted with the key \"%.*s\": the id once "
		  "named another key, or the record was changed in Redis",
	    SPAN_FMT(id));
	shown->unreadable = why.ptr;
	return 0;
}

/* The state, and unless the record was deleted, ms-left and the record. */
static int
read_shown(struct store_call *call, const struct call_reply *reply)
{
	struct records_op *shown =
	    CONTAINER_OF(call->op, struct records_op, op);
	struct store_op *op = &shown->op;
	struct span letter = call_reply_text(reply, 0);
	if (op->verdict == VERDICT_BROKEN && shown->bare &&
	    reply->n_extra > 0) {
		op->verdict = VERDICT_DONE;
		shown->broken = true;
		shown->bare = span_eq(letter, SPAN("DELETED"));
		if (shown->bare)
			return 0;
	}
	shown->broken |= op->verdict == VERDICT_BROKEN;
	if (op->verdict == VERDICT_BROKEN)
		return E_MALFORMED;
	if (op->verdict == VERDICT_GONE)
		return 0;
	if (letter.len != 1 || !state_of(*letter.ptr, &op->state))
		return E_MALFORMED;
	if (op->verdict == VERDICT_FENCED || shown->bare)
		return 0;

	struct record record;
	if (read_pair(reply, 1, &call->key_id, &record) != 0)
		return E_MALFORMED;
	shown->record = record;
	keep(call->store, shown->arena, &shown->record);
	shown->status = call_reply_status(reply, 3);
	return record.state == STATE_COMPLETED && record.rest.len > 0
	    ? read_answer(call->store, shown, &record)
	    : 0;
}

static void
on_shown(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	record_reply_read(call, how, error, reply, read_shown);
}

static struct store_call *
shown_call(struct store *store, struct records_op *shown, enum script script,
    const struct key_id *key_id, size_t n_argv)
{
	*shown = (struct records_op){.op = shown->op, .arena = shown->arena};
	call_begin_op(store, &shown->op);
	struct store_call *call =
	    call_of_record(store, script, key_id, n_argv, sizeof *call);
	call->done = on_shown;
	call_join_op(call, &shown->op);
	return call;
}

void
records_show(struct store *store, struct records_op *shown,
    const struct key_id *key_id, enum records_part part)
{
	struct store_call *call =
	    shown_call(store, shown, SCRIPT_show, key_id, 1);
	resp_number(&call->args, part);
	call->large = shown->whole = part == RECORDS_WHOLE;
	call_start(call);
}

/*
 * Of a record that was shown as BROKEN: the answer of the request that it is of
 * takes its place.
 */
static void
replace(struct store *store, struct records_op *shown,
    const struct journal_entry *entry)
{
	struct store_entity entity;
	const struct owned_claim owned = outcome_owned(entry, &entity);
	struct store_call *call = shown_call(store, shown, SCRIPT_operate,
	    &entry->key_id, owned.entity != NULL ? 17 : 13);
	shown->bare = true;
	resp_arg(&call->args, SPAN("replace"));
	resp_number(&call->args, entry->retention_ms);
	resp_arg(&call->args, entry->answer);
	resp_number(&call->args, entry->status);
	resp_number(&call->args, 0);
	resp_arg(&call->args, SPAN(""));
	resp_arg(&call->args, SPAN(""));
	call_arg_labelled(call, &owned.owner, owned.provenance);
	call_arg_attempt(call, owned.attempt);
	call_arg_make_again(call, &owned, entry->unknown_retention_ms);
	call->large = call->args.len >= STORE_LARGE_BYTES;
	call_start(call);
}

void
records_operate(struct store *store, struct records_op *shown,
    const struct key_id *key_id, const struct records_order *order)
{
	if (order->outcome != NULL) {
		replace(store, shown, order->outcome);
		return;
	}
	static const char *const words[] = {
	    [ACT_RELEASE] = "release",
	    [ACT_COMPLETE] = "complete",
	    [ACT_DELETE] = "delete",
	    [ACT_RELEASE_FAILED] = "replay",
	};
	const struct answer *answer = order->answer;
	char label[LABEL_INDEX_CHARS + 1] = "", *bytes = NULL;
	struct span stored = SPAN("");
	must((order->act == ACT_COMPLETE) == (answer != NULL));
	if (answer != NULL)
		stored = answer_codec_write(&store->codec, key_id,
		    order->attempt, order->fingerprint, answer, &bytes);
	struct store_call *call =
	    shown_call(store, shown, SCRIPT_operate, key_id, 9);
	shown->bare = order->act == ACT_DELETE;
	resp_arg(&call->args, span_str(words[order->act]));
	resp_number(&call->args, order->retention_ms);
	resp_arg(&call->args, stored);
	free(bytes);
	resp_number(&call->args, answer != NULL ? answer->status : 0);
	resp_number(&call->args, order->attempt);
	resp_arg(&call->args, order->fingerprint);
	resp_arg(&call->args,
	    provenance_act_text(shown->arena, order->note, order->who));
	if (order->act == ACT_COMPLETE) {
		if (order->label.len > 0)
			(void)label_index(
			    &store->conf->store, order->label, 0, label);
		resp_arg(&call->args, span_str(label));
	} else {
		resp_number(&call->args,
		    order->retention_ms > store->longest_ms
			? order->retention_ms
			: store->longest_ms);
	}
	resp_number(&call->args, order->changed_ms);
	call->large = call->args.len >= STORE_LARGE_BYTES;
	call_start(call);
}

/* --- counting --- */

static struct store_call *count_call(
    struct store *store, struct records_count *count);

/* What the reply has at i as a number; a negative one: it has none. */
static int64_t
number_at(const struct call_reply *reply, size_t i)
{
	return i < reply->n_extra &&
		reply->extra[i]->type == REDIS_REPLY_INTEGER
	    ? reply->extra[i]->integer
	    : -1;
}

/* Adds those of one shard to their group.  False: the reply makes no sense. */
static bool
add_to_group(
    struct records_count *count, const struct call_reply *reply, size_t at)
{
	struct span of = call_reply_text(reply, at);
	int64_t n = number_at(reply, at + 1);
	struct records_group group = {
	    .reason = REASON_NONE, .oldest_ms = number_at(reply, at + 2)};
	if (of.len < 2 || !state_of(of.ptr[0], &group.state) || n < 0 ||
	    group.oldest_ms < 0)
		return false;
	(void)reason_of(of.ptr[1], &group.reason);
	group.route = span_from(of, 2);
	size_t i = 0;
	while (i < count->n_groups &&
	    (count->groups[i].state != group.state ||
		count->groups[i].reason != group.reason ||
		!span_eq(count->groups[i].route, group.route)))
		i++;
	if (i == RECORDS_GROUPS) {
		count->more = true;
		return true;
	}
	struct records_group *ours = &count->groups[i];
	if (i == count->n_groups) {
		group.route = arena_dup(count->arena, group.route);
		*ours = group;
		count->n_groups++;
	}
	ours->count += (uint64_t)n;
	if (group.oldest_ms < ours->oldest_ms)
		ours->oldest_ms = group.oldest_ms;
	return true;
}

static void
on_counted(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	static const enum record_state states[] = {
	    STATE_PROCESSING, STATE_UNKNOWN, STATE_FAILED};
	enum { STATES = sizeof states / sizeof *states };
	if (call->op == NULL)
		return;
	struct records_count *count =
	    CONTAINER_OF(call->op, struct records_count, op);
	bool sound = how == CALL_ANSWERED;
	for (size_t i = 0; sound && i < STATES; i++) {
		int64_t n = number_at(reply, i);
		sound = n >= 0;
		count->records[states[i]] += sound ? (uint64_t)n : 0;
	}
	for (size_t at = STATES; sound && at < reply->n_extra; at += 3)
		sound = add_to_group(count, reply, at);
	if (how == CALL_ANSWERED && !sound)
		error = call_log_odd(call);
	if (error == 0 && count->op.failure == 0 &&
	    count->shard < call->store->conf->store.shards)
		call_start(count_call(call->store, count));
	call_end_op(call, error);
}

/*
 * One shard after the other: each holds Redis for as long as it has records,
 * and payments come in between.
 */
static struct store_call *
count_call(struct store *store, struct records_count *count)
{
	unsigned shard = count->shard++;
	struct store_call *call = call_new(store, shard, SCRIPT_count, 3);
	resp_number(&call->args, 2);
	redis_keys_index(&call->args, store->conf, shard, "leases");
	redis_keys_index(&call->args, store->conf, shard, "held");
	call->done = on_counted;
	call_join_op(call, &count->op);
	return call;
}

void
records_count(struct store *store, struct records_count *count)
{
	call_begin_op(store, &count->op);
	for (int state = 0; state < STATE_COUNT_; state++)
		count->records[state] = 0;
	count->groups = arena_alloc(
	    count->arena, RECORDS_GROUPS * sizeof *count->groups);
	count->n_groups = 0;
	count->more = false;
	count->shard = 0;
	call_start(count_call(store, count));
}

/* --- listing --- */

void
records_list_place(
    const struct record *record, char ret_place[PLACE_CHARS + 1])
{
	digits_pad(ret_place, STAMP_DIGITS, record->changed_ms);
	hex_encode(
	    record->key_id.bytes, DIGEST_BYTES, ret_place + STAMP_DIGITS);
}

bool
records_list_is_place(struct span place)
{
	uint8_t bytes[DIGEST_BYTES];
	int64_t stamp;
	return place.len == PLACE_CHARS &&
	    digits_read(
		span_of(place.ptr, STAMP_DIGITS), INT64_MAX, &stamp) &&
	    hex_decode(span_from(place, STAMP_DIGITS), bytes, sizeof bytes);
}

/* Inserts in order; keeps one more than the page has, to know of more. */
static void
insert_record(const struct store *store, struct records_list *list,
    const struct record *record)
{
	size_t at = list->count;
	for (; at > 0; at--) {
		const struct record *before = &list->records[at - 1];
		if (before->changed_ms < record->changed_ms ||
		    (before->changed_ms == record->changed_ms &&
			memcmp(&before->key_id, &record->key_id,
			    sizeof before->key_id) <= 0))
			break;
	}
	if (at > list->limit)
		return;
	if (list->count <= list->limit)
		list->count++;
	memmove(&list->records[at + 1], &list->records[at],
	    (list->count - 1 - at) * sizeof *record);
	list->records[at] = *record;
	keep(store, list->arena, &list->records[at]);
}

static struct store_call *list_call(
    struct store *store, struct records_list *list);

static void
on_list(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	if (call->op == NULL)
		return;
	struct records_list *list =
	    CONTAINER_OF(call->op, struct records_list, op);
	/* Names, ms-left and records by turns; no malformed one is listed. */
	for (size_t i = 0;
	     how == CALL_ANSWERED && i + 3 <= reply->n_extra; i += 3) {
		struct key_id key_id;
		struct record record;
		if (hex_decode(call_reply_text(reply, i), key_id.bytes,
			sizeof key_id.bytes) &&
		    read_pair(reply, i + 1, &key_id, &record) == 0)
			insert_record(call->store, list, &record);
	}
	if (how == CALL_ANSWERED && list->op.failure == 0 &&
	    list->shard < call->store->conf->store.shards)
		call_start(list_call(call->store, list));
	call_end_op(call, error);
	if (list->op.op.state == OP_PENDING)
		return;
	list->op.verdict = VERDICT_DONE;
	list->more = list->count > list->limit;
	if (list->more)
		list->count = list->limit;
}

/* Asks the next shard, for what may still belong on the page. */
static struct store_call *
list_call(struct store *store, struct records_list *list)
{
	char wanted[STATE_COUNT_];
	size_t n_wanted = 0;
	for (size_t i = 0; i < STATE_COUNT_; i++)
		if (list->wanted[i] &&
		    (i != STATE_COMPLETED || list->label.len > 0))
			wanted[n_wanted++] = state_letters[i];
	char latest[PLACE_CHARS + 1] = "9999999999999";
	if (list->count > list->limit)
		records_list_place(&list->records[list->limit], latest);

	const struct conf_store *conf = &store->conf->store;
	bool labelled = list->wanted[STATE_COMPLETED] && list->label.len > 0;
	char name[LABEL_INDEX_CHARS + 1];
	size_t labels = 0;
	while (labelled && label_index(conf, list->label, labels, name))
		labels++;
	unsigned shard = list->shard++;
	struct store_call *call =
	    call_new(store, shard, SCRIPT_list, 7 + labels);
	resp_number(&call->args, 2 + (int64_t)labels);
	redis_keys_index(&call->args, store->conf, shard, "leases");
	redis_keys_index(&call->args, store->conf, shard, "held");
	for (size_t i = 0; i < labels; i++) {
		must(label_index(conf, list->label, i, name));
		redis_keys_index_of(
		    &call->args, store->conf, shard, "label:", name);
	}
	resp_arg(&call->args, span_of(wanted, n_wanted));
	resp_arg(&call->args, list->after);
	resp_arg(&call->args, span_of(latest, STAMP_DIGITS));
	resp_number(&call->args, (int64_t)list->limit + 1);
	call->done = on_list;
	call_join_op(call, &list->op);
	return call;
}

void
records_list(struct store *store, struct records_list *list)
{
	must(list->limit > 0);
	call_begin_op(store, &list->op);
	list->records = arena_alloc(
	    list->arena, (list->limit + 1) * sizeof *list->records);
	list->count = 0;
	list->more = false;
	list->shard = 0;
	while (list->shard < LIST_AT_ONCE &&
	    list->shard < store->conf->store.shards)
		(void)list_call(store, list);
	call_start_op(&list->op);
}
