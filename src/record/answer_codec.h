/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "record/seal.h"

/*
 * An answer as it rests in a record: encoded, compressed (store.compression),
 * then sealed (store.encryption_keys), as the configuration wants it; and the
 * way back, of whatever an earlier configuration has written.  It knows
 * nothing of Redis.  One thread, which is its owner's.
 */
struct answer_codec {
	const struct conf_store *conf;
	struct budget *budget; /* of the bodies that are read */
	/* Its own: */
	ZSTD_CCtx *compress; /* NULL: store.compression is none */
	ZSTD_DCtx *decompress;
};

/* Configuration and budget outlive it; answer_codec_end frees the rest. */
void answer_codec_init(struct answer_codec *codec,
    const struct conf_store *conf, struct budget *budget);
void answer_codec_end(struct answer_codec *codec);

/* The caller frees *ret_bytes. */
void answer_codec_write(const struct answer_codec *codec,
    const struct seal_about *about, const struct answer *answer,
    char **ret_bytes, size_t *ret_len);
/*
 * The answer of a COMPLETED record.  0; E_NO_MEMORY where the budget does not
 * allow it now; E_MALFORMED; or it cannot be decrypted, and the log has it:
 * E_NO_KEY and E_SEALED (record/seal.h).
 */
MUST_USE int answer_codec_read(const struct answer_codec *codec,
    const struct key_id *key_id, const struct record *record,
    struct answer **ret_answer);
/* The log is told that a record, or the answer in it, makes no sense. */
void answer_codec_log_broken(const struct key_id *key_id);
