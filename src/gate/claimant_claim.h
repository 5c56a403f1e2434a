/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/claimant.h"

/*
 * A claimant's claim, and what comes of it: the record's answer, or an
 * execution.  It does not know what its verdict means to whoever waits for it.
 * The worker's thread only.
 */

/*
 * Makes the claim that comes next: a new owner, the fingerprint, and as many
 * attempts as the policy allows.  waits: as in struct claim, whose members the
 * owner may change before it claims.
 */
void claimant_claim_prepare(struct claimant *c, bool waits);
/* Its fingerprint alone; where it has an entity, that is left out. */
void claimant_claim_fingerprint(struct claimant *c);
/* Whether memory has the answer: then it is here, as COMPLETED. */
MUST_USE bool claimant_claim_find_kept(struct claimant *c);
/* Asks Redis; claim_op has what it says. */
void claimant_claim(struct claimant *c);
/* The same, and nothing is executed: REFUSED, where it would be ours. */
void claimant_claim_look(struct claimant *c);
/*
 * Whether an outcome of its key, or a version of its entity, is in this process
 * and not in Redis, which may have lost the claim as well: then nothing is
 * executed for it.
 */
bool claimant_claim_is_withheld(const struct claimant *c);
/*
 * The claim's verdict is COMPLETED: takes the answer, and memory keeps it
 * unless it is brief.
 */
void claimant_claim_take_answer(struct claimant *c);

/* OURS or RECONCILE: an execution begins; join is done when it has a result. */
void claimant_claim_start(struct claimant *c);
