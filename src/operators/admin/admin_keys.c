/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/error.h"
#include "base/loop/log.h"
#include "base/test_build.h"
#include "gate/worker.h"
#include "operators/admin/admin_answer.h"
#include "operators/admin/admin_json.h"
#include "operators/admin/admin_keys.h"
#include "operators/admin/admin_list.h"
#include "operators/admin/admin_lookup.h"
#include "operators/admin/admin_machine_private.h"
#include "operators/admin/admin_outcome.h"
#include "operators/admin/admin_query.h"

enum { TRIES_MAX = 5 }; /* at a record that changes under an act */

static const char *const act_words[] = {
    [ACT_RELEASE] = "release",
    [ACT_COMPLETE] = "complete",
    [ACT_DELETE] = "delete",
};

static enum after
bad_request(struct admin_request *a, const char *message)
{
	return admin_answer_problem(a, PROBLEM_BAD_REQUEST, span_str(message));
}

/* --- one record --- */

static const char *
take_with_body(struct admin_request *a)
{
	struct span query = a->head.target.query, name, value;
	while (admin_query_next(&query, &name, &value)) {
		if (!span_eq(name, SPAN("body")) ||
		    (!span_eq(value, SPAN("0")) && !span_eq(value, SPAN("1"))))
			return "The only parameter is \"body\", 0 or 1.";
		a->with_body = span_eq(value, SPAN("1"));
	}
	return NULL;
}

enum after
admin_keys_show(struct admin_request *a)
{
	const char *message = take_with_body(a);
	return message ? bad_request(a, message)
		       : admin_request_to(a, ADMIN_SHOW, MORE);
}

enum after
admin_keys_lookup(struct admin_request *a)
{
	const char *message = take_with_body(a);
	if (message == NULL)
		message = admin_lookup_read(a);
	if (message != NULL)
		return bad_request(a, message);
	a->key_id = a->others[--a->n_others];
	hex_encode(a->key_id.bytes, DIGEST_BYTES, a->key_hex);
	return admin_request_to(a, ADMIN_SHOW, MORE);
}

enum after
admin_keys_ask_record(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	records_show(a->admin->store, &a->look, &a->key_id, !a->acts);
	return admin_request_to(a, ADMIN_SHOWN, WAIT);
}

static enum after
not_there(struct admin_request *a)
{
	if (a->n_others > 0) {
		a->key_id = a->others[--a->n_others];
		hex_encode(a->key_id.bytes, DIGEST_BYTES, a->key_hex);
		return admin_request_to(a, ADMIN_SHOW, MORE);
	}
	return admin_answer_problem(
	    a, PROBLEM_NOT_FOUND, SPAN("There is no record of this key."));
}

/*
 * Nobody can tell its state or its attempt, and no step changes it: to forget
 * it is the operator's only way out.
 */
static enum after
broken(struct admin_request *a)
{
	if (!a->acts)
		return admin_answer_json(a, 200,
		    json_pack("{s:s, s:s}", "key_id", a->key_hex, "state",
			"BROKEN"));
	return admin_answer_problem(a, PROBLEM_CONFLICT,
	    SPAN("The record is damaged, and neither its state nor its attempt "
		 "can be read: it can only be deleted, without naming an "
		 "attempt. Nothing was changed."));
}

enum after
admin_keys_shown(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	const struct records_op *look = &a->look;
	if (look->op.op.error != 0)
		return admin_answer_store_failed(a,
		    SPAN("Redis did not answer, or refused; nothing was "
			 "changed."));
	/* The id of a request may have as many digits. */
	if (a->finds && look->op.verdict == VERDICT_GONE)
		return admin_request_to(a, ADMIN_LIST, MORE);
	if (a->finds && look->op.verdict != VERDICT_DONE)
		return admin_list_found(a, NULL);
	if (a->finds)
		return admin_list_found(a, look);
	if (look->op.verdict == VERDICT_GONE)
		return not_there(a);
	bool deletes = a->acts && a->act == ACT_DELETE && a->attempt == 0;
	if (look->op.verdict != VERDICT_DONE && !deletes)
		return broken(a);
	if (a->acts)
		return admin_request_to(a, ADMIN_ACT, MORE);
	return admin_answer_json(a, 200, admin_json_shown(look, a->with_body));
}

/* --- an act --- */

