/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/shared/letter_name.h"
#include "messages/shared/shared.h"
#include "store/store.h"

/*
 * How Redis is asked for letters, and what it says of one: for letters.c, what
 * a gateway knows of them; letters_list.c, a page of them; and letter.c, what
 * is done with one.  For these alone; the store's thread.
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
struct store_call *letter_stored_call(const struct shared *shared,
    unsigned shard, enum script script, size_t n_argv);
/* The shard in which that letter is, with its lane. */
unsigned letter_stored_shard(
    const struct shared *shared, const struct letter_name *name);
void letter_stored_arg_digest(
    struct store_call *call, const uint8_t digest[DIGEST_BYTES]);
/* Appends a head or a body, sealed where keys are; bytes are freed. */
void letter_stored_arg_sealed(struct store_call *call,
    const struct shared *shared, const uint8_t id[DIGEST_BYTES], char *bytes,
    size_t len);

/* False: Redis has another word there. */
bool letter_stored_read_state(struct span word, enum letter_state *ret_state);
/*
 * What a reply says of a letter from its text at on, but for head and body;
 * reason is where that stands.
 */
bool letter_stored_read_said(const struct call_reply *reply, size_t at,
    struct arena *arena, size_t reason, struct letter *letter);
/*
 * The text in the arena, opened where it is sealed; empty where it does not
 * open.  False: there is no memory for it.
 */
bool letter_stored_open(const struct shared *shared, struct arena *arena,
    const uint8_t id[DIGEST_BYTES], struct span stored, struct span *ret_text);
/* The head of a letter whose name is known; false: it does not open. */
bool letter_stored_read_head(struct letter *letter, struct span head);
