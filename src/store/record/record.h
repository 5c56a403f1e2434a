/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

#include "base/must.h"
#include "store/record/key_id.h"
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
	enum reason reason; /* of an UNKNOWN */
	uint32_t attempt;
	/* So many were sent, and count, since an operator last set it free. */
	uint32_t tries;
	int64_t created_ms; /* since 1970, by Redis' clock, as the next two */
	int64_t changed_ms;
	int64_t lease_until_ms; /* COMPLETED: when the record ends */
	struct span owner;
	struct span fingerprint;
	struct provenance from;
	struct span rest; /* COMPLETED: the stored answer (answer_codec.h) */
	/* The value has them not; records.h sets them, for operators: */
	struct key_id key_id;
	int64_t expires_ms; /* 0: never */
};

/*
 * Reads a value, up to rest; E_MALFORMED where it is no record of our versions
 * ("o1", and "o2" with notes, which are for the scripts), and nothing of
 * *ret_record may be read then.
 */
MUST_USE int record_read(struct span value, struct record *ret_record);

/* The attempt alone, of a record that a script has read; 0: none. */
uint32_t record_attempt(struct span value);
