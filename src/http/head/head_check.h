/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

#include "base/field.h"
#include "http/head/request_target.h"

/*
 * What libmicrohttpd lets through and HTTP does not allow (RFC 9112): the
 * head of a request is judged here before anything believes it.  Nothing in
 * it may be read in two ways, by us and by a proxy in front or an upstream
 * behind.  It sees the parsed head, not the bytes of the connection, of which
 * head/wire.h has judged: so of where the body ends.
 * Pure; any thread.
 */
enum head_verdict {
	HEAD_CHECK_OK,
	HEAD_CHECK_BAD_REQUEST,       /* 400 */
	HEAD_CHECK_METHOD,            /* 405: CONNECT, TRACE */
	HEAD_CHECK_TOO_LARGE,         /* 413: a length of 2^63 or more */
	HEAD_CHECK_EXPECTATION,       /* 417 */
	HEAD_CHECK_HEADERS_TOO_LARGE, /* 431: too many fields or bytes */
	HEAD_CHECK_CODING,            /* 501 */
	HEAD_CHECK_VERSION,           /* 505 */
};

/* More fields in one head are refused. */
enum { HEAD_CHECK_FIELDS_MAX = 100 };

/* A head as it came: values with all their blanks, or without any. */
struct head_as_sent {
	struct span method;
	struct span target;
	struct span version; /* "HTTP/1.1" */
	struct fields fields;
	/* They are so few, so named and so spelled, without blanks around. */
	bool fields_are_good;
	/* What they say of where the body ends. */
	bool has_length;
	bool chunked;
	int64_t length; /* bytes; 0 unless has_length */
	enum head_verdict verdict; /* of head/wire.h, which saw its bytes */
	const char *message;       /* of that */
};

/* What a good head says; of a bad one, only the message. */
struct checked_head {
	struct request_target target;
	struct fields fields;  /* values without the blanks around them */
	struct span authority; /* of the target, else Host; or empty (1.0) */
	bool version_1_0;
	bool chunked;
	bool has_length;
	int64_t length; /* bytes; 0 unless has_length */
	/*
	 * Unless HEAD_CHECK_OK: what is wrong, a sentence for the client; ""
	 * where the verdict says it all.
	 */
	const char *message;
};

/*
 * Judges a head.  Methods are tokens of capital letters, "-" and "_", as
 * nginx has them: methods are case-sensitive, so "post" is not POST to a
 * route, but it may be to an upstream.  HTTP/1.1 needs one Host, HTTP/1.0
 * may do without.  Lists, new fields and the target come from the arena.
 */
MUST_USE enum head_verdict head_check(struct arena *arena,
    const struct head_as_sent *head, struct checked_head *ret_checked);
