/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/body.h"
#include "base/field.h"

/*
 * An answer is what a client is given: status, fields and body, immutable
 * and counted.  It is the one thing that passes between upstream, store,
 * request and client, and knows none of them.  It never crosses threads.
 * The last answer_unref frees it.
 */
struct answer {
	unsigned refs;
	int status;           /* 200-599; 0: not kept, and nobody knows it */
	struct fields fields; /* end to end: no framing, nothing hop-by-hop */
	struct body body;
	/* The id of the request that first had this answer; may be empty. */
	struct span request_id;
	/*
	 * The answer was too large to keep: status is what the upstream
	 * said, fields and body are gone.
	 */
	bool not_kept;
	/* Whose body it has; NULL: its own. */
	struct answer *of;
	/* Answer to HEAD, or 304: the length that it speaks of, else -1. */
	long long head_length;
};

/*
 * A new answer with one reference.  Fields and request_id are copied; the
 * body is moved out of *body (NULL: no body).
 */
struct answer *answer_new(int status, const struct fields *fields,
    struct body *body, struct span request_id);
/*
 * The same with other fields, which are copied; it takes the caller's reference
 * to the answer, whose body it shares.
 */
struct answer *answer_with_fields(
    struct answer *answer, const struct fields *fields);
struct answer *answer_ref(struct answer *answer);
/* The memory that it takes. */
size_t answer_bytes(const struct answer *answer);
/* Drops a reference and nulls the caller's pointer; NULL is accepted. */
void answer_unref(struct answer **answer);
