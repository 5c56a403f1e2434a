/* SPDX-License-Identifier: BSD-2-Clause */
#include "admin/admin_request.h"
#include "base/error.h"
#include "base/log.h"
#include "http/header.h"

/* What an operator sees of records and does to them. */
enum {
	LIST_DEFAULT = 100,
	LIST_MAX = 1000,
	LOOKS_MAX = 5, /* at a record that changes under an act */
};

static const char *const act_words[] = {
    [ACT_RELEASE] = "release",
    [ACT_COMPLETE] = "complete",
    [ACT_DELETE] = "delete",
};

static enum after
bad_request(struct asked *a, const char *message)
{
	return admin_refuse(a, PROBLEM_BAD_REQUEST, span_str(message));
}

/* --- a list --- */

/* The states that a list may have. */
static bool
take_state(struct asked *a, struct span word)
{
	for (int i = 0; i < STATE_COUNT_; i++) {
		if (i == STATE_COMPLETED || i == STATE_RELEASED ||
		    !span_eq(word,
			span_str(admin_state_word((enum record_state)i))))
			continue;
		a->list.wanted[i] = true;
		return true;
	}
	return false;
}

static bool
take_limit(struct asked *a, struct span digits)
{
	size_t limit = 0;
	if (digits.len == 0 || digits.len > 9)
		return false;
	for (size_t i = 0; i < digits.len; i++) {
		if (digits.ptr[i] < '0' || digits.ptr[i] > '9')
			return false;
		limit = 10 * limit + (size_t)(digits.ptr[i] - '0');
	}
	a->list.limit = limit < LIST_MAX ? limit : LIST_MAX;
	return limit > 0;
}

static const char *
take_parameter(struct asked *a, struct span name, struct span value)
{
	if (span_eq(name, SPAN("state")))
		return take_state(a, value)
		    ? NULL
		    : "\"state\" has to be PROCESSING, UNKNOWN or FAILED.";
	if (span_eq(name, SPAN("limit")))
		return take_limit(a, value)
		    ? NULL
		    : "\"limit\" has to be a number from 1 on.";
	if (!span_eq(name, SPAN("cursor")))
		return "The parameters are \"state\", \"limit\" and "
		       "\"cursor\".";
	a->list.after = value;
	return store_list_is_place(value)
	    ? NULL
	    : "\"cursor\" is not what an earlier list had as \"next\".";
}

enum after
operator_list(struct asked *a)
{
	struct span query = a->head.target.query, name, value;
	a->list.limit = LIST_DEFAULT;
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
	return admin_to(a, ADMIN_LIST, MORE);
}

enum after
admin_list(struct machine *machine)
{
	struct asked *a = (struct asked *)machine;
	store_list(a->admin->store, &a->list);
	return admin_to(a, ADMIN_LISTED, WAIT);
}

enum after
admin_listed(struct machine *machine)
{
	struct asked *a = (struct asked *)machine;
	const struct store_list *list = &a->list;
	if (list->op.op.error != 0)
		return admin_store_failed(a,
		    SPAN("Redis did not answer, or refused; there is no "
			 "list."));
	json_t *keys = json_array();
	for (size_t i = 0; i < list->count; i++)
		json_array_append_new(keys,
		    admin_record_json(&list->records[i], NULL, false));
	json_t *next = json_null();
	if (list->more) {
		char place[PLACE_CHARS + 1];
		store_list_place(&list->records[list->count - 1], place);
		next = json_string(place);
	}
	return admin_say(
	    a, 200, json_pack("{s:o, s:o}", "keys", keys, "next", next));
}

/* --- one record --- */

static const char *
take_with_body(struct asked *a)
{
	struct span query = a->head.target.query, name, value;
	while (admin_query_next(&query, &name, &value)) {
		if (!span_eq(name, SPAN("body")) ||
		    (!span_eq(value, SPAN("0")) && !span_eq(value, SPAN("1"))))
			return "The one parameter is \"body\", 0 or 1.";
		a->with_body = span_eq(value, SPAN("1"));
	}
	return NULL;
}

