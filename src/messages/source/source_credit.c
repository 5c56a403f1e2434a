/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "messages/source/delivery.h"
#include "messages/source/source_credit.h"
#include "messages/source/source_leadership.h"
#include "messages/source/source_standing.h"

/*
 * Clients come first: sources leave them a quarter.  And who is here already
 * comes before who is not.
 */
static bool
memory_is_short(const struct source *s)
{
	struct budget *budget = s->worker->budget;
	size_t used = atomic_load_explicit(&budget->used, memory_order_relaxed);
	return s->starving > 0 || used >= budget_limit(budget) / 4 * 3;
}

static unsigned
credit(const struct source *s)
{
	unsigned most = (unsigned)s->source->in_flight;
	if (s->draining || !s->heard || s->asked || s->standing != 0 ||
	    pause_stands(&s->pause) ||
	    s->in_flight >= most || s->finishing >= SOURCE_FINISHING_MAX)
		return 0;
	return most - s->in_flight;
}

/* What may still come, by what the messages take that are here. */
static size_t
bytes_left(const struct source *s)
{
	struct budget *budget = s->worker->budget;
	size_t used = atomic_load_explicit(&budget->used, memory_order_relaxed);
	size_t most = budget_limit(budget) / 4 * 3;
	return used < most ? most - used : 0;
}

static void
stand_while(
    struct source *s, enum standing standing, bool stands, const char *why)
{
	bool stood = (s->standing & 1u << standing) != 0;
	if (stands && !stood)
		source_standing_begin(s, standing, why);
	else if (!stands && stood)
		source_standing_end(s, standing);
}

/* In this turn, once: how many more may be taken. */
static void
on_settle(void *arg)
{
	struct source *s = arg;
	stand_while(s, STANDING_HELD, s->resting >= SOURCE_RESTING_MAX,
	    "10,000 messages rest.");
	stand_while(s, STANDING_MEMORY, memory_is_short(s),
	    error_message(E_NO_MEMORY));
	counter_set(&s->meter->in_flight, s->in_flight);
	unsigned now = credit(s);
	if (s->reader == NULL || (now == 0 && s->credit == 0))
		return;
	s->credit = now;
	broker_reader_credit(s->reader, now, bytes_left(s));
}

void
source_credit_init(struct source *s)
{
	task_init(&s->settle, on_settle, s);
}

/* More may be about to come in this turn. */
void
source_credit_took(struct source *s)
{
	if (memory_is_short(s))
		on_settle(s);
}

void
source_credit_settle(struct source *s)
{
	task_ready(s->worker->loop, &s->settle);
}

static void
count_resting(struct source *s, int64_t n)
{
	s->resting += (unsigned)n;
	s->in_flight -= (unsigned)n;
	source_credit_settle(s);
}

void
source_credit_rest(struct source *s, struct delivery *d, bool rests)
{
	if (d->resting == rests)
		return;
	d->resting = rests;
	lanes_rest(&d->place, rests);
	int64_t n = lanes_length(&d->place);
	count_resting(s, rests ? n : -n);
}

void
source_credit_finish(struct source *s, struct delivery *d, bool finishing)
{
	if (d->finishing == finishing)
		return;
	d->finishing = finishing;
	s->finishing += finishing ? 1u : -1u;
	s->in_flight += finishing ? -1u : 1u;
	source_credit_settle(s);
}

void
source_credit_place(struct source *s, struct delivery *d)
{
	if (lanes_rests(&d->place))
		count_resting(s, 1);
}

void
source_credit_starve(struct source *s, struct delivery *d, bool starves)
{
	if (d->starving == starves)
		return;
	d->starving = starves;
	s->starving += starves ? 1u : -1u;
	source_credit_settle(s);
}

void
source_credit_end(struct source *s, struct delivery *d)
{
	source_credit_rest(s, d, false);
	source_credit_finish(s, d, false);
	source_credit_starve(s, d, false);
	if (lanes_rests(&d->place))
		count_resting(s, -1);
	lanes_leave(s->lanes, &d->place);
	s->in_flight--;
	source_credit_settle(s);
}

/* --- replays, as many as messages at work --- */

bool
source_credit_may_replay(const struct source *s)
{
	return s->reader != NULL && !s->draining &&
	    source_leadership_lets_begin(s);
}

void
source_credit_replayed(struct source *s)
{
	bool left = s->left;
	s->left = false;
	if (left && source_credit_may_replay(s))
		letters_look(&s->letters);
}
