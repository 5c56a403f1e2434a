/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

#include "base/field.h"
#include "http/request_target.h"

/*
 * What libmicrohttpd lets through and HTTP does not allow (RFC 9112): the
 * head of a request is judged here before anything believes it.  Nothing in
 * it may be read in two ways, by us and by a proxy in front or an upstream
 * behind.  It sees the parsed head only, not the bytes of the connection.
 * Pure; any thread.
 */
enum guard_verdict {
	GUARD_OK,
	GUARD_BAD_REQUEST,       /* 400 */
	GUARD_METHOD,            /* 405: CONNECT, TRACE */
	GUARD_TOO_LARGE,         /* 413: a length of 2^63 or more */
	GUARD_EXPECTATION,       /* 417 */
	GUARD_HEADERS_TOO_LARGE, /* 431: too many fields */
	GUARD_VERSION,           /* 505 */
};

/* More fields in one head are refused. */
enum { GUARD_FIELDS_MAX = 100 };

/* A head as libmicrohttpd delivered it: values with all their blanks. */
struct guard_head {
	struct span method;
	struct span target;
	struct span version; /* "HTTP/1.1" */
	struct fields fields;
};

/* What a good head says; of a bad one, only words. */
struct guarded {
	struct target target;
	struct fields fields;  /* values without the blanks around them */
	struct span authority; /* of the target, else Host; or empty (1.0) */
	bool version_1_0;
	bool chunked;
	bool has_length;
	int64_t length; /* bytes; 0 unless has_length */
	/* Unless GUARD_OK: what is wrong, a sentence for the client. */
	const char *words;
};

/*
 * Judges a head.  Methods are tokens of capital letters, "-" and "_", as
 * nginx has them: methods are case-sensitive, so "post" is not POST to a
 * route, but it may be to an upstream.  HTTP/1.1 needs one Host, HTTP/1.0
 * may do without.  Lists, new fields and the target come from the arena.
 */
MUST_USE enum guard_verdict guard_check(struct arena *arena,
    const struct guard_head *head, struct guarded *ret_guarded);
