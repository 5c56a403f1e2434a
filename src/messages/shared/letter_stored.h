/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "base/digest.h"
#include "base/field.h"
#include "base/must.h"
#include "store/shared.h"
#include "store/store.h"

/*
 * A letter, what it is called, and how Redis has it; how Redis is asked for it,
 * and what it says, is for letters.c (what a gateway knows of letters) and
 * letter.c (what is done with one) alone.  What takes a call is for the store's
 * thread; all else is pure.
 */

/* The digest of the value that a message is ordered by. */
struct letters_lane {
	uint8_t bytes[DIGEST_BYTES];
};

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

/* --- what it is called --- */

/* The name of the letter of that position; lane NULL: it stands alone. */
struct letter_name letter_stored_name(
    struct span position, const struct letters_lane *lane);
/* As Redis has it: in hex, a lane of dashes or none where it stands alone. */
bool letter_stored_read_name(
    struct span id, struct span lane, struct letter_name *ret_name);

/*
 * --- as bytes ---
 *
 * Its head, which is shown in lists and may change, and its body, the message
 * as it was.  Each begins with its version, "h1" or "b1" and a newline; then
 * each part with its length in front, "3:abc,", or "-," where it has none
 * (numbers in digits).  It is read strictly, as Redis may have anything: what
 * is read and put again is the same bytes.
 */

/* Its head, or its body; the caller frees *ret_bytes. */
void letter_stored_put(const struct letter *letter, bool body,
    char **ret_bytes, size_t *ret_len);
/*
 * Sets those members of the letter that a head has, or a body; its spans point
 * into the bytes, and the list of its fields is in the arena.  False: it is
 * malformed, and some of them may be set.
 */
MUST_USE bool letter_stored_read_head(
    struct span bytes, struct letter *letter);
MUST_USE bool letter_stored_read_body(
    struct span bytes, struct arena *arena, struct letter *letter);

/* --- how Redis is asked --- */

/*
 * What scripts say (about() of lua/letter_keys.lua): of the shard, of the lane
 * that was asked about, and from SAID_LETTER on of a letter.
 */
enum { SAID_DEAD, SAID_PARKED, SAID_LANE_IS_THERE, SAID_LETTER };
/* The texts of a letter; behind those that each has, its head and its body. */
enum {
	LETTER_ID,
	LETTER_STATE,
	LETTER_ACT,
	LETTER_LANE,
	LETTER_PUT,
	LETTER_PARKED,
	LETTER_REASON,
	LETTER_HEAD,
	LETTER_BODY,
};

/* A call of that script, with its keys; n_argv arguments are still to come. */
struct store_call *letter_stored_call(const struct shared *shared,
    unsigned shard, enum script script, size_t n_argv);
/* Appends the letter's head, or its body, sealed where keys are. */
void letter_stored_arg(struct store_call *call, const struct shared *shared,
    const struct letter *letter, bool body);

/*
 * What a reply says of a letter by those of its texts from at to end; the
 * letter is in the arena.  *ret_shut: not all of it opens.  E_MALFORMED: Redis
 * has something else there; E_NO_MEMORY.
 */
int letter_stored_read(const struct shared *shared,
    const struct call_reply *reply, size_t at, size_t end, struct arena *arena,
    struct letter *letter, bool *ret_shut);
