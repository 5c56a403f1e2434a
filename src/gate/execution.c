/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "gate/execution.h"
#include "gate/message.h"
#include "gate/tell.h"
#include "gate/worker.h"
#include "http/header.h"
#include "upstream/outcome.h"

/*
 * The way of an execution, top to bottom:
 *
 *   (reconcile) ASK ⇢ ASKED ─┬─ it happened, and this is its answer ── KEEP
 *                            ├─ it did not ── RECLAIM ⇢ RECLAIMED ─ FORWARD
 *                            └─ no answer to go by ────────────────── DOUBT
 *
 *   FORWARD ⇢ FORWARDED ─┬─ a whole answer, to be stored ── KEEP ⇢ KEPT
 *                        ├─ nothing sent, or it says so ─── RELEASE ⇢ RELEASED
 *                        └─ sent, and no whole answer ───── DOUBT ⇢ DOUBTED
 *
 * Each of the three is tried again, after PAUSE ⇢ PAUSED, until Redis has
 * taken it; then SETTLE.
 */

enum {
	PAUSE_FIRST_MS = 50,
	PAUSE_MAX_MS = 1000,
};

enum execution_step {
#define EXECUTION_STEP(name, function, operation) EXECUTION_##name,
#include "tbl/steps.h"
	EXECUTION_STEPS_,
};
_Static_assert(
    (int)EXECUTION_STEPS_ <= (int)MACHINE_STEPS_MAX, "too many steps");

#define EXECUTION_STEP(name, function, operation)                             \
	static enum after function(struct machine *machine);
#include "tbl/steps.h"

static const struct machine_step steps[] = {
#define EXECUTION_STEP(name, function, operation) {#name, function},
#include "tbl/steps.h"
};

static const struct op *
execution_awaited(const struct machine *machine)
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
    "execution", steps, execution_awaited, execution_free};

static enum after
go(struct execution *e, enum execution_step step, enum after after)
{
	machine_to(&e->machine, step);
	return after;
}

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

/* What the first client is given, and what of it is stored. */
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
	bool large =
	    e->forward.body.len > (size_t)policy->max_response_body;
	e->given = answer_new(
	    e->forward.status, &fields, &e->forward.body, e->request_id);
	e->given->head_length = e->forward.head_length;
	e->answer = large ? not_kept(e) : answer_ref(e->given);
}

/* --- asking about an earlier attempt --- */

static void
start_forward(struct execution *e, const struct message *message)
{
	const struct forward_limits limits = message_limits(e->route, false);
	forward_clear(&e->forward);
	forward_start(e->generation->upstreams, &e->forward, e->route->upstream,
	    message, &limits);
}

static enum after
execution_ask(struct machine *machine)
{
	struct execution *e = (struct execution *)machine;
	start_forward(e, &e->question);
	return go(e, EXECUTION_ASKED, WAIT);
}

static enum after
execution_asked(struct machine *machine)
{
	struct execution *e = (struct execution *)machine;
	int status = e->forward.result == FORWARD_ANSWERED
	    ? e->forward.status
	    : 0;
	if (status >= 200 && status <= 299) {
		take_answer(e);
		return go(e, EXECUTION_KEEP, MORE);
	}
	if (status == 404 || status == 410)
		return go(e, EXECUTION_RECLAIM, MORE);
	return go(e, EXECUTION_DOUBT, MORE);
}

/* It did not happen: the claim becomes an attempt of its own. */
static enum after
execution_reclaim(struct machine *machine)
{
	struct execution *e = (struct execution *)machine;
	e->claim.reconciled = true;
	store_claim(e->worker->store, &e->store, &e->claim);
	return go(e, EXECUTION_RECLAIMED, WAIT);
}

static enum after
execution_reclaimed(struct machine *machine)
{
	struct execution *e = (struct execution *)machine;
	e->store_us += e->store.op.took_us;
	if (e->store.op.error == 0 && e->store.verdict == VERDICT_OURS) {
		/* The message says which attempt it is. */
		must(e->store.attempt == e->held.attempt + 1);
		e->held.attempt = e->store.attempt;
		e->asked = false;
		e->reason = REASON_NONE;
		return go(e, EXECUTION_FORWARD, MORE);
	}
	if (e->store.op.error != 0)
		/* The store gives such a claim back by itself. */
		tell_problem(e, RESULT_STORE_DOWN, PROBLEM_STORE_UNAVAILABLE);
	else if (e->store.verdict == VERDICT_FAILED)
		tell_problem(
		    e, RESULT_EXHAUSTED, PROBLEM_ATTEMPTS_EXHAUSTED);
	else
		tell_fenced(e);
	return go(e, EXECUTION_SETTLE, MORE);
}

