/* SPDX-License-Identifier: BSD-2-Clause */
#include "http/upstream/answer_memory.h"

enum {
	/* One that waits is tried again after so long. */
	AGAIN_MS = 10,
	/* The first room that is made for an answer of known length, or not. */
	FIRST_BYTES = 65536,
	FIRST_UNKNOWN_BYTES = 16384,
};

static void
stop_waiting(struct answer_memory *m)
{
	timer_clear(&m->again);
	budget_want(m->budget, &m->wanted, 0);
	m->waits = false;
}

void
answer_memory_end(struct answer_memory *m)
{
	stop_waiting(m);
	if (m->has_turn)
		atomic_store_explicit(
		    &m->budget->turn, false, memory_order_release);
	m->has_turn = false;
}

bool
answer_memory_get(struct answer_memory *m, struct body *body, size_t least,
    size_t most, bool exact)
{
	if (least <= body->size)
		return true;
	must(least <= most);
	/* The size to which it grows in proportion. */
	size_t next = exact ? FIRST_BYTES : FIRST_UNKNOWN_BYTES;
	if (next < 2 * body->size)
		next = 2 * body->size;
	if (next < least)
		next = least;
	if (next > most)
		next = most;
	/* Only one that already waits may take what is kept free. */
	enum budget_share share = m->waits ? BUDGET_WANTED : BUDGET_COMMON;
	bool by_half = !exact || most <= budget_limit(m->budget) / 2;
	bool got = (by_half && body_reserve(body, next, BUDGET_SPARE) == 0) ||
	    body_reserve(body, most, share) == 0;
	if (!got && !exact) {
		if (!m->has_turn)
			m->has_turn = !atomic_exchange_explicit(
			    &m->budget->turn, true, memory_order_acquire);
		got = m->has_turn &&
		    (body_reserve(body, next, BUDGET_TURN) == 0 ||
			body_reserve(body, least, BUDGET_TURN) == 0);
	}
	stop_waiting(m);
	if (got)
		return true;
	m->waits = true;
	/* Nothing is kept free that can never be there. */
	size_t lacking = (exact ? most : least) - body->size;
	if (lacking <= budget_limit(m->budget))
		budget_want(m->budget, &m->wanted, lacking);
	timer_set(&m->again, AGAIN_MS);
	return false;
}
