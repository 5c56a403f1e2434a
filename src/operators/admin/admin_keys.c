/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/loop/log.h"
#include "base/percent.h"
#include "base/test_build.h"
#include "base/utf8.h"
#include "gate/worker.h"
#include "http/head/proxy_headers.h"
#include "operators/admin/admin_answer.h"
#include "operators/admin/admin_body.h"
#include "operators/admin/admin_lookup.h"
#include "operators/admin/admin_private.h"
#include "store/record/answer_json.h"

/*
 * Operators see records and act on them.  Redis decides whether a record's
 * state allows an act, and every act is logged.
 */
enum {
	FIND_BYTES = 256,
	PAGE_OF_FIND = 200,
};

/*
 * Asks Redis for a page.  Records are searched here, as Redis may have labels
 * that are encrypted.
 */
static enum after
ask_list(struct admin_request *a)
{
	bool finds = a->find.len > 0 || a->route.ptr != NULL ||
	    a->reason.ptr != NULL;
	a->list.limit = finds ? PAGE_OF_FIND : a->limit;
	arena_free(&a->list.arena);
	a->list.arena = arena_new();
	records_list(a->admin->store, &a->list);
	return admin_request_to(a, ADMIN_LISTED, WAIT);
}

/* Asks Redis for the record; an act looks at it first, without the answer. */
static enum after
ask_record(struct admin_request *a, const struct key_id *key_id)
{
	a->key_id = *key_id;
	hex_encode(a->key_id.bytes, DIGEST_BYTES, a->key_hex);
	records_show(a->admin->store, &a->look, &a->key_id,
	    a->acts ? RECORDS_HEAD : RECORDS_WHOLE);
	return admin_request_to(a, ADMIN_SHOWN, WAIT);
}

/*
 * Returns the route of that name that has keys; NULL: that is gone.  One that
 * only observes has none, and may have the same path, and so the same name.
 */
static const struct conf_route *
route_of(const struct admin_request *a, struct span name)
{
	const struct conf *conf = a->conf;
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_route *route = &conf->routes[i];
		if (route->idempotency != NULL && !route->observes &&
		    span_eq(span_str(route->name), name))
			return route;
	}
	return NULL;
}

/*
 * Makes a record, which says so where the API can be asked what became of it,
 * and nobody has to come back for that.
 */
static json_t *
with_askable(const struct admin_request *a, const struct record *record,
    json_t *json)
{
	const struct conf_route *route = route_of(a, record->from.route);
	if (record->state == STATE_UNKNOWN && route != NULL &&
	    conf_asks_alone(route->idempotency))
		json_object_set_new(json, "askable", json_true());
	return json;
}

/* --- a list --- */

static const char *
take_parameter(struct admin_request *a, struct span name, struct span value)
{
	struct span text = percent_decode(a->arena, value, true);
	if (span_eq(name, SPAN("state"))) {
		/* Of COMPLETED records there is no list, but by their label. */
		for (enum record_state s = 0; s < STATE_COUNT_; s++)
			if (s != STATE_COMPLETED && s != STATE_RELEASED &&
			    span_eq(value, span_str(admin_body_state(s)))) {
				a->list.wanted[s] = true;
				return NULL;
			}
		return "\"state\" must be PROCESSING, UNKNOWN or FAILED.";
	}
	if (span_eq(name, SPAN("limit")))
		return admin_body_limit(value, &a->limit)
		    ? NULL
		    : "\"limit\" must be a number of at least 1.";
	if (span_eq(name, SPAN("find"))) {
		a->find = text;
		return text.len > 0 && text.len <= FIND_BYTES
		    ? NULL
		    : "\"find\" must have 1 to 256 bytes.";
	}
	if (span_eq(name, SPAN("route"))) {
		a->route = text;
		return NULL;
	}
	if (span_eq(name, SPAN("reason"))) {
		a->reason = text;
		for (enum reason r = 0; r < REASON_COUNT_; r++)
			if (span_eq(text, span_str(reason_words[r])))
				return NULL;
		return "\"reason\" must be one that a record may have, or "
		       "empty.";
	}
	if (!span_eq(name, SPAN("cursor")))
		return "The only parameters are \"state\", \"route\", "
		       "\"reason\", \"find\", \"limit\" and \"cursor\".";
	a->list.after = value;
	return records_list_is_place(value)
	    ? NULL
	    : "\"cursor\" is not the \"next\" of an earlier list.";
}

