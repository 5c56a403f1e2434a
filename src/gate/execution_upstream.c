/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "base/loop/log.h"
#include "base/test_build.h"
#include "gate/execution_private.h"
#include "gate/execution_result.h"
#include "gate/message.h"
#include "gate/worker.h"
#include "http/head/header.h"
#include "http/upstream/status_class.h"

/*
 * The upstream's side of an execution: the question about an earlier attempt,
 * where there is one, and the one sending of the request.  What became of it
 * is for the store's side (execution_store.c).
 */

/* --- the answer --- */

/* What is stored in place of the status of the answer to a question. */
static int
status_of(const struct execution *e)
{
	int64_t status = e->held.policy->reconcile.status;
	return e->asked && status != 0 ? (int)status : e->forward.status;
}

/* An answer of which only the status is kept. */
static struct answer *
not_kept(const struct execution *e)
{
	struct fields none = {NULL, 0};
	struct answer *answer =
	    answer_new(status_of(e), &none, NULL, e->first_id);
	answer->not_kept = true;
	return answer;
}

/*
 * What the first client is given, and what of it is stored.  An answer that
 * is too large to keep is decided by its head: the record says so before the
 * client gets a byte of it, and however the rest ends.
 */
static void
make_answers(struct execution *e)
{
	const struct conf_idempotency *policy = e->held.policy;
	const struct header_client client = {
	    span_str(policy->replay_header), e->request_id, clock_wall_ms()};
	struct fields fields =
	    header_for_client(e->arena, &e->forward.fields, &client);
	e->omitted = header_only(e->arena, &fields, &policy->omit_headers);
	fields = header_without(e->arena, &fields, &policy->omit_headers);
	bool large = INVARIANT(large_not_kept) && e->forward.rest != NULL;
	e->given = answer_new(
	    status_of(e), &fields, &e->forward.body, e->first_id);
	e->given->head_length = e->forward.head_length;
	e->answer = large ? not_kept(e) : answer_ref(e->given);
}

/*
 * The upstream's own word about what it did, its Idempotency-Outcome; empty
 * where it sent none.  False: it says two things, which is nothing to go by.
 */
static bool
upstream_word(const struct execution *e, struct span *ret_word)
{
	size_t at = 0;
	struct span name = SPAN("Idempotency-Outcome");
	const struct field *said =
	    fields_next(&e->forward.fields, name, &at);
	*ret_word = said ? said->value : SPAN("");
	return said == NULL || !INVARIANT(one_word) ||
	    fields_next(&e->forward.fields, name, &at) == NULL;
}

/* --- asking about an earlier attempt --- */

static void
start_forward(struct execution *e, const struct message *message)
{
	struct forward_limits limits =
	    message_limits(e->route, e->held.policy);
	/* Asking does no harm; what is sent late might be sent twice. */
	if (message == &e->message)
		limits.send_until_us = &e->lease.until_us;
	forward_stop(&e->forward);
	forward_clear(&e->forward);
	forward_start(e->generation->upstreams, &e->forward, e->route->upstream,
	    message, &limits);
}

enum after
execution_upstream_ask(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	if (e->worker->over) {
		e->reason = REASON_DRAIN;
		return execution_to(e, EXECUTION_MARK_UNKNOWN, MORE);
	}
	if (!e->can_ask)
		return execution_to(e, EXECUTION_MARK_UNKNOWN, MORE);
	start_forward(e, &e->question);
	return execution_to(e, EXECUTION_ASKED, WAIT);
}

/*
 * What the upstream says about the attempt: its own word (as of
 * Idempotency-Outcome), or what the status means to the route.
 */
static enum status_class
weigh_reply(const struct execution *e)
{
	const struct conf_reconcile *reconcile = &e->held.policy->reconcile;
	int status = e->forward.status;
	uint8_t meaning = STATUS_UNKNOWN;
	if (status >= 200 && status <= 299)
		meaning = STATUS_STORE;
	else if (reconcile->absent[status])
		meaning = STATUS_RELEASE;
	struct span said;
	if (!upstream_word(e, &said))
		return STATUS_UNKNOWN;
	return status_class_said(said, meaning);
}

enum after
execution_upstream_asked(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	bool whole = e->forward.result == FORWARD_ANSWERED;
	bool unread = e->forward.result == FORWARD_UNREAD;
	enum status_class class =
	    whole || unread ? weigh_reply(e) : STATUS_UNKNOWN;
	if (class == STATUS_STORE && whole) {
		make_answers(e);
		return execution_to(e, EXECUTION_COMPLETE, MORE);
	}
	if (class == STATUS_RELEASE || class == STATUS_FORGET ||
	    !INVARIANT(upstream_said_no))
		return execution_to(e, EXECUTION_RECLAIM, MORE);
	return execution_to(e, EXECUTION_MARK_UNKNOWN, MORE);
}

