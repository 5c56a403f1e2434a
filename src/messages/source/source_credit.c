/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "messages/source/delivery.h"
#include "messages/source/source_credit.h"
#include "messages/source/source_standing.h"

/*
 * What sources may have.  Clients come first: they leave them a quarter, as
 * answers wait for memory too.
 */
static size_t
most_bytes(const struct source *s)
{
	return budget_limit(s->worker->budget) / 4 * 3;
}

/*
 * Each keeps to an equal share, so that what it holds leaves theirs to others;
 * but one that has used half of it at most may take all that is left: so what
 * it holds keeps no large message out, and small ones stay within the share.
 */
static size_t
bytes_left(const struct source *s)
{
	struct budget *budget = s->worker->budget;
	size_t used = atomic_load_explicit(&budget->used, memory_order_relaxed);
	size_t most = most_bytes(s), share = most / s->conf->n_sources;
	size_t left = used < most ? most - used : 0;
	size_t own = share > s->bytes ? share - s->bytes : 0;
	return s->bytes <= share / 2 || left < own ? left : own;
}

/* What can never fit is taken alone. */
static bool
fits(const struct source *s, size_t bytes)
{
	size_t left = bytes_left(s);
	return bytes > most_bytes(s) ? s->bytes == 0
				     : left > 0 && left >= bytes;
}

bool
source_credit_charge(struct source *s, size_t bytes, enum budget_share share)
{
	if (!budget_take(s->worker->budget, bytes, share))
		return false;
	s->bytes += bytes;
	return true;
}

bool
source_credit_take(struct source *s, size_t bytes)
{
	size_t twice = 2 * bytes;
	enum budget_share share =
	    twice > most_bytes(s) ? BUDGET_GRANTED : BUDGET_SOURCES;
	bool taken = fits(s, twice) && source_credit_charge(s, twice, share);
	s->wanted = taken ? 0 : twice;
	source_credit_settle(s);
	if (!taken)
		return false;
	if (s->credit > 0)
		s->credit--;
	s->in_flight++;
	s->taken++;
	return true;
}

static void
stand_while(
    struct source *s, enum standing standing, bool stands, const char *why)
{
	if (!stands)
		source_standing_end(s, standing);
	else if ((s->standing & 1u << standing) == 0)
		source_standing_begin(s, standing, why);
}

void
source_credit_settled(void *arg)
{
	struct source *s = arg;
	must(s->in_flight <= s->deliveries.count);
	stand_while(s, STANDING_HELD, s->resting >= SOURCE_RESTING_MAX,
	    "10,000 messages rest.");
	stand_while(s, STANDING_MEMORY, !fits(s, s->wanted),
	    error_message(E_NO_MEMORY));
	counter_set(&s->meter->in_flight, s->in_flight);
	/*
	 * Of what the API releases, another message may find out whether that
	 * is its own fault: one is taken, while all that are here rest.
	 */
	unsigned now = 0, most = (unsigned)s->source->in_flight;
	/* Who has rested goes before who comes. */
	if (s->in_flight < most && source_standing_goes(s, 0))
		most -= source_standing_let_go(s, most - s->in_flight);
	if (s->standing != 0)
		most = (s->standing & ~STANDINGS_OF_API) == 0;
	if (!s->member.draining && s->heard && !s->asked &&
	    !pause_stands(&s->pause) && fits(s, s->wanted) &&
	    s->in_flight < most && s->finishing < SOURCE_FINISHING_MAX)
		now = most - s->in_flight;
	if (s->reader == NULL || (now == 0 && s->credit == 0))
		return;
	s->credit = now;
	broker_reader_credit(s->reader, now, bytes_left(s) / 2);
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
	if (d->resting == rests || d->replay != NULL)
		return;
	/* One that is behind in its lane counts as the first of it does. */
	if (rests && !lanes_is_first(&d->place))
		return;
	struct lane *lane = d->place.lane;
	int64_t n = lane != NULL ? lane->length : 1;
	d->resting = rests;
	if (lane != NULL)
		lane->rests = rests;
	count_resting(s, rests ? n : -n);
}

bool
source_credit_has_room(const struct delivery *d)
{
	const struct source *s = d->source;
	unsigned own = d->place.lane != NULL ? d->place.lane->length : 1;
	return d->tries == 0 || d->replay != NULL ||
	    s->in_flight - own < (unsigned)s->source->in_flight;
}

void
source_credit_finish(struct source *s, struct delivery *d, bool finishing)
{
	if (d->finishing == finishing || d->replay != NULL)
		return;
	d->finishing = finishing;
	s->finishing += finishing ? 1u : -1u;
	s->in_flight += finishing ? -1u : 1u;
	source_credit_settle(s);
}

void
source_credit_place(struct source *s, struct delivery *d)
{
	lanes_enter(&s->lanes, d->lane.bytes, &d->place);
	if (d->place.lane->rests)
		count_resting(s, 1);
}

/* --- its end, and replays, as many as messages at work --- */

bool
source_credit_may_replay(const struct source *s)
{
	return s->reader != NULL && !s->member.draining &&
	    source_standing_lets_begin(s);
}

void
source_credit_end(struct source *s, struct delivery *d)
{
	if (d->replay != NULL) {
		if (s->left && source_credit_may_replay(s))
			letters_look(&s->letters);
		s->left = false;
		return;
	}
	source_credit_rest(s, d, false);
	source_credit_finish(s, d, false);
	if (d->place.lane != NULL && d->place.lane->rests)
		count_resting(s, -1);
	lanes_leave(&s->lanes, &d->place);
	s->in_flight--;
	source_credit_settle(s);
}
