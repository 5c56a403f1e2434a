/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>
#include <zstd.h>

#include "base/answer.h"
#include "base/must.h"
#include "store/record/provenance.h"
#include "store/record/reason.h"
#include "store/record/state.h"

/*
 * The value of a record in Redis, as C reads it: a head of fixed layout
 * (described and written by src/store/record/lua/layout.lua), the line of its
 * provenance, and the stored answer.  C never writes a head.  Malformed bytes
 * give an error, never harm.  It knows neither keys of Redis nor encryption.
 * Pure; any thread.
 */
enum { RECORD_HEAD_BYTES = 100, TOKEN_CHARS = 22 };

/* The spans point into the value that was read. */
struct record {
	enum record_state state;
	enum reason reason;
	uint32_t attempt;
	uint32_t tries;
	int64_t created_ms; /* since 1970, by Redis' clock, as the next two */
	int64_t changed_ms;
	int64_t lease_until_ms; /* COMPLETED: when the record ends */
	struct span owner;
	struct span fingerprint;
	struct provenance from;
	struct span rest; /* COMPLETED: the stored answer */
};

/*
 * Reads a value; E_MALFORMED where it is no record of our versions ("o1", and
 * "o2" with notes, which are for the scripts).
 */
MUST_USE int record_read(struct span value, struct record *ret_record);

/* The attempt alone, of a record that a script has looked at; 0: none. */
uint32_t record_attempt(struct span value);

/*
 * Encodes an answer as it is stored: "p" and a newline and plain text, or "z
 * SIZE" and a newline and that text compressed, SIZE bytes before (Zstandard,
 * RFC 8878), and a frame to be skipped whose three bytes are the status, for
 * scripts.  The text is a head with the length of everything in it, and then
 * the body (put_answer in record.c).  zstd may be NULL: never compressed.  The
 * caller frees *ret_bytes.
 */
void record_encode(const struct answer *answer, ZSTD_CCtx *zstd,
    char **ret_bytes, size_t *ret_len);
/*
 * The reverse: 0; E_MALFORMED; or E_NO_MEMORY where the budget does not allow
 * the body.  The caller unrefs *ret_answer.
 */
MUST_USE int record_decode(struct span stored, ZSTD_DCtx *zstd,
    struct budget *budget, struct answer **ret_answer);
