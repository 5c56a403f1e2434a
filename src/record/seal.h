/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"
#include "record/key_id.h"
#include "record/record.h"

/*
 * Stored answers at rest (store.encryption_keys): what record_encode made
 * becomes "e KEYID" and a newline, a random nonce of 24 bytes, and the
 * ciphertext with its tag: XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03).
 * What the answer belongs to is the associated data, so one that was moved to
 * another record, or whose record was changed in what decides who is given
 * it, does not open.  It knows nothing of Redis, nor of what is in an answer.
 * Pure but for the nonce; any thread.
 */

/* What an answer is the answer to, as it stands in the record's head. */
struct seal_about {
	struct key_id key_id;
	enum record_state state;
	uint32_t attempt;
	char fingerprint[TOKEN_CHARS];
};

/* Of an answer that is to be stored; fingerprint has DIGEST_BYTES. */
struct seal_about seal_about_attempt(const struct key_id *key_id,
    uint32_t attempt, const uint8_t *fingerprint);
/* Of an answer that was read in that record. */
struct seal_about seal_about_record(
    const struct key_id *key_id, const struct record *record);

/*
 * Encrypts with the first key, of which there is one; the caller frees
 * *ret_bytes.
 */
void seal_close(const struct conf_store *conf, const struct seal_about *about,
    struct span plain, char **ret_bytes, size_t *ret_len);

/* There is a key of that id. */
bool seal_has_key(const struct conf_store *conf, struct span id);
/* The id of the key that a stored answer names; false: it is not sealed. */
MUST_USE bool seal_key_of(struct span stored, struct span *ret_id);
/*
 * The plain form of what is sealed, which the caller frees; or E_NO_KEY: no
 * key has its id; E_SEALED: the key that has it does not open it; E_MALFORMED:
 * it is too short to be anything.
 */
MUST_USE int seal_open(const struct conf_store *conf,
    const struct seal_about *about, struct span sealed, char **ret_plain,
    size_t *ret_len);
