/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "base/test_build.h"
#include "gate/claimant_claim.h"
#include "gate/request_private.h"
#include "gate/worker.h"
#include "http/head/header.h"

/*
 * The key's side of a request: its record is claimed, and what that brings is
 * a line of tbl/situations.h.
 */

/* A wait for what is delivered from the journal. */
enum { LOOK_AGAIN_MS = 200 };

static void on_client_left(void *request);
static int64_t wait_ms(const struct request *r);
static enum after give_kept(struct request *r);

enum after
request_claim_derive(struct machine *machine)
{
	struct request *r = request_of(machine);
	if (claimant_derive_key(&r->c) != KEY_FOUND)
		return request_without_key(r, REQUEST_PASS);
	struct span detail = SPAN("");
	enum problem problem = claimant_name(&r->c, &detail);
	if (problem == PROBLEM_COUNT_)
		return request_to(r, REQUEST_CLAIM, MORE);
	return request_refuse_saying(r, problem,
	    problem == PROBLEM_KEY_INVALID ? OUTCOME_KEY_INVALID
					   : OUTCOME_BAD_REQUEST,
	    detail);
}

/*
 * The outcome of this key's request, or a version of its entity, is in this
 * process and not in Redis yet, which may have lost the claim as well, and has
 * nothing to tell this retry.
 */
static enum after
await_outcome(struct request *r)
{
	/* Perhaps it is known by now, or known to be another store's. */
	if (!claimant_claim_is_withheld(&r->c))
		return request_to(r, REQUEST_CLAIM, MORE);
	int64_t now_ms = loop_now_ms(r->c.worker->loop);
	if (r->wait_until_ms == 0)
		r->wait_until_ms = now_ms + wait_ms(r);
	int64_t left_ms = r->wait_until_ms - now_ms;
	if (!r->c.claim.waits || left_ms <= 0 || r->x->gone ||
	    r->c.worker->over)
		return request_refuse(
		    r, PROBLEM_OUTCOME_WAITS, OUTCOME_STORE_DOWN);
	r->waited = true;
	/* Of what another worker delivers nobody tells this one. */
	waiters_wait(
	    &r->waiter, left_ms < LOOK_AGAIN_MS ? left_ms : LOOK_AGAIN_MS);
	exchange_watch_client(r->x, on_client_left, r);
	return request_to(r, REQUEST_WAITED, WAIT);
}

enum after
request_claim(struct machine *machine)
{
	struct request *r = request_of(machine);
	/* An outcome that Redis might not take must have a place to go. */
	if (!journal_relay_can_write(&r->c.worker->journal_relay) &&
	    INVARIANT(writable_journal))
		return request_refuse(
		    r, PROBLEM_STORE_UNAVAILABLE, OUTCOME_STORE_DOWN);
	claimant_claim_prepare(&r->c,
	    r->wait_until_ms == 0
		? wait_ms(r) > 0
		: r->wait_until_ms > loop_now_ms(r->c.worker->loop));
	if (r->c.claim.waits)
		waiters_listen(&r->c.worker->waiters, &r->waiter,
		    r->busy ? &r->c.claim_op.holder : &r->c.key_id);
	if (claimant_claim_find_kept(&r->c))
		return give_kept(r);
	claimant_claim(&r->c);
	return request_to(r, REQUEST_CLAIMED, WAIT);
}

/*
 * So long this retry may wait for the first request with its key, from its
 * first claim on: what the route says, and what the client asks for within
 * that (Prefer: wait=N, RFC 7240, section 4.3, seconds).
 */
static int64_t
wait_ms(const struct request *r)
{
	int64_t most_ms = r->c.policy->wait_timeout_ms;
	int64_t ms = r->c.policy->in_flight == IN_FLIGHT_WAIT ? most_ms : 0;
	size_t at = 0;
	const struct field *f;
	while ((f = fields_next(&r->c.head.fields, SPAN("Prefer"), &at))) {
		struct span list = f->value, piece;
		while (span_next(&list, ',', &piece)) {
			int64_t seconds = header_prefer_wait(piece);
			if (seconds >= 0)
				ms = seconds * 1000 < most_ms ? seconds * 1000
							      : most_ms;
		}
	}
	return ms;
}

/* The wait is over, or there was none. */
static enum after
refuse_in_flight(struct request *r)
{
	return r->busy ? request_refuse(
			     r, PROBLEM_ENTITY_BUSY, OUTCOME_ENTITY_BUSY)
		       : request_refuse(
			     r, PROBLEM_IN_FLIGHT, OUTCOME_IN_FLIGHT);
}

/*
 * In flight, or busy: another claim when something has changed, or 409.  Which
 * record holds a busy entity only the claim's answer says: so there is another
 * claim at once, from before which on the waiter listens for that record.
 */