enum after
admin_keys_list(struct admin_request *a)
{
	struct span query = a->head.target.query, name, value;
	struct key_id key_id;
	a->limit = ADMIN_BODY_LIMIT;
	a->list.after = SPAN("");
	while (admin_body_parameter(&query, &name, &value)) {
		const char *message = take_parameter(a, name, value);
		if (message != NULL)
			return admin_answer_bad_request(a, message);
	}
	bool any = false;
	for (int i = 0; i < STATE_COUNT_; i++)
		any = any || a->list.wanted[i];
	for (int i = 0; i < STATE_COUNT_ && !any; i++)
		a->list.wanted[i] = true;
	a->list.label = a->find;
	a->listed = json_array();
	/* Of a whole key_id there is one record at most, in any state. */
	if (!any && a->route.ptr == NULL && a->reason.ptr == NULL &&
	    hex_decode(a->find, key_id.bytes, sizeof key_id.bytes)) {
		a->finds = true;
		return ask_record(a, &key_id);
	}
	return ask_list(a);
}

/* True where it has route and reason, and the text where people look for it. */
static bool
is_sought(const struct admin_request *a, const struct record *record)
{
	char hex[DIGEST_HEX + 1];
	const struct provenance *from = &record->from;
	struct span reason = record->state == STATE_UNKNOWN
	    ? span_str(reason_words[record->reason])
	    : SPAN("");
	if ((a->route.ptr != NULL && !span_eq(from->route, a->route)) ||
	    (a->reason.ptr != NULL && !span_eq(reason, a->reason)))
		return false;
	hex_encode(record->key_id.bytes, DIGEST_BYTES, hex);
	return a->find.len == 0 ||
	    memmem(from->request_id.ptr, from->request_id.len, a->find.ptr,
		a->find.len) != NULL ||
	    memmem(from->label.ptr, from->label.len, a->find.ptr,
		a->find.len) != NULL ||
	    span_starts(span_of(hex, DIGEST_HEX), a->find);
}

/* Ends a page; the next one begins behind last.  NULL: there is none. */
static enum after
answer_list(struct admin_request *a, const struct record *last)
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
admin_keys_listed(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	struct records_list *list = &a->list;
	const struct record *last = NULL;
	if (list->op.op.error != 0)
		return admin_answer_store_failed(
		    a, &list->op.op, "; there is no list.");
	for (size_t i = 0; i < list->count; i++) {
		if (json_array_size(a->listed) == a->limit)
			return answer_list(a, last);
		last = &list->records[i];
		if (is_sought(a, last))
			json_array_append_new(a->listed,
			    with_askable(a, last,
				admin_body_record(last, NULL, false)));
	}
	if (!list->more || json_array_size(a->listed) == a->limit)
		return answer_list(a, list->more ? last : NULL);
	char place[PLACE_CHARS + 1];
	records_list_place(last, place);
	list->after = arena_dup(a->arena, span_of(place, PLACE_CHARS));
	return ask_list(a);
}

/* --- groups of those that wait for people --- */

static int
compare_counts(const void *one, const void *other)
{
	uint64_t a = ((const struct records_group *)one)->count;
	uint64_t b = ((const struct records_group *)other)->count;
	return (a < b) - (a > b);
}

enum after
admin_keys_groups(struct admin_request *a)
{
	const struct records_count *count = &a->count;
	json_t *list = json_array();
	if (count->n_groups > 0)
		qsort(count->groups, count->n_groups, sizeof *count->groups,
		    compare_counts);
	for (size_t i = 0; i < count->n_groups; i++) {
		const struct records_group *group = &count->groups[i];
		const struct conf_route *route = route_of(a, group->route);
		bool unknown = group->state == STATE_UNKNOWN;
		bool askable = unknown && route != NULL &&
		    conf_asks_alone(route->idempotency);
		json_array_append_new(list,
		    json_pack("{s:s, s:o*, s:s*, s:I, s:o, s:o*}",
			"state", admin_body_state(group->state),
			"route", group->route.len > 0
			    ? answer_json_text(group->route) : NULL,
			"reason", unknown && group->reason != REASON_NONE
			    ? reason_words[group->reason] : NULL,
			"count", (json_int_t)group->count,
			"oldest", admin_body_time(group->oldest_ms),
			"askable", askable ? json_true() : NULL));
	}
	return admin_answer_json(a, 200,
	    json_pack("{s:o, s:b}", "groups", list, "more", count->more));
}

