/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "gate/access_log.h"
#include "gate/claimant_claim.h"
#include "gate/message.h"
#include "gate/request_private.h"
#include "gate/worker.h"
#include "http/head/header.h"
#include "http/upstream/status_class.h"

/* A body up to this length is read before it is passed on. */
enum { SMALL_BYTES = 16 * 1024 };

/*
 * Without a key: what the client sends goes on to the upstream as it comes,
 * and what that answers goes back.  A flow each way joins the two, which
 * know each other's pace by it and nothing else of one another.  A route that
 * only observes passes all on so, and asks beside it what it would have done.
 */

/* --- what is observed --- */

/* What the store is asked about, which may answer when the request is gone. */
struct observing {
	struct worker *worker;
	struct series *series; /* the worker's, as long as it lives */
	bool retries;          /* an unknown outcome is executed again */
	struct duplicate one;
};

static void
count_observed(struct series *series, enum observed would)
{
	_Static_assert((int)OBSERVED_COUNT_ <= (int)METER_OBSERVED,
	    "too many of tbl/observed.h");
	counter_add(&series->observed[would], 1);
}

static enum observed
would_do(const struct observing *o, const struct observation_told *told)
{
	static const enum observed known[VERDICT_COUNT_] = {
	    [VERDICT_IN_FLIGHT] = OBSERVED_IN_FLIGHT,
	    [VERDICT_COMPLETED] = OBSERVED_REPLAYED,
	    [VERDICT_MISMATCH] = OBSERVED_MISMATCH,
	    [VERDICT_UNKNOWN] = OBSERVED_UNKNOWN,
	};
	if (told->error != 0)
		return OBSERVED_NOTHING;
	if (told->verdict == VERDICT_UNKNOWN && o->retries)
		return OBSERVED_EXECUTED;
	return known[told->verdict];
}

/* A copy, cut where it is too long. */
static void
note_text(char place[DUPLICATES_TEXT], struct span text)
{
	snprintf(place, DUPLICATES_TEXT, "%.*s", SPAN_FMT(text));
}

static void
log_duplicate(const struct duplicate *one)
{
	struct logline line = log_begin(EV_observed);
	log_str(&line, "request_id", one->request_id);
	log_str(&line, "route", one->route);
	log_str(&line, "key_id", one->key_id);
	log_str(&line, "would", duplicates_word(one->would));
	log_str(&line, "first_request_id", one->first_request_id);
	log_end(&line);
}

static void
on_observed(void *arg, const struct observation_told *told)
{
	struct observing *o = arg;
	o->one.would = would_do(o, told);
	count_observed(o->series, o->one.would);
	if (duplicates_is_one(o->one.would)) {
		note_text(o->one.first_request_id, told->first_id);
		o->one.first_ms = told->first_ms;
		o->one.status = told->status;
		duplicates_add(&o->worker->duplicates, &o->one);
		log_duplicate(&o->one);
	}
	free(o);
}

/*
 * What the request says of its key by itself.  OBSERVED_EXECUTED: what would be
 * done depends on what came before.
 */
static enum observed
judge_key(struct claimant *c, bool whole)
{
	enum observed none =
	    c->policy->required ? OBSERVED_KEY_MISSING : OBSERVED_PASSED;
	struct span detail;
	const char *message;
	enum key_verdict key = claimant_find_key(c);
	if (key == KEY_INVALID)
		return OBSERVED_KEY_INVALID;
	if (key == KEY_MISSING && !c->derived)
		return none;
	enum scope_verdict scope = claimant_find_scope(c, &message);
	if (scope == SCOPE_MISSING)
		return c->policy->scope_missing_forward
		    ? OBSERVED_PASSED
		    : OBSERVED_SCOPE_MISSING;
	if (scope == SCOPE_REPEATED)
		return OBSERVED_BAD_REQUEST;
	if (scope == SCOPE_INVALID)
		return OBSERVED_TOKEN_INVALID;
	if (scope != SCOPE_FOUND)
		return OBSERVED_SCOPE_MISSING;
	if (c->head.length > c->policy->max_request_body)
		return OBSERVED_TOO_LARGE;
	if (!whole)
		return OBSERVED_NOTHING;
	if (claimant_derive_key(c) != KEY_FOUND)
		return none;
	return claimant_name_asked(c, &detail) == PROBLEM_COUNT_
	    ? OBSERVED_EXECUTED
	    : OBSERVED_BAD_REQUEST;
}

static void
begin_observation(struct request *r, struct series *series)
{
	struct claimant *c = &r->c;
	struct observing *o = mem_zero(sizeof *o);
	o->worker = c->worker;
	o->series = series;
	o->retries = c->policy->on_unknown == UNKNOWN_RETRY;
	o->one.at_ms = clock_wall_ms();
	note_text(o->one.key_id, span_str(c->key_hex));
	note_text(o->one.route, span_str(c->route->name));
	note_text(o->one.request_id, c->id);
	struct observation_ask ask = {
	    .key_id = c->key_id,
	    .busy_ms = c->policy->lease_ms + c->route->upstream->timeout_ms,
	    .keep_ms = c->policy->unknown_retention_ms,
	    .request_id = c->id,
	    .told = on_observed,
	    .arg = o,
	};
	claimant_claim_fingerprint(c);
	memcpy(ask.fingerprint, c->claim.fingerprint, sizeof ask.fingerprint);
	r->observation = observation_begin(c->worker->store, &ask);
}

