/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/body.h"
#include "base/field.h"
#include "base/must.h"

/*
 * The heads of HTTP/1.1 messages on an upstream's connection (RFC 9112) are
 * written and read here: ours is made of validated parts, in one place, and the
 * answer's is read strictly, a piece at a time.  Nothing here knows
 * connections, targets or keys.  Pure; any thread.
 */

/* --- the head of a request --- */

struct http1_request {
	struct span method;    /* a token */
	struct span base_path; /* "" or visible ASCII that begins with "/" */
	struct span target;    /* visible ASCII that begins with "/" */
	struct span host;      /* visible ASCII, not empty */
	const struct fields *fields; /* end to end; no Host, no framing */
	bool has_body;
	bool chunked;      /* has_body, and there is no Content-Length */
	size_t body_bytes; /* for Content-Length, if has_body */
	bool close;        /* Connection: close */
};

/*
 * Appends the whole head, Host first, to *out, which is not counted against
 * a budget.  E_MALFORMED, and nothing is appended, where a part holds a byte
 * that does not belong there, or where a field would change the framing or
 * the connection: no input can add a line of its own (RFC 9112, section
 * 11.1).
 */
MUST_USE int http1_head_write(
    const struct http1_request *request, struct body *out);

/* --- the head of an answer --- */

enum {
	HEAD_FIELDS_MAX = 256,
	HEAD_INTERIM_MAX = 8, /* answers 1xx in front of the final one */
};

enum http1_head_state {
	HEAD_MORE,      /* so far it is well-formed */
	HEAD_WHOLE,     /* the final head has been read */
	HEAD_MALFORMED, /* nothing of it may be passed on */
	HEAD_TOO_LARGE, /* more than max_bytes or HEAD_FIELDS_MAX */
};

/* A field's place in the text. */
struct http1_head_field {
	size_t name;
	size_t name_len;
	size_t value;
	size_t value_len;
};

/* Zeroed memory, before the first http1_head_begin; its buffers are kept. */
struct http1_head {
	/* Of a whole head: */
	int status;             /* 200-599 */
	bool persistent;        /* HTTP/1.1, and no Connection: close */
	bool chunked;           /* Transfer-Encoding: chunked */
	int64_t content_length; /* bytes; -1: none was given */
	int64_t keep_alive_s;   /* of Keep-Alive: timeout=N; -1: none */

	/* The reader's own: */
	size_t max_bytes;
	char *text; /* the lines so far, line ends included */
	size_t len;
	size_t size;
	size_t line; /* where the present line begins */
	struct http1_head_field *list;
	size_t n_fields;
	size_t list_size;
	bool version_1_0;
	unsigned interim; /* heads of 1xx that were dropped */
};

/* Begins a new head of at most max_bytes, as each interim one may have. */
void http1_head_begin(struct http1_head *head, size_t max_bytes);
/*
 * Reads from the front of *bytes, which keeps what stands behind a whole
 * head.  Interim answers other than 101 are read and dropped (RFC 9110,
 * section 15.2).  Only HEAD_MORE can be followed by another call; how the
 * bytes are cut into pieces makes no difference.
 */
MUST_USE enum http1_head_state http1_head_feed(
    struct http1_head *head, struct span *bytes);
/*
 * Copies the fields of a whole head, all of them, in order, into one block of
 * memory that the caller frees; the list is at its front.
 */
char *http1_head_take(const struct http1_head *head, struct fields *ret_fields);
void http1_head_free(struct http1_head *head);
