/* SPDX-License-Identifier: BSD-2-Clause */
#include <microhttpd.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "http/front/reply.h"

enum {
	/* The lines of a head that are so long are put there without an
	 * allocation. */
	LINES_BYTES = 1024,
	/* So much of a streamed body libmicrohttpd asks for at once. */
	BLOCK_BYTES = 32768,
};

/* --- the lines of a head --- */

size_t
reply_lines_bytes(const struct answer *answer, const struct fields *more)
{
	const struct fields *lists[] = {&answer->fields, more};
	size_t bytes = 0;
	for (int n = 0; n < 2; n++)
		for (size_t i = 0; i < lists[n]->count; i++)
			bytes += lists[n]->list[i].name.len +
			    lists[n]->list[i].value.len + strlen(":  \r\n");
	return bytes;
}

/*
 * libmicrohttpd refuses an empty value although HTTP has them (RFC 9110,
 * section 5.5): a blank, which every recipient strips, stands for it.
 */
bool
reply_lines(const struct answer *answer, const struct fields *more, char *to,
    size_t *ret_len)
{
	const struct fields *lists[] = {&answer->fields, more};
	char *at = to;
	for (int n = 0; n < 2; n++)
		for (size_t i = 0; i < lists[n]->count; i++) {
			struct span name = lists[n]->list[i].name;
			struct span value = lists[n]->list[i].value;
			/* They say where the message or the connection ends. */
			bool frames = span_ieq(name, SPAN("Connection")) ||
			    span_ieq(name, SPAN("Content-Length")) ||
			    span_ieq(name, SPAN("Transfer-Encoding"));
			if (frames || !field_is_token(name) ||
			    !field_is_value(value))
				return false;
			if (value.len == 0)
				value = SPAN(" ");
			memcpy(at, name.ptr, name.len);
			memcpy(at += name.len, ": ", 2);
			memcpy(at += 2, value.ptr, value.len);
			memcpy(at += value.len, "\r\n", 2);
			at += 2;
		}
	*ret_len = (size_t)(at - to);
	return true;
}

/* --- libmicrohttpd's response --- */

static void
release_answer(void *arg)
{
	struct answer *answer = arg;
	answer_unref(&answer);
}

/* libmicrohttpd asks for content only where there may be any. */
static ssize_t
no_content(void *arg, uint64_t pos, char *buf, size_t max)
{
	(void)arg;
	(void)pos;
	(void)buf;
	(void)max;
	return MHD_CONTENT_READER_END_OF_STREAM;
}

/*
 * For each field libmicrohttpd takes three pieces of memory, and it searches
 * the texts seven times: so it is given the first one, with blanks for a value
 * that has room for the lines of all, and these are written where it keeps that
 * (front/selftest.h sees whether it does).
 */
static bool
add_lines(struct MHD_Response *response, char *lines, size_t len)
{
	char *value = memchr(lines, ':', len);
	*value = '\0';
	value += strlen(": ");
	size_t bytes = (size_t)(lines + len - value) - strlen("\r\n");
	char *blanks = lines + len;
	memset(blanks, ' ', bytes);
	blanks[bytes] = '\0';
	if (MHD_add_response_header(response, lines, blanks) != MHD_YES)
		return false;
	const char *kept = MHD_get_response_header(response, lines);
	if (kept != NULL)
		memcpy((char *)(uintptr_t)kept, value, bytes);
	return kept != NULL;
}

static struct MHD_Response *
with_fields(struct MHD_Response *response, const struct answer *answer,
    const struct fields *more, bool close)
{
	size_t len, bytes = 2 * reply_lines_bytes(answer, more);
	char small[LINES_BYTES];
	char *lines = bytes > sizeof small ? mem_grow(NULL, bytes) : small;
	bool ok = reply_lines(answer, more, lines, &len) &&
	    (len == 0 || add_lines(response, lines, len)) &&
	    (!close ||
		MHD_add_response_header(response, "Connection", "close") ==
		    MHD_YES);
	if (lines != small)
		free(lines);
	if (ok)
		return response;
	MHD_destroy_response(response);
	return NULL;
}

/*
 * The body, or for HEAD and 304 the length that the head is to speak of.
 * Without a length libmicrohttpd would make a chunked body of it, even for
 * 304: as an answer to HTTP/1.0 it has neither, and closes.
 */
struct MHD_Response *
reply_new(struct answer *answer, const struct fields *more, bool head,
    bool close)
{
	bool bodiless = head || answer->status == MHD_HTTP_NOT_MODIFIED;
	bool known = answer->head_length >= 0;
	struct MHD_Response *response;
	if (!bodiless || answer->body.len > 0)
		response =
		    MHD_create_response_from_buffer_with_free_callback_cls(
			answer->body.len,
			answer->body.len ? answer->body.ptr : NULL,
			release_answer, answer);
	else
		response = MHD_create_response_from_callback(
		    known ? (uint64_t)answer->head_length : MHD_SIZE_UNKNOWN,
		    1024, no_content, answer, release_answer);
	must(response != NULL);
	if (bodiless && answer->body.len == 0 && !known)
		(void)MHD_set_response_options(response,
		    MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
	answer_ref(answer);
	return with_fields(response, answer, more, close);
}

struct MHD_Response *
reply_streamed(const struct answer *answer, const struct fields *more,
    int64_t length,
    ssize_t (*read)(void *arg, uint64_t at, char *buffer, size_t size),
    void *arg, bool close)
{
	struct MHD_Response *response = MHD_create_response_from_callback(
	    length >= 0 ? (uint64_t)length : MHD_SIZE_UNKNOWN, BLOCK_BYTES,
	    read, arg, NULL);
	must(response != NULL);
	return with_fields(response, answer, more, close);
}
