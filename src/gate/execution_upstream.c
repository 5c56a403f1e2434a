/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "gate/deliver.h"
#include "gate/execution_private.h"
#include "gate/message.h"
#include "gate/worker.h"
#include "http/header.h"
#include "upstream/status_class.h"

/*
 * The way of an execution, top to bottom:
 *
 *   (reconcile) ASK ⇢ ASKED ─┬─ it happened, and this is its answer: COMPLETE
 *                            ├─ it did not: RECLAIM ⇢ RECLAIMED ─── FORWARD
 *                            └─ no answer to go by: MARK_UNKNOWN
 *
 *   FORWARD ⇢ FORWARDED ─┬─ a whole answer, to be stored: COMPLETE ⇢
 *                        ├─ nothing sent, or it says so:  RELEASE ⇢
 *                        └─ sent, and no whole answer:    MARK_UNKNOWN ⇢
 *
 * COMPLETE ⇢ COMPLETED, RELEASE ⇢ RELEASED and MARK_UNKNOWN ⇢ MARKED_UNKNOWN
 * are in execution_store.c: each is tried again, after PAUSE ⇢ PAUSED, until
 * Redis has taken it; then FINISH.
 */

const struct machine_step execution_steps[] = {
#define EXECUTION_STEP(name, function, operation) {#name, function},
#include "tbl/steps.h"
};

static const struct op *
execution_awaited(struct machine *machine)
{
	const struct execution *e = (const struct execution *)machine;
	switch ((enum execution_step)machine->step) {
#define EXECUTION_STEP(name, function, operation)                             \
	case EXECUTION_##name:                                                 \
		return operation;
#include "tbl/steps.h"
	case EXECUTION_STEPS_:
		break;
	}
	must(false);
	return NULL;
}

static void execution_free(struct machine *machine);

static const struct machine_kind execution_kind = {
    "execution", execution_steps, execution_awaited, execution_free};

/* --- the answer --- */

/* An answer of which only the status is kept. */
static struct answer *
not_kept(const struct execution *e)
{
	struct fields none = {NULL, 0};
	struct answer *answer =
	    answer_new(e->forward.status, &none, NULL, e->request_id);
	answer->not_kept = true;
	return answer;
}

/*
 * What the first client is given, and what of it is stored.  An answer that
 * is too large to keep is decided by its head: the record says so before the
 * client gets a byte of it, and however the rest ends.
 */