/* Beside the request, which waits for nothing of it. */
static void
observe(struct request *r)
{
	struct claimant *c = &r->c;
	struct series *series =
	    c->generation->metered.routes[c->route->index];
	c->policy = c->route->idempotency;
	enum observed would =
	    judge_key(c, !r->x->has_body || r->x->body_ended);
	if (would == OBSERVED_EXECUTED)
		begin_observation(r, series);
	else
		count_observed(series, would);
	c->policy = NULL;
	c->derived = false;
}

/* What a request comes to that the store would have been told of. */
static struct observation_end
observed_end(const struct request *r)
{
	const struct conf_idempotency *policy = r->c.route->idempotency;
	struct observation_end end = {
	    .letter = 'U', .keep_ms = policy->unknown_retention_ms};
	const struct field *said = fields_first(
	    &r->forward.fields, SPAN("Idempotency-Outcome"));
	if (r->forward.result == FORWARD_NOT_SENT)
		end.letter = 'R';
	if (r->forward.result != FORWARD_ANSWERED)
		return end;
	switch (status_class_said(said ? said->value : SPAN(""),
	    policy->outcomes[r->forward.status])) {
	case STATUS_STORE:
		return (struct observation_end){
		    'C', r->forward.status, policy->retention_ms};
	case STATUS_RELEASE:
	case STATUS_FORGET:
		end.letter = 'R';
		break;
	case STATUS_UNKNOWN:
		break;
	}
	return end;
}

void
request_pass_end(struct request *r)
{
	if (r->observation == NULL)
		return;
	const struct observation_end end = {.letter = 'U',
	    .keep_ms = r->c.route->idempotency->unknown_retention_ms};
	observation_end(&r->observation, &end);
}

/* --- passing it on --- */

/* Where it is observed, all of the body counts, while there is much room. */
size_t
request_pass_whole(const struct request *r)
{
	const struct conf_route *route = r->c.route;
	const struct budget *budget = r->c.worker->budget;
	bool room =
	    atomic_load(&budget->used) < atomic_load(&budget->limit) / 2;
	return route->observes && room &&
		route->idempotency->max_request_body > SMALL_BYTES
	    ? (size_t)route->idempotency->max_request_body
	    : SMALL_BYTES;
}

enum after
request_pass(struct machine *machine)
{
	struct request *r = request_of(machine);
	if (r->c.route->observes)
		observe(r);
	message_make(&r->c, 0);
	if (r->x->has_body && !r->x->body_ended) {
		r->c.message.source = &r->up;
		r->c.message.length =
		    r->c.head.chunked ? -1 : r->c.head.length;
		if (flow_reserve(&r->up) != 0)
			return request_refuse(
			    r, PROBLEM_OVERLOADED, OUTCOME_OVERLOADED);
		exchange_stream_body(r->x, &r->up);
	}
	const struct forward_limits limits = message_limits(r->c.route, NULL);
	forward_start(r->c.generation->upstreams, &r->forward,
	    r->c.route->upstream, &r->c.message, &limits);
	return request_to(r, REQUEST_PASSED, WAIT);
}

/* There is no answer to pass on. */
static enum after
refuse_pass(struct request *r)
{
	if (r->up.ended && r->up.error == E_MALFORMED)
		return request_client_malformed(r);
	if (r->up.ended && r->up.error != 0) {
		/* Half a request: its client has left. */
		r->c.outcome = OUTCOME_BAD_REQUEST;
		return request_to(r, REQUEST_FINISH, MORE);
	}
	access_log_failed(r, r->forward.op.error);
	switch (r->forward.result) {
	case FORWARD_NOT_SENT:
		return r->forward.op.error == E_NO_MEMORY
		    ? request_refuse(r, PROBLEM_OVERLOADED, OUTCOME_OVERLOADED)
		    : request_refuse(r, PROBLEM_UPSTREAM_UNREACHABLE,
			  OUTCOME_UNREACHABLE);
	case FORWARD_TIMEOUT:
		return request_refuse(
		    r, PROBLEM_UPSTREAM_TIMEOUT, OUTCOME_UPSTREAM_FAILED);
	case FORWARD_BROKEN:
	case FORWARD_UNREAD:
	case FORWARD_MALFORMED:
		return request_refuse(
		    r, PROBLEM_UPSTREAM_BROKEN, OUTCOME_UPSTREAM_FAILED);
	case FORWARD_ANSWERED:
		break;
	}
	must(false);
	return DONE;
}

enum after
request_pass_answered(struct machine *machine)
{
	struct request *r = request_of(machine);
	r->c.upstream_us = r->forward.op.took_us;
	r->c.target = forward_target(&r->forward);
	if (r->observation != NULL) {
		const struct observation_end end = observed_end(r);
		observation_end(&r->observation, &end);
	}
	if (r->forward.result != FORWARD_ANSWERED)
		return refuse_pass(r);
	const struct header_client client = {
	    SPAN(""), r->c.id, clock_wall_ms()};
	struct fields fields =
	    header_for_client(r->c.arena, &r->forward.fields, &client);
	r->c.answer = answer_new(
	    r->forward.status, &fields, &r->forward.body, SPAN(""));
	r->c.answer->head_length = r->forward.head_length;
	r->c.problem = PROBLEM_COUNT_;
	r->c.outcome = OUTCOME_PASSED;
	return request_to(r, REQUEST_ANSWER, MORE);
}