enum after
operator_show(struct asked *a)
{
	const char *message = take_with_body(a);
	return message ? bad_request(a, message)
		       : admin_to(a, ADMIN_LOOK, MORE);
}

enum after
operator_lookup(struct asked *a)
{
	const char *message = take_with_body(a);
	if (message == NULL)
		message = admin_read_lookup(a);
	if (message != NULL)
		return bad_request(a, message);
	a->key_id = a->others[--a->n_others];
	hex_encode(a->key_id.bytes, DIGEST_BYTES, a->key_hex);
	return admin_to(a, ADMIN_LOOK, MORE);
}

enum after
admin_look(struct machine *machine)
{
	struct asked *a = (struct asked *)machine;
	store_look(a->admin->store, &a->look, &a->key_id, !a->acts);
	return admin_to(a, ADMIN_LOOKED, WAIT);
}

static enum after
not_there(struct asked *a)
{
	if (a->n_others > 0) {
		a->key_id = a->others[--a->n_others];
		hex_encode(a->key_id.bytes, DIGEST_BYTES, a->key_hex);
		return admin_to(a, ADMIN_LOOK, MORE);
	}
	return admin_refuse(
	    a, PROBLEM_NOT_FOUND, SPAN("There is no record of this key."));
}

enum after
admin_looked(struct machine *machine)
{
	struct asked *a = (struct asked *)machine;
	const struct store_look *look = &a->look;
	if (look->op.op.error != 0)
		return admin_store_failed(a,
		    SPAN("Redis did not answer, or refused; nothing was "
			 "changed."));
	if (look->op.verdict == VERDICT_GONE)
		return not_there(a);
	if (look->op.verdict != VERDICT_DONE)
		return admin_refuse(a, PROBLEM_RECORD_BROKEN, SPAN(""));
	if (a->acts)
		return admin_to(a, ADMIN_ACT, MORE);
	return admin_say(a, 200, admin_look_json(look, a->with_body));
}

/* --- an act --- */

static enum after
begin(struct asked *a, enum store_act act, const char *message)
{
	if (message == NULL && a->head.target.has_query)
		message = "There are no parameters here.";
	if (message != NULL)
		return bad_request(a, message);
	a->acts = true;
	a->act = act;
	return admin_to(a, ADMIN_LOOK, MORE);
}

enum after
operator_release(struct asked *a)
{
	return begin(a, ACT_RELEASE, admin_read_act(a));
}

enum after
operator_delete(struct asked *a)
{
	return begin(a, ACT_DELETE, admin_read_act(a));
}

enum after
operator_complete(struct asked *a)
{
	return begin(a, ACT_COMPLETE, admin_read_said(a));
}

/* What the record's route says; of one that is gone, what all start from. */
static const struct conf_idempotency *
policy_of(const struct asked *a)
{
	const struct conf *conf = a->conf;
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_route *route = &conf->routes[i];
		if (route->idempotency != NULL &&
		    span_eq(span_str(route->name), a->look.record.route))
			return route->idempotency;
	}
	return conf->defaults;
}

/* The answer that every retry is to get: 0, E_TOO_LARGE or E_NO_MEMORY. */
static int
make_answer(struct asked *a, const struct conf_idempotency *policy)
{
	const struct said *said = &a->said;
	struct body body;
	if (said->body.len > (size_t)policy->max_response_body)
		return E_TOO_LARGE;
	body_init(&body, a->admin->budget);
	int error = body_append(&body, said->body.ptr, said->body.len);
	if (error != 0) {
		body_clear(&body);
		return error;
	}
	struct fields fields = header_for_client(a->arena, &said->fields,
	    span_str(policy->replay_header), clock_wall_ms());
	a->given = answer_new(said->status, &fields, &body, a->id);
	return 0;
}

