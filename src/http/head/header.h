/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/field.h"
#include "base/must.h"
#include "conf/conf.h"

/*
 * Which fields of a request go on to the upstream, which of its answer go
 * back to the client, and what is added to them (RFC 9110, section 7.6).  It
 * knows nothing of keys and records, and of no HTTP library.  Pure but for
 * the random digits of a request's id; any thread.  New lists come from the
 * arena; their spans also point into the lists that they were made from.
 * Order, repetitions and empty values are kept.
 *
 * Hop-by-hop fields end here in both directions: Connection and what it
 * names, and those of tbl/request_fields.h.
 */

/* What a request says, and what the gateway knows about it. */
struct header_request {
	const struct fields *fields; /* as the client sent them */
	bool version_1_0;            /* it came as HTTP/1.0 */
	bool tls;                    /* it came over TLS */
	/* The client's address without a port; "unix" for a Unix socket. */
	struct span client;
	struct span authority;  /* of the target or Host; may be empty */
	struct span request_id; /* of header_request_id */
	enum upstream_forwarded forwarded;
	bool trust_overrides;
	/* Of the route, or the defaults: which fields we go by. */
	const struct conf_idempotency *policy;
	struct span attempt_header; /* its name; empty for none */
	uint32_t attempt;           /* from 1; 0: the field is only dropped */
	struct span key_header; /* of a key that the client did not send */
	struct span key;        /* its value; empty: no such field */
};

/*
 * The fields for the upstream, without Expect, and without Host and
 * Content-Length, which whoever writes the message adds.  X-Forwarded-For
 * and Via become one line each, the client's lines joined and ours behind
 * them; the client of a Unix socket is "unknown" there (RFC 7239, section
 * 6.1).  With FORWARDED_TRUST, X-Forwarded-Proto and -Host stay as they
 * came, where they came.
 *
 * Fields that an upstream may read as another method or path (X-Original-URL)
 * are dropped unless it is trusted with them.  So is what CGI takes for a field
 * that we set or go by: "_" is "-" there.
 */
struct fields header_for_upstream(
    struct arena *arena, const struct header_request *request);

/* For whom an answer is. */
struct header_client {
	struct span replay_header; /* its name; empty for none */
	struct span request_id;    /* that the upstream was told */
	int64_t wall_ms;           /* since 1970 */
};

/*
 * The fields for the client, without the gateway's own (Content-Length,
 * Idempotency-Outcome, Original-Request-Id, and the one named replay_header).
 * An X-Request-Id other than what the upstream was told becomes
 * Upstream-Request-Id.  The rest stays as the upstream sent it: no Via is
 * added, so that a replay is what the upstream answered.  A Date is added where
 * there is none (RFC 9110, section 6.6.1).
 */
struct fields header_for_client(struct arena *arena,
    const struct fields *upstream, const struct header_client *client);

/*
 * The list without the fields of those names, and nothing but them: with
 * omit_headers, what is stored and what only the first client is given.
 */
struct fields header_without(struct arena *arena, const struct fields *fields,
    const struct strings *names);
struct fields header_only(struct arena *arena, const struct fields *fields,
    const struct strings *names);

/* A time as Date has it: IMF-fixdate (RFC 9110, section 5.6.7). */
struct span header_date(struct arena *arena, int64_t wall_ms);

/*
 * The client's X-Request-Id where it is one line of 1 to 128 of the bytes
 * A-Z a-z 0-9 . _ ~ + / = : @ -, else 32 new random hex digits.
 */
struct span header_request_id(
    struct arena *arena, const struct fields *fields);

/*
 * The seconds of a preference "wait=N" (RFC 7240, section 4.3), at most a
 * day; -1 for any other preference.
 */
int64_t header_prefer_wait(struct span preference);

/* True where a line of Connection names that option, or field. */
bool header_connection_names(const struct fields *fields, struct span name);

/*
 * False where Connection names what must not be lost on the way: Host, the
 * lengths (Content-Length, Transfer-Encoding), what the gateway itself sets,
 * and the fields that any route of the configuration goes by (key, scope,
 * fingerprint, attempt).  Otherwise a client could have a field count here
 * and be dropped there.  False also of more than 100 options.  The request is
 * to be answered 400, on every route.
 */
MUST_USE bool header_connection_ok(
    const struct conf *conf, const struct fields *fields);
/*
 * What Retry-After says (RFC 9110, section 10.2.3), in ms from now_ms (since
 * 1970), a year at most; 0 where there is none, or nothing that makes sense.
 */
int64_t header_retry_after(const struct fields *fields, int64_t now_ms);
