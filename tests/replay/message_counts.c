/* SPDX-License-Identifier: BSD-2-Clause */
#include "replay/fakes.h"
#include "replay/messages.h"

/*
 * When a gateway did what with a message, as numbers that rise; 0: never.  From
 * outside it is not known when the gateway hears of an outcome: so an attempt
 * must count, or must not, only where that makes no difference.
 */
static unsigned now;
static struct row {
	unsigned since; /* its last attempt, or when it was taken */
	unsigned sent;
	unsigned done;
	unsigned ended;
	bool executed; /* it ended for what came of its own attempt */
} rows[GATEWAYS_MAX][MESSAGES_MAX];

void
message_counts_begin(void)
{
	now = 0;
	memset(rows, 0, sizeof rows);
}

void
message_counts_start(const struct gateway *g)
{
	memset(rows[g->index], 0, sizeof rows[g->index]);
}

void
message_counts_took(const struct gateway *g, unsigned message)
{
	rows[g->index][message].since = ++now;
}

/* Its outcome was heard of before that. */
static bool
is_over(const struct row *row, unsigned since)
{
	return row->done == 0 ||
	    (row->ended > row->done && row->ended < since) ||
	    (row->sent > row->done && row->sent < since);
}

/* Whether another one may have been executed since; or must have been. */
static bool
may_count(const struct gateway *g, unsigned message)
{
	const struct row *all = rows[g->index];
	for (unsigned i = 0; i < MESSAGES_MAX; i++)
		if (i != message && !is_over(&all[i], all[message].since))
			return true;
	return false;
}

static bool
must_count(const struct gateway *g, unsigned message)
{
	const struct row *all = rows[g->index];
	for (unsigned i = 0; i < MESSAGES_MAX; i++)
		if (i != message && all[i].sent > all[message].since &&
		    all[i].ended > all[i].sent && all[i].executed)
			return true;
	return false;
}

void
message_counts_sent(const struct gateway *g, unsigned message, bool counts)
{
	struct row *row = &rows[g->index][message];
	/* A letter is replayed since a time that nobody else knows. */
	if (row->since != 0) {
		CHECK(!counts || may_count(g, message),
		    "an attempt of message %u counts, and no other message "
		    "was executed",
		    message + 1);
		CHECK(counts || !must_count(g, message),
		    "an attempt of message %u does not count, and another "
		    "message was executed",
		    message + 1);
		row->since = now + 1;
	}
	row->sent = ++now;
}

void
message_counts_left(const struct gateway *g, unsigned message)
{
	rows[g->index][message].since = 0;
}

void
message_counts_done(const struct gateway *g, unsigned message)
{
	rows[g->index][message].done = ++now;
}

void
message_counts_ended(
    const struct gateway *g, unsigned message, bool was_executed)
{
	struct row *row = &rows[g->index][message];
	row->ended = ++now;
	row->executed = was_executed;
	row->since = 0;
}

uint64_t
message_counts_hash(void)
{
	uint64_t hash = 0;
	for (unsigned i = 0; i < world.scenario->gateways; i++)
		for (unsigned k = 0; k < MESSAGES_MAX; k++) {
			const struct gateway *g = &world.gateways[i];
			hash = mix(hash,
			    (uint64_t)may_count(g, k) << 2 |
				(uint64_t)must_count(g, k) << 1 |
				(rows[i][k].since != 0));
		}
	return hash;
}
