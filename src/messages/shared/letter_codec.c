/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/digits.h"
#include "messages/shared/letter_codec.h"

enum {
	STATUS_MAX = 999,
	REASON_MAX = 32, /* bytes */
	LEAST_BYTES = 3, /* of a part: "0:," */
};

/* --- writing --- */

/* ptr NULL: there is none. */
static void
put_part(FILE *out, struct span part)
{
	if (part.ptr == NULL) {
		fputs("-,", out);
		return;
	}
	fprintf(out, "%zu:", part.len);
	fwrite(part.ptr, 1, part.len, out);
	fputc(',', out);
}

/* Below 0: there is none. */
static void
put_number(FILE *out, int64_t number)
{
	char digits[DIGITS_MAX];
	put_part(out, number < 0
		? (struct span){NULL, 0}
		: span_of(digits, digits_put(digits, number)));
}

static struct span
or_empty(struct span part)
{
	return part.ptr != NULL ? part : SPAN("");
}

static FILE *
begin(const char *version, char **ret_bytes, size_t *ret_len)
{
	FILE *out = open_memstream(ret_bytes, ret_len);
	must(out != NULL);
	fputs(version, out);
	return out;
}

void
letter_codec_put_head(
    const struct letter *letter, char **ret_bytes, size_t *ret_len)
{
	FILE *out = begin("h1\n", ret_bytes, ret_len);
	put_part(out, or_empty(letter->position));
	put_part(out, letter->reason);
	put_part(out, or_empty(letter->key_id));
	put_part(out, or_empty(letter->route));
	put_part(out, or_empty(letter->detail));
	put_part(out, or_empty(letter->label));
	put_number(out, letter->status);
	put_number(out, letter->attempt);
	put_number(out, letter->first_ms);
	must(fclose(out) == 0);
}

void
letter_codec_put_body(
    const struct letter *letter, char **ret_bytes, size_t *ret_len)
{
	const struct span none = {NULL, 0};
	FILE *out = begin("b1\n", ret_bytes, ret_len);
	put_number(out, letter->is_cut);
	put_part(out, letter->has_payload ? or_empty(letter->payload) : none);
	put_part(out, letter->key);
	put_part(out, letter->entity);
	put_part(out, letter->type);
	put_part(out, letter->part);
	put_number(out, letter->time_ms);
	put_part(out, letter->answer);
	put_number(out, (int64_t)letter->fields.count);
	for (size_t i = 0; i < letter->fields.count; i++) {
		put_part(out, or_empty(letter->fields.list[i].name));
		put_part(out, or_empty(letter->fields.list[i].value));
	}
	must(fclose(out) == 0);
}

/* --- reading --- */

static bool
take_version(struct span *left, struct span version)
{
	if (!span_starts(*left, version))
		return false;
	*left = span_from(*left, version.len);
	return true;
}

/* One way to write a number, as one letter has one text. */
static bool
read_digits(struct span digits, int64_t max, int64_t *ret_number)
{
	return digits_read(digits, max, ret_number) &&
	    (digits.len == 1 || digits.ptr[0] != '0');
}

static bool
take_optional(struct span *left, struct span *ret_part)
{
	struct span digits;
	int64_t len;
	*ret_part = (struct span){NULL, 0};
	if (span_starts(*left, SPAN("-,")))
		return take_version(left, SPAN("-,"));
	if (!span_cut(left, ':', &digits) ||
	    !read_digits(digits, INT64_MAX, &len) ||
	    (uint64_t)len >= left->len || left->ptr[len] != ',')
		return false;
	*ret_part = span_of(left->ptr, (size_t)len);
	*left = span_from(*left, (size_t)len + 1);
	return true;
}

static bool
take_part(struct span *left, struct span *ret_part)
{
	return take_optional(left, ret_part) && ret_part->ptr != NULL;
}

static bool
take_number(struct span *left, int64_t max, int64_t *ret_number)
{
	struct span part;
	return take_part(left, &part) && read_digits(part, max, ret_number);
}

static bool
is_reason(struct span word)
{
	for (size_t i = 0; i < word.len; i++)
		if ((word.ptr[i] < 'a' || word.ptr[i] > 'z') &&
		    word.ptr[i] != '-')
			return false;
	return word.len > 0 && word.len <= REASON_MAX;
}

bool
letter_codec_read_head(struct span bytes, struct letter *letter)
{
	int64_t status, attempt;
	uint8_t key_id[DIGEST_BYTES];
	if (!take_version(&bytes, SPAN("h1\n")) ||
	    !take_part(&bytes, &letter->position) ||
	    !take_part(&bytes, &letter->reason) ||
	    !is_reason(letter->reason) ||
	    !take_part(&bytes, &letter->key_id) ||
	    (letter->key_id.len > 0 &&
		!hex_decode(letter->key_id, key_id, sizeof key_id)) ||
	    !take_part(&bytes, &letter->route) ||
	    !take_part(&bytes, &letter->detail) ||
	    !take_part(&bytes, &letter->label) ||
	    !take_number(&bytes, STATUS_MAX, &status) ||
	    !take_number(&bytes, UINT32_MAX, &attempt) ||
	    !take_number(&bytes, INT64_MAX, &letter->first_ms))
		return false;
	letter->status = (int)status;
	letter->attempt = (uint32_t)attempt;
	return bytes.len == 0;
}

static bool
take_fields(struct span *left, struct arena *arena, struct fields *ret_fields)
{
	int64_t count;
	if (!take_number(left, INT64_MAX, &count) ||
	    (uint64_t)count > left->len / (2 * LEAST_BYTES))
		return false;
	struct field *list =
	    arena_alloc(arena, ((size_t)count + 1) * sizeof *list);
	for (int64_t i = 0; i < count; i++)
		if (!take_part(left, &list[i].name) ||
		    !take_part(left, &list[i].value))
			return false;
	*ret_fields = (struct fields){list, (size_t)count};
	return true;
}

bool
letter_codec_read_body(
    struct span bytes, struct arena *arena, struct letter *letter)
{
	int64_t is_cut;
	struct span time;
	if (!take_version(&bytes, SPAN("b1\n")) ||
	    !take_number(&bytes, 1, &is_cut) ||
	    !take_optional(&bytes, &letter->payload) ||
	    !take_optional(&bytes, &letter->key) ||
	    !take_optional(&bytes, &letter->entity) ||
	    !take_optional(&bytes, &letter->type) ||
	    !take_optional(&bytes, &letter->part) ||
	    !take_optional(&bytes, &time) ||
	    !take_optional(&bytes, &letter->answer) ||
	    !take_fields(&bytes, arena, &letter->fields))
		return false;
	letter->is_cut = is_cut == 1;
	letter->has_payload = letter->payload.ptr != NULL;
	letter->time_ms = -1;
	return bytes.len == 0 &&
	    (time.ptr == NULL ||
		read_digits(time, INT64_MAX, &letter->time_ms));
}
