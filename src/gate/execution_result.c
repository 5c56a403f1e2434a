/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "base/loop/log.h"
#include "gate/execution.h"
#include "gate/execution_result.h"
#include "gate/response.h"
#include "gate/worker.h"

/* What a claimant gets of its execution. */
struct result {
	enum outcome outcome;
	enum problem problem;  /* PROBLEM_COUNT_: the answer */
	int original_status;   /* of a problem; 0: none */
	int64_t retry_after_s; /* of a problem; 0: its own */
	struct answer *answer; /* a reference is taken */
	struct forward *rest;  /* moved: the content that is to come; NULL */
	bool replay;           /* it is another request's answer */
	struct fields omitted; /* copied */
};

/* Once: afterwards the execution is alone. */
static void
hand_over(struct execution *e, const struct result *result)
{
	struct claimant *c = e->claimant;
	if (c == NULL)
		return;
	e->claimant = NULL;
	c->execution = NULL;
	c->outcome = result->outcome;
	c->problem = result->problem;
	c->original_status = result->original_status;
	c->retry_after_s = result->retry_after_s;
	memcpy(c->claim_op.current, e->store.current,
	    sizeof c->claim_op.current);
	c->answer = result->answer ? answer_ref(result->answer) : NULL;
	c->store_us += e->store_us;
	c->upstream_us = e->forward.op.took_us;
	c->target = forward_target(&e->forward);
	if (result->rest != NULL && c->rest != NULL)
		forward_move(c->rest, result->rest);
	c->replay = result->replay;
	c->stored = e->stored;
	c->omitted = response_copy(c->arena, &result->omitted);
	op_done(&c->join, 0);
}

void
execution_result_problem(
    struct execution *e, enum outcome outcome, enum problem problem)
{
	hand_over(
	    e, &(struct result){.outcome = outcome, .problem = problem});
}

/* It was executed, and its answer is too large to be kept. */
static void
deliver_not_kept(struct execution *e, enum outcome outcome, int status)
{
	hand_over(e,
	    &(struct result){
		.outcome = outcome,
		.problem = PROBLEM_RESPONSE_NOT_KEPT,
		.original_status = status,
	    });
}

/* Who takes no content that is still to come has what a retry would have. */
static bool
is_beyond(const struct execution *e)
{
	return e->forward.rest != NULL && e->claimant != NULL &&
	    e->claimant->rest == NULL;
}

void
execution_result_answer(struct execution *e, enum outcome outcome)
{
	if (e->stored && is_beyond(e)) {
		deliver_not_kept(e, outcome, e->given->status);
		return;
	}
	hand_over(e,
	    &(struct result){
		.outcome = outcome,
		.problem = PROBLEM_COUNT_,
		.answer = e->given,
		.rest = e->forward.rest ? &e->forward : NULL,
		.replay = e->asked,
		.omitted = e->omitted,
	    });
}

/* What a retry is told now whose record has no answer to give. */
static enum problem
problem_of_record(const struct store_op *op)
{
	if (op->op.error == E_NO_MEMORY)
		return PROBLEM_ANSWER_NO_MEMORY;
	if (store_op_unfetched(op))
		return PROBLEM_ANSWER_NOT_FETCHED;
	if (op->verdict == VERDICT_BROKEN)
		return op->unreadable ? PROBLEM_RECORD_UNREADABLE
				      : PROBLEM_RECORD_BROKEN;
	if (op->verdict == VERDICT_IN_FLIGHT ||
	    (op->verdict == VERDICT_FENCED && op->state == STATE_PROCESSING))
		return PROBLEM_IN_FLIGHT;
	if (op->verdict == VERDICT_FENCED && op->state == STATE_FAILED)
		return PROBLEM_ATTEMPTS_EXHAUSTED;
	return PROBLEM_UNKNOWN_HELD;
}

void
execution_result_fenced(struct execution *e)
{
	counter_add(&e->worker->meter.fenced, 1);
	struct logline line = log_begin(EV_fenced);
	execution_log(e, &line);
	log_end(&line);

	e->stored = e->store.verdict == VERDICT_COMPLETED ||
	    (e->store.verdict == VERDICT_FENCED &&
		e->store.state == STATE_COMPLETED);
	struct answer *answer = e->store.answer;
	bool whole = answer != NULL && !answer->not_kept;
	if (answer != NULL && answer->not_kept)
		deliver_not_kept(e, OUTCOME_FENCED, answer->status);
	else
		hand_over(e,
		    &(struct result){
			.outcome = OUTCOME_FENCED,
			.problem = whole ? PROBLEM_COUNT_
					 : problem_of_record(&e->store),
			.answer = answer,
			.replay = whole,
		    });
}

static enum problem
problem_of(enum reason reason)
{
	switch (reason) {
	case REASON_TIMEOUT:
		return PROBLEM_UNKNOWN_TIMEOUT;
	case REASON_DRAIN:
		return PROBLEM_UNKNOWN_DRAIN;
	case REASON_BROKEN:
	case REASON_MALFORMED:
	case REASON_STATUS:
	case REASON_NONE:
	case REASON_LEASE_EXPIRED:
	case REASON_OPERATOR:
	case REASON_COUNT_:
		break;
	}
	return PROBLEM_UNKNOWN_BROKEN;
}

void
execution_result_unknown(struct execution *e)
{
	const struct conf_idempotency *policy = e->held.policy;
	bool settles = policy->on_unknown == UNKNOWN_RECONCILE && !e->asked;
	if (e->answer != NULL)
		execution_result_answer(e, OUTCOME_UNKNOWN);
	else
		hand_over(e,
		    &(struct result){
			.outcome = OUTCOME_UNKNOWN,
			.problem = e->asked ? PROBLEM_UNKNOWN_HELD
					    : problem_of(e->reason),
			.retry_after_s = settles
			    ? (policy->reconcile.settle_ms + 999) / 1000
			    : 0,
		    });
}