/* --- one record --- */

enum after
admin_keys_show(struct admin_request *a)
{
	struct span query = a->head.target.query, name, value;
	bool looks_up = a->endpoint->flags & ADMIN_LOOKS;
	while (admin_body_parameter(&query, &name, &value)) {
		if (!span_eq(name, SPAN("body")) ||
		    (!span_eq(value, SPAN("0")) && !span_eq(value, SPAN("1"))))
			return admin_answer_bad_request(
			    a, "The only parameter is \"body\", 0 or 1.");
		a->with_body = span_eq(value, SPAN("1"));
	}
	const char *message = looks_up ? admin_lookup_read(a) : NULL;
	if (message != NULL)
		return admin_answer_bad_request(a, message);
	return ask_record(
	    a, looks_up ? &a->others[--a->n_others] : &a->key_id);
}

/* A lookup by key goes on to the next record that the key may have. */
static enum after
not_there(struct admin_request *a)
{
	if (a->n_others > 0)
		return ask_record(a, &a->others[--a->n_others]);
	return admin_answer_problem(
	    a, PROBLEM_NOT_FOUND, SPAN("There is no record of this key."));
}

static json_t *
broken_json(const struct admin_request *a)
{
	return json_pack(
	    "{s:s, s:s}", "key_id", a->key_hex, "state", "BROKEN");
}

/*
 * Nobody can tell the state or the attempt of a damaged record, and no step
 * changes it: to forget it is the operator's only way out.
 */
static enum after
broken(struct admin_request *a)
{
	if (!a->acts)
		return admin_answer_json(a, 200, broken_json(a));
	return admin_answer_refused(a,
	    "The record is damaged, and neither its state nor its attempt can "
	    "be read: it can only be deleted, without naming an attempt.");
}

static enum after begin_act(struct admin_request *a);
static enum after refuse_asking(struct admin_request *a);

enum after
admin_keys_shown(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	const struct records_op *look = &a->look;
	if (look->op.op.error != 0)
		return admin_answer_store_failed(
		    a, &look->op.op, "; nothing was changed.");
	/* The id of a request may have as many digits as a key_id. */
	if (a->finds && look->op.verdict == VERDICT_GONE)
		return ask_list(a);
	if (a->finds) {
		json_array_append_new(a->listed,
		    look->op.verdict == VERDICT_DONE
			? admin_body_shown(look, false)
			: broken_json(a));
		return answer_list(a, NULL);
	}
	if (look->op.verdict == VERDICT_GONE)
		return not_there(a);
	bool deletes = a->acts && a->act == ACT_DELETE && a->attempt == 0 &&
	    a->changed_ms == 0;
	if (look->op.verdict != VERDICT_DONE && !deletes)
		return broken(a);
	if (a->acts)
		return begin_act(a);
	if (a->inquires && look->op.state == STATE_UNKNOWN) {
		const struct conf_route *route =
		    route_of(a, look->record.from.route);
		a->inquires = false;
		return route == NULL || !conf_asks_alone(route->idempotency)
		    ? refuse_asking(a)
		    : admin_witness_send(a, route, true);
	}
	return admin_answer_json(a, 200,
	    with_askable(a, &look->record,
		admin_body_shown(look, a->with_body)));
}

/* --- what became of it --- */

enum after
admin_keys_inquire(struct admin_request *a)
{
	a->inquires = true;
	return ask_record(a, &a->key_id);
}

static enum after
refuse_asking(struct admin_request *a)
{
	return admin_answer_problem(a, PROBLEM_CONFLICT,
	    SPAN("The gateway cannot ask what became of this record without a "
		 "client: its route has neither a witness nor a reconcile with "
		 "headers of its own, or had none when it was sent. Nothing "
		 "was asked: ask the API yourself, then complete or release "
		 "it. Where the route has a reconcile, a client's retry asks, "
		 "too."));
}

