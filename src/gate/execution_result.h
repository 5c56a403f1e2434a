/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/claimant.h"

/*
 * All that an execution says to the claimant that waits for it: once,
 * and nothing where nobody waits.  It is the one place that knows both.  The
 * worker's thread only.
 */
struct execution;

/* That problem. */
void execution_result_problem(
    struct execution *e, enum outcome outcome, enum problem problem);
/* The upstream's own answer, as far as there is one. */
void execution_result_answer(struct execution *e, enum outcome outcome);
/* Another owner has decided: what retries get is what this one gets. */
void execution_result_fenced(struct execution *e);
/* Nobody knows: the upstream's own words, or the problem of e->reason. */
void execution_result_unknown(struct execution *e);
