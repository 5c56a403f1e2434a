/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>

#include "messages/broker/streams/streams_id.h"

/* Takes digits off the front; false: there are none, or too many. */
static bool
take_number(struct span *text, uint64_t *ret_number)
{
	uint64_t number = 0;
	size_t i = 0;
	for (; i < text->len; i++) {
		unsigned digit = (unsigned char)text->ptr[i] - (unsigned)'0';
		if (digit > 9)
			break;
		if (number > (UINT64_MAX - digit) / 10)
			return false;
		number = 10 * number + digit;
	}
	*text = span_from(*text, i);
	*ret_number = number;
	return i > 0;
}

bool
streams_id_read(struct span text, struct streams_id *ret_id)
{
	if (!take_number(&text, &ret_id->ms) || text.len == 0 ||
	    text.ptr[0] != '-')
		return false;
	text = span_from(text, 1);
	return take_number(&text, &ret_id->seq) && text.len == 0;
}

void
streams_id_write(struct streams_id id, struct streams_id_text *ret_text)
{
	int len = snprintf(ret_text->text, sizeof ret_text->text,
	    "%" PRIu64 "-%" PRIu64, id.ms, id.seq);
	ret_text->span = span_of(ret_text->text, (size_t)len);
}

struct streams_id
streams_id_before(struct streams_id id)
{
	if (id.seq > 0)
		return (struct streams_id){id.ms, id.seq - 1};
	if (id.ms > 0)
		return (struct streams_id){id.ms - 1, UINT64_MAX};
	return id;
}
