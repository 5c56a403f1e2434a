/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "gate/deliver.h"
#include "gate/execution.h"
#include "gate/response.h"
#include "gate/worker.h"
#include "loop/log.h"

/* What a request gets of its execution. */
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
	struct request *r = e->request;
	if (r == NULL)
		return;
	e->request = NULL;
	r->execution = NULL;
	r->outcome = result->outcome;
	r->problem = result->problem;
	r->original_status = result->original_status;
	r->retry_after_s = result->retry_after_s;
	memcpy(r->claim_op.current, e->store.current,
	    sizeof r->claim_op.current);
	r->answer = result->answer ? answer_ref(result->answer) : NULL;
	r->store_us += e->store_us;
	r->upstream_us = e->forward.op.took_us;
	if (result->rest != NULL)
		forward_move(&r->forward, result->rest);
	r->replay = result->replay;
	r->omitted = response_copy(r->arena, &result->omitted);
	op_done(&r->join, 0);
}

void
deliver_problem(struct execution *e, enum outcome outcome, enum problem problem)
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

void
deliver_answer(struct execution *e, enum outcome outcome)
{
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
deliver_fenced(struct execution *e)
{
	counter_add(&e->worker->meter.fenced, 1);
	struct logline line = log_begin(EV_fenced);
	log_str(&line, "key_id", e->machine.id);
	log_int(&line, "attempt", e->held.attempt);
	log_end(&line);

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
deliver_unknown(struct execution *e)
{
	const struct conf_idempotency *policy = e->held.policy;
	bool settles = policy->on_unknown == UNKNOWN_RECONCILE && !e->asked;
	if (e->answer != NULL)
		deliver_answer(e, OUTCOME_UNKNOWN);
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
