/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/budget.h"

/* As few bytes as this may be taken even where others wait for them. */
enum { SMALL_BYTES = 16384 };

static size_t
limit_of(struct budget *budget, size_t bytes, enum budget_share share)
{
	size_t limit = budget_limit(budget);
	if (share == BUDGET_SOURCES)
		return limit / 4 * 3;
	if (share == BUDGET_TURN)
		return limit - limit / 8;
	if (share == BUDGET_WANTED ||
	    (share == BUDGET_COMMON && bytes <= SMALL_BYTES))
		return limit;
	size_t wanted =
	    atomic_load_explicit(&budget->wanted, memory_order_relaxed);
	limit -= wanted < limit ? wanted : limit;
	return share == BUDGET_SPARE ? limit / 2 : limit;
}

bool
budget_take(struct budget *budget, size_t bytes, enum budget_share share)
{
	if (budget == NULL)
		return true;
	size_t limit = limit_of(budget, bytes, share);
	size_t used = atomic_fetch_add_explicit(
	    &budget->used, bytes, memory_order_relaxed);
	if (share == BUDGET_GRANTED ||
	    (bytes <= limit && used <= limit - bytes))
		return true;
	atomic_fetch_sub_explicit(&budget->used, bytes, memory_order_relaxed);
	return false;
}

void
budget_give(struct budget *budget, size_t bytes)
{
	if (budget != NULL)
		atomic_fetch_sub_explicit(
		    &budget->used, bytes, memory_order_relaxed);
}

bool
budget_has(struct budget *budget, size_t bytes)
{
	size_t limit = limit_of(budget, bytes, BUDGET_COMMON);
	size_t used =
	    atomic_load_explicit(&budget->used, memory_order_relaxed);
	return bytes <= limit && used <= limit - bytes;
}

void
budget_want(struct budget *budget, size_t *wanted, size_t bytes)
{
	if (bytes == *wanted)
		return;
	/* Fewer than before wrap around, to a subtraction. */
	atomic_fetch_add_explicit(
	    &budget->wanted, bytes - *wanted, memory_order_relaxed);
	*wanted = bytes;
}
