/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"
#include "store/store.h"

/*
 * Whether the witness of a route may be believed, which an API that does not
 * write its row would make a liar.  The API's database itself proves it where
 * enforced_by is there and holds (read from the catalogue by gate/witness.h).
 * Without that, a guard: an attempt is asked about only when a 2xx of its route
 * had its row that was sent after the attempt had become UNKNOWN, and none
 * since lacked it.  What was sent before that witness was known, or before
 * enforced_by held, is not proven by it: since when that is stands in Redis.
 * What was sent where the API was told of no witness, or of another one, is not
 * asked about at all (conf.h, tells).
 *
 * A 2xx whose row is absent, and one that comes for an attempt that was
 * revoked, end all trust in the route's witness: nothing of the route is asked
 * about until an operator says so.  That stands in Redis (lua/trust.lua), for
 * all gateways, as does the last proof.  Routes go by their names, over a
 * reload too.  The worker's thread only, but for trust_view.
 */
struct worker;
struct trusts;

/* What is known of each route that has a witness. */
struct trusts *trust_new(struct worker *worker);
/* The worker ends: from then on only trust_view may be called. */
void trust_stop(struct trusts *trusts);
void trust_free(struct trusts **trusts);
/* The worker has a new generation. */
void trust_reload(struct trusts *trusts);

/*
 * Why an attempt that was sent at claimed_ms or later, and is UNKNOWN since
 * unknown_ms, both by Redis' clock, may not be asked about, as far as is known
 * now, in words for the log; unknown_ms 0: why an answer that is no 2xx may not
 * be looked up.  NULL: it may.
 */
const char *trust_why(const struct trusts *trusts,
    const struct conf_route *route, int64_t claimed_ms, int64_t unknown_ms);

/* --- what the witness finds out; routes by their names --- */

/*
 * The catalogue has been read: why nothing can be asked of the table, and why
 * enforced_by enforces nothing; NULL: all is well, or there is none.
 */
void trust_catalogue(struct trusts *trusts, const char *route,
    const char *unusable, const char *unenforced);
/* Whether 2xx have to be looked at: the catalogue is no proof. */
bool trust_is_guarded(const struct trusts *trusts, const char *route);
/* A 2xx had its row that was sent at that time, by Redis' clock, or later. */
void trust_proven(struct trusts *trusts, const char *route, int64_t sent_ms);
/*
 * A 2xx lacked its row (broken false); or one came of an attempt that was
 * revoked.  All trust ends.
 */
void trust_end(struct trusts *trusts, const char *route, bool broken,
    const struct key_id *key_id, uint32_t attempt);

/* --- for people --- */

enum trust_state {
	TRUST_UNPROVEN, /* nothing is asked, or only what the guard allows */
	TRUST_PROVEN,   /* the last 2xx had its row; the guard allows */
	TRUST_ENFORCED, /* by enforced_by */
	TRUST_ABSENT,   /* a 2xx lacked its row */
	TRUST_BROKEN,   /* a 2xx came of what was revoked */
};
/* "unproven", "proven", "enforced", "absent" and "broken". */
extern const char *const trust_words[];
/* The last two are distrust, 1: trusted. */
static inline bool
trust_is_trusted(enum trust_state state)
{
	return state == TRUST_PROVEN || state == TRUST_ENFORCED;
}
/*
 * What a worker knows of the witness of the route of that name: any thread, as
 * long as the worker lives.  false: it has none.
 */
bool trust_view(const struct trusts *trusts, const char *route,
    enum trust_state *ret_state, int64_t *ret_ended_ms);

/*
 * An operator says that a route's witness may be believed again.  Operations
 * and their errors are as in store/store.h.  Verdict: DONE; GONE, where nothing
 * was distrusted.
 */
void trust_say(struct store_op *op, struct store *store, const char *route,
    struct span who, struct span note);