/* Whatever came of it, the record says so now. */
enum after
admin_keys_inquired(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	const struct admin_errand *errand = a->errand.errand;
	if (errand == NULL || errand->ended)
		return admin_answer_problem(a, PROBLEM_NOT_ANSWERED,
		    SPAN("The question may still be under way: look at the "
			 "record."));
	if (errand->question.op.error == E_STORE_REFUSED)
		return refuse_asking(a);
	return ask_record(a, &a->key_id);
}

/* --- an act --- */

enum after
admin_keys_order(struct admin_request *a)
{
	a->acts = true;
	a->act = (enum records_act)a->endpoint->what;
	const char *message =
	    a->act == ACT_COMPLETE ? admin_body_outcome(a) : NULL;
	return message != NULL ? admin_answer_bad_request(a, message)
			       : ask_record(a, &a->key_id);
}

/*
 * To release a key whose answer is on our own disk would have it executed
 * again, as that answer would come too late.
 */
static enum after
refuse_answered(struct admin_request *a, char *file)
{
	enum after after = admin_answer_refused(a,
	    "The answer of this key's request is in the journal of this "
	    "gateway (%s), and is stored as soon as Redis takes it.", file);
	free(file);
	return after;
}

/* The answer that waits for the key, as journal_replay_read_answer reads it. */
static int
waiting_answer(const struct admin_request *a, struct body *bytes,
    struct journal_entry *ret_entry, char **ret_file)
{
	const struct admin *admin = a->admin;
	int error = E_NOT_FOUND;
	for (int64_t i = 0;
	     i < admin->conf->workers && error == E_NOT_FOUND; i++)
		error = journal_replay_read_answer(
		    &admin->view.workers[i]->journal_replay,
		    &store_identity(admin->store)->origin, &a->key_id, bytes,
		    ret_entry, ret_file);
	return error;
}

/*
 * A damaged record is replaced by the answer that waits for its end: between
 * the two, any gateway could claim the key.
 */
static enum after
replace(struct admin_request *a, char *file)
{
	a->waiting_bytes = (struct body){.budget = &a->admin->budget};
	int error = waiting_answer(a, &a->waiting_bytes, &a->waiting, NULL);
	if (error != 0 && error != E_NO_MEMORY)
		return refuse_answered(a, file);
	free(file);
	if (error != 0)
		return admin_answer_problem(a, PROBLEM_OVERLOADED, SPAN(""));
	const struct records_order order = {
	    .act = ACT_DELETE, .outcome = &a->waiting};
	records_operate(a->admin->store, &a->look, &a->key_id, &order);
	return admin_request_to(a, ADMIN_ACTED, WAIT);
}

/*
 * Makes a->given, the answer that every retry is to get, of the outcome that
 * the operator tells.  Returns 0, E_TOO_LARGE or E_NO_MEMORY.
 */
static int
make_answer(struct admin_request *a, const struct conf_idempotency *policy)
{
	const struct admin_outcome *outcome = &a->outcome;
	struct body body = {.budget = &a->admin->budget};
	if (outcome->body.len > (size_t)policy->max_response_body)
		return E_TOO_LARGE;
	int error = body_append(&body, outcome->body.ptr, outcome->body.len);
	if (error != 0) {
		body_clear(&body);
		return error;
	}
	const struct proxy_client client = {
	    span_str(policy->replay_header), SPAN(""), clock_wall_ms()};
	struct fields fields =
	    proxy_headers_for_client(a->arena, &outcome->fields, &client);
	a->given = answer_new(outcome->status, &fields, &body,
	    a->look.record.from.request_id);
	return 0;
}

/*
 * Whoever says that it did not happen, or was refused, has its API's database
 * say so first, where that can: what is still at work there would else commit
 * beside the next attempt, or behind the operator's back.
 */
static bool
must_revoke(const struct admin_request *a, const struct conf_route *route)
{
	bool happened = a->act == ACT_COMPLETE && a->outcome.status >= 200 &&
	    a->outcome.status < 300;
	bool asks =
	    route != NULL && route->idempotency->on_unknown == UNKNOWN_WITNESS;
	/*
	 * A route that is gone, or has another name now, may have one of the
	 * witnesses; a record that was damaged and deleted names none.
	 */
	bool names = route == NULL && a->look.record.from.route.len > 0;
	for (size_t i = 0; i < a->conf->n_routes && names; i++)
		asks |= conf_has_witness(&a->conf->routes[i]);
	return asks && a->act != ACT_DELETE && !happened && !a->revoked &&
	    INVARIANT(operator_revokes);
}

