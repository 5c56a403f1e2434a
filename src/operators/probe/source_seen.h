/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * What was seen of a source and of its broker, for `doctor`.  It judges
 * nothing.  Pure; any thread.
 */
struct source_seen {
	enum {
		BROKER_SILENT,  /* no connection, a broken one, or no answer */
		BROKER_REFUSED, /* it does not let us in */
		BROKER_SEEN,
	} how;
	char *message; /* why, unless BROKER_SEEN */

	/* All below: NULL, false or 0 where there is nothing to say. */
	bool replica; /* it takes no writes */
	char *missing; /* what is read is not there, or is something else */
	char *rights;  /* what our user may not do */
	char *grant;   /* what gives it that: for redis-cli, or SQL */
	char *policy;  /* by which Redis may evict a stream */
	bool forgets; /* Redis keeps no append-only file */
	uint64_t trimmed; /* entries that were trimmed before they were read */
	int64_t lag; /* messages that nobody has taken; -1: not known */
	int64_t waits_ms; /* for how long the oldest of them has waited */
	bool no_order; /* order_by is set, and nothing has an order */
	bool no_ids;   /* unread rows have null as their id */
	char *deleting; /* triggers that may delete what is inserted */
	char *index;   /* SQL that makes the index that is missing */
	bool blind;    /* our user may not see the sessions of others */
	char *snapshot; /* what keeps dead rows in the table */
	char *no_place; /* topics to put to that are not there, nor made */
	int64_t results_bytes; /* what the topic of results takes; or below 1 */
	char *few_copies; /* how few brokers keep what is put */
	char *too_small; /* topics that take less than may be put there */
	char *offsets; /* for how short a time a group's offsets are kept */
	char *others; /* how members of the group that are none of ours share */
};

/* Frees what it holds. */
void source_seen_clear(struct source_seen *seen);
