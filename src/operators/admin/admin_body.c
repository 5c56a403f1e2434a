/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base64.h"
#include "base/digits.h"
#include "base/hex.h"
#include "base/rfc3339.h"
#include "http/head/answer_fields.h"
#include "operators/admin/admin_body.h"
#include "operators/admin/admin_private.h"
#include "store/record/answer_json.h"

enum { NOTE_BYTES = 1000, ATTEMPT_MAX = 999999, PARTITIONS_MAX = 1000,
	LIMIT_MAX = 1000 };

/* --- out --- */

const char *
admin_body_state(enum record_state state)
{
	static const char *const words[] = {
#define STATE(name, letter, ...) #name,
#include "tbl/states.h"
#undef STATE
	};
	return words[state];
}

json_t *
admin_body_time(int64_t wall_ms)
{
	char text[RFC3339_MAX];
	return json_string(rfc3339_write(wall_ms, text));
}

json_t *
admin_body_text(struct span text)
{
	return text.len > 0 ? answer_json_text(text) : NULL;
}

/* Makes the acts of operators, the latest last; NULL: there were none. */
static json_t *
history_json(struct span history)
{
	struct provenance_act act;
	if (history.len == 0)
		return NULL;
	json_t *list = json_array();
	struct arena *scratch = arena_new();
	while (provenance_next_act(scratch, &history, &act))
		json_array_append_new(list,
		    json_pack("{s:o, s:s, s:o*, s:o*}",
			"time", admin_body_time(act.time_ms),
			"act",
			act.letter == 'r'       ? "release"
			    : act.letter == 'c' ? "complete"
			    : act.letter == 'q' ? "ask"
						: "delete",
			"who", admin_body_text(act.who),
			"note", admin_body_text(act.note)));
	arena_free(&scratch);
	return list;
}

json_t *
admin_body_record(const struct record *record,
    const struct answer *answer, bool with_body)
{
	const struct provenance *from = &record->from;
	bool answers = record->state == STATE_COMPLETED && answer != NULL;
	bool doubted =
	    record->state == STATE_UNKNOWN && record->reason != REASON_NONE;
	char hex[DIGEST_HEX + 1];
	hex_encode(record->key_id.bytes, DIGEST_BYTES, hex);
	json_t *json = json_pack(
	    "{s:s, s:s, s:I, s:o*, s:o*, s:o*, s:o*, s:o*, s:o*, s:o*, s:o*, "
	    "s:o, s:o, s:o*, s:o*, s:s*, s:o*, s:o*}",
	    "key_id", hex, "state", admin_body_state(record->state),
	    "attempt", (json_int_t)record->attempt,
	    "route", admin_body_text(from->route),
	    "method", admin_body_text(from->method),
	    "path", admin_body_text(from->path),
	    "request_id", admin_body_text(from->request_id),
	    "instance", admin_body_text(from->instance),
	    "label", admin_body_text(from->label),
	    "history", history_json(from->history),
	    "owner", admin_body_text(record->owner),
	    "created", admin_body_time(record->created_ms),
	    "changed", admin_body_time(record->changed_ms),
	    "lease_until",
	    record->state == STATE_PROCESSING
		? admin_body_time(record->lease_until_ms)
		: NULL,
	    "expires",
	    record->expires_ms > 0 ? admin_body_time(record->expires_ms) : NULL,
	    "reason", doubted ? reason_words[record->reason] : NULL,
	    "status", answers ? json_integer(answer->status) : NULL,
	    "bytes",
	    answers && !answer->not_kept
		? json_integer((json_int_t)answer->body.len)
		: NULL);
	must(json != NULL);
	if (answers && !answer->not_kept && with_body)
		answer_json_set(json, answer);
	return json;
}

json_t *
admin_body_shown(const struct records_op *look, bool with_body)
{
	json_t *json =
	    admin_body_record(&look->record, look->op.answer, with_body);
	if (look->unreadable != NULL)
		json_object_set_new(
		    json, "unreadable", json_string(look->unreadable));
	return json;
}

/* --- in --- */

struct span
admin_body_span(const json_t *json)
{
	return span_of(json_string_value(json), json_string_length(json));
}

/*
 * A note for the log and the record, and the attempt that is meant: since the
 * operator looked, a retry may have made another, and of the same number if the
 * record was deleted.
 */
