/* SPDX-License-Identifier: BSD-2-Clause */
#include "http/upstream/answer_memory.h"

enum {
	/* How soon one that waits is tried again. */
	AGAIN_MS = 10,
	/* The first room that is made for an answer of known length, or not. */
	FIRST_BYTES = 65536,
	FIRST_UNKNOWN_BYTES = 16384,
};

void
answer_memory_init(struct answer_memory *m, struct loop *loop,
    struct budget *budget, void (*again)(void *arg), void *arg)
{
	*m = (struct answer_memory){.budget = budget};
	timer_init(&m->again, loop, again, arg);
}

static void
stop_waiting(struct answer_memory *m)
{
	timer_clear(&m->again);
	if (m->wanted > 0)
		budget_unwant(m->budget, m->wanted);
	m->wanted = 0;
	m->waits = false;
}

void
answer_memory_end(struct answer_memory *m)
{
	stop_waiting(m);
	if (m->has_turn)
		budget_end_turn(m->budget);
	m->has_turn = false;
}

/* What can never be there is not kept free. */
static void
wait(struct answer_memory *m, size_t bytes)
{
	stop_waiting(m);
	m->waits = true;
	m->wanted = bytes <= budget_limit(m->budget) ? bytes : 0;
	if (m->wanted > 0)
		budget_want(m->budget, m->wanted);
	timer_set(&m->again, AGAIN_MS);
}

/* So large it becomes if it grows in proportion. */
static size_t
next_size(const struct body *body, size_t least, size_t most, bool exact)
{
	size_t size = exact ? FIRST_BYTES : FIRST_UNKNOWN_BYTES;
	if (size < 2 * body->size)
		size = 2 * body->size;
	if (size < least)
		size = least;
	return size < most ? size : most;
}

static bool
has_turn(struct answer_memory *m)
{
	if (!m->has_turn)
		m->has_turn = budget_take_turn(m->budget);
	return m->has_turn;
}

bool
answer_memory_get(struct answer_memory *m, struct body *body, size_t least,
    size_t most, bool exact)
{
	if (least <= body->size)
		return true;
	must(least <= most);
	/* Only one that already waits may take what is kept free. */
	int (*reserve)(struct body *, size_t) =
	    m->waits ? body_reserve_wanted : body_reserve;
	size_t next = next_size(body, least, most, exact);
	bool by_half = !exact || most <= budget_limit(m->budget) / 2;
	if ((by_half && body_reserve_spare(body, next) == 0) ||
	    reserve(body, most) == 0 ||
	    (!exact && has_turn(m) &&
		(body_reserve_in_turn(body, next) == 0 ||
		    body_reserve_in_turn(body, least) == 0))) {
		stop_waiting(m);
		return true;
	}
	wait(m, (exact ? most : least) - body->size);
	return false;
}
