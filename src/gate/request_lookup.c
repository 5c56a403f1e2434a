/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "base/mem.h"
#include "gate/claimant_claim.h"
#include "gate/key/policy.h"
#include "gate/request_private.h"
#include "gate/worker.h"
#include "http/head/header.h"

/*
 * Where the gateway itself answers for a route: what became of a key
 * (status_path), and what the route's policy is (policy_path).  Nothing is
 * claimed, changed or forwarded, and no stored answer is given out.
 */

/* After so long it may have changed. */
enum { RETRY_AFTER_S = 1 };

static enum after
tell_document(struct request *r, json_t *document)
{
	struct body body;
	char *text = json_dumps(document, JSON_COMPACT);
	must(text != NULL);
	json_decref(document);
	/* Small and the gateway's own, so not counted. */
	body_init(&body, NULL);
	must(body_append(&body, text, strlen(text)) == 0);
	must(body_append(&body, "\n", 1) == 0);
	free(text);
	struct field list[] = {
	    {SPAN("Date"), header_date(r->c.arena, clock_wall_ms())},
	    {SPAN("Content-Type"), SPAN("application/json")},
	    {SPAN("Cache-Control"), SPAN("no-store")},
	};
	const struct fields fields = {list, 3};
	r->c.answer = answer_new(200, &fields, &body, SPAN(""));
	r->c.outcome = OUTCOME_LOOKED_UP;
	return request_to(r, REQUEST_ANSWER, MORE);
}

enum after
request_lookup_find(struct machine *machine)
{
	struct request *r = request_of(machine);
	if (r->c.route->kind == ROUTE_POLICY)
		return tell_document(r,
		    policy_document(&r->c.conf->routes[r->c.route->index]));
	if (claimant_find_asked_key(&r->c) == KEY_FOUND)
		return request_client_scope(r, REQUEST_ASK);
	return request_refuse_saying(r, PROBLEM_KEY_INVALID,
	    OUTCOME_KEY_INVALID, span_str(r->c.key.message));
}

/* --- what became of a key --- */

/*
 * Its end is in this process, and Redis will have it soon; or was when Redis
 * was asked, which may have got it only behind that.
 */
static bool
is_on_its_way(struct request *r)
{
	r->c.claim.key_id = r->c.key_id;
	r->was_withheld |= claimant_claim_is_withheld(&r->c);
	return r->was_withheld;
}

enum after
request_lookup_ask(struct machine *machine)
{
	struct request *r = request_of(machine);
	struct span detail = SPAN("");
	enum problem problem = claimant_name_asked(&r->c, &detail);
	if (problem != PROBLEM_COUNT_)
		return request_refuse_saying(
		    r, problem, OUTCOME_BAD_REQUEST, detail);
	r->look = arena_alloc(r->c.arena, sizeof *r->look);
	r->look->arena = r->c.arena;
	op_init(&r->look->op.op, r->c.worker->loop, machine_run, &r->machine);
	(void)is_on_its_way(r);
	records_ask(r->c.worker->store, r->look, &r->c.key_id);
	return request_to(r, REQUEST_ASKED, WAIT);
}

void
request_lookup_end(struct request *r)
{
	if (r->look == NULL)
		return;
	op_cancel(&r->look->op.op);
	answer_unref(&r->look->op.answer);
}

static enum after
tell_state(struct request *r, const char *state)
{
	return tell_document(r, json_pack("{s:s}", "state", state));
}

static enum after
tell_in_flight(struct request *r)
{
	return tell_document(r,
	    json_pack("{s:s, s:i}", "state", "in-flight", "retry_after",
		(int)RETRY_AFTER_S));
}

/* Why a retry is not answered, and what to do, as its problem says. */
static enum after
tell_stuck(struct request *r, const char *state, enum problem problem,
    int64_t after_s)
{
	const struct problem_details details = {
	    .key_id = span_str(r->c.key_hex),
	    .on_unknown = r->c.policy->on_unknown,
	};
	json_t *document = json_pack("{s:s, s:o*}", "state", state,
	    "retry_after", after_s > 0 ? json_integer(after_s) : NULL);
	problem_put_hints(document, problem, &details);
	return tell_document(r, document);
}

/* Before the API may be asked, no retry gets any further (lua/claim.lua). */
static enum after
tell_unknown(struct request *r)
{
	int64_t left_ms = 0;
	const struct record_view *record = &r->look->record;
	const struct conf_idempotency *policy = r->c.policy;
	if (policy->on_unknown == UNKNOWN_RECONCILE)
		left_ms = record->lease_until_ms +
		    policy->reconcile.settle_ms - r->look->op.now_ms;
	if (left_ms > policy->reconcile.settle_ms)
		left_ms = policy->reconcile.settle_ms;
	return tell_stuck(
	    r, "unknown", PROBLEM_UNKNOWN_HELD, (left_ms + 999) / 1000);
}

/* Only in the whole of a sealed answer can its status be read. */
static enum after
tell_completed(struct request *r)
{
	struct records_op *look = r->look;
	int status = look->op.answer ? look->op.answer->status : look->status;
	if (look->unreadable != NULL && !look->damaged)
		return request_refuse(
		    r, PROBLEM_RECORD_UNREADABLE, OUTCOME_STORE_DOWN);
	if (status != 0)
		return tell_document(r,
		    json_pack("{s:s, s:i}", "state", "completed", "status",
			status));
	if (look->damaged || look->whole)
		return request_refuse(
		    r, PROBLEM_RECORD_BROKEN, OUTCOME_UNKNOWN);
	records_show(r->c.worker->store, look, &r->c.key_id, true);
	return request_to(r, REQUEST_ASKED, WAIT);
}

static enum after
tell_record(struct request *r)
{
	const struct records_op *look = r->look;
	switch (look->record.state) {
	case STATE_COMPLETED:
		return tell_completed(r);
	case STATE_PROCESSING:
		/* Its lease may be over before anybody has noticed. */
		if (look->record.lease_until_ms > look->op.now_ms)
			return tell_in_flight(r);
		break;
	case STATE_FAILED:
		return tell_stuck(
		    r, "failed", PROBLEM_ATTEMPTS_EXHAUSTED, 0);
	case STATE_RELEASED:
	case STATE_UNKNOWN:
	case STATE_COUNT_:
		break;
	}
	if (is_on_its_way(r))
		return tell_in_flight(r);
	return look->record.state == STATE_RELEASED ? tell_state(r, "none")
						    : tell_unknown(r);
}

enum after
request_lookup_asked(struct machine *machine)
{
	struct request *r = request_of(machine);
	const struct store_op *op = &r->look->op;
	r->c.store_us = op->op.took_us;
	if (op->op.error == E_NO_MEMORY)
		return request_refuse(
		    r, PROBLEM_ANSWER_NO_MEMORY, OUTCOME_OVERLOADED);
	if (op->op.error != 0)
		return request_refuse(
		    r, PROBLEM_STORE_UNAVAILABLE, OUTCOME_STORE_DOWN);
	if (op->verdict == VERDICT_DONE)
		return tell_record(r);
	if (op->verdict != VERDICT_GONE)
		return request_refuse(
		    r, PROBLEM_RECORD_BROKEN, OUTCOME_UNKNOWN);
	return is_on_its_way(r) ? tell_in_flight(r) : tell_state(r, "none");
}
