/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * A look at the Redis that a configuration names, from outside of any
 * gateway, for `doctor`: what it says of itself, what we may do there, and
 * what lies there.  It changes nothing.  It does not judge.  It blocks, for
 * store.timeout with each question; any thread that may.
 */
struct diagnostics {
	enum {
		REDIS_SILENT,  /* no connection, or it broke, or no answer */
		REDIS_REFUSED, /* it does not let us in */
		REDIS_SEEN,
	} how;
	char *message; /* why, unless it was seen */

	/* INFO (redis/info.h reads it); NULL: we may not ask. */
	char *info;
	char *appendfsync; /* NULL: we may not ask */
	/* Redis' clock less ours, as far as the way there does not explain. */
	bool clock_known;
	int64_t apart_ms;

	bool *missing; /* one for each of rights[] (probe/rights.h) */
	/* Whether we may touch store.prefix, and its channels. */
	enum permitted { PERMIT_UNKNOWN, PERMIT_YES, PERMIT_NO } keys, channels;
	/* Why a write is refused although we may write; NULL: it is not. */
	char *refused;

	/* Records that are not final; false: they could not be counted. */
	bool counted;
	uint64_t unknown;
	uint64_t failed;

	/* Libraries of functions of other versions, their names in a row;
	 * NULL: we may not list them, or have none ourselves. */
	char *libraries;

	/* Keys below store.prefix; false: we may not list them. */
	bool scanned;
	uint64_t foreign;   /* those that no such gateway writes */
	char *foreign_name; /* one of them */
	uint64_t locked; /* answers encrypted with keys that are not there */
	char *locked_id; /* the id of one such key */

	/* Of a cluster: */
	char *place; /* HOST:PORT; NULL: there is only this one */
	bool cluster_fails; /* it says that it does not serve */
	char *coverage; /* cluster-require-full-coverage; NULL: may not ask */
};

/*
 * How many there are, 1 or more: the masters of a cluster that have our
 * shards, or the one Redis; each is cleared, and then the list is freed.
 */
size_t diagnostics_run(
    const struct conf *conf, struct diagnostics **ret_seen);
/* Frees what it holds. */
void diagnostics_clear(struct diagnostics *seen);
