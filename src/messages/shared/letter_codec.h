/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "base/digest.h"
#include "base/field.h"
#include "base/must.h"

/*
 * A letter, and that as bytes: its head, which is shown in lists and may
 * change, and its body, the message as it was.  Each begins with its version,
 * "h1" or "b1" and a newline; then each part with its length in front,
 * "3:abc,", or "-," where it has none (numbers in digits).  It is read
 * strictly, as Redis may have anything: what is read and put again is the same
 * bytes.  It knows neither Redis nor seals.  Pure; any thread.
 */

/* Which letter: an identity that its position makes, and where that stands. */
struct letter_name {
	uint8_t id[DIGEST_BYTES]; /* a digest of the position */
	uint8_t lane[DIGEST_BYTES]; /* of its order; else of its position */
	bool in_order;
};

enum letter_state {
	LETTER_WRITTEN,   /* its broker has perhaps not acknowledged it */
	LETTER_CONFIRMED,
	LETTER_BEGUN,     /* somebody is at it, or was */
};

/*
 * What is kept of a message.  Given: lives as long as the operation that was
 * given it is pending.  Read: in that operation's arena.
 */
struct letter {
	struct letter_name name;
	/* Its head, which lists show. */
	struct span position;
	struct span reason;  /* tbl/message_outcomes.h, a word */
	struct span key_id;  /* in hex; "" */
	struct span route;   /* "" */
	struct span detail;  /* "" */
	struct span label;   /* "" */
	int status;          /* of the upstream's answer; 0: none */
	uint32_t attempt;    /* 0: none */
	int64_t first_ms;    /* when it was taken first, since 1970 */
	/* Its body: the message as it was. */
	struct fields fields;
	bool has_payload;
	bool is_cut; /* too large: payload and fields are not here */
	struct span payload;
	struct span key, entity, type; /* ptr NULL: none */
	struct span part;              /* of Kafka; ptr NULL */
	int64_t time_ms;               /* -1: not known */
	struct span answer; /* refused with it: its body; ptr NULL: none */
	/*
	 * What Redis has besides; not given.  Of one that does not open this,
	 * and its name and reason, are all, and position.len is 0.
	 */
	enum letter_state state;
	int64_t put_ms; /* by Redis' clock */
	bool parked;    /* another one is the first of its lane */
};

/* The caller frees *ret_bytes; the letter's own spans are copied. */
void letter_codec_put_head(
    const struct letter *letter, char **ret_bytes, size_t *ret_len);
void letter_codec_put_body(
    const struct letter *letter, char **ret_bytes, size_t *ret_len);

/*
 * Sets those members of the letter that a head has, or a body; its spans point
 * into the bytes, and the list of its fields is in the arena.  False: it is
 * malformed, and some of them may be set.
 */
MUST_USE bool letter_codec_read_head(
    struct span bytes, struct letter *letter);
MUST_USE bool letter_codec_read_body(
    struct span bytes, struct arena *arena, struct letter *letter);