/* --- sending --- */

static enum after
execution_forward(struct machine *machine)
{
	struct execution *e = (struct execution *)machine;
	start_forward(e, &e->message);
	return go(e, EXECUTION_FORWARDED, WAIT);
}

static enum after
in_doubt(struct execution *e, enum reason reason)
{
	e->sent = GUARD(sent_is_unknown);
	e->reason = reason;
	if (!e->sent)
		return go(e, EXECUTION_RELEASE, MORE);
	return go(e, EXECUTION_DOUBT, MORE);
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
	if (said != NULL && fields_next(&e->forward.fields, name, &at) != NULL)
		return in_doubt(e, REASON_STATUS);
	switch (outcome_of(e->held.policy->outcomes, e->forward.status,
	    said ? said->value : SPAN(""))) {
	case OUTCOME_STORE:
		return go(e, EXECUTION_KEEP, MORE);
	case OUTCOME_RELEASE:
		return go(e, EXECUTION_RELEASE, MORE);
	case OUTCOME_UNKNOWN:
		return in_doubt(e, REASON_STATUS);
	}
	must(false);
	return DONE;
}

static enum after
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

/* --- storing the outcome --- */

/* What the three participles share: true when Redis has not taken it. */
static bool
not_taken(struct execution *e, unsigned again)
{
	e->store_us += e->store.op.took_us;
	if (e->store.op.error == 0)
		return false;
	if (e->tries++ == 0) {
		struct logline line = log_begin(EV_settle_late);
		log_str(&line, "key_id", e->machine.id);
		log_str(&line, "step", steps[again].name);
		log_str(&line, "error", err_words(e->store.op.error));
		log_end(&line);
	}
	e->settling = again;
	return true;
}

/*
 * Redis has not taken it: it goes to disk, and the courier delivers it.
 * Otherwise this execution tries on, for as long as the process lives.
 */
static enum after
put_off(struct execution *e, const struct put_off *what, bool *ret_kept)
{
	*ret_kept = courier_take(&e->worker->courier, &e->held, what);
	return go(e, *ret_kept ? EXECUTION_SETTLE : EXECUTION_PAUSE, MORE);
}

static enum after
execution_keep(struct machine *machine)
{
	struct execution *e = (struct execution *)machine;
	store_complete(e->worker->store, &e->store, &e->held, e->answer);
	return go(e, EXECUTION_KEPT, WAIT);
}

/* The answer is in Redis before the client sees it. */
static enum after
execution_kept(struct machine *machine)
{
	struct execution *e = (struct execution *)machine;
	if (not_taken(e, EXECUTION_KEEP)) {
		bool kept;
		enum after after = put_off(e,
		    &(struct put_off){JOURNAL_COMPLETE, .answer = e->answer},
		    &kept);
		/* Where another execution may decide, it is not handed out. */
		if (kept && e->held.policy->on_unknown == UNKNOWN_HOLD)
			tell_answer(e, RESULT_EXECUTED);
		else
			tell_problem(
			    e, RESULT_STORE_DOWN, PROBLEM_OUTCOME_NOT_STORED);
		return after;
	}
	if (e->store.verdict != VERDICT_DONE)
		tell_fenced(e);
	else
		tell_answer(e, e->asked ? RESULT_REPLAYED : RESULT_EXECUTED);
	return go(e, EXECUTION_SETTLE, MORE);
}

static enum after
execution_release(struct machine *machine)
{
	struct execution *e = (struct execution *)machine;
	store_release(e->worker->store, &e->store, &e->held, e->sent);
	return go(e, EXECUTION_RELEASED, WAIT);
}

/*
 * The client is told whether or not Redis has heard of it: nothing was
 * executed, or the upstream itself says so.
 */
