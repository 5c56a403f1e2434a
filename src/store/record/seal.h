/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"
#include "store/record/key_id.h"
#include "store/record/record.h"

/*
 * Encryption at rest (store.encryption_keys) of stored answers, of labels, and
 * of the events that a relay is still to bring: a text becomes "e KEYID" and a
 * newline, a random nonce of 24 bytes, and the ciphertext with its tag:
 * XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03, section 2).  The associated
 * data say what it belongs to: an answer does not open in another record, nor
 * in one whose state, attempt or fingerprint was changed, and nothing opens as
 * something else.  It knows nothing of Redis, nor of what is in a text.  Pure
 * but for the nonce; any thread.
 */

/*
 * It says what a sealed text belongs to.  A record's label (record/label.h)
 * belongs to its key alone, since any attempt may have it, and so does the
 * question that asks about it; a relay's event, and a source's letter, to a
 * digest of what it is; an answer to all that follows, as the record's head has
 * it.
 */
struct seal_about {
	struct key_id key_id; /* or that digest */
	enum seal_kind {
		SEAL_ANSWER,
		SEAL_LABEL,
		SEAL_EVENT,
		SEAL_LETTER,
		SEAL_QUESTION,
	} kind;
	/* Of an answer alone: */
	enum record_state state;
	uint32_t attempt;
	struct span fingerprint; /* TOKEN_CHARS */
};

/* For that event of that relay, about that record (in hex). */
struct seal_about seal_about_event(
    struct span relay, struct span id, struct span record);

/*
 * Encrypts with the first key; there must be one.  The caller frees *ret_bytes.
 */
void seal_close(const struct conf_store *conf, const struct seal_about *about,
    struct span plain, char **ret_bytes, size_t *ret_len);

/* The key of that id; or NULL. */
const struct conf_encryption_key *seal_find_key(
    const struct conf_store *conf, struct span id);
/*
 * The id of the key that a sealed text names, a part of stored; false: it is
 * not sealed.
 */
MUST_USE bool seal_key_of(struct span stored, struct span *ret_id);
/*
 * Decrypts; the caller frees *ret_plain.  E_NO_KEY: there is no key of that id;
 * E_SEALED: the key does not open it; E_MALFORMED: it is not sealed, or too
 * short to be.
 */
MUST_USE int seal_open(const struct conf_store *conf,
    const struct seal_about *about, struct span sealed, char **ret_plain,
    size_t *ret_len);

/*
 * The same where a text is needed: what is sealed is in base64 (RFC 4648,
 * section 5).  All of it comes from the arena.
 */
struct span seal_close_text(struct arena *arena, const struct conf_store *conf,
    const struct seal_about *about, struct span plain);
MUST_USE bool seal_open_text(struct arena *arena, const struct conf_store *conf,
    const struct seal_about *about, struct span text, struct span *ret_plain);
