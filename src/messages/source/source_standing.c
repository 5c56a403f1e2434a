/* SPDX-License-Identifier: BSD-2-Clause */
#include <limits.h>
#include <stdio.h>

#include "base/error.h"
#include "base/loop/log.h"
#include "base/test_build.h"
#include "messages/source/source_standing.h"

enum {
	PROBE_FIRST_MS = 1000,
	PROBE_MOST_MS = 60000, /* while nothing can be sent upstream */
	PROBE_OTHER_MS = 4000, /* for all else: that is cheap to find out */
};

/* Why none is taken, while those that are here go on. */
#define TAKES_NONE (1u << STANDING_MEMORY | 1u << STANDING_HELD)

static const struct standing_text texts[STANDING_COUNT_] = {
#define STANDING(name, word, sentence) {word, sentence},
#include "tbl/standings.h"
#undef STANDING
};

struct standing_text
source_standing_text(unsigned standing)
{
	return standing != 0 ? texts[__builtin_ctz(standing)]
			     : (struct standing_text){NULL, NULL};
}

/* It stands for that reason, or not. */
static void
set(struct source *s, enum standing standing, bool stands)
{
	unsigned bit = 1u << standing;
	s->standing = stands ? s->standing | bit : s->standing & ~bit;
	counter_set(&s->meter->standing, s->standing);
	/* What it may take is another thing now. */
	task_ready(s->worker->loop, &s->settle);
}

/*
 * That is a stream with an order, and a table that is ordered by what its rows
 * are not parted by.  The partitions of Kafka are given to one reader each by
 * their group.
 */
bool
source_standing_has_one_reader(const struct source *s)
{
	const struct conf_source *conf = s->source;
	return conf->order_by != SOURCE_ORDER_NONE &&
	    conf->broker->kind != BROKER_KAFKA &&
	    (conf->table == NULL || conf->order_by != SOURCE_ORDER_ENTITY);
}

bool
source_standing_lets_begin(const struct source *s)
{
	return !source_standing_has_one_reader(s) ||
	    leadership_is_held(&s->leadership);
}

bool
source_standing_goes(const struct source *s, unsigned despite)
{
	return !pause_stands(&s->pause) &&
	    (s->standing & ~(TAKES_NONE | despite)) == 0;
}

/* Why Redis does not say what gateways share of it; NULL: it does. */
static const char *
why_unshared(const struct source *s)
{
	const char *trouble = s->leadership.watch.shared.trouble;
	if (!source_standing_lets_begin(s) && trouble[0] != '\0')
		return trouble;
	if (s->pause.watch.shared.trouble[0] != '\0')
		return s->pause.watch.shared.trouble;
	if (!s->pause.known)
		return "Redis has not said whether the source is paused.";
	/* What the source does not have is zeroed. */
	if (s->floors.shared.trouble[0] != '\0')
		return s->floors.shared.trouble;
	if (s->letters.shared.trouble[0] != '\0')
		return s->letters.shared.trouble;
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
	const unsigned told = 1u << STANDING_OPERATOR | 1u << STANDING_ORDER |
	    1u << STANDING_UNPROVEN;
	return (s->standing & ~(TAKES_NONE | told)) != 0;
}

static void
log_standing(const struct source *s, enum event event, enum standing standing)
{
	struct logline line = log_begin(event);
	log_str(&line, "source", s->source->name);
	log_str(&line, "reason", texts[standing].word);
	if (s->why[standing][0] != '\0')
		log_str(&line, "error", s->why[standing]);
	log_end(&line);
}

void
source_standing_begin(struct source *s, enum standing standing, const char *why)
{
	bool stood = (s->standing & 1u << standing) != 0;
	snprintf(s->why[standing], sizeof s->why[standing], "%s", why);
	set(s, standing, true);
	if (!stood)
		log_standing(s, EV_source_stands, standing);
	if (timer_is_set(&s->probe) || !can_be_tried(s))
		return;
	s->probe_ms = PROBE_FIRST_MS;
	timer_set(&s->probe, s->probe_ms);
}

unsigned
source_standing_let_go(struct source *s, unsigned most)
{
	unsigned count = 0;
	for (; count < most && !list_empty(&s->waiting); count++) {
		struct standing_place *oldest =
		    LIST_LAST(&s->waiting, struct standing_place, item);
		list_remove(&oldest->item);
		op_done(oldest->op, 0);
	}
	return count;
}

void
source_standing_end(struct source *s, enum standing standing)
{
	if ((s->standing & 1u << standing) == 0)
		return;
	if (standing == STANDING_STORE &&
	    why_unshared(s) != NULL)
		return;
	/* Five ends in a row were refused, each alone: it may be all. */
	if (standing == STANDING_BROKER && s->refused >= SOURCE_REFUSED_MAX)
		return;
	/* One acknowledgement says nothing of what is to be taken. */
	if (standing == STANDING_BROKER && s->reader != NULL &&
	    broker_reader_health(s->reader).stands)
		return;
	set(s, standing, false);
	s->why[standing][0] = '\0';
	log_standing(s, EV_source_goes, standing);
	/* Letters go while it stands for letters; others wait again. */
	if (!source_standing_goes(s, 1u << STANDING_DEAD_LETTERS))
		return;
	if (source_standing_goes(s, 0))
		timer_clear(&s->probe);
	source_standing_let_go(s, UINT_MAX);
}

