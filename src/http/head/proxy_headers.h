/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/field.h"
#include "base/must.h"
#include "conf/conf.h"

/*
 * The header fields that a proxy passes on, drops and adds (RFC 9110, section
 * 7.6): of a request on its way to the upstream, and of its answer on the way
 * back.  It knows nothing of keys and records, and of no HTTP library.  Pure;
 * any thread.  New lists come from the arena; their spans also point into the
 * lists that they were made from.  Order, repetitions and empty values are
 * kept.
 *
 * Hop-by-hop fields end here in both directions: Connection and the fields that
 * it names, and those of tbl/request_fields.h.
 */

/* A request, and what the gateway knows about it. */
struct proxy_request {
	const struct fields *fields; /* as the client sent them */
	bool version_1_0;            /* it came as HTTP/1.0 */
	bool tls;                    /* it came over TLS */
	/* The client's address without a port; "unix" for a Unix socket. */
	struct span client;
	struct span authority;  /* of the target or Host; may be empty */
	struct span request_id; /* of header_value_request_id */
	enum upstream_forwarded forwarded;
	bool trust_overrides;
	/* Of the route, or the defaults: which fields we go by. */
	const struct conf_idempotency *policy;
	struct span attempt_header; /* its name; empty for none */
	uint32_t attempt;           /* from 1; 0: the field is only dropped */
	struct span key_id; /* in hex, told with an attempt (key_id_header) */
	bool identity; /* what is stored must suit every retry: no coding */
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
 * that we set or go by: "_" is "-" there.  With identity, Accept-Encoding is
 * ours (RFC 9110, section 12.5.3).
 */
struct fields proxy_headers_for_upstream(
    struct arena *arena, const struct proxy_request *request);

/* The client that an answer is for. */
struct proxy_client {
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
struct fields proxy_headers_for_client(struct arena *arena,
    const struct fields *upstream, const struct proxy_client *client);

/*
 * The fields of those names, or all but these: omit_headers are given to the
 * first client, and are not stored.
 */
struct fields proxy_headers_listed(struct arena *arena,
    const struct fields *fields, const struct strings *names, bool are_listed);

/* True where a line of Connection names that option, or field. */
bool proxy_headers_connection_names(
    const struct fields *fields, struct span name);

/*
 * False where Connection names what must not be lost on the way: Host, the
 * lengths (Content-Length, Transfer-Encoding), the fields that the gateway
 * itself sets, and those that any route of the configuration goes by (key,
 * scope, fingerprint, attempt).  Otherwise a client could have a field count
 * here and be dropped there.  False also of more than 100 options.  The request
 * is to be answered 400, on every route.
 */
MUST_USE bool proxy_headers_connection_ok(
    const struct conf *conf, const struct fields *fields);
