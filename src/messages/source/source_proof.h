/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/source/source.h"

/*
 * Whether the store is the one that the source's broker knows.  Copies of
 * letters and commits carry the id of the store's data, which is another one
 * where Redis has lost its data.  Where the broker knows another store at the
 * start, or a message comes that somebody was at before that loss (any row of a
 * table: none says that), records may be missing: the source stands (unproven)
 * until an operator has its letters restored, or says that it is to go on.
 *
 * What an operator has accepted stands beside the floors, in the store itself:
 * so it holds for all gateways, also those that are started later, and is gone
 * where that store has lost its data.  The worker's thread only.
 */

/* Of struct broker_events; arg is the source. */
void source_proof_origin(void *arg, struct span store_id);
/* What the store has of that: the present store and another, or nothing. */
void source_proof_accepted(struct source *source, struct span floor);
/*
 * Each second: the store may have lost its data, or an operator have told
 * another gateway.
 */
void source_proof_look(struct source *source);
/*
 * Whether a message may have been executed by somebody whose record is lost:
 * then the source stands.  again_us: when one was taken that came again; 0: it
 * did not.  Also true while that is not known: then the store is asked.
 */
MUST_USE bool source_proof_doubts(struct source *source, int64_t again_us);
/* Whether it stands for its store, whatever its broker says. */
bool source_proof_is_doubted(const struct source *source);
/* An operator's word, for all gateways: what was lost is lost. */
void source_proof_accept(struct source *source);
