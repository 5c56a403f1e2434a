/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/digits.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "store/record/answer_codec.h"

enum {
	COMPRESS_FROM = 512, /* bytes; below it zstd gains nothing */
	COMPRESS_LEVEL = 1,
	LINE_BYTES = 128, /* the longest line of numbers that is written */
	FIELD_BYTES = 2 * (DIGITS_MAX + 1) + 3, /* what is put to a field */
	FIELD_LEAST = 8,  /* the shortest field that can be stored */
	STATUS_DIGITS = 3,
};

/* --- encoding --- */

/* A number and the byte after it: a blank or the end of the line. */
static char *
put_number(char *at, size_t number, char behind)
{
	at += digits_put(at, (int64_t)number);
	*at++ = behind;
	return at;
}

/*
 * Compresses, and puts a frame of Zstandard behind it that holds the status and
 * that readers skip; false where that does not make it smaller.
 */
static bool
compress(ZSTD_CCtx *zstd, int status, struct span plain, char **ret_bytes,
    size_t *ret_len)
{
	size_t room = ZSTD_compressBound(plain.len);
	char *bytes = mem_grow(NULL, LINE_BYTES + room);
	char *at = put_number(span_put(bytes, SPAN("z ")), plain.len, '\n');
	ZSTD_CCtx_reset(zstd, ZSTD_reset_session_and_parameters);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, COMPRESS_LEVEL);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
	size_t len = ZSTD_compress2(zstd, at, room, plain.ptr, plain.len);
	if (!ZSTD_isError(len)) {
		at = span_put(at + len, SPAN("P*M\x18\3\0\0\0"));
		digits_pad(at, STATUS_DIGITS, status);
		len = (size_t)(at + STATUS_DIGITS - bytes);
		if (len < plain.len) {
			*ret_bytes = bytes;
			*ret_len = len;
			return true;
		}
	}
	free(bytes);
	return false;
}

/*
 * The text is a line of six numbers: status, head_length (or "-"), 1 where the
 * body was too large to keep, number of fields, lengths of the request's id and
 * of the body.  Then the id; each field with its two lengths; the body.
 */
void
answer_codec_encode(const struct answer *answer, ZSTD_CCtx *zstd,
    char **ret_bytes, size_t *ret_len)
{
	size_t most = 2 * LINE_BYTES + answer->request_id.len +
	    answer->body.len;
	for (size_t i = 0; i < answer->fields.count; i++)
		most += FIELD_BYTES + answer->fields.list[i].name.len +
		    answer->fields.list[i].value.len;
	char *bytes = mem_grow(NULL, most);
	char *plain = span_put(bytes, SPAN("p\n"));
	char *at = put_number(plain, (size_t)answer->status, ' ');
	if (answer->head_length >= 0)
		at = put_number(at, (size_t)answer->head_length, ' ');
	else
		at = span_put(at, SPAN("- "));
	at = put_number(at, answer->not_kept, ' ');
	at = put_number(at, answer->fields.count, ' ');
	at = put_number(at, answer->request_id.len, ' ');
	at = put_number(at, answer->body.len, '\n');
	at = span_put(at, answer->request_id);
	at = span_put(at, SPAN("\n"));
	for (size_t i = 0; i < answer->fields.count; i++) {
		const struct field *field = &answer->fields.list[i];
		at = put_number(at, field->name.len, ' ');
		at = put_number(at, field->value.len, '\n');
		at = span_put(at, field->name);
		at = span_put(at, SPAN(": "));
		at = span_put(at, field->value);
		at = span_put(at, SPAN("\n"));
	}
	at = span_put(at, body_span(&answer->body));
	size_t len = (size_t)(at - plain);
	if (zstd != NULL && len > COMPRESS_FROM &&
	    compress(zstd, answer->status, span_of(plain, len), ret_bytes,
		ret_len)) {
		free(bytes);
		return;
	}
	*ret_bytes = bytes;
	*ret_len = (size_t)(at - bytes);
}

/* --- decoding --- */

