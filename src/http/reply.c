/* SPDX-License-Identifier: BSD-2-Clause */
#include <microhttpd.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "http/reply.h"

/* Names and values up to this length are copied without an allocation. */
enum { FIELD_BYTES = 1024 };
/* So much of a streamed body libmicrohttpd asks for at once. */
enum { BLOCK_BYTES = 32768 };

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
 * libmicrohttpd takes NUL-terminated strings, and refuses an empty value
 * although HTTP has them (RFC 9110, section 5.5): a blank, which every
 * recipient strips, stands for it.
 */
static bool
add_field(struct MHD_Response *response, const struct field *field)
{
	if (!field_is_token(field->name) || !field_is_value(field->value))
		return false;
	struct span value = field->value.len > 0 ? field->value : SPAN(" ");
	size_t name_bytes = field->name.len + 1;
	char small[FIELD_BYTES];
	char *text = small;
	if (name_bytes + value.len + 1 > sizeof small)
		text = mem_zero(name_bytes + value.len + 1);
	memcpy(text, field->name.ptr, field->name.len);
	text[field->name.len] = '\0';
	memcpy(text + name_bytes, value.ptr, value.len);
	text[name_bytes + value.len] = '\0';
	bool ok = MHD_add_response_header(
		      response, text, text + name_bytes) == MHD_YES;
	if (text != small)
		free(text);
	return ok;
}

/*
 * The body, or for HEAD and 304 the length that the head is to speak of.
 * Without a length libmicrohttpd would make a chunked body of it, even for
 * 304: as an answer to HTTP/1.0 it has neither, and closes.
 */
static struct MHD_Response *
new_response(struct answer *answer, bool head)
{
	bool bodiless = head || answer->status == MHD_HTTP_NOT_MODIFIED;
	if (!bodiless || answer->body.len > 0)
		return MHD_create_response_from_buffer_with_free_callback_cls(
		    answer->body.len,
		    answer->body.len ? answer->body.ptr : NULL,
		    release_answer, answer);
	bool known = answer->head_length >= 0;
	struct MHD_Response *response = MHD_create_response_from_callback(
	    known ? (uint64_t)answer->head_length : MHD_SIZE_UNKNOWN, 1024,
	    no_content, answer, release_answer);
	if (response != NULL && !known)
		(void)MHD_set_response_options(response,
		    MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
	return response;
}

static struct MHD_Response *
with_fields(struct MHD_Response *response, const struct answer *answer,
    const struct fields *more, bool close)
{
	bool ok = true;
	for (size_t i = 0; ok && i < answer->fields.count; i++)
		ok = add_field(response, &answer->fields.list[i]);
	for (size_t i = 0; ok && i < more->count; i++)
		ok = add_field(response, &more->list[i]);
	if (ok && close)
		ok = MHD_add_response_header(response, "Connection",
			 "close") == MHD_YES;
	if (ok)
		return response;
	MHD_destroy_response(response);
	return NULL;
}

struct MHD_Response *
reply_new(struct answer *answer, const struct fields *more, bool head,
    bool close)
{
	struct MHD_Response *response = new_response(answer, head);
	must(response != NULL);
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
