/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/execution.h"
#include "gate/request.h"

/*
 * What an execution tells the request that waits for it: once, and nothing
 * where nobody waits.  The worker's thread only.
 */
void deliver_problem(
    struct execution *e, enum outcome outcome, enum problem problem);
/* Executed, and the answer was larger than the memory for bodies. */
void deliver_not_kept(struct execution *e, enum outcome outcome, int status);
/* The upstream's own answer, as far as there is one. */
void deliver_answer(struct execution *e, enum outcome outcome);
/* Another owner has decided: what retries get is what this one gets. */
void deliver_fenced(struct execution *e);
/* Nobody knows: the upstream's own words, or the problem of e->reason. */
void deliver_unknown(struct execution *e);