static enum after
revoke(struct admin_request *a, const struct conf_route *route)
{
	/* Who has changed it in Redis may have left no UTF-8. */
	struct span name = a->look.record.from.route;
	struct span owner = a->look.record.owner;
	char mark[2 * CONF_MARK_BYTES];
	if (!utf8_is_valid(name))
		name = SPAN("?");
	if (route == NULL)
		return admin_answer_refused(a,
		    "The record's route, %.*s, is not in the configuration, "
		    "or only observes, so a witness that it may have cannot "
		    "be told that it must not happen any more: give the route "
		    "its name back, or put it back as it was.",
		    SPAN_FMT(name));
	/*
	 * Where it was sent without any witness, the row is of no harm, and
	 * keeps out an API that writes already.  Nobody owns what was made for
	 * a damaged record, or for a lost one.
	 */
	base64_url_encode(route->idempotency->mark, CONF_MARK_BYTES, mark);
	if (owner.len > 0 && !span_starts(owner, span_str(mark)) &&
	    !span_starts(owner, SPAN("AAAAAAAA")))
		return admin_answer_refused(a,
		    "The attempt was not sent with the witness that its route "
		    "has now, which knows nothing of it: put \"on_unknown\" "
		    "back as it was, and say it again then; or complete it, "
		    "if it happened; or delete the record, if nothing can "
		    "come of it any more.");
	return a->look.record.attempt > 0
	    ? admin_witness_send(a, route, false)
	    : broken(a); /* nobody was ever asked for that one */
}

static enum after conflict(struct admin_request *a);

/* The record was looked at, and allows the act as far as can be seen. */
static enum after
begin_act(struct admin_request *a)
{
	char *file;
	if (a->act != ACT_COMPLETE && INVARIANT(answer_waits) &&
	    waiting_answer(a, NULL, NULL, &file) == 0)
		return a->look.op.verdict == VERDICT_BROKEN
		    ? replace(a, file)
		    : refuse_answered(a, file);
	/*
	 * Redis refuses by itself what the act is not for, but might not any
	 * more once it is asked: by then the record may be one that would have
	 * to be revoked.
	 */
	enum record_state state = a->look.op.state;
	bool resolvable =
	    (state == STATE_UNKNOWN || state == STATE_FAILED) &&
	    (a->attempt == 0 || a->attempt == a->look.record.attempt) &&
	    (a->changed_ms == 0 || a->changed_ms == a->look.record.changed_ms);
	if (a->act != ACT_DELETE && !resolvable)
		return conflict(a);
	/* It was damaged and deleted, and is nobody's (lua/operate.lua). */
	if (a->act == ACT_COMPLETE && state == STATE_UNKNOWN &&
	    span_eq(a->look.record.fingerprint,
		SPAN("----------------------")))
		return admin_answer_refused(a,
		    "Nobody knows the request of this record, which was "
		    "damaged, so it has no answer: release the key, or delete "
		    "the record.");
	const struct conf_route *route = route_of(a, a->look.record.from.route);
	const struct conf_idempotency *policy =
	    route != NULL ? route->idempotency : a->conf->defaults;
	if (must_revoke(a, route))
		return revoke(a, route);
	struct records_order order = {
	    .act = a->act,
	    .attempt = a->attempt,
	    .changed_ms = a->changed_ms,
	    .retention_ms = a->look.op.verdict == VERDICT_BROKEN
		? policy->unknown_retention_ms
		: policy->retention_ms,
	};
	/* Whoever else has deleted it has made it UNKNOWN, and deleted once. */
	if (a->look.broken)
		order.fingerprint = SPAN("damaged");
	order.note = a->note;
	order.who = a->who;
	order.label = a->look.record.from.label;
	if (a->act != ACT_DELETE) {
		/* What is resolved is the record that was looked at. */
		order.attempt = a->look.record.attempt;
		order.changed_ms = a->look.record.changed_ms;
		order.fingerprint = a->look.record.fingerprint;
	}
	if (a->act == ACT_COMPLETE) {
		int error = make_answer(a, policy);
		if (error == E_TOO_LARGE)
			return admin_answer_problem(a,
			    PROBLEM_REQUEST_TOO_LARGE,
			    SPAN("The answer's body is longer than "
				 "max_response_body of the record's route."));
		if (error != 0)
			return admin_answer_problem(
			    a, PROBLEM_OVERLOADED, SPAN(""));
		order.answer = a->given;
	}
	a->was = a->look.record.from;
	records_operate(a->admin->store, &a->look, &a->key_id, &order);
	return admin_request_to(a, ADMIN_ACTED, WAIT);
}

