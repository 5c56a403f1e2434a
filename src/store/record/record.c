/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/digits.h"
#include "base/error.h"
#include "store/record/record.h"

uint32_t
record_attempt(struct span value)
{
	enum { AT = 4, CHARS = 6 };
	int64_t attempt;
	bool has = value.len >= AT + CHARS &&
	    digits_read(span_of(value.ptr + AT, CHARS), INT32_MAX, &attempt);
	return has ? (uint32_t)attempt : 0;
}

int
record_read(struct span value, struct record *ret_record)
{
	struct record *r = ret_record;
	bool notes = span_starts(value, SPAN("o2"));
	struct span line, told;
	if (value.len < RECORD_HEAD_BYTES + 1 ||
	    (!notes && !span_starts(value, SPAN("o1"))) ||
	    (value.ptr[RECORD_HEAD_BYTES - 1] != '\n' &&
		value.ptr[RECORD_HEAD_BYTES - 1] != '+'))
		return E_MALFORMED;

	int64_t attempt, tries;
	const char *at = value.ptr;
	if (!state_of(at[2], &r->state) || !reason_of(at[3], &r->reason) ||
	    !digits_read(span_of(at + 4, 6), INT32_MAX, &attempt) ||
	    !digits_read(span_of(at + 10, 6), INT32_MAX, &tries) ||
	    !digits_read(span_of(at + 16, 13), INT64_MAX, &r->created_ms) ||
	    !digits_read(span_of(at + 29, 13), INT64_MAX, &r->changed_ms) ||
	    !digits_read(
		span_of(at + 42, 13), INT64_MAX, &r->lease_until_ms))
		return E_MALFORMED;
	r->attempt = (uint32_t)attempt;
	r->tries = (uint32_t)tries;
	r->owner = span_of(at + 55, TOKEN_CHARS);
	r->fingerprint = span_of(at + 77, TOKEN_CHARS);
	r->rest = span_from(value, RECORD_HEAD_BYTES);
	if (!span_cut(&r->rest, '\n', &line) ||
	    (notes && !span_cut(&r->rest, '\n', &told)))
		return E_MALFORMED;
	r->from = provenance_read(line);
	return 0;
}