static enum after
begin_act(struct admin_request *a, enum records_act act, const char *message)
{
	if (message == NULL && a->head.target.has_query)
		message = "This request takes no parameters.";
	if (message != NULL)
		return bad_request(a, message);
	a->acts = true;
	a->act = act;
	return admin_request_to(a, ADMIN_SHOW, MORE);
}

enum after
admin_keys_release(struct admin_request *a)
{
	return begin_act(a, ACT_RELEASE, admin_json_read_act(a));
}

enum after
admin_keys_delete(struct admin_request *a)
{
	return begin_act(a, ACT_DELETE, admin_json_read_act(a));
}

enum after
admin_keys_complete(struct admin_request *a)
{
	return begin_act(a, ACT_COMPLETE, admin_json_read_outcome(a));
}

/*
 * To set a key free whose answer lies on our own disk would be to execute it
 * again: that answer then comes too late.
 */
static enum after
refuse_answered(struct admin_request *a, char *file)
{
	struct span detail = arena_printf(a->arena,
	    "The answer of this key's request is in the journal of this "
	    "gateway (%s), and is stored as soon as Redis takes it. Nothing "
	    "was changed.", file);
	free(file);
	return admin_answer_problem(a, PROBLEM_CONFLICT, detail);
}

/* The file in which its answer waits, which the caller frees; or NULL. */
static char *
waiting_answer(const struct admin_request *a)
{
	const struct admin *admin = a->admin;
	char *file;
	for (int64_t i = 0; i < admin->conf->workers; i++)
		if (journal_relay_has_answer(&admin->workers[i]->journal_relay,
			store_origin(admin->store), &a->key_id, &file))
			return file;
	return NULL;
}

/*
 * A damaged record is replaced by the answer that waits for its end: between
 * the two, any gateway could claim the key.
 */
static enum after
replace(struct admin_request *a, char *file)
{
	const struct admin *admin = a->admin;
	const struct origin *ours = store_origin(admin->store);
	int error = E_NOT_FOUND;
	body_init(&a->waiting_bytes, &a->admin->budget);
	for (int64_t i = 0;
	     i < admin->conf->workers && error == E_NOT_FOUND; i++)
		error = journal_relay_read_answer(
		    &admin->workers[i]->journal_relay, ours, &a->key_id,
		    &a->waiting_bytes, &a->waiting);
	if (error == E_NO_MEMORY) {
		free(file);
		return admin_answer_problem(a, PROBLEM_OVERLOADED, SPAN(""));
	}
	if (error != 0)
		return refuse_answered(a, file);
	free(file);
	const struct records_order order = {
	    .act = ACT_DELETE, .waiting = &a->waiting};
	records_operate(a->admin->store, &a->look, &a->key_id, &order);
	return admin_request_to(a, ADMIN_ACTED, WAIT);
}

/* It was damaged and deleted, and is nobody's (lua/operate.lua). */
static bool
has_no_request(const struct admin_request *a)
{
	return span_eq(a->look.record.fingerprint,
		   SPAN("----------------------")) &&
	    a->look.op.state == STATE_UNKNOWN;
}

enum after
admin_keys_act(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	char *file = a->act != ACT_COMPLETE && INVARIANT(answer_waits)
	    ? waiting_answer(a)
	    : NULL;
	if (file != NULL && a->look.op.verdict == VERDICT_BROKEN)
		return replace(a, file);
	if (file != NULL)
		return refuse_answered(a, file);
	if (a->act == ACT_COMPLETE && has_no_request(a))
		return admin_answer_problem(a, PROBLEM_CONFLICT,
		    SPAN("Nobody knows the request of this record, which was "
			 "damaged, so it has no answer: release the key, or "
			 "delete the record. Nothing was changed."));
	const struct conf_idempotency *policy = admin_outcome_policy(a);
	struct records_order order = {
	    .act = a->act,
	    .attempt = a->attempt,
	    .retention_ms = a->look.op.verdict == VERDICT_BROKEN
		? policy->unknown_retention_ms
		: policy->retention_ms,
	};
	order.note = a->note;
	if (a->act == ACT_COMPLETE) {
		int error = admin_outcome_make(a, policy);
		if (error == E_TOO_LARGE)
			return admin_answer_problem(a,
			    PROBLEM_REQUEST_TOO_LARGE,
			    SPAN("The answer's body is longer than "
				 "max_response_body of the record's route."));
		if (error != 0)
			return admin_answer_problem(
			    a, PROBLEM_OVERLOADED, SPAN(""));
		order.answer = a->given;
		/* The answer is for the record that was looked at. */
		order.fingerprint = a->look.record.fingerprint;
		if (order.attempt == 0)
			order.attempt = a->look.record.attempt;
	}
	a->was = a->look.record.from;
	records_operate(a->admin->store, &a->look, &a->key_id, &order);
	return admin_request_to(a, ADMIN_ACTED, WAIT);
}

