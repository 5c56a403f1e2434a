/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "base/test_build.h"
#include "messages/source/source_credit.h"
#include "messages/source/source_proof.h"
#include "messages/source/source_standing.h"

static bool
is_other(const struct source *s)
{
	return s->other_store[0] != '\0' && s->store_id[0] != '\0' &&
	    strcmp(s->other_store, s->store_id) != 0 &&
	    INVARIANT(other_store_stands);
}

static void
judge(struct source *s)
{
	if (is_other(s))
		source_standing_begin(s, STANDING_UNPROVEN,
		    "The broker knows another store than this one, or Redis "
		    "has lost its data since.");
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
	if (store_id.len > 0)
		snprintf(s->other_store, sizeof s->other_store, "%.*s",
		    SPAN_FMT(store_id));
	judge(s);
}

void
source_proof_look(struct source *s)
{
	const char *now = store_data_id(s->worker->store);
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

/*
 * What the broker knows is compared with what the store is now: others may have
 * been at the messages until a moment ago, and Redis have lost its data since.
 */
static bool
is_compared(struct source *s)
{
	if (s->origin_us == 0)
		return true;
	if (!store_data_id_is_of(s->worker->store, s->origin_us))
		return false;
	s->origin_us = 0;
	source_proof_look(s);
	judge(s);
	return true;
}

static bool
stands(const struct source *s)
{
	return (s->standing & 1u << STANDING_UNPROVEN) != 0 &&
	    source_proof_is_doubted(s);
}

bool
source_proof_doubts(struct source *s, int64_t again_us)
{
	if (!is_compared(s) ||
	    !store_data_id_is_of(s->worker->store, again_us))
		return true;
	source_proof_look(s);
	if (stands(s))
		return true;
	if (s->emptied_at == 0 || again_us == 0 ||
	    !INVARIANT(lost_data_stands))
		return false;
	s->doubted = true;
	source_standing_begin(s, STANDING_UNPROVEN,
	    "Redis has lost its data, and a message that somebody was at "
	    "before has come again.");
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
	s->emptied_at = 0;
	s->doubted = false;
	s->other_store[0] = '\0';
	source_standing_end(s, STANDING_UNPROVEN);
}
