/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <stdlib.h>

#include "base/digits.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "store/record/record.h"

enum {
	COMPRESS_FROM = 512, /* bytes; below it zstd gains nothing */
	COMPRESS_LEVEL = 1,
	LINE_BYTES = 128, /* the longest line of numbers that is written */
	FIELD_BYTES = 2 * (DIGITS_MAX + 1) + 3, /* what is put to a field */
	FIELD_LEAST = 8,  /* the shortest field that can be stored */
	STATUS_DIGITS = 3,
};

/* --- reading numbers and bytes --- */

/* All of s, 1 to 18 digits. */
static bool
read_number(struct span s, int64_t *ret_number)
{
	return s.len <= 18 && digits_read(s, INT64_MAX, ret_number);
}

uint32_t
record_attempt(struct span value)
{
	enum { AT = 4, CHARS = 6 };
	int64_t attempt;
	bool has = value.len >= AT + CHARS &&
	    read_number(span_of(value.ptr + AT, CHARS), &attempt);
	return has ? (uint32_t)attempt : 0;
}

/* Cuts off everything up to a byte, and the byte itself. */
static bool
cut_before(struct span *left, char byte, struct span *ret_piece)
{
	const char *end = left->len ? memchr(left->ptr, byte, left->len) : NULL;
	if (end == NULL)
		return false;
	*ret_piece = span_of(left->ptr, (size_t)(end - left->ptr));
	*left = span_from(*left, ret_piece->len + 1);
	return true;
}

static bool
cut_number(struct span *left, char byte, int64_t *ret_number)
{
	struct span piece;
	return cut_before(left, byte, &piece) && read_number(piece, ret_number);
}

/* Cuts off len bytes and the bytes that must follow them. */
static bool
cut_bytes(struct span *left, int64_t len, struct span follows,
    struct span *ret_piece)
{
	if ((uint64_t)len > left->len ||
	    !span_starts(span_from(*left, (size_t)len), follows))
		return false;
	*ret_piece = span_of(left->ptr, (size_t)len);
	*left = span_from(*left, (size_t)len + follows.len);
	return true;
}

/* --- the head --- */

int
record_read(struct span value, struct record *ret_record)
{
	struct record r;
	bool notes = span_starts(value, SPAN("o2"));
	struct span line, skipped;
	if (value.len < RECORD_HEAD_BYTES + 1 ||
	    (!notes && !span_starts(value, SPAN("o1"))) ||
	    (value.ptr[RECORD_HEAD_BYTES - 1] != '\n' &&
		value.ptr[RECORD_HEAD_BYTES - 1] != '+'))
		return E_MALFORMED;

	int64_t attempt, tries;
	const char *at = value.ptr;
	if (!state_of(at[2], &r.state) || !reason_of(at[3], &r.reason) ||
	    !read_number(span_of(at + 4, 6), &attempt) ||
	    !read_number(span_of(at + 10, 6), &tries) ||
	    !read_number(span_of(at + 16, 13), &r.created_ms) ||
	    !read_number(span_of(at + 29, 13), &r.changed_ms) ||
	    !read_number(span_of(at + 42, 13), &r.lease_until_ms))
		return E_MALFORMED;
	r.attempt = (uint32_t)attempt;
	r.tries = (uint32_t)tries;
	r.owner = span_of(at + 55, TOKEN_CHARS);
	r.fingerprint = span_of(at + 77, TOKEN_CHARS);
	r.rest = span_from(value, RECORD_HEAD_BYTES);
	if (!cut_before(&r.rest, '\n', &line) ||
	    (notes && !cut_before(&r.rest, '\n', &skipped)))
		return E_MALFORMED;
	r.from = provenance_read(line);
	*ret_record = r;
	return 0;
}

/* --- the stored answer --- */

