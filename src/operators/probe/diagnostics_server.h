/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * Puts the questions of diagnostics.h to one server.  It knows no other.  It
 * blocks, up to store.timeout with each question; any thread that may.
 */
struct diagnostics {
	enum {
		REDIS_SILENT,  /* no connection, a broken one, or no answer */
		REDIS_REFUSED, /* it does not let us in */
		REDIS_NO_DATABASE, /* of the number that the file has */
		REDIS_SEEN,
	} how;
	char *message; /* why, unless REDIS_SEEN */
	int error;     /* an errno: the managed one could not be connected to */

	/* INFO, for redis/info.h; NULL: our user may not ask. */
	char *info;
	char *appendfsync; /* NULL: our user may not ask */
	/*
	 * Redis' clock less ours, as far as the time on the way does not
	 * explain the difference.
	 */
	bool clock_known;
	int64_t apart_ms;

	bool *missing; /* one for each of rights[] (probe/rights.h) */
	/*
	 * Whether our user may use keys below store.prefix, and our channels.
	 */
	enum permitted { PERMIT_UNKNOWN, PERMIT_YES, PERMIT_NO } keys, channels;
	/*
	 * Why a write is refused although our user may write; NULL: it is not.
	 */
	char *refused;

	/* What it has for the store's id (record/origin.h); NULL: nothing. */
	char *store_id;

	/* Records that are not final; false: they could not be counted. */
	bool counted;
	uint64_t unknown;
	uint64_t failed;

	/*
	 * Names of our libraries of other versions, with commas; NULL: our user
	 * may not list them, or we use no functions.
	 */
	char *libraries;

	/* Keys below store.prefix; false: our user may not list them. */
	bool scanned;
	uint64_t foreign;   /* those that this gateway would not write */
	char *foreign_name; /* one of them */
	uint64_t locked; /* answers encrypted with keys that we do not have */
	char *locked_id; /* the id of one such key */
	uint64_t plain;  /* answers that are not encrypted */

	/* Of a cluster: */
	char *place; /* HOST:PORT; NULL: not a cluster */
	bool cluster_fails; /* it says that it does not serve */
	char *coverage; /* cluster-require-full-coverage; or NULL */
};

struct cluster_masters;
struct cluster_master;

/*
 * Examines server at of a cluster, whose masters are masters (NULL: not known);
 * without a cluster both are NULL, and it is the one Redis.  The caller clears
 * *ret_seen.
 */
void diagnostics_server(const struct conf *conf,
    const struct cluster_masters *masters, const struct cluster_master *at,
    struct diagnostics *ret_seen);
