/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/execution.h"
#include "gate/worker_part.h"

/*
 * The sweeper asks what became of attempts that are UNKNOWN, without a client:
 * of each route whose gateways can (conf_asks_alone), of whichever gateway.
 * What is due it finds in Redis' indexes (store/asking.h), so that nothing is
 * lost with a process; what has just become UNKNOWN it is told of.  Who asks
 * about a record claims it first, so that one does at a time.
 *
 * At most limits.probes are asked at a time, of each route in turn; and where a
 * route's API or database is away, or its witness is not trusted, one, and then
 * none for a while, which doubles up to a minute.  The one of a process, a part
 * of its first worker.
 */
extern const struct worker_part_kind sweeper_kind;

struct sweeper_question {
	struct op op; /* initialised by the owner */
	enum asked answer;
	struct probe *probe; /* the sweeper's own */
};

/*
 * An operator asks about one record, now.  The question ends with 0: it was
 * asked, and the answer is there; E_NOT_FOUND: there is no such record, or it
 * is not UNKNOWN (any more), or has no question; E_STORE_REFUSED: its route
 * cannot ask alone; E_TIMEOUT: it has not been unknown for long enough; or
 * another error of the store.  route: of the record; by: who asks, which is
 * copied.  The thread of that worker, which is the process' first.
 */
void sweeper_ask(struct worker *worker, struct sweeper_question *question,
    struct span route, const struct key_id *key_id, struct span by);
