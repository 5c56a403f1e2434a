/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <zstd.h>

#include "base/answer.h"
#include "base/loop/log.h"
#include "store/record/seal.h"

/*
 * It makes of an answer the bytes that are stored in a record: encoded,
 * compressed (store.compression), then sealed (store.encryption_keys), as the
 * configuration wants it; and reads them again, whatever an earlier
 * configuration has written.  It knows nothing of Redis.  Its owner's thread
 * only.
 */
struct answer_codec {
	const struct conf_store *conf;
	struct budget *budget; /* of bodies, for the answers that are read */
	/* The codec's own: */
	ZSTD_CCtx *compress; /* NULL: store.compression is none */
	ZSTD_DCtx *decompress;
};

/* conf and budget must outlive it; answer_codec_end frees what it allocates. */
void answer_codec_init(struct answer_codec *codec,
    const struct conf_store *conf, struct budget *budget);
void answer_codec_end(struct answer_codec *codec);

/*
 * The bytes of an answer as that attempt's COMPLETED record has them, for which
 * they are sealed: without encryption keys fingerprint (TOKEN_CHARS) is not
 * read.  The caller frees *ret_bytes.
 */
struct span answer_codec_write(const struct answer_codec *codec,
    const struct key_id *key_id, uint32_t attempt, struct span fingerprint,
    const struct answer *answer, char **ret_bytes);
/*
 * Reads the answer of a COMPLETED record.  0; E_NO_MEMORY where the budget does
 * not allow it now, E_TOO_LARGE where all of it would not; E_MALFORMED; or,
 * logged here, that it does not open: E_NO_KEY or E_SEALED (record/seal.h), or
 * E_PLAIN (it must be sealed and is not).  The caller unrefs *ret_answer.
 */
MUST_USE int answer_codec_read(const struct answer_codec *codec,
    const struct key_id *key_id, const struct record *record,
    struct answer **ret_answer);
/* True where that error of answer_codec_read means that it does not open. */
bool answer_codec_is_shut(int error);
/*
 * Logs such an event of a record: EV_record_broken, which or whose answer is
 * malformed, or of the encryption key of that id; empty: none is named.
 */
void answer_codec_log(
    enum event event, const struct key_id *key_id, struct span id);

/*
 * Encodes an answer as it is stored: "p" and a newline and plain text, or "z
 * SIZE" and a newline and that text compressed, SIZE bytes before (Zstandard,
 * RFC 8878), and a frame to be skipped whose three bytes are the status, for
 * scripts.  The text is a head with the length of everything in it, and then
 * the body (answer_codec.c).  zstd is NULL: it is not compressed.  The caller
 * frees *ret_bytes.
 */
void answer_codec_encode(const struct answer *answer, ZSTD_CCtx *zstd,
    char **ret_bytes, size_t *ret_len);
/*
 * The reverse: 0; E_MALFORMED; or E_NO_MEMORY where the budget does not allow
 * the body.  The caller unrefs *ret_answer.
 */
MUST_USE int answer_codec_decode(struct span stored, ZSTD_DCtx *zstd,
    struct budget *budget, struct answer **ret_answer);
