/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "base/test_build.h"
#include "messages/source/source_credit.h"
#include "messages/source/source_proof.h"
#include "messages/source/source_standing.h"

/* Beside the floors: the present store, and which other one was known. */
static const char part[] = "store";

static bool
is_other(const struct source *s)
{
	return s->other_store[0] != '\0' && s->store_id[0] != '\0' &&
	    strcmp(s->other_store, s->store_id) != 0 &&
	    INVARIANT(other_store_stands);
}

/* An operator may have accepted it: nothing is taken before that is known. */
static void
judge(struct source *s)
{
	s->asked = is_other(s);
	if (s->asked)
		floors_due(&s->floors, part, FLOORS_LOOK);
	else if (s->origin_us == 0)
		s->other_store[0] = '\0'; /* it is this one */
	source_credit_settle(s);
}

static void
end_standing(struct source *s)
{
	if (source_proof_is_doubted(s) ||
	    (s->reader != NULL && broker_reader_health(s->reader).unproven))
		return;
	source_standing_end(s, STANDING_UNPROVEN);
}

void
source_proof_accepted(struct source *s, struct span floor)
{
	struct span ours = span_str(s->store_id);
	bool accepted = span_starts(floor, ours) && floor.len > ours.len &&
	    floor.ptr[ours.len] == ' ';
	s->asked = false;
	if (accepted) {
		struct span other = span_from(floor, ours.len + 1);
		s->emptied_at = 0;
		s->doubted = false;
		if (span_eq(other, span_str(s->other_store)))
			s->other_store[0] = '\0';
	}
	if (is_other(s))
		source_standing_begin(s, STANDING_UNPROVEN,
		    "The broker knows another store than this one, or Redis "
		    "has lost its data since.");
	end_standing(s);
	source_credit_settle(s);
}

void
source_proof_origin(void *arg, struct span store_id)
{
	struct source *s = arg;
	/* At its beginning the store has just told which it is. */
	if (s->heard)
		s->origin_us = clock_us();
	s->heard = true;
	/* Of parts, one may know this store, and another one another. */
	if (store_id.len > 0 && !is_other(s))
		snprintf(s->other_store, sizeof s->other_store, "%.*s",
		    SPAN_FMT(store_id));
	judge(s);
}

static void
learn_store(struct source *s)
{
	const char *now = store_identity(s->worker->store)->data;
	if (now[0] == '\0' || strcmp(now, s->store_id) == 0)
		return;
	/* Redis has lost its data since. */
	if (s->store_id[0] != '\0')
		s->emptied_at = s->taken + 1;
	bool first = s->store_id[0] == '\0';
	snprintf(s->store_id, sizeof s->store_id, "%s", now);
	if (first)
		judge(s);
}

void
source_proof_look(struct source *s)
{
	learn_store(s);
	if (source_proof_is_doubted(s))
		floors_due(&s->floors, part, FLOORS_LOOK);
}

bool
source_proof_doubts(struct source *s, int64_t again_us)
{
	int64_t since_us = again_us > s->origin_us ? again_us : s->origin_us;
	/*
	 * What the broker knows is compared with what the store is now: others
	 * may have been at the messages until a moment ago, and Redis have lost
	 * its data since.  It is asked behind all that has come in this turn,
	 * so that all may go by one answer.
	 */
	if (store_identity(s->worker->store)->as_of_us < since_us) {
		task_ready(s->worker->loop, &s->prove);
		return true;
	}
	learn_store(s);
	if (s->origin_us != 0) {
		s->origin_us = 0;
		judge(s);
	}
	if (s->asked)
		return true;
	if ((s->standing & 1u << STANDING_UNPROVEN) != 0 &&
	    source_proof_is_doubted(s))
		return true;
	/* No row says whether somebody was at it before. */
	bool may_be_again = again_us != 0 || s->source->table != NULL;
	if (s->emptied_at == 0 || !may_be_again || !INVARIANT(lost_data_stands))
		return false;
	s->doubted = true;
	source_standing_begin(s, STANDING_UNPROVEN,
	    "Redis has lost its data, and a message has come that somebody may "
	    "have been at before.");
	return true;
}

bool
source_proof_is_doubted(const struct source *s)
{
	return is_other(s) || s->doubted;
}

void
source_proof_accept(struct source *s)
{
	char floor[2 * sizeof s->store_id];
	learn_store(s);
	if (s->emptied_at > 0 || is_other(s)) {
		snprintf(floor, sizeof floor, "%s %s", s->store_id,
		    is_other(s) ? s->other_store : "");
		floors_keep(&s->floors, part, span_str(floor), true);
	}
	s->emptied_at = 0;
	s->asked = s->doubted = false;
	s->other_store[0] = '\0';
	end_standing(s);
	source_credit_settle(s);
}