/* It did not happen: the claim becomes an attempt of its own. */
enum after
execution_upstream_reclaim(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	e->claim.reconciled = true;
	store_claim(e->worker->store, &e->store, &e->claim);
	return execution_to(e, EXECUTION_RECLAIMED, WAIT);
}

/*
 * The record that was asked about is gone, and the claim made a new one: what
 * the upstream said is not said of that.  It becomes UNKNOWN, as the old one
 * was.
 */
static enum after
record_vanished(struct execution *e)
{
	struct logline line = log_begin(EV_record_broken);
	execution_log(e, &line);
	log_end(&line);
	return execution_to(e, EXECUTION_MARK_UNKNOWN, MORE);
}

enum after
execution_upstream_reclaimed(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	e->store_us += e->store.op.took_us;
	if (e->store.op.error == 0 && e->store.verdict == VERDICT_OURS) {
		bool next = e->store.attempt == e->held.attempt + 1;
		e->held.attempt = e->store.attempt;
		e->held.tries = e->store.tries;
		e->held.created_ms = e->store.created_ms;
		if (!next)
			return record_vanished(e);
		lease_extend(&e->lease, e->store.op.began_us,
		    e->held.policy->lease_ms);
		e->asked = false;
		e->reason = REASON_NONE;
		return execution_to(e, EXECUTION_FORWARD, MORE);
	}
	if (!store_op_answered(&e->store))
		/* The store gives such a claim back by itself. */
		execution_result_problem(
		    e, OUTCOME_STORE_DOWN, PROBLEM_STORE_UNAVAILABLE);
	else if (e->store.verdict == VERDICT_FAILED)
		execution_result_problem(
		    e, OUTCOME_EXHAUSTED, PROBLEM_ATTEMPTS_EXHAUSTED);
	else if (e->store.verdict == VERDICT_STALE)
		execution_result_problem(
		    e, OUTCOME_STALE, PROBLEM_STALE_VERSION);
	else if (e->store.verdict == VERDICT_BUSY)
		/* Such a claim too is given back. */
		execution_result_problem(
		    e, OUTCOME_ENTITY_BUSY, PROBLEM_ENTITY_BUSY);
	else
		execution_result_fenced(e);
	return execution_to(e, EXECUTION_FINISH, MORE);
}

/* --- sending --- */

enum after
execution_upstream_forward(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	/* Another worker may have come to know it since the claim was asked. */
	e->withheld = journaled_awaits(
	    e->worker->store, e->worker->waiting, &e->claim);
	/* Nobody would be there any more to hear of its outcome. */
	if (e->worker->over || (e->withheld && INVARIANT(awaits_again)))
		return execution_to(e, EXECUTION_RELEASE, MORE);
	start_forward(e, &e->message);
	return execution_to(e, EXECUTION_FORWARDED, WAIT);
}

static enum after
in_doubt(struct execution *e, enum reason reason)
{
	e->sent = INVARIANT(sent_is_unknown);
	e->reason = reason;
	if (!e->sent)
		return execution_to(e, EXECUTION_RELEASE, MORE);
	return execution_to(e, EXECUTION_MARK_UNKNOWN, MORE);
}

static void
log_unread(const struct execution *e)
{
	struct logline line = log_begin(EV_answer_unread);
	execution_log(e, &line);
	log_int(&line, "status", e->forward.status);
	log_end(&line);
}

/*
 * An answer: the upstream's own word about it, or the route's.  Its status
 * counts even where there was no memory to read the rest of it.
 */
static enum after
weigh_answer(struct execution *e)
{
	bool whole = e->forward.result == FORWARD_ANSWERED;
	e->sent = true;
	if (whole)
		make_answers(e);
	else
		log_unread(e);
	struct span said;
	if (!upstream_word(e, &said))
		return in_doubt(e, REASON_STATUS);
	switch (status_class_said(
	    said, e->held.policy->outcomes[e->forward.status])) {
	case STATUS_STORE:
		return whole ? execution_to(e, EXECUTION_COMPLETE, MORE)
			     : in_doubt(e, REASON_BROKEN);
	case STATUS_RELEASE:
		return execution_to(e, EXECUTION_RELEASE, MORE);
	case STATUS_FORGET:
		e->forget = !e->counts;
		return execution_to(e, EXECUTION_RELEASE, MORE);
	case STATUS_UNKNOWN:
		return in_doubt(e, REASON_STATUS);
	}
	must(false);
	return DONE;
}

enum after
execution_upstream_forwarded(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	switch (e->forward.result) {
	case FORWARD_NOT_SENT:
		return execution_to(e, EXECUTION_RELEASE, MORE);
	case FORWARD_ANSWERED:
	case FORWARD_UNREAD:
		return weigh_answer(e);
	case FORWARD_TIMEOUT:
		return in_doubt(e, REASON_TIMEOUT);
	case FORWARD_BROKEN:
		return in_doubt(e, REASON_BROKEN);
	case FORWARD_MALFORMED:
		return in_doubt(e, REASON_MALFORMED);
	}
	must(false);
	return DONE;
}