static const char *
state_after(const struct admin_request *a)
{
	if (a->waiting.answer.len > 0)
		return admin_json_state(STATE_COMPLETED);
	return a->act == ACT_DELETE && a->look.bare
	    ? "NONE"
	    : admin_json_state(a->look.record.state);
}

/* By what people find it; request_id is the operator's own. */
static void
log_payment(const struct admin_request *a, struct logline *line)
{
	const struct provenance *from = &a->was;
	if (from->route.len > 0)
		log_span(line, "route", from->route);
	if (from->request_id.len > 0)
		log_span(line, "first_request_id", from->request_id);
	if (from->label.len > 0)
		log_span(line, "label", from->label);
}

static void
log_act(const struct admin_request *a, enum event event)
{
	const struct records_op *look = &a->look;
	struct logline line = log_begin(event);
	log_str(&line, "key_id", a->key_hex);
	log_str(&line, "act", act_words[a->act]);
	if (event == EV_operator) {
		log_str(&line, "before",
		    look->broken ? "BROKEN"
				 : admin_json_state(look->op.state));
		log_str(&line, "after", state_after(a));
		log_int(&line, "attempt", look->op.attempt);
	} else {
		log_str(&line, "error", error_message(look->op.op.error));
	}
	if (a->given != NULL)
		log_int(&line, "status", a->given->status);
	log_payment(a, &line);
	if (a->note.len > 0)
		log_span(&line, "note", a->note);
	log_span(&line, "request_id", a->id);
	log_span(&line, "client", a->x->client);
	log_end(&line);
}

/* The record allows the act, but has changed since it was looked at. */
static bool
has_changed(const struct admin_request *a)
{
	const struct store_op *op = &a->look.op;
	return a->act == ACT_COMPLETE && op->verdict == VERDICT_FENCED &&
	    (op->state == STATE_UNKNOWN || op->state == STATE_FAILED) &&
	    (a->attempt == 0 || a->attempt == op->attempt);
}

static enum after
conflict(struct admin_request *a)
{
	const char *allowed = a->act == ACT_DELETE
	    ? "A record that is PROCESSING cannot be deleted"
	    : "Only a record that is UNKNOWN or FAILED can be resolved";
	uint32_t attempt = a->look.op.attempt;
	if (has_changed(a))
		return admin_answer_problem(a, PROBLEM_CONFLICT,
		    SPAN("The record kept changing, and this request changed "
			 "nothing."));
	if (a->attempt != 0 && a->attempt != attempt)
		return admin_answer_problem(a, PROBLEM_CONFLICT,
		    arena_printf(a->arena,
			"The record is now %s at attempt %u, not at attempt "
			"%u. Nothing was changed.",
			admin_json_state(a->look.op.state), attempt,
			a->attempt));
	return admin_answer_problem(a, PROBLEM_CONFLICT,
	    arena_printf(a->arena, "%s; this one is %s. Nothing was changed.",
		allowed, admin_json_state(a->look.op.state)));
}

enum after
admin_keys_acted(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	const struct records_op *look = &a->look;
	if (look->op.op.error != 0) {
		log_act(a, EV_operator_unsure);
		return admin_answer_store_failed(a,
		    SPAN("Redis did not answer, or refused. Look at the "
			 "record: it may have been changed."));
	}
	if (has_changed(a) && ++a->tries < TRIES_MAX) {
		answer_unref(&a->given);
		return admin_request_to(a, ADMIN_SHOW, MORE);
	}
	if (look->op.verdict == VERDICT_FENCED)
		return conflict(a);
	if (look->op.verdict == VERDICT_GONE)
		return not_there(a);
	if (look->op.verdict != VERDICT_DONE)
		return broken(a);
	log_act(a, EV_operator);
	if (a->act == ACT_DELETE && look->bare)
		return admin_answer_json(a, 200,
		    json_pack("{s:s, s:b}", "key_id", a->key_hex, "deleted",
			1));
	return admin_answer_json(
	    a, 200, admin_json_record(&look->record, a->given, false));
}
