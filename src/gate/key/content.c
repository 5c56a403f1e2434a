/* SPDX-License-Identifier: BSD-2-Clause */
#include <zlib.h>

#include "base/ascii.h"
#include "base/error.h"
#include "gate/key/content.h"

/* --- what it is --- */

/* The value of a field that is there once; empty otherwise. */
static struct span
only_value(const struct fields *fields, struct span name)
{
	size_t at = 0;
	const struct field *f = fields_next(fields, name, &at);
	if (f == NULL || fields_next(fields, name, &at) != NULL)
		return SPAN("");
	return span_trim(f->value);
}

/*
 * The one boundary among a type's parameters (RFC 2046, section 5.1.1); false:
 * there is none, or it is not as it must be.
 */
static bool
find_boundary(struct span parameters, struct span *ret_boundary)
{
	struct span parameter, name;
	bool found = false;
	while (span_next(&parameters, ';', &parameter)) {
		struct span value = parameter;
		if (!span_cut(&value, '=', &name) ||
		    !span_ieq(span_trim(name), SPAN("boundary")))
			continue;
		value = span_trim(value);
		bool quoted = value.len >= 2 && value.ptr[0] == '"' &&
		    value.ptr[value.len - 1] == '"';
		if (quoted)
			value = span_of(value.ptr + 1, value.len - 2);
		if (found || value.len == 0 || value.len > 70 ||
		    memchr(value.ptr, '"', value.len) != NULL ||
		    memchr(value.ptr, '\\', value.len) != NULL)
			return false;
		*ret_boundary = value;
		found = true;
	}
	return found;
}

/* --- gzip --- */

enum {
	GZIP_ONLY = 16 + MAX_WBITS, /* see zlib.h: inflateInit2 */
	PIECE_BYTES = 16 * 1024,
};

/*
 * One member after the other; Z_DATA_ERROR: it is no gzip, or broken;
 * Z_BUF_ERROR: it has more than most bytes.
 */
static int
inflate_into(z_stream *z, size_t most, struct body *decoded)
{
	unsigned char piece[PIECE_BYTES];
	int how = Z_OK;
	while (how == Z_OK || z->avail_in > 0) {
		if (how == Z_STREAM_END && inflateReset(z) != Z_OK)
			return Z_DATA_ERROR;
		z->next_out = piece;
		z->avail_out = sizeof piece;
		how = inflate(z, Z_NO_FLUSH);
		size_t len = sizeof piece - z->avail_out;
		if (how == Z_MEM_ERROR)
			return how;
		if ((how != Z_OK && how != Z_STREAM_END) ||
		    (how == Z_OK && len == 0))
			return Z_DATA_ERROR;
		if (len > most - decoded->len)
			return Z_BUF_ERROR;
		if (body_append_within(decoded, piece, len, most) != 0)
			return Z_MEM_ERROR;
	}
	return how;
}

int
content_read(struct content *content, const struct fields *fields,
    struct span body, size_t most, struct body *decoded)
{
	struct span coding = only_value(fields, SPAN("Content-Encoding"));
	struct span left = only_value(fields, SPAN("Content-Type"));
	struct span type = SPAN("");
	*content = content_of(body);
	(void)!span_next(&left, ';', &type);
	if (span_ieq(type, SPAN("application/x-www-form-urlencoded")))
		content->kind = CONTENT_FORM;
	else if (span_ieq(type, SPAN("multipart/form-data")) &&
	    find_boundary(left, &content->boundary))
		content->kind = CONTENT_UPLOAD;
	if (decoded == NULL ||
	    (!span_ieq(coding, SPAN("gzip")) &&
		!span_ieq(coding, SPAN("x-gzip"))))
		return 0;
	z_stream z = {.next_in = (unsigned char *)(uintptr_t)body.ptr,
	    .avail_in = (unsigned)body.len};
	if (body.len > UINT_MAX || inflateInit2(&z, GZIP_ONLY) != Z_OK)
		return E_NO_MEMORY;
	int how = inflate_into(&z, most, decoded);
	inflateEnd(&z);
	if (how == Z_STREAM_END) {
		content->bytes = body_span(decoded);
		content->decoded = true;
		return 0;
	}
	body_clear(decoded);
	return how == Z_MEM_ERROR ? E_NO_MEMORY : E_MALFORMED;
}

const struct json *
content_json(struct arena *arena, const struct content *content)
{
	const struct json *json = json_read(arena, content->bytes);
	struct span text = span_trim(content->bytes);
	bool is_broken_json =
	    text.len > 0 && (text.ptr[0] == '{' || text.ptr[0] == '[');
	return json == NULL && content->kind == CONTENT_FORM && !is_broken_json
	    ? json_form(arena, content->bytes)
	    : json;
}

/* --- an upload --- */

/* What is before the delimiter, which is taken, too; false: there is none. */
static bool
take_until(struct span *left, struct span delimiter, struct span *ret_before)
{
	const char *at = left->len == 0 ? NULL
	    : memmem(left->ptr, left->len, delimiter.ptr, delimiter.len);
	if (at == NULL)
		return false;
	*ret_before = span_of(left->ptr, (size_t)(at - left->ptr));
	*left = span_from(*left, ret_before->len + delimiter.len);
	return true;
}

/*
 * Reads part after part (RFC 2046, section 5.1), behind whose delimiter a line
 * ends; a head has its last line's end, or nothing.  False where the rest is no
 * whole upload; digest may be NULL.
 */
static bool
read_upload(const struct content *content, struct digest *digest)
{
	char text[4 + 70];
	struct span left = content->bytes, head, part;
	memcpy(text, "\r\n--", 4);
	memcpy(text + 4, content->boundary.ptr, content->boundary.len);
	struct span delimiter = span_of(text, 4 + content->boundary.len);
	if (!span_skip(&left, span_from(delimiter, 2)))
		return false;
	do {
		head = SPAN("");
		if (!span_skip(&left, SPAN("\r\n")) ||
		    !take_until(&left, delimiter, &part) ||
		    (!span_skip(&part, SPAN("\r\n")) &&
			!take_until(&part, SPAN("\r\n\r\n"), &head)))
			return false;
		if (digest != NULL) {
			digest_part(digest, SPAN("part"));
			digest_part(digest, head);
			digest_part(digest, part);
		}
	} while (!span_skip(&left, SPAN("--")));
	return left.len == 0 || span_eq(left, SPAN("\r\n"));
}

void
content_digest(const struct content *content, struct digest *digest)
{
	if (content->decoded)
		digest_part(digest, SPAN("gzip"));
	if (content->kind == CONTENT_UPLOAD && read_upload(content, NULL)) {
		digest_part(digest, SPAN("upload"));
		(void)!read_upload(content, digest);
		return;
	}
	digest_part(digest, SPAN("body"));
	digest_part(digest, content->bytes);
}