static const char *
take_note_and_attempt(struct admin_request *a)
{
	const json_t *attempt = json_object_get(a->in, "attempt");
	const json_t *changed = json_object_get(a->in, "changed");
	const json_t *note = json_object_get(a->in, "note");
	if (attempt != NULL && !json_is_null(attempt)) {
		if (!json_is_integer(attempt) ||
		    json_integer_value(attempt) < 1 ||
		    json_integer_value(attempt) > ATTEMPT_MAX)
			return "\"attempt\" must be a number from 1 to "
			       "999999.";
		a->attempt = (uint32_t)json_integer_value(attempt);
	}
	if (changed != NULL && !json_is_null(changed) &&
	    !rfc3339_read(admin_body_span(changed), &a->changed_ms))
		return "\"changed\" must be a time as records have it.";
	if (note != NULL && !json_is_null(note)) {
		if (!json_is_string(note) ||
		    json_string_length(note) > NOTE_BYTES)
			return "\"note\" must be a string of at most 1000 "
			       "bytes.";
		a->note = admin_body_span(note);
	}
	return NULL;
}

/* A list of partitions' names is read where it is needed. */
static const char *
check_partitions(const json_t *list, size_t least)
{
	static const char *const wrong =
	    "Partitions must be a list of names such as \"orders/0\", 1000 at "
	    "most.";
	if (list != NULL &&
	    (!json_is_array(list) || json_array_size(list) < least ||
		json_array_size(list) > PARTITIONS_MAX))
		return wrong;
	for (size_t i = 0; i < json_array_size(list); i++)
		if (json_string_length(json_array_get(list, i)) == 0)
			return wrong;
	return NULL;
}

const char *
admin_body_outcome(struct admin_request *a)
{
	const json_t *status = json_object_get(a->in, "status");
	const json_t *text = json_object_get(a->in, "body");
	const json_t *base64 = json_object_get(a->in, "body_base64");
	if (!json_is_integer(status) || json_integer_value(status) < 200 ||
	    json_integer_value(status) > 599)
		return "\"status\" must be a number from 200 to 599.";
	a->outcome.status = (int)json_integer_value(status);
	const char *message = answer_fields_read(a->arena,
	    json_object_get(a->in, "headers"), &a->outcome.fields);
	if (message != NULL)
		return message;
	if (text != NULL && base64 != NULL)
		return "\"body\" and \"body_base64\" cannot both be given.";
	if ((text != NULL && !json_is_string(text)) ||
	    (base64 != NULL && !json_is_string(base64)))
		return "The body must be a string.";
	a->outcome.body = text != NULL ? admin_body_span(text) : SPAN("");
	if (base64 != NULL &&
	    !base64_decode(a->arena, admin_body_span(base64), BASE64,
		&a->outcome.body))
		return "\"body_base64\" is not base64 (RFC 4648, section 4).";
	if (a->outcome.body.len > 0 &&
	    (a->outcome.status == 204 || a->outcome.status == 205 ||
		a->outcome.status == 304))
		return "A response with this status has no body.";
	return NULL;
}

const char *
admin_body_read(struct admin_request *a)
{
	const char *name;
	json_t *value;
	/* A member that the endpoint does not know would be overlooked. */
	json_object_foreach(a->in, name, value) {
		struct span names = span_str(a->endpoint->members), one;
		bool known = false;
		while (!known && span_next(&names, ' ', &one))
			known = one.len > 0 && span_eq(one, span_str(name));
		if (!known)
			return arena_printf(a->arena, "The body may have no "
			    "member \"%s\"; those it may have: %s.", name,
			    *a->endpoint->members != '\0'
				? a->endpoint->members
				: "none").ptr;
	}
	const char *message = take_note_and_attempt(a);
	if (message == NULL)
		message =
		    check_partitions(json_object_get(a->in, "unproven"), 0);
	if (message == NULL)
		message =
		    check_partitions(json_object_get(a->in, "partitions"), 1);
	if (message == NULL && a->head.target.has_query &&
	    !(a->endpoint->flags & ADMIN_QUERY))
		message = "This request takes no parameters.";
	return message;
}

/* --- a target's query --- */

bool
admin_body_parameter(
    struct span *query, struct span *ret_name, struct span *ret_value)
{
	struct span piece;
	do {
		if (!span_next(query, '&', &piece))
			return false;
	} while (piece.len == 0);
	const char *sign = memchr(piece.ptr, '=', piece.len);
	size_t len = sign ? (size_t)(sign - piece.ptr) : piece.len;
	*ret_name = span_of(piece.ptr, len);
	*ret_value = sign ? span_from(piece, len + 1) : SPAN("");
	return true;
}

bool
admin_body_limit(struct span digits, size_t *ret_limit)
{
	int64_t limit;
	if (digits.len > 9 || !digits_read(digits, 999999999, &limit))
		return false;
	*ret_limit = limit < LIMIT_MAX ? (size_t)limit : LIMIT_MAX;
	return limit > 0;
}