enum after
admin_keys_revoked(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	const struct admin_errand *errand = a->errand.errand;
	const char *words = "it did not answer in time";
	if (errand != NULL && errand->ended)
		words = "this gateway is being stopped";
	else if (errand != NULL)
		words = errand->witness.words;
	if (errand != NULL && errand->witness.answer == WITNESS_DONE)
		return admin_answer_refused(a,
		    "The API's database says that it was executed: \"keys "
		    "reconcile\" completes it, or, while that witness is not "
		    "believed, \"keys complete\".");
	if (errand == NULL || errand->witness.answer != WITNESS_REVOKED)
		return admin_answer_refused(a,
		    "The API's database could not be told that it must not "
		    "happen any more: %s.", words);
	admin_witness_end(&a->errand);
	a->revoked = true;
	return begin_act(a);
}

static void
log_act(const struct admin_request *a, enum event event)
{
	const struct records_op *look = &a->look;
	const struct provenance *from = &a->was;
	struct logline line = log_begin(event);
	log_str(&line, "key_id", a->key_hex);
	log_str(&line, "act",
	    a->act == ACT_RELEASE      ? "release"
		: a->act == ACT_COMPLETE ? "complete"
					 : "delete");
	if (event == EV_operator) {
		bool gone = a->act == ACT_DELETE && look->bare;
		log_str(&line, "before",
		    look->broken ? "BROKEN"
				 : admin_body_state(look->op.state));
		log_str(&line, "after",
		    a->waiting.answer.len > 0
			? admin_body_state(STATE_COMPLETED)
			: gone ? "NONE"
			       : admin_body_state(look->record.state));
		log_int(&line, "attempt", look->op.attempt);
	} else {
		log_str(&line, "error", error_message(look->op.op.error));
	}
	if (a->given != NULL)
		log_int(&line, "status", a->given->status);
	/* By these people find a payment; request_id is the operator's own. */
	log_any(&line, "route", from->route);
	log_any(&line, "first_request_id", from->request_id);
	log_any(&line, "label", from->label);
	admin_answer_log(a, &line);
}

/*
 * The record is in a state that the act is not for, or it is not the one that
 * was looked at, by the operator or for him.
 */
static enum after
conflict(struct admin_request *a)
{
	enum record_state state = a->look.op.state;
	uint32_t attempt = a->look.op.attempt;
	bool deletes = a->act == ACT_DELETE;
	bool suits = deletes
	    ? state != STATE_PROCESSING
	    : state == STATE_UNKNOWN || state == STATE_FAILED;
	if (a->attempt != 0 && a->attempt != attempt)
		return admin_answer_refused(a,
		    "The record is now %s at attempt %u, not at attempt %u.",
		    admin_body_state(state), attempt, a->attempt);
	if (suits)
		return admin_answer_refused(a,
		    "The record has changed since it was looked at, and is %s "
		    "now: look at it again.", admin_body_state(state));
	return admin_answer_refused(a, "%s; this one is %s.",
	    deletes ? "A record that is PROCESSING cannot be deleted"
		    : "Only a record that is UNKNOWN or FAILED can be "
		      "resolved", admin_body_state(state));
}

enum after
admin_keys_acted(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	const struct records_op *look = &a->look;
	if (look->op.op.error != 0) {
		log_act(a, EV_operator_unsure);
		return admin_answer_store_failed(a, &look->op.op,
		    ". Look at the record: it may have been changed.");
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
	    a, 200, admin_body_record(&look->record, a->given, false));
}
