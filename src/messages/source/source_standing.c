/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "base/loop/log.h"
#include "messages/source/delivery.h"
#include "messages/source/source_credit.h"
#include "messages/source/source_standing.h"

enum {
	PROBE_FIRST_MS = 1000,
	PROBE_MOST_MS = 60000, /* while nothing can be sent upstream */
	PROBE_OTHER_MS = 4000, /* for all else: that is cheap to find out */
};

static const char *const words[STANDING_COUNT_] = {
#define STANDING(name, word, sentence) word,
#include "tbl/standings.h"
#undef STANDING
};

static const char *const sentences[STANDING_COUNT_] = {
#define STANDING(name, word, sentence) sentence,
#include "tbl/standings.h"
#undef STANDING
};

/* The most pressing one; NULL: it goes. */
static const char *
most_pressing(const char *const *list, unsigned standing)
{
	for (unsigned i = 0; i < STANDING_COUNT_; i++)
		if ((standing & 1u << i) != 0)
			return list[i];
	return NULL;
}

const char *
source_standing_word(unsigned standing)
{
	return most_pressing(words, standing);
}

const char *
source_standing_sentence(unsigned standing)
{
	return most_pressing(sentences, standing);
}

void
source_standing_set(struct source *s, enum standing standing, bool stands)
{
	unsigned bit = 1u << standing;
	s->standing = stands ? s->standing | bit : s->standing & ~bit;
	counter_set(&s->meter->standing, s->standing);
}

bool
source_standing_goes(const struct source *s)
{
	return !pause_stands(&s->pause) &&
	    (s->standing &
		~(1u << STANDING_MEMORY | 1u << STANDING_HELD)) == 0;
}

/* It may be all of them. */
static bool
are_refused(const struct source *s)
{
	return s->refused >= SOURCE_REFUSED_MAX;
}

bool
source_standing_only_refused(const struct source *s)
{
	return are_refused(s) && !pause_stands(&s->pause) &&
	    s->reader != NULL && broker_reader_health(s->reader).up &&
	    (s->standing &
		~(1u << STANDING_MEMORY | 1u << STANDING_HELD |
		    1u << STANDING_BROKER)) == 0;
}

/*
 * Why it may not read, as Redis does not say what gateways share of it; NULL:
 * it does.
 */
static const char *
why_unshared(const struct source *s)
{
	const struct turn *turn = source_turn(s);
	if (turn != NULL && !turn_is_held(turn) &&
	    turn->shared.trouble[0] != '\0')
		return turn->shared.trouble;
	if (s->pause.shared.trouble[0] != '\0')
		return s->pause.shared.trouble;
	if (!s->pause.known)
		return "Redis has not said whether the source is paused.";
	/* What the source does not have is zeroed. */
	if (s->floors.shared.trouble[0] != '\0')
		return s->floors.shared.trouble;
	if (s->parked.shared.trouble[0] != '\0')
		return s->parked.shared.trouble;
	if (s->holds.shared.trouble[0] != '\0')
		return s->holds.shared.trouble;
	return NULL;
}

void
source_standing_look(struct source *s)
{
	const char *why = why_unshared(s);
	bool was = s->unshared;
	s->unshared = why != NULL;
	if (why != NULL)
		source_standing_begin(s, STANDING_STORE, why);
	else if (was)
		source_standing_end(s, STANDING_STORE);
}

/* Whether a try of one delivery may find out that something is over. */
static bool
can_be_tried(const struct source *s)
{
	return (s->standing &
		   ~(1u << STANDING_MEMORY | 1u << STANDING_HELD |
		       1u << STANDING_OPERATOR)) != 0;
}

static void
log_standing(const struct source *s, enum event event, enum standing standing)
{
	struct logline line = log_begin(event);
	log_str(&line, "source", s->source->name);
	log_str(&line, "reason", words[standing]);
	if (s->why[0] != '\0')
		log_str(&line, "error", s->why);
	log_end(&line);
}

