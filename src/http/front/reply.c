/* SPDX-License-Identifier: BSD-2-Clause */
#include <microhttpd.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "http/front/reply.h"

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

/* The fields of one head: the answer's, then those behind them. */
struct field_lists {
	const struct fields *first, *more;
	size_t count;
};

static const struct field *
field_at(const struct field_lists *lists, size_t i)
{
	return i < lists->first->count
	    ? &lists->first->list[i]
	    : &lists->more->list[i - lists->first->count];
}

static bool
are_fields(const struct field_lists *lists)
{
	for (size_t i = 0; i < lists->count; i++) {
		const struct field *field = field_at(lists, i);
		if (!field_is_token(field->name) ||
		    !field_is_value(field->value))
			return false;
	}
	return true;
}

/*
 * libmicrohttpd refuses an empty value although HTTP has them (RFC 9110,
 * section 5.5): a blank, which every recipient strips, stands for it.
 */
static struct span
shown_value(const struct field *field)
{
	return field->value.len > 0 ? field->value : SPAN(" ");
}

static char *
copy_text(char *at, struct span s)
{
	memcpy(at, s.ptr, s.len);
	return at + s.len;
}

/*
 * libmicrohttpd takes NUL-terminated strings: the name, and a value of so many
 * bytes, which are blanks where it has none yet.  Returned is where it keeps
 * the value of the first field of that name; NULL: it refuses this one.
 */
static const char *
add_field(struct MHD_Response *response, struct span name, const char *value,
    size_t bytes)
{
	size_t both = name.len + bytes + 2;
	char small[FIELD_BYTES];
	char *text = both > sizeof small ? mem_zero(both) : small;
	char *at = copy_text(text, name);
	*at++ = '\0';
	if (value != NULL)
		memcpy(at, value, bytes);
	else
		memset(at, ' ', bytes);
	at[bytes] = '\0';
	const char *kept = NULL;
	if (MHD_add_response_header(response, text, at) == MHD_YES)
		kept = MHD_get_response_header(response, text);
	if (text != small)
		free(text);
	return kept;
}

static bool
add_alone(struct MHD_Response *response, const struct field *field)
{
	struct span value = shown_value(field);
	return add_field(response, field->name, value.ptr, value.len) != NULL;
}

/* --- many fields as one --- */

static bool
is_date(const struct field *field)
{
	return span_ieq(field->name, SPAN("Date"));
}

/* What libmicrohttpd looks for when it is given a field. */
static bool
is_alone(const struct field *field)
{
	return span_ieq(field->name, SPAN("Connection")) ||
	    span_ieq(field->name, SPAN("Content-Length")) ||
	    span_ieq(field->name, SPAN("Transfer-Encoding"));
}

/*
 * The field that gets a value with room for all others: Date, for which
 * libmicrohttpd looks too, and of which it keeps the last.
 */
static const struct field *
carrier_of(const struct field_lists *lists)
{
	const struct field *first = NULL;
	for (size_t i = lists->count; i-- > 0;) {
		const struct field *field = field_at(lists, i);
		if (is_date(field))
			return field;
		if (!is_alone(field))
			first = field;
	}
	return first;
}

static bool
is_carried(const struct field *field, const struct field *carrier)
{
	return field != carrier && !is_date(field) && !is_alone(field);
}

/* Behind the carrier's value, the others, each on a line of its own. */
static void
write_joined(char *at, const struct field_lists *lists,
    const struct field *carrier)
{
	at = copy_text(at, shown_value(carrier));
	for (size_t i = 0; i < lists->count; i++) {
		const struct field *field = field_at(lists, i);
		if (!is_carried(field, carrier))
			continue;
		at = copy_text(at, SPAN("\r\n"));
		at = copy_text(at, field->name);
		at = copy_text(at, SPAN(": "));
		at = copy_text(at, shown_value(field));
	}
}

/*
 * For each field libmicrohttpd takes three pieces of memory, and it searches
 * the texts seven times: so it is given one, and the others are written into
 * that one's value where it keeps it (front/selftest.h sees whether it does).
 */
static bool
add_joined(struct MHD_Response *response, const struct field_lists *lists)
{
	const struct field *carrier = carrier_of(lists);
	size_t bytes = carrier != NULL ? shown_value(carrier).len : 0;
	for (size_t i = 0; i < lists->count; i++) {
		const struct field *field = field_at(lists, i);
		if (is_alone(field) && !add_alone(response, field))
			return false;
		if (is_carried(field, carrier))
			bytes += field->name.len + shown_value(field).len + 4;
	}
	if (carrier == NULL)
		return true;
	const char *room = add_field(response, carrier->name, NULL, bytes);
	if (room != NULL)
		write_joined((char *)(uintptr_t)room, lists, carrier);
	return room != NULL;
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
	struct field_lists lists = {
	    &answer->fields, more, answer->fields.count + more->count};
	bool ok = are_fields(&lists) && add_joined(response, &lists);
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
