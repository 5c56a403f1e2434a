/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>
#include <zstd.h>

#include "base/answer.h"
#include "base/must.h"
#include "record/reason.h"
#include "record/state.h"

/*
 * What stands in Redis under a record's name, as C sees it: the head of
 * fixed layout (src/lua/record.lua describes and writes it) and the stored
 * answer behind it.  Whatever the bytes are, reading them ends well or with
 * a code.  Pure; any thread.
 */
enum { RECORD_HEAD_BYTES = 100, TOKEN_CHARS = 22 };

/* Spans point into the value that was read. */
struct record {
	enum record_state state;
	enum reason reason;
	uint32_t attempt;
	uint32_t tries;
	int64_t created_ms; /* since 1970, on Redis' clock, as the next two */
	int64_t changed_ms;
	int64_t lease_until_ms; /* COMPLETED: when the record ends */
	struct span owner;
	struct span fingerprint;
	struct span route;
	struct span rest; /* COMPLETED: the stored answer */
};

/* Takes a value apart; E_MALFORMED where it is no record of our version. */
MUST_USE int record_read(struct span value, struct record *ret_record);

/*
 * An answer as it is stored: "p" and a newline, or "z SIZE" and a newline
 * and zstd of SIZE bytes; then a text head with every length said, and the
 * body.  zstd may be NULL: never compressed.  The caller frees *ret_bytes.
 */
void record_encode(const struct answer *answer, ZSTD_CCtx *zstd,
    char **ret_bytes, size_t *ret_len);
/*
 * The reverse: 0, E_MALFORMED, or E_NO_MEMORY where the budget does not
 * allow the body.
 */
MUST_USE int record_decode(struct span stored, ZSTD_DCtx *zstd,
    struct budget *budget, struct answer **ret_answer);