static void
take_answer(struct execution *e)
{
	const struct conf_idempotency *policy = e->held.policy;
	if (e->forward.body_dropped) {
		e->answer = not_kept(e);
		return;
	}
	struct fields fields = header_for_client(e->arena, &e->forward.fields,
	    span_str(policy->replay_header), clock_wall_ms());
	e->omitted = header_only(e->arena, &fields, &policy->omit_headers);
	fields = header_without(e->arena, &fields, &policy->omit_headers);
	bool large = INVARIANT(large_not_kept) && e->forward.rest != NULL;
	e->given = answer_new(
	    e->forward.status, &fields, &e->forward.body, e->request_id);
	e->given->head_length = e->forward.head_length;
	e->answer = large ? not_kept(e) : answer_ref(e->given);
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
execution_ask(struct machine *machine)
{
	struct execution *e = (struct execution *)machine;
	if (e->worker->over) {
		e->reason = REASON_DRAIN;
		return go(e, EXECUTION_MARK_UNKNOWN, MORE);
	}
	start_forward(e, &e->question);
	return go(e, EXECUTION_ASKED, WAIT);
}

enum after
execution_asked(struct machine *machine)
{
	struct execution *e = (struct execution *)machine;
	int status = e->forward.result == FORWARD_ANSWERED
	    ? e->forward.status
	    : 0;
	if (status >= 200 && status <= 299) {
		take_answer(e);
		return go(e, EXECUTION_COMPLETE, MORE);
	}
	if (status == 404 || status == 410 || !INVARIANT(upstream_said_no))
		return go(e, EXECUTION_RECLAIM, MORE);
	return go(e, EXECUTION_MARK_UNKNOWN, MORE);
}

/* It did not happen: the claim becomes an attempt of its own. */
enum after
execution_reclaim(struct machine *machine)
{
	struct execution *e = (struct execution *)machine;
	e->claim.reconciled = true;
	store_claim(e->worker->store, &e->store, &e->claim);
	return go(e, EXECUTION_RECLAIMED, WAIT);
}

enum after
execution_reclaimed(struct machine *machine)
{
	struct execution *e = (struct execution *)machine;
	e->store_us += e->store.op.took_us;
	if (e->store.op.error == 0 && e->store.verdict == VERDICT_OURS) {
		/* The message says which attempt it is. */
		must(e->store.attempt == e->held.attempt + 1);
		e->held.attempt = e->store.attempt;
		lease_extend(&e->lease, e->store.op.began_us,
		    e->held.policy->lease_ms);
		e->asked = false;
		e->reason = REASON_NONE;
		return go(e, EXECUTION_FORWARD, MORE);
	}
	if (e->store.op.error != 0)
		/* The store gives such a claim back by itself. */
		deliver_problem(
		    e, OUTCOME_STORE_DOWN, PROBLEM_STORE_UNAVAILABLE);
	else if (e->store.verdict == VERDICT_FAILED)
		deliver_problem(
		    e, OUTCOME_EXHAUSTED, PROBLEM_ATTEMPTS_EXHAUSTED);
	else
		deliver_fenced(e);
	return go(e, EXECUTION_FINISH, MORE);
}

/* --- sending --- */

enum after
execution_forward(struct machine *machine)
{
	struct execution *e = (struct execution *)machine;
	/* Nobody would be there any more to hear of its outcome. */
	if (e->worker->over)
		return go(e, EXECUTION_RELEASE, MORE);
	start_forward(e, &e->message);
	return go(e, EXECUTION_FORWARDED, WAIT);
}

static enum after
in_doubt(struct execution *e, enum reason reason)
{
	e->sent = INVARIANT(sent_is_unknown);
	e->reason = reason;
	if (!e->sent)
		return go(e, EXECUTION_RELEASE, MORE);
	return go(e, EXECUTION_MARK_UNKNOWN, MORE);
}

/* A whole answer: the upstream's own word about it, or the route's. */
static enum after
weigh_answer(struct execution *e)
{
	e->sent = true;
	take_answer(e);
	size_t at = 0;
	struct span name = SPAN("Idempotency-Outcome");
	const struct field *said =
	    fields_next(&e->forward.fields, name, &at);
	/* An upstream that says two things has said nothing to go by. */
	if (said != NULL && INVARIANT(one_word) &&
	    fields_next(&e->forward.fields, name, &at) != NULL)
		return in_doubt(e, REASON_STATUS);
	switch (status_class_of(e->held.policy->outcomes, e->forward.status,
	    said ? said->value : SPAN(""))) {
	case STATUS_STORE:
		return go(e, EXECUTION_COMPLETE, MORE);
	case STATUS_RELEASE:
		return go(e, EXECUTION_RELEASE, MORE);
	case STATUS_UNKNOWN:
		return in_doubt(e, REASON_STATUS);
	}
	must(false);
	return DONE;
}

enum after
execution_forwarded(struct machine *machine)
{
	struct execution *e = (struct execution *)machine;
	switch (e->forward.result) {
	case FORWARD_NOT_SENT:
		return go(e, EXECUTION_RELEASE, MORE);
	case FORWARD_ANSWERED:
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

/* --- life --- */

struct execution *
execution_new(const struct execution_start *start)
{
	struct execution *e = arena_alloc(start->arena, sizeof *e);
	struct worker *w = start->worker;
	machine_init(&e->machine, &execution_kind, &w->executions);
	hex_encode(start->claim.key_id.bytes, DIGEST_BYTES, e->machine.id);
	e->worker = w;
	e->generation = generation_ref(start->generation);
	e->route = start->route;
	e->arena = arena_ref(start->arena);
	e->request = start->request;
	e->held = (struct held){
	    .key_id = start->claim.key_id,
	    .owner = start->claim.owner,
	    .attempt = start->attempt,
	    .policy = start->claim.policy,
	    .route = start->claim.route,
	};
	memcpy(e->held.fingerprint, start->claim.fingerprint,
	    sizeof e->held.fingerprint);
	e->claim = start->claim;
	e->asked = start->ask;
	e->reason = start->reason;
	e->question = start->question;
	e->message = start->message;
	e->request_id = start->request_id;
	body_init(&e->body, w->budget);
	body_move(&e->body, start->body);
	e->message.body = body_span(&e->body);
	op_init(&e->forward.op, w->loop, machine_run, e);
	op_init(&e->store.op, w->loop, machine_run, e);
	op_init(&e->pause, w->loop, machine_run, e);
	lease_begin(&w->leases, &e->lease, start->claimed_us,
	    e->held.policy->lease_ms);
	machine_to(&e->machine, e->asked ? EXECUTION_ASK : EXECUTION_FORWARD);
	return e;
}

static void
execution_free(struct machine *machine)
{
	struct execution *e = (struct execution *)machine;
	forward_stop(&e->forward);
	op_cancel(&e->store.op);
	op_cancel(&e->pause);
	forward_clear(&e->forward);
	answer_unref(&e->store.answer);
	answer_unref(&e->given);
	answer_unref(&e->answer);
	body_clear(&e->body);
	generation_unref(&e->generation);
	/* It lies in there itself. */
	struct arena *arena = e->arena;
	arena_free(&arena);
}

void
execution_leave(struct execution *e)
{
	e->request = NULL;
}

void
execution_cut(struct execution *e)
{
	if (!op_pending(&e->forward.op))
		return;
	op_cancel(&e->forward.op);
	e->sent = forward_sent_bytes(&e->forward) > 0;
	e->reason = REASON_DRAIN;
	/* A question leaves in doubt what was in doubt. */
	bool doubt = (e->sent && INVARIANT(cut_is_unknown)) || e->asked;
	machine_to(
	    &e->machine, doubt ? EXECUTION_MARK_UNKNOWN : EXECUTION_RELEASE);
	machine_run(&e->machine);
}
