/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "messages/source/source_credit.h"
#include "messages/source/source_proof.h"
#include "messages/source/source_standing.h"

static bool
is_other(const struct source *s)
{
	return s->other_store[0] != '\0' && s->store_id[0] != '\0' &&
	    strcmp(s->other_store, s->store_id) != 0;
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

bool
source_proof_doubts(struct source *s, const struct broker_message *message)
{
	if (s->emptied_at == 0 || !message->again)
		return false;
	s->doubted = true;
	source_standing_begin(s, STANDING_UNPROVEN,
	    "Redis has lost its data, and a message that somebody was at before "
	    "has come again.");
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
