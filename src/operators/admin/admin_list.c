/* SPDX-License-Identifier: BSD-2-Clause */
#include "operators/admin/admin_answer.h"
#include "operators/admin/admin_json.h"
#include "operators/admin/admin_list.h"
#include "operators/admin/admin_machine_private.h"
#include "operators/admin/admin_query.h"

enum { FIND_BYTES = 256, PAGE_OF_FIND = 200 };

static enum after
bad_request(struct admin_request *a, const char *message)
{
	return admin_answer_problem(a, PROBLEM_BAD_REQUEST, span_str(message));
}

/* --- what is wanted --- */

/* A state that a list may have. */
static bool
take_state(struct admin_request *a, struct span word)
{
	for (int i = 0; i < STATE_COUNT_; i++) {
		if (i == STATE_COMPLETED || i == STATE_RELEASED ||
		    !span_eq(word,
			span_str(admin_json_state((enum record_state)i))))
			continue;
		a->list.wanted[i] = true;
		return true;
	}
	return false;
}

/* Text of a query, whose "+" is a blank (as forms of a page send it). */
static bool
take_text(struct admin_request *a, struct span value, struct span *ret_text)
{
	*ret_text = admin_query_text(a->arena, value);
	return ret_text->len > 0 && ret_text->len <= FIND_BYTES;
}

static const char *
take_parameter(struct admin_request *a, struct span name, struct span value)
{
	if (span_eq(name, SPAN("state")))
		return take_state(a, value)
		    ? NULL
		    : "\"state\" must be PROCESSING, UNKNOWN or FAILED.";
	if (span_eq(name, SPAN("limit")))
		return admin_query_limit(value, &a->limit)
		    ? NULL
		    : "\"limit\" must be a number of at least 1.";
	if (span_eq(name, SPAN("find")))
		return take_text(a, value, &a->find)
		    ? NULL
		    : "\"find\" must have 1 to 256 bytes.";
	if (span_eq(name, SPAN("route")))
		return take_text(a, value, &a->find_route)
		    ? NULL
		    : "\"route\" must be the name of a route.";
	if (!span_eq(name, SPAN("cursor")))
		return "The only parameters are \"state\", \"route\", "
		       "\"find\", \"limit\" and \"cursor\".";
	a->list.after = value;
	return records_list_is_place(value)
	    ? NULL
	    : "\"cursor\" is not the \"next\" of an earlier list.";
}

enum after
admin_list_keys(struct admin_request *a)
{
	struct span query = a->head.target.query, name, value;
	a->limit = ADMIN_QUERY_LIMIT;
	a->list.after = SPAN("");
	while (admin_query_next(&query, &name, &value)) {
		const char *message = take_parameter(a, name, value);
		if (message != NULL)
			return bad_request(a, message);
	}
	bool any = false;
	for (int i = 0; i < STATE_COUNT_; i++)
		any = any || a->list.wanted[i];
	for (int i = 0; i < STATE_COUNT_ && !any; i++)
		a->list.wanted[i] = true;
	a->listed = json_array();
	/* Of a whole key_id there is one record at most, in any state. */
	if (!any && a->find_route.len == 0 &&
	    hex_decode(a->find, a->key_id.bytes, sizeof a->key_id.bytes)) {
		a->finds = true;
		hex_encode(a->key_id.bytes, DIGEST_BYTES, a->key_hex);
		return admin_request_to(a, ADMIN_SHOW, MORE);
	}
	return admin_request_to(a, ADMIN_LIST, MORE);
}

/* --- whether a record is --- */

static bool
has(struct span text, struct span part)
{
	return memmem(text.ptr, text.len, part.ptr, part.len) != NULL;
}

static bool
is_sought(const struct admin_request *a, const struct record_view *record)
{
	char hex[DIGEST_HEX + 1];
	const struct provenance *from = &record->from;
	if (a->find_route.len > 0 && !span_eq(from->route, a->find_route))
		return false;
	hex_encode(record->key_id.bytes, DIGEST_BYTES, hex);
	return a->find.len == 0 || has(from->request_id, a->find) ||
	    has(from->label, a->find) ||
	    span_starts(span_of(hex, DIGEST_HEX), a->find);
}

/* --- page by page --- */

enum after
admin_list_ask(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	bool finds = a->find.len > 0 || a->find_route.len > 0;
	a->list.limit = finds ? PAGE_OF_FIND : a->limit;
	arena_free(&a->list.arena);
	a->list.arena = arena_new();
	records_list(a->admin->store, &a->list);
	return admin_request_to(a, ADMIN_LISTED, WAIT);
}

static enum after
answer(struct admin_request *a, const struct record_view *last)
{
	char place[PLACE_CHARS + 1];
	json_t *next = json_null();
	if (last != NULL) {
		records_list_place(last, place);
		next = json_string(place);
	}
	json_t *keys = a->listed;
	a->listed = NULL;
	return admin_answer_json(
	    a, 200, json_pack("{s:o, s:o}", "keys", keys, "next", next));
}

enum after
admin_list_listed(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	struct records_list *list = &a->list;
	const struct record_view *last = NULL;
	if (list->op.op.error != 0)
		return admin_answer_store_failed(a,
		    SPAN("Redis did not answer, or refused; there is no "
			 "list."));
	for (size_t i = 0; i < list->count; i++) {
		if (json_array_size(a->listed) == a->limit)
			return answer(a, last);
		last = &list->records[i];
		if (is_sought(a, last))
			json_array_append_new(a->listed,
			    admin_json_record(last, NULL, false));
	}
	if (!list->more || json_array_size(a->listed) == a->limit)
		return answer(a, list->more ? last : NULL);
	char place[PLACE_CHARS + 1];
	records_list_place(last, place);
	list->after = arena_dup(a->arena, span_of(place, PLACE_CHARS));
	return admin_request_to(a, ADMIN_LIST, MORE);
}

enum after
admin_list_found(struct admin_request *a, const struct records_op *look)
{
	if (look != NULL)
		json_array_append_new(
		    a->listed, admin_json_shown(look, false));
	return answer(a, NULL);
}