enum after
admin_act(struct machine *machine)
{
	struct asked *a = (struct asked *)machine;
	const struct conf_idempotency *policy = policy_of(a);
	struct store_order order = {
	    .act = a->act,
	    .attempt = a->attempt,
	    .retention_ms = policy->retention_ms,
	};
	if (a->act == ACT_COMPLETE) {
		int error = make_answer(a, policy);
		if (error == E_TOO_LARGE)
			return admin_refuse(a, PROBLEM_REQUEST_TOO_LARGE,
			    SPAN("The answer's body is longer than "
				 "max_response_body of the record's route."));
		if (error != 0)
			return admin_refuse(a, PROBLEM_OVERLOADED, SPAN(""));
		order.answer = a->given;
		/* The answer is for the record that was looked at. */
		order.fingerprint = a->look.record.fingerprint;
		if (order.attempt == 0)
			order.attempt = a->look.record.attempt;
	}
	store_operate(a->admin->store, &a->look, &a->key_id, &order);
	return admin_to(a, ADMIN_ACTED, WAIT);
}

static void
log_act(const struct asked *a, enum event event)
{
	const struct store_look *look = &a->look;
	struct logline line = log_begin(event);
	log_str(&line, "key_id", a->key_hex);
	log_str(&line, "act", act_words[a->act]);
	if (event == EV_operator) {
		log_str(&line, "before", admin_state_word(look->op.state));
		log_str(&line, "after",
		    a->act == ACT_DELETE
			? "NONE"
			: admin_state_word(look->record.state));
		log_int(&line, "attempt", look->op.attempt);
	} else {
		log_str(&line, "error", error_message(look->op.op.error));
	}
	if (a->given != NULL)
		log_int(&line, "status", a->given->status);
	if (a->note.len > 0)
		log_span(&line, "note", a->note);
	log_span(&line, "request_id", a->id);
	log_span(&line, "client", a->x->client);
	log_end(&line);
}

/* It allows the act, and was another one when it was looked at. */
static bool
has_changed(const struct asked *a)
{
	const struct store_op *op = &a->look.op;
	return a->act == ACT_COMPLETE && op->verdict == VERDICT_FENCED &&
	    (op->state == STATE_UNKNOWN || op->state == STATE_FAILED) &&
	    (a->attempt == 0 || a->attempt == op->attempt);
}

static enum after
conflict(struct asked *a)
{
	const char *allowed = a->act == ACT_DELETE
	    ? "A record that is PROCESSING cannot be deleted"
	    : "Only a record that is UNKNOWN or FAILED can be resolved";
	uint32_t attempt = a->look.op.attempt;
	if (has_changed(a))
		return admin_refuse(a, PROBLEM_CONFLICT,
		    SPAN("The record changes again and again. Nothing was "
			 "changed."));
	if (a->attempt != 0 && a->attempt != attempt)
		return admin_refuse(a, PROBLEM_CONFLICT,
		    arena_printf(a->arena,
			"The record is %s at attempt %u by now, not at "
			"attempt %u. Nothing was changed.",
			admin_state_word(a->look.op.state), attempt,
			a->attempt));
	return admin_refuse(a, PROBLEM_CONFLICT,
	    arena_printf(a->arena, "%s; this one is %s. Nothing was changed.",
		allowed, admin_state_word(a->look.op.state)));
}

enum after
admin_acted(struct machine *machine)
{
	struct asked *a = (struct asked *)machine;
	const struct store_look *look = &a->look;
	if (look->op.op.error != 0) {
		log_act(a, EV_operator_unsure);
		return admin_store_failed(a,
		    SPAN("Redis did not answer, or refused. Look at the "
			 "record: it may have been changed."));
	}
	if (has_changed(a) && ++a->looks < LOOKS_MAX) {
		answer_unref(&a->given);
		return admin_to(a, ADMIN_LOOK, MORE);
	}
	if (look->op.verdict == VERDICT_FENCED)
		return conflict(a);
	if (look->op.verdict == VERDICT_GONE)
		return not_there(a);
	if (look->op.verdict != VERDICT_DONE)
		return admin_refuse(a, PROBLEM_RECORD_BROKEN, SPAN(""));
	log_act(a, EV_operator);
	if (a->act == ACT_DELETE)
		return admin_say(a, 200,
		    json_pack("{s:s, s:b}", "key_id", a->key_hex, "deleted",
			1));
	return admin_say(
	    a, 200, admin_record_json(&look->record, a->given, false));
}