/* Cuts a number of 1 to 18 digits off, and the byte behind it. */
static bool
cut_number(struct span *left, char byte, int64_t *ret_number)
{
	struct span digits;
	return span_cut(left, byte, &digits) && digits.len <= 18 &&
	    digits_read(digits, INT64_MAX, ret_number);
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
	struct span request_id;
	int64_t status, head_length = -1, not_kept, count, id_len, body_len;
	if (!cut_number(&left, ' ', &status))
		return E_MALFORMED;
	if (!span_skip(&left, SPAN("- ")) &&
	    !cut_number(&left, ' ', &head_length))
		return E_MALFORMED;
	if (!cut_number(&left, ' ', &not_kept) ||
	    !cut_number(&left, ' ', &count) ||
	    !cut_number(&left, ' ', &id_len) ||
	    !cut_number(&left, '\n', &body_len) ||
	    !cut_bytes(&left, id_len, SPAN("\n"), &request_id))
		return E_MALFORMED;
	/* Of one that is not kept nobody may know the status either. */
	bool has_status = status >= 200 && status <= 599;
	if ((!has_status && (status != 0 || not_kept != 1)) || not_kept > 1 ||
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
		error = body_reserve(owned, left.len, BUDGET_COMMON);
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

int
answer_codec_decode(struct span stored, ZSTD_DCtx *zstd, struct budget *budget,
    struct answer **ret_answer)
{
	struct body body = {.budget = budget};
	int64_t size;
	if (span_skip(&stored, SPAN("p\n")))
		return parse_answer(stored, &body, ret_answer);
	if (!span_skip(&stored, SPAN("z ")))
		return E_MALFORMED;
	/* A frame whose own size differs from ours is not what we wrote. */
	if (!cut_number(&stored, '\n', &size) || size == 0 ||
	    ZSTD_getFrameContentSize(stored.ptr, stored.len) !=
		(unsigned long long)size)
		return E_MALFORMED;
	int error = body_reserve(&body, (size_t)size, BUDGET_COMMON);
	if (error != 0)
		return error;
	size_t len = ZSTD_decompressDCtx(
	    zstd, body.ptr, (size_t)size, stored.ptr, stored.len);
	if (ZSTD_isError(len) || len != (size_t)size) {
		error = E_MALFORMED;
	} else {
		body.len = len;
		error = parse_answer(body_span(&body), &body, ret_answer);
	}
	body_clear(&body);
	return error;
}

/* --- as the configuration wants it --- */

void
answer_codec_init(struct answer_codec *codec, const struct conf_store *conf,
    struct budget *budget)
{
	*codec = (struct answer_codec){.conf = conf, .budget = budget};
	codec->decompress = ZSTD_createDCtx();
	must(codec->decompress != NULL);
	if (!conf->compression)
		return;
	codec->compress = ZSTD_createCCtx();
	must(codec->compress != NULL);
}

void
answer_codec_end(struct answer_codec *codec)
{
	ZSTD_freeCCtx(codec->compress);
	ZSTD_freeDCtx(codec->decompress);
	*codec = (struct answer_codec){0};
}

struct span
answer_codec_write(const struct answer_codec *codec,
    const struct key_id *key_id, uint32_t attempt, struct span fingerprint,
    const struct answer *answer, char **ret_bytes)
{
	size_t len;
	answer_codec_encode(answer, codec->compress, ret_bytes, &len);
	if (codec->conf->n_encryption_keys > 0) {
		const struct seal_about about = {.key_id = *key_id,
		    .state = STATE_COMPLETED,
		    .attempt = attempt,
		    .fingerprint = fingerprint};
		char *plain = *ret_bytes;
		seal_close(codec->conf, &about, span_of(plain, len), ret_bytes,
		    &len);
		free(plain);
	}
	return span_of(*ret_bytes, len);
}

void
answer_codec_log(
    enum event event, const struct key_id *key_id, struct span id)
{
	char hex[DIGEST_HEX + 1];
	hex_encode(key_id->bytes, DIGEST_BYTES, hex);
	struct logline line = log_begin(event);
	log_str(&line, "key_id", hex);
	if (id.len > 0)
		log_span(&line, "encryption_key", id);
	log_end(&line);
}

int
answer_codec_read(const struct answer_codec *codec,
    const struct key_id *key_id, const struct record *record,
    struct answer **ret_answer)
{
	struct span stored = record->rest, id = SPAN("");
	char *plain = NULL;
	size_t len;
	int error = 0;
	if (seal_key_of(record->rest, &id)) {
		const struct seal_about about = {.key_id = *key_id,
		    .state = record->state,
		    .attempt = record->attempt,
		    .fingerprint = record->fingerprint};
		error = seal_open(
		    codec->conf, &about, record->rest, &plain, &len);
		if (error == 0)
			stored = span_of(plain, len);
	} else if (codec->conf->encryption_strict && INVARIANT(plain_refused)) {
		error = E_PLAIN;
	}
	if (error == 0)
		error = answer_codec_decode(
		    stored, codec->decompress, codec->budget, ret_answer);
	if (error == E_NO_MEMORY && codec->budget != NULL) {
		struct span left = stored, type;
		int64_t size = (int64_t)stored.len;
		if (span_starts(stored, SPAN("z ")) &&
		    span_cut(&left, ' ', &type))
			(void)!cut_number(&left, '\n', &size);
		if ((uint64_t)size > budget_limit(codec->budget))
			error = E_TOO_LARGE;
	}
	free(plain);
	if (error == E_PLAIN)
		answer_codec_log(EV_answer_not_encrypted, key_id, id);
	else if (error == E_NO_KEY)
		answer_codec_log(EV_encryption_key_missing, key_id, id);
	else if (error == E_SEALED)
		answer_codec_log(EV_answer_not_authentic, key_id, id);
	return error;
}

bool
answer_codec_is_shut(int error)
{
	return error == E_PLAIN || error == E_NO_KEY || error == E_SEALED;
}
