/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "record/seal.h"
#include "store/store_private.h"

/*
 * A stored answer as this store's configuration wants it: encoded, compressed
 * (store.compression), then sealed (store.encryption_keys); and the way back,
 * of whatever an earlier configuration has written.  The store's thread.
 */

/* The caller frees *ret_bytes. */
void answer_codec_write(struct store *store, const struct seal_about *about,
    const struct answer *answer, char **ret_bytes, size_t *ret_len);
/*
 * The answer of a COMPLETED record.  0; E_NO_MEMORY where the budget does not
 * allow it now; E_MALFORMED; or it cannot be decrypted, and the log has it:
 * E_NO_KEY and E_SEALED (record/seal.h).
 */
MUST_USE int answer_codec_read(struct store *store, const struct key_id *key_id,
    const struct record *record, struct answer **ret_answer);
/* The log is told that a record, or the answer in it, is none. */
void answer_codec_log_broken(const struct key_id *key_id);