static size_t
most_bytes(const struct answer *answer)
{
	size_t bytes = 2 * LINE_BYTES + answer->request_id.len +
	    answer->body.len;
	for (size_t i = 0; i < answer->fields.count; i++)
		bytes += FIELD_BYTES + answer->fields.list[i].name.len +
		    answer->fields.list[i].value.len;
	return bytes;
}

static char *
put(char *at, struct span s)
{
	if (s.len > 0)
		memcpy(at, s.ptr, s.len);
	return at + s.len;
}

/* A number and the byte after it: a blank or the end of the line. */
static char *
put_number(char *at, size_t number, char behind)
{
	at += digits_put(at, (int64_t)number);
	*at++ = behind;
	return at;
}

/*
 * A line of six numbers: status, head_length (or "-"), 1 where the body was too
 * large to keep, number of fields, lengths of the request's id and of the body.
 * Then the id; each field with its two lengths; the body.
 */
static char *
put_answer(char *at, const struct answer *answer)
{
	at = put_number(at, (size_t)answer->status, ' ');
	if (answer->head_length >= 0)
		at = put_number(at, (size_t)answer->head_length, ' ');
	else
		at = put(at, SPAN("- "));
	at = put_number(at, answer->not_kept, ' ');
	at = put_number(at, answer->fields.count, ' ');
	at = put_number(at, answer->request_id.len, ' ');
	at = put_number(at, answer->body.len, '\n');
	at = put(at, answer->request_id);
	at = put(at, SPAN("\n"));
	for (size_t i = 0; i < answer->fields.count; i++) {
		const struct field *field = &answer->fields.list[i];
		at = put_number(at, field->name.len, ' ');
		at = put_number(at, field->value.len, '\n');
		at = put(at, field->name);
		at = put(at, SPAN(": "));
		at = put(at, field->value);
		at = put(at, SPAN("\n"));
	}
	return put(at, body_span(&answer->body));
}

/* A frame of Zstandard that holds the status and that readers skip. */
static char *
put_skipped(char *at, int status)
{
	at = put(at, SPAN("P*M\x18\3\0\0\0"));
	digits_pad(at, STATUS_DIGITS, status);
	return at + STATUS_DIGITS;
}

/* Compresses; false where that does not make it smaller. */
static bool
squeeze(ZSTD_CCtx *zstd, int status, struct span plain, char **ret_bytes,
    size_t *ret_len)
{
	size_t room = ZSTD_compressBound(plain.len);
	char *bytes = mem_grow(NULL, LINE_BYTES + room);
	char *at = put_number(put(bytes, SPAN("z ")), plain.len, '\n');
	ZSTD_CCtx_reset(zstd, ZSTD_reset_session_and_parameters);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, COMPRESS_LEVEL);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	size_t len = ZSTD_compress2(zstd, at, room, plain.ptr, plain.len);
	char *end = ZSTD_isError(len) ? at : put_skipped(at + len, status);
	if (end == at || (size_t)(end - bytes) >= plain.len) {
		free(bytes);
		return false;
	}
	*ret_bytes = bytes;
	*ret_len = (size_t)(end - bytes);
	return true;
}

void
record_encode(const struct answer *answer, ZSTD_CCtx *zstd, char **ret_bytes,
    size_t *ret_len)
{
	char *bytes = mem_grow(NULL, most_bytes(answer));
	char *plain = put(bytes, SPAN("p\n"));
	char *end = put_answer(plain, answer);
	size_t len = (size_t)(end - plain);
	if (zstd != NULL && len > COMPRESS_FROM &&
	    squeeze(zstd, answer->status, span_of(plain, len), ret_bytes,
		ret_len)) {
		free(bytes);
		return;
	}
	*ret_bytes = bytes;
	*ret_len = (size_t)(end - bytes);
}

