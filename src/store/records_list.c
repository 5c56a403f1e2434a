/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/container.h"
#include "base/digits.h"
#include "store/call.h"
#include "store/operation.h"
#include "store/record/redis_keys.h"
#include "store/records_list.h"

enum {
	/* Shards that are asked for a page at the same time. */
	LIST_AT_ONCE = 16,
	STAMP_DIGITS = 13,
};

void
records_list_place(
    const struct record_view *record, char ret_place[PLACE_CHARS + 1])
{
	must(snprintf(ret_place, STAMP_DIGITS + 1, "%013" PRId64,
		 record->changed_ms) == STAMP_DIGITS);
	hex_encode(
	    record->key_id.bytes, DIGEST_BYTES, ret_place + STAMP_DIGITS);
}

bool
records_list_is_place(struct span place)
{
	uint8_t bytes[DIGEST_BYTES];
	if (place.len != PLACE_CHARS)
		return false;
	int64_t stamp;
	return digits_read(span_of(place.ptr, STAMP_DIGITS), INT64_MAX,
		   &stamp) &&
	    hex_decode(span_from(place, STAMP_DIGITS), bytes, sizeof bytes);
}

static bool
is_before(const struct record_view *a, const struct record_view *b)
{
	if (a->changed_ms != b->changed_ms)
		return a->changed_ms < b->changed_ms;
	return memcmp(&a->key_id, &b->key_id, sizeof a->key_id) < 0;
}

/* Inserts in order; keeps one more than the page has, to know of more. */
static void
insert_record(const struct store *store, struct records_list *list,
    const struct record_view *record)
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
	records_keep(store, list->arena, &list->records[at]);
}

/* Names, ms-left and records by turns; malformed ones are not listed. */
static void
read_page(const struct store *store, struct records_list *list,
    const struct call_reply *reply)
{
	for (size_t i = 0; i + 3 <= reply->n_extra; i += 3) {
		struct key_id key_id;
		struct record_view record;
		struct record read;
		if (hex_decode(resp_text(reply->extra[i]), key_id.bytes,
			sizeof key_id.bytes) &&
		    records_read_pair(reply, i + 1, &key_id, &record, &read) ==
			0)
			insert_record(store, list, &record);
	}
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
	if (how == CALL_ANSWERED) {
		read_page(call->store, list, reply);
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

/* Asks the next shard, for what may still belong on the page. */
static struct store_call *
list_call(struct store *store, struct records_list *list)
{
	char wanted[STATE_COUNT_];
	size_t n_wanted = 0;
	for (size_t i = 0; i < STATE_COUNT_; i++)
		if (list->wanted[i] && i != STATE_COMPLETED)
			wanted[n_wanted++] = state_letter((enum record_state)i);
	char latest[PLACE_CHARS + 1] = "9999999999999";
	if (list->count > list->limit)
		records_list_place(&list->records[list->limit], latest);

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
records_list(struct store *store, struct records_list *list)
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
	/*
	 * All are added before one can end: the last to end ends the operation.
	 */
	for (size_t i = 0; i < count; i++)
		call_start(calls[i]);
}
