/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "http/upstream/http1_head.h"

/*
 * The framing finds where an answer's content ends (RFC 9112, section 6.3): it
 * is fed the bytes behind the head piece by piece, and gives the content.  It
 * keeps no content and knows nothing of connections.  Pure; any thread.
 */
enum framing_kind {
	FRAMING_NONE,    /* no content by rule: HEAD, 204, 304 */
	FRAMING_LENGTH,  /* Content-Length */
	FRAMING_CHUNKED, /* Transfer-Encoding: chunked */
	FRAMING_CLOSE,   /* up to the end of the connection */
};

enum answer_framing_state {
	FRAMING_MORE,
	FRAMING_END, /* the answer is whole */
	FRAMING_MALFORMED,
};

enum {
	/* Most bytes of all chunk extensions of one answer. */
	FRAMING_EXTENSION_BYTES = 4096,
	/* Most bytes of the trailer section, which is read and dropped. */
	FRAMING_TRAILER_BYTES = 8192,
};

struct answer_framing {
	enum framing_kind kind;
	uint64_t left; /* bytes of the length or of the present chunk */
	int place;     /* in the grammar of chunks; its own */
	unsigned size_digits;
	size_t extension_bytes;
	size_t trailer_bytes;
};

/* Begins behind a whole head; to_head: it answers a request of that method. */
void answer_framing_begin(struct answer_framing *framing,
    const struct http1_head *head, bool to_head);
/*
 * Takes bytes from the front of *bytes up to the next piece of content,
 * which points into them and is empty where there is none.  FRAMING_MORE
 * with *bytes empty: feed it more; with FRAMING_END *bytes is what stands
 * behind the answer.  FRAMING_CLOSE never ends by itself.  How the bytes are
 * cut into pieces makes no difference.
 */
MUST_USE enum answer_framing_state answer_framing_feed(
    struct answer_framing *framing, struct span *bytes,
    struct span *ret_content);