static bool
cut_fields(struct span *left, struct fields *fields)
{
	for (size_t i = 0; i < fields->count; i++) {
		struct field *field = &fields->list[i];
		int64_t name_len, value_len;
		if (!cut_number(left, ' ', &name_len) ||
		    !cut_number(left, '\n', &value_len) || name_len == 0 ||
		    !cut_bytes(left, name_len, SPAN(": "), &field->name) ||
		    !cut_bytes(left, value_len, SPAN("\n"), &field->value) ||
		    ((!field_is_token(field->name) ||
			 !field_is_value(field->value)) &&
			INVARIANT(stored_lines)))
			return false;
	}
	return true;
}

/*
 * Reads the plain text of an answer.  owned either holds the text already, or
 * is empty, and the body is copied into it.
 */
static int
parse_answer(struct span left, struct body *owned, struct answer **ret_answer)
{
	struct span word, request_id;
	int64_t status, head_length = -1, not_kept, count, id_len, body_len;
	if (!cut_number(&left, ' ', &status) ||
	    !cut_before(&left, ' ', &word) ||
	    (!span_eq(word, SPAN("-")) && !read_number(word, &head_length)) ||
	    !cut_number(&left, ' ', &not_kept) ||
	    !cut_number(&left, ' ', &count) ||
	    !cut_number(&left, ' ', &id_len) ||
	    !cut_number(&left, '\n', &body_len) ||
	    !cut_bytes(&left, id_len, SPAN("\n"), &request_id))
		return E_MALFORMED;
	if (status < 200 || status > 599 || not_kept > 1 ||
	    (uint64_t)count > left.len / FIELD_LEAST ||
	    !field_is_value(request_id))
		return E_MALFORMED;

	struct fields fields = {
	    mem_zero((size_t)count * sizeof *fields.list), (size_t)count};
	bool whole =
	    cut_fields(&left, &fields) && left.len == (uint64_t)body_len;
	int error = whole ? 0 : E_MALFORMED;
	struct answer *answer = NULL;
	if (error == 0) {
		/* Fields and id are copied before the text moves. */
		answer = answer_new((int)status, &fields, NULL, request_id);
		answer->head_length = head_length;
		answer->not_kept = not_kept == 1;
	}
	free(fields.list);
	if (error == 0 && owned->ptr == NULL) {
		error = body_reserve(owned, left.len);
		if (error == 0)
			error = body_append(owned, left.ptr, left.len);
	} else if (error == 0) {
		memmove(owned->ptr, left.ptr, left.len);
		owned->len = left.len;
	}
	if (error != 0) {
		answer_unref(&answer);
		return error;
	}
	body_move(&answer->body, owned);
	*ret_answer = answer;
	return 0;
}

/* A frame whose own size differs from ours is not what we wrote. */
static int
unsqueeze(struct span frame, int64_t size, ZSTD_DCtx *zstd, struct body *body)
{
	if (ZSTD_getFrameContentSize(frame.ptr, frame.len) !=
		(unsigned long long)size ||
	    size == 0)
		return E_MALFORMED;
	int error = body_reserve(body, (size_t)size);
	if (error != 0)
		return error;
	size_t len = ZSTD_decompressDCtx(
	    zstd, body->ptr, (size_t)size, frame.ptr, frame.len);
	if (ZSTD_isError(len) || len != (size_t)size)
		return E_MALFORMED;
	body->len = len;
	return 0;
}

int
record_decode(struct span stored, ZSTD_DCtx *zstd, struct budget *budget,
    struct answer **ret_answer)
{
	struct body body;
	body_init(&body, budget);
	if (span_starts(stored, SPAN("p\n")))
		return parse_answer(span_from(stored, 2), &body, ret_answer);

	int64_t size;
	if (!span_starts(stored, SPAN("z ")))
		return E_MALFORMED;
	stored = span_from(stored, 2);
	if (!cut_number(&stored, '\n', &size))
		return E_MALFORMED;
	int error = unsqueeze(stored, size, zstd, &body);
	if (error == 0)
		error = parse_answer(body_span(&body), &body, ret_answer);
	body_clear(&body);
	return error;
}
