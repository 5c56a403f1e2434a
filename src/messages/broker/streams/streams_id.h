/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

/*
 * The id of an entry of a stream: two numbers, which only grow, as a position
 * "MS-SEQ".  Pure; any thread.
 */
struct streams_id {
	uint64_t ms, seq;
};

/* An id as text, with a NUL behind it. */
struct streams_id_text {
	char text[20 + 1 + 20 + 1];
	struct span span; /* of the text */
};

/* Reads "MS-SEQ"; false: it is no id. */
bool streams_id_read(struct span text, struct streams_id *ret_id);
/* ret_text->span points into ret_text. */
void streams_id_write(
    struct streams_id id, struct streams_id_text *ret_text);
/* Below 0: a stands before b; 0: they are the same. */
static inline int
streams_id_cmp(struct streams_id a, struct streams_id b)
{
	if (a.ms != b.ms)
		return a.ms < b.ms ? -1 : 1;
	return a.seq < b.seq ? -1 : a.seq > b.seq;
}
/* The greatest id below; of 0-0 itself. */
struct streams_id streams_id_before(struct streams_id id);
