/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/log.h"
#include "gate/deliver.h"
#include "gate/worker.h"

/* Once: afterwards the execution is alone. */
static void
tell(struct execution *e, const struct execution_result *result)
{
	struct request *r = e->request;
	if (r == NULL)
		return;
	e->request = NULL;
	struct execution_result all = *result;
	all.store_us = e->store_us;
	all.upstream_us = e->forward.op.took_us;
	request_told(r, &all);
}

void
deliver_problem(struct execution *e, enum outcome outcome, enum problem problem)
{
	tell(e,
	    &(struct execution_result){.outcome = outcome, .problem = problem});
}

void
deliver_not_kept(struct execution *e, enum outcome outcome, int status)
{
	tell(e,
	    &(struct execution_result){
		.outcome = outcome,
		.problem = PROBLEM_RESPONSE_NOT_KEPT,
		.original_status = status,
	    });
}

void
deliver_answer(struct execution *e, enum outcome outcome)
{
	if (e->given == NULL) {
		deliver_not_kept(e, OUTCOME_NOT_KEPT, e->answer->status);
		return;
	}
	tell(e,
	    &(struct execution_result){
		.outcome = outcome,
		.problem = PROBLEM_COUNT_,
		.answer = e->given,
		.rest = e->forward.rest ? &e->forward : NULL,
		.replay = e->asked,
		.omitted = e->omitted,
	    });
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
	bool broken = e->store.verdict == VERDICT_BROKEN;
	if (answer != NULL && answer->not_kept)
		deliver_not_kept(e, OUTCOME_FENCED, answer->status);
	else
		tell(e,
		    &(struct execution_result){
			.outcome = OUTCOME_FENCED,
			.problem = whole ? PROBLEM_COUNT_
			    : broken     ? PROBLEM_RECORD_BROKEN
					 : PROBLEM_UNKNOWN_HELD,
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
	if (e->answer != NULL)
		deliver_answer(e, OUTCOME_UNKNOWN);
	else
		deliver_problem(e, OUTCOME_UNKNOWN,
		    e->asked ? PROBLEM_UNKNOWN_HELD : problem_of(e->reason));
}
