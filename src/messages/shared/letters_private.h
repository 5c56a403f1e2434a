/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/list.h"
#include "messages/shared/letters.h"
#include "store/store.h"

/*
 * What the files of letters share: letters.c, what a gateway knows of them;
 * letters_op.c, what is done with one; letters_list.c, a page of them; and
 * letters_stored.c, how Redis is asked for them, and what it says of one.  For
 * these alone; the store's thread.
 */
enum {
	LETTERS_AT_ONCE = 16, /* shards that are asked at the same time */
	LETTERS_STAMP_DIGITS = 13,
};

/* What scripts say of a letter (about() of lua/letter_keys.lua). */
enum {
	SAID_ID,
	SAID_STATE,
	SAID_ACT,
	SAID_LANE,
	SAID_PUT,
	SAID_PARKED,
	SAID_COUNT_DEAD,
	SAID_COUNT_PARKED,
	SAID_LANE_IS_THERE,
	SAID_REASON,
	SAID_HEAD,
	SAID_BODY,
};

/*
 * A call of that script, with its keys; n_argv arguments are still to come.
 */
struct store_call *letters_call(const struct letters *letters, unsigned shard,
    enum script script, size_t n_argv);
void letters_arg_digest(
    struct store_call *call, const uint8_t digest[DIGEST_BYTES]);
/* Appends a head or a body, sealed where keys are; bytes are freed. */
void letters_arg_sealed(struct store_call *call, const struct letters *letters,
    const uint8_t id[DIGEST_BYTES], char *bytes, size_t len);

unsigned letters_shard_of(
    const struct letters *letters, const struct letter_name *name);
/* As Redis has it: in hex, a lane of dashes or none where it stands alone. */
bool letters_read_name(
    struct span id, struct span lane, struct letter_name *ret_name);
/* False: Redis has another word there. */
bool letters_read_state(struct span word, enum letter_state *ret_state);
/*
 * What a reply says of a letter from its text at on, but for head and body;
 * reason is where that stands.
 */
bool letters_read_said(const struct call_reply *reply, size_t at,
    struct arena *arena, size_t reason, struct letter *letter);
/*
 * The text in the arena, opened where it is sealed; empty where it does not
 * open.  False: there is no memory for it.
 */
bool letters_open_text(const struct letters *letters, struct arena *arena,
    const uint8_t id[DIGEST_BYTES], struct span stored, struct span *ret_text);
/* The head of a letter whose name is known; false: it does not open. */
bool letters_read_head(struct letter *letter, struct span head);
/* What an answer says of the operation's letter; 0 or an error. */
int letters_read_answer(struct letter_op *op, const struct call_reply *reply);

/*
 * What is known of that shard, after an operation on that letter; true where it
 * is something else than before.
 */
bool letters_note(struct letters *letters, unsigned shard,
    const struct letter_name *name, const struct call_reply *reply);
