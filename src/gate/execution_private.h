/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/container.h"
#include "gate/execution.h"

/*
 * What the steps of an execution share.  They are in execution.c (the request
 * is sent, the claimant told, and the outcome stored) and execution_question.c
 * (what became of an attempt).  For these files only; the worker's thread.
 */
enum execution_step {
#define EXECUTION_STEP(name, function, operation) EXECUTION_##name,
#include "tbl/steps.h"
};

#define EXECUTION_STEP(name, function, operation)                             \
	enum after function(struct machine *machine);
#include "tbl/steps.h"

static inline struct execution *
execution_of(struct machine *machine)
{
	return CONTAINER_OF(machine, struct execution, machine);
}

/* Moves to the next step, and returns what the one before returns. */
static inline enum after
execution_to(struct execution *e, enum execution_step step, enum after after)
{
	machine_to(&e->machine, step);
	return after;
}

static inline bool
execution_has_witness(const struct execution *e)
{
	return e->owned.policy->on_unknown == UNKNOWN_WITNESS;
}

/* Sends the request, or a query, upstream: forward has what comes of it. */
void execution_send(struct execution *e, const struct message *message);
/* The next step, by what the upstream's answer to the request says. */
enum after execution_weigh(struct execution *e);
/* The next step where the request was sent, and nobody knows the outcome. */
enum after execution_in_doubt(struct execution *e, enum reason reason);

/* --- answers --- */

/* What is there of an answer, the upstream's or a row's. */
struct heard_answer {
	int status; /* 0: nobody knows it */
	const struct fields *fields;
	struct body *body; /* is moved */
	bool whole;
};

/* Makes the answer that the first client gets, and the one that is stored. */
void execution_make_answers(
    struct execution *e, const struct heard_answer *said);
/* The same of the upstream's; status: another one, or 0. */
void execution_make_upstreams(struct execution *e, int64_t status);

/*
 * Tells the claimant its result, once; afterwards the execution is alone.  The
 * caller may add to the result, which the claimant reads later.  NULL: nobody
 * waits.
 */
struct claimant *execution_tell(
    struct execution *e, enum outcome outcome, enum problem problem);
/* Another owner has decided: the claimant is told what retries are. */
void execution_tell_fenced(struct execution *e);
