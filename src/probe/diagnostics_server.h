/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * The questions of diagnostics.h, put to one server, and what it answers.  It
 * blocks, for store.timeout with each question; any thread that may.
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

struct cluster_masters;
struct cluster_master;

/*
 * The server at that place of a cluster, whose masters are those (NULL: they
 * are not known); without a cluster both are NULL, and it is the one Redis.
 */
void diagnostics_server(const struct conf *conf,
    const struct cluster_masters *masters, const struct cluster_master *at,
    struct diagnostics *ret_seen);