void
source_standing_begin(struct source *s, enum standing standing, const char *why)
{
	bool told = (s->told & 1u << standing) != 0;
	snprintf(s->why, sizeof s->why, "%s", why);
	source_standing_set(s, standing, true);
	source_credit_settle(s);
	if (!told)
		log_standing(s, EV_source_stands, standing);
	s->told |= 1u << standing;
	if (timer_is_set(&s->probe) || !can_be_tried(s))
		return;
	s->probe_ms = PROBE_FIRST_MS;
	timer_set(&s->probe, s->probe_ms);
}

void
source_standing_let_all_go(struct source *s)
{
	struct machine *m;
	LIST_EACH(m, &s->deliveries.list, item) {
		bool to_finish;
		if (delivery_stands(m, &to_finish))
			delivery_let_go(delivery_of(m), false);
	}
}

void
source_standing_end(struct source *s, enum standing standing)
{
	if (standing == STANDING_UPSTREAM)
		s->unsent = 0;
	if ((s->standing & 1u << standing) == 0)
		return;
	if (standing == STANDING_STORE && why_unshared(s) != NULL)
		return;
	if (standing == STANDING_BROKER && are_refused(s))
		return;
	/* One acknowledgement says nothing of what is to be taken. */
	if (standing == STANDING_BROKER && s->reader != NULL &&
	    broker_reader_health(s->reader).stands)
		return;
	source_standing_set(s, standing, false);
	s->why[0] = '\0';
	if ((s->told & 1u << standing) != 0)
		log_standing(s, EV_source_goes, standing);
	s->told &= ~(1u << standing);
	source_credit_settle(s);
	if (!source_standing_goes(s))
		return;
	timer_clear(&s->probe);
	source_standing_let_all_go(s);
}

void
source_standing_unsent(struct source *s, const char *why)
{
	if (++s->unsent >= SOURCE_UNSENT_MAX)
		source_standing_begin(s, STANDING_UPSTREAM, why);
}

bool
source_standing_refused(struct source *s, const char *why)
{
	s->refused++;
	if (are_refused(s))
		source_standing_begin(s, STANDING_BROKER, why);
	return are_refused(s);
}

void
source_standing_finished(struct source *s)
{
	s->refused = 0;
	source_standing_end(s, STANDING_BROKER);
}

/* One that stands before its claim, and one before its acknowledgement. */
static void
on_probe(void *arg)
{
	struct source *s = arg;
	bool tried[2] = {s->probing > 0 || pause_stands(&s->pause) ||
		why_unshared(s) != NULL,
	    false};
	struct machine *m;
	LIST_EACH(m, &s->deliveries.list, item) {
		bool to_finish;
		/* What is on its way will find it out. */
		tried[true] |= delivery_is_finishing(m);
		if (!delivery_stands(m, &to_finish) || tried[to_finish])
			continue;
		tried[to_finish] = true;
		delivery_let_go(delivery_of(m), true);
	}
	/* Nobody is left who could find out: the next one will. */
	if (!tried[false]) {
		source_standing_end(s, STANDING_STORE);
		source_standing_end(s, STANDING_UPSTREAM);
		source_standing_end(s, STANDING_TOKEN);
	}
	if (!tried[true]) {
		/* The next one that is refused is one too many again. */
		if (are_refused(s))
			s->refused = SOURCE_REFUSED_MAX - 1;
		/* One acknowledgement may fail while the broker is well. */
		if (s->reader == NULL || broker_reader_health(s->reader).up)
			source_standing_end(s, STANDING_BROKER);
		source_standing_end(s, STANDING_DEAD_LETTERS);
		source_standing_end(s, STANDING_RESULTS);
	}
	if (!can_be_tried(s))
		return;
	int64_t most_ms = (s->standing & 1u << STANDING_UPSTREAM) != 0
	    ? PROBE_MOST_MS
	    : PROBE_OTHER_MS;
	s->probe_ms = s->probe_ms * 2 < most_ms ? s->probe_ms * 2 : most_ms;
	timer_set(&s->probe, s->probe_ms);
}

/* As often as this happens, probe_ms stays what it was. */
void
source_standing_try_another(struct source *s)
{
	if (!timer_is_set(&s->probe))
		return;
	s->probe_ms = (s->probe_ms + 1) / 2;
	timer_set(&s->probe, 0);
}

void
source_standing_init(struct source *s)
{
	timer_init(&s->probe, s->worker->loop, on_probe, s);
}
