/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/must.h"

/*
 * The bytes that all bodies together may have (limits.in_flight_bytes), and
 * have.  It knows no body (base/body.h).  All workers share it, so any thread.
 */
struct budget {
	atomic_size_t used;  /* bytes */
	atomic_size_t limit; /* bytes */
	/*
	 * Bytes that bodies wait for which nobody can refuse any more: others
	 * leave so much free, but for a few KiB at a time.
	 */
	atomic_size_t wanted;
	/*
	 * One body at a time has the turn, which sets this (acquire) and clears
	 * it (release): it may grow piece by piece until the budget is nearly
	 * used up, where several would each hold what the others lack.
	 */
	atomic_bool turn;
};

/* The part of the budget that a caller may use up. */
enum budget_share {
	BUDGET_COMMON,  /* all but what is wanted */
	BUDGET_SPARE,   /* half of that, for what one can do without */
	BUDGET_SOURCES, /* three quarters: clients come before messages */
	BUDGET_TURN,    /* all but an eighth, for the body with the turn */
	BUDGET_WANTED,  /* all of it, for a body that has waited */
	BUDGET_GRANTED, /* even beyond it, for a little that is never refused */
};

/*
 * Counts more bytes; false: so many are not there.  Without a budget (NULL)
 * there are always enough.
 */
MUST_USE bool budget_take(
    struct budget *budget, size_t bytes, enum budget_share share);
void budget_give(struct budget *budget, size_t bytes);
/* True where so many bytes are free now. */
bool budget_has(struct budget *budget, size_t bytes);

/*
 * Has others leave so many bytes free, in place of as many as the caller wanted
 * before; 0: none any more.
 */
void budget_want(struct budget *budget, size_t *wanted, size_t bytes);

static inline size_t
budget_limit(struct budget *budget)
{
	return atomic_load_explicit(&budget->limit, memory_order_relaxed);
}
