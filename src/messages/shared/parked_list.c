/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "base/container.h"
#include "base/digits.h"
#include "messages/shared/parked_list.h"

enum { STAMP_DIGITS = 13, ENTRY_TEXTS = 5 };

bool
parked_list_is_place(struct span place)
{
	uint8_t bytes[DIGEST_BYTES];
	int64_t stamp;
	return place.len == PARKED_PLACE_CHARS &&
	    digits_read(
		span_of(place.ptr, STAMP_DIGITS), INT64_MAX, &stamp) &&
	    hex_decode(span_from(place, STAMP_DIGITS), bytes, sizeof bytes);
}

struct store_call *
parked_list_call(
    const struct shared *shared, struct span after, size_t limit)
{
	struct store_call *call = shared_call(shared, SCRIPT_parked, 5);
	resp_number(&call->args, 2);
	shared_arg_key(shared, call, "parked", "");
	shared_arg_key(shared, call, "decided", "");
	resp_arg(&call->args, after);
	resp_number(&call->args, (int64_t)limit);
	return call;
}

size_t
parked_list_count(const struct call_reply *reply)
{
	return reply->n_extra / ENTRY_TEXTS;
}

bool
parked_list_read(const struct call_reply *reply, size_t i,
    struct parked_entry *ret_entry, char ret_place[PARKED_PLACE_CHARS + 1])
{
	size_t at = i * ENTRY_TEXTS;
	struct span lane = call_reply_text(reply, at);
	struct span since = call_reply_text(reply, at + 1);
	ret_entry->since_ms = shared_number(reply, at + 1);
	ret_entry->count = shared_number(reply, at + 2);
	ret_entry->first = call_reply_text(reply, at + 3);
	ret_entry->decided = call_reply_text(reply, at + 4);
	if (since.len != STAMP_DIGITS || ret_entry->since_ms < 0 ||
	    ret_entry->count < 0 ||
	    !hex_decode(lane, ret_entry->lane, DIGEST_BYTES))
		return false;
	snprintf(ret_place, PARKED_PLACE_CHARS + 1, "%.*s%.*s",
	    SPAN_FMT(since), SPAN_FMT(lane));
	ret_entry->place = span_of(ret_place, PARKED_PLACE_CHARS);
	return true;
}

static void
on_listed(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	char place[PARKED_PLACE_CHARS + 1];
	if (call->op == NULL)
		return;
	struct parked_list *list =
	    CONTAINER_OF(call->op, struct parked_list, op);
	size_t n_read = how == CALL_ANSWERED ? parked_list_count(reply) : 0;
	for (size_t i = 0; i < n_read && list->count < list->limit; i++) {
		struct parked_entry *entry = &list->entries[list->count];
		if (!parked_list_read(reply, i, entry, place))
			continue;
		entry->first = arena_dup(list->arena, entry->first);
		entry->decided = arena_dup(list->arena, entry->decided);
		entry->place = arena_dup(list->arena, entry->place);
		list->count++;
	}
	list->op.verdict = VERDICT_DONE;
	call_end_op(call, error);
}

void
parked_list(struct parked_list *list, const struct shared *shared,
    struct span after, size_t limit)
{
	call_begin_op(shared->store, &list->op);
	list->entries =
	    arena_alloc(list->arena, (limit + 1) * sizeof *list->entries);
	list->count = 0;
	list->limit = limit;
	struct store_call *call = parked_list_call(shared, after, limit);
	call->done = on_listed;
	call_join_op(call, &list->op);
	call_start(call);
}