void
source_standing_paused(void *arg)
{
	struct source *s = arg;
	set(s, STANDING_OPERATOR, s->pause.on);
	source_standing_end(s, STANDING_STORE);
	if (source_standing_goes(s, 1u << STANDING_DEAD_LETTERS))
		source_standing_let_go(s, UINT_MAX);
}

/* --- the API --- */

void
source_standing_sent(struct source *s)
{
	s->unsent = 0;
	if (s->api_standing != STANDING_UPSTREAM)
		source_standing_end(s, STANDING_UPSTREAM);
}

bool
source_standing_attempt_counts(
    const struct source *s, struct source_refusals *refusals)
{
	bool counts = refusals->attempted != s->executed;
	refusals->attempted = s->executed;
	return counts || !INVARIANT(api_is_to_blame);
}

void
source_standing_refused_by_api(
    struct source *s, struct source_refusals *refusals, int status)
{
	if (refusals->run != s->executed) {
		refusals->run = s->executed;
		refusals->count = 0;
		s->refused_by_api++;
	}
	refusals->count++;
	source_standing_sent(s);
	if (s->refused_by_api < SOURCE_REFUSED_MAX &&
	    refusals->count < SOURCE_REFUSED_MAX)
		return;
	enum standing before = s->api_standing, now;
	if (status == 401 || status == 403)
		now = STANDING_TOKEN;
	else if (status >= 300 && status < 400)
		now = STANDING_REDIRECTED;
	else
		now = STANDING_UPSTREAM;
	char answers[24] = "has no outcome for", why[96];
	if (status != 0)
		snprintf(answers, sizeof answers, "answers %d to", status);
	snprintf(why, sizeof why, "The upstream %s %s.", answers,
	    refusals->count < SOURCE_REFUSED_MAX
		? "one message after the other"
		: "a message again and again");
	s->api_standing = now;
	source_standing_begin(s, now, why);
	if (before != now && before != STANDING_COUNT_)
		source_standing_end(s, before);
}

void
source_standing_executed(struct source *s, struct source_refusals *refusals)
{
	enum standing standing = s->api_standing;
	bool alone = refusals->attempted == s->executed;
	s->executed++;
	if (alone)
		refusals->attempted = s->executed;
	s->refused_by_api = 0;
	s->api_standing = STANDING_COUNT_;
	source_standing_sent(s);
	if (standing != STANDING_COUNT_)
		source_standing_end(s, standing);
}

/* --- the broker --- */

enum standing
source_standing_of_finish(const struct broker_finish *finish, bool buried)
{
	if (finish->op.error != E_BROKER_REFUSED ||
	    finish->fault == BROKER_FAULT_SOURCE)
		return STANDING_BROKER;
	if (finish->put == NULL)
		return finish->mark ? STANDING_DEAD_LETTERS : STANDING_BROKER;
	return buried ? STANDING_DEAD_LETTERS : STANDING_RESULTS;
}

/* --- a place to wait at --- */

void
source_standing_tried(struct source *s, struct standing_place *place)
{
	if (place->probes)
		s->probing--;
	place->probes = false;
}

/* As often as this happens, probe_ms stays what it was. */
void
source_standing_leave(struct source *s, struct standing_place *place)
{
	list_remove(&place->item);
	if (place->probes && timer_is_set(&s->probe)) {
		s->probe_ms = (s->probe_ms + 1) / 2;
		timer_set(&s->probe, 0);
	}
	source_standing_tried(s, place);
}

/*
 * --- while it stands still, one delivery at a time tries for all others:
 * after one second, then two, and so on ---
 */

/* Whoever has waited longest: what one cannot find out another one may. */
static bool
let_oldest_go(struct source *s, bool to_finish)
{
	struct standing_place *oldest = NULL, *place;
	LIST_EACH(place, &s->waiting, item)
		if (place->to_finish == to_finish)
			oldest = place;
	if (oldest == NULL)
		return false;
	if (!oldest->probes)
		s->probing++;
	oldest->probes = true;
	list_remove(&oldest->item);
	op_done(oldest->op, 0);
	return true;
}

void
source_standing_probe(struct source *s, bool retries, bool finishes)
{
	/* One that stands before its claim, and one before its end. */
	bool claims = s->probing > 0 || pause_stands(&s->pause) ||
	    why_unshared(s) != NULL || let_oldest_go(s, false);
	finishes = finishes || let_oldest_go(s, true);
	/* Where nobody is left who could find out, the next one will. */
	if (!claims)
		source_standing_end(s, STANDING_STORE);
	if (!claims && !retries) {
		source_standing_end(s, STANDING_UPSTREAM);
		source_standing_end(s, STANDING_TOKEN);
		source_standing_end(s, STANDING_REDIRECTED);
	}
	if (!finishes) {
		/* The next one that is refused is one too many again. */
		if (s->refused >= SOURCE_REFUSED_MAX)
			s->refused = SOURCE_REFUSED_MAX - 1;
		/* One acknowledgement may fail while the broker is well. */
		if (s->reader == NULL || broker_reader_health(s->reader).up)
			source_standing_end(s, STANDING_BROKER);
		source_standing_end(s, STANDING_DEAD_LETTERS);
		source_standing_end(s, STANDING_RESULTS);
	}
	if (!can_be_tried(s))
		return;
	int64_t most_ms = (s->standing & STANDINGS_OF_API) != 0
	    ? PROBE_MOST_MS
	    : PROBE_OTHER_MS;
	s->probe_ms = s->probe_ms * 2 < most_ms ? s->probe_ms * 2 : most_ms;
	timer_set(&s->probe, s->probe_ms);
}