static enum after
execution_released(struct machine *machine)
{
	struct execution *e = (struct execution *)machine;
	bool late = not_taken(e, EXECUTION_RELEASE);
	if (!late && e->store.verdict == VERDICT_FENCED)
		tell_fenced(e);
	else if (e->answer != NULL)
		tell_answer(e, RESULT_RELEASED);
	else
		tell_problem(
		    e, RESULT_UNREACHABLE, PROBLEM_UPSTREAM_UNREACHABLE);
	bool kept;
	return late
	    ? put_off(e, &(struct put_off){JOURNAL_RELEASE, .sent = e->sent},
		  &kept)
	    : go(e, EXECUTION_SETTLE, MORE);
}

static void
log_doubt(const struct execution *e)
{
	enum event event = e->reason == REASON_DRAIN ? EV_drain_timeout
						     : EV_outcome_unknown;
	struct logline line =
	    log_begin(e->asked ? EV_reconcile_failed : event);
	log_str(&line, "key_id", e->machine.id);
	log_str(&line, "route", e->route->name);
	log_int(&line, "attempt", e->held.attempt);
	if (e->reason != REASON_NONE)
		log_str(&line, "reason", reason_word(e->reason));
	if (e->asked && e->forward.result == FORWARD_ANSWERED)
		log_int(&line, "status", e->forward.status);
	if (e->forward.op.error != 0)
		log_str(&line, "error", err_words(e->forward.op.error));
	log_end(&line);
}

static enum after
execution_doubt(struct machine *machine)
{
	struct execution *e = (struct execution *)machine;
	if (e->tries == 0)
		log_doubt(e);
	store_unknown(e->worker->store, &e->store, &e->held, e->reason);
	return go(e, EXECUTION_DOUBTED, WAIT);
}

static enum after
execution_doubted(struct machine *machine)
{
	struct execution *e = (struct execution *)machine;
	bool late = not_taken(e, EXECUTION_DOUBT);
	if (!late && e->store.verdict == VERDICT_FENCED)
		tell_fenced(e);
	else
		tell_doubt(e);
	bool kept;
	return late
	    ? put_off(e,
		  &(struct put_off){JOURNAL_UNKNOWN, .reason = e->reason},
		  &kept)
	    : go(e, EXECUTION_SETTLE, MORE);
}

/* --- until Redis has taken it --- */

static void
detach_pause(struct op *op, int error)
{
	(void)op;
	(void)error;
}

static enum after
execution_pause(struct machine *machine)
{
	struct execution *e = (struct execution *)machine;
	int64_t ms = PAUSE_FIRST_MS * (int64_t)e->tries;
	op_start(&e->pause, ms < PAUSE_MAX_MS ? ms : PAUSE_MAX_MS,
	    detach_pause);
	return go(e, EXECUTION_PAUSED, WAIT);
}

static enum after
execution_paused(struct machine *machine)
{
	struct execution *e = (struct execution *)machine;
	answer_unref(&e->store.answer);
	return go(e, (enum execution_step)e->settling, MORE);
}

static enum after
execution_settle(struct machine *machine)
{
	struct execution *e = (struct execution *)machine;
	must(e->request == NULL);
	waiters_wake(&e->worker->waiters, &e->held.key_id);
	return DONE;
}

/* --- life --- */

struct execution *
execution_new(const struct execution_start *start)
{
	struct execution *e = mem_zero(sizeof *e);
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
	lease_begin(&w->leases, &e->lease, e->held.policy->lease_ms);
	machine_to(&e->machine, e->asked ? EXECUTION_ASK : EXECUTION_FORWARD);
	return e;
}

static void
execution_free(struct machine *machine)
{
	struct execution *e = (struct execution *)machine;
	op_cancel(&e->forward.op);
	op_cancel(&e->store.op);
	op_cancel(&e->pause);
	forward_clear(&e->forward);
	answer_unref(&e->store.answer);
	answer_unref(&e->given);
	answer_unref(&e->answer);
	body_clear(&e->body);
	arena_free(&e->arena);
	generation_unref(&e->generation);
	free(e);
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
	bool doubt = e->sent || e->asked;
	machine_to(&e->machine, doubt ? EXECUTION_DOUBT : EXECUTION_RELEASE);
	machine_run(&e->machine);
}