static enum after
in_flight(struct request *r)
{
	int64_t now_ms = loop_now_ms(r->c.worker->loop);
	bool busy = r->c.claim_op.verdict == VERDICT_BUSY;
	bool listens = r->c.claim.waits &&
	    !memcmp(&r->waiter.key_id,
		busy ? &r->c.claim_op.holder : &r->c.key_id,
		sizeof r->c.key_id);
	r->busy = busy;
	if (r->wait_until_ms == 0)
		r->wait_until_ms = now_ms + wait_ms(r);
	if (!r->c.claim.waits || r->wait_until_ms <= now_ms || r->x->gone ||
	    r->c.worker->over)
		return refuse_in_flight(r);
	r->waited = true;
	if (!listens)
		return request_to(r, REQUEST_CLAIM, MORE);
	waiters_wait(&r->waiter, r->wait_until_ms - now_ms);
	exchange_watch_client(r->x, on_client_left, r);
	return request_to(r, REQUEST_WAITED, WAIT);
}

/* The client closed its connection, or its half of it: the wait is over. */
static void
on_client_left(void *arg)
{
	struct request *r = arg;
	waiters_stop(&r->waiter, E_CLIENT_GONE);
}

enum after
request_claim_waited(struct machine *machine)
{
	struct request *r = request_of(machine);
	int error = r->waiter.op.error;
	exchange_watch_client(r->x, NULL, NULL);
	/*
	 * When its time is up it looks once more: a Redis that is full tells
	 * nobody of a change.
	 */
	bool look = error == 0 || (error == E_TIMEOUT && INVARIANT(last_look));
	if (!look || r->x->gone)
		return refuse_in_flight(r);
	return request_to(r, REQUEST_CLAIM, MORE);
}

/* What a verdict means is a line of tbl/situations.h. */
static enum after
meet_situation(struct request *r)
{
	static const struct situation {
		bool known;
		enum request_step step;
		enum problem problem;
		enum outcome outcome;
	} situations[VERDICT_COUNT_] = {
#define SITUATION(verdict, step, problem, outcome)                             \
	[VERDICT_##verdict] = {true, REQUEST_##step, PROBLEM_##problem,        \
	    OUTCOME_##outcome},
#include "tbl/situations.h"
#undef SITUATION
	};
	const struct situation *s = &situations[r->c.claim_op.verdict];
	/* No claim is answered so: whatever did it is not to be believed. */
	if (!s->known)
		s = &situations[VERDICT_BROKEN];
	r->c.problem = s->problem;
	r->c.outcome = s->outcome;
	return request_to(r, s->step, MORE);
}

/* What the route says about requests while Redis is out of reach. */
static enum after
without_store(struct request *r)
{
	if (r->c.policy->on_store_down == STORE_DOWN_REJECT &&
	    INVARIANT(claimed_first))
		return request_refuse(
		    r, PROBLEM_STORE_UNAVAILABLE, OUTCOME_STORE_DOWN);
	r->c.policy = NULL;
	return request_to(r, REQUEST_PASS, MORE);
}

enum after
request_claim_answered(struct machine *machine)
{
	struct request *r = request_of(machine);
	r->c.store_us = r->c.claim_op.op.took_us;
	if (r->c.claim_op.op.error == E_NO_MEMORY)
		return request_refuse(
		    r, PROBLEM_ANSWER_NO_MEMORY, OUTCOME_OVERLOADED);
	if (store_op_unfetched(&r->c.claim_op) && INVARIANT(known_executed))
		return request_refuse(
		    r, PROBLEM_ANSWER_NOT_FETCHED, OUTCOME_STORE_DOWN);
	if (r->c.claim_op.op.error != 0)
		return r->c.claim.withheld ? await_outcome(r)
					   : without_store(r);
	if (r->c.claim_op.unreadable)
		return request_refuse(
		    r, PROBLEM_RECORD_UNREADABLE, OUTCOME_STORE_DOWN);
	if (r->c.claim_op.verdict == VERDICT_IN_FLIGHT ||
	    r->c.claim_op.verdict == VERDICT_BUSY)
		return in_flight(r);
	r->busy = false;
	r->c.retry_after_s = (r->c.claim_op.settle_left_ms + 999) / 1000;
	if (r->c.claim_op.verdict != VERDICT_COMPLETED)
		return meet_situation(r);

	claimant_claim_take_answer(&r->c);
	return give_kept(r);
}

/* The client gets the stored answer, or hears that it was too large. */
static enum after
give_kept(struct request *r)
{
	if (r->c.answer->not_kept && INVARIANT(not_kept_said)) {
		r->c.original_status = r->c.answer->status;
		return request_refuse(
		    r, PROBLEM_RESPONSE_NOT_KEPT, OUTCOME_NOT_KEPT);
	}
	r->c.replay = true;
	meet_situation(r);
	if (r->waited)
		r->c.outcome = OUTCOME_WAITED;
	return MORE;
}

enum after
request_claim_start(struct machine *machine)
{
	struct request *r = request_of(machine);
	claimant_claim_start(&r->c);
	return request_to(r, REQUEST_JOINED, WAIT);
}

enum after
request_claim_joined(struct machine *machine)
{
	return request_to(request_of(machine), REQUEST_ANSWER, MORE);
}
