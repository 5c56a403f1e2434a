/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>

#include "base/digits.h"
#include "messages/broker/kafka/kafka_private.h"

/*
 * A message as ours, all of it copied: one of librdkafka's keeps the whole
 * answer alive that it came with.
 */
enum {
	MESSAGE_BYTES = 512, /* besides what it says */
};

static int64_t
made_ms(const rd_kafka_message_t *message)
{
	rd_kafka_timestamp_type_t type;
	int64_t time_ms = rd_kafka_message_timestamp(message, &type);
	return type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? -1 : time_ms;
}

static struct broker_message *
new_message(const rd_kafka_message_t *message, size_t most_bytes)
{
	rd_kafka_headers_t *headers;
	const char *name;
	const void *value;
	size_t size;
	struct arena *arena = arena_new();
	struct broker_message *m = arena_alloc(arena, sizeof *m);
	m->arena = arena;
	m->has_payload = message->payload != NULL;
	m->payload =
	    reader_copy(arena, span_of(message->payload, message->len));
	m->key = reader_copy(arena, span_of(message->key, message->key_len));
	m->too_large = message->len > most_bytes;
	m->bytes = MESSAGE_BYTES + message->len + message->key_len;
	if (rd_kafka_message_headers(message, &headers) !=
	    RD_KAFKA_RESP_ERR_NO_ERROR)
		return m;
	/* One whose value is null has a value without a pointer. */
	size_t count = rd_kafka_header_cnt(headers);
	struct field *list = arena_alloc(arena, count * sizeof *list);
	for (size_t i = 0; i < count &&
	     rd_kafka_header_get_all(headers, i, &name, &value, &size) ==
		 RD_KAFKA_RESP_ERR_NO_ERROR;
	     i++) {
		list[i].name = arena_dup(arena, span_str(name));
		list[i].value = reader_copy(arena, span_of(value, size));
		m->bytes += list[i].name.len + list[i].value.len;
		m->fields.count++;
	}
	m->fields.list = list;
	return m;
}

struct broker_message *
kafka_message_read(const struct kafka_part *part,
    const rd_kafka_message_t *message, size_t most_bytes)
{
	struct broker_message *m = new_message(message, most_bytes);
	m->time_ms = made_ms(message);
	m->position = arena_printf(m->arena, "%s/%" PRId64 "@%" PRId64,
	    part->name, message->offset, m->time_ms);
	m->part = arena_dup(m->arena, span_str(part->name));
	m->token = (void *)part->serial;
	m->may_be_put = message->offset < part->tracker.put_below;
	return m;
}

struct broker_message *
kafka_message_copy(const rd_kafka_message_t *message, size_t most_bytes)
{
	struct broker_message *m = new_message(message, most_bytes);
	reader_ask_place(m);
	/* That is "TOPIC/PARTITION/OFFSET@TIME". */
	struct span at = m->position;
	const char *slash = at.len > 0 ? memrchr(at.ptr, '/', at.len) : NULL;
	const char *made = at.len > 0 ? memchr(at.ptr, '@', at.len) : NULL;
	if (slash != NULL)
		m->part = span_of(at.ptr, (size_t)(slash - at.ptr));
	if (made == NULL ||
	    !digits_read(span_from(at, (size_t)(made - at.ptr) + 1), INT64_MAX,
		&m->time_ms))
		m->time_ms = -1;
	return m;
}

struct kafka_mark
kafka_message_mark(const rd_kafka_message_t *message)
{
	rd_kafka_headers_t *headers;
	const char *name;
	const void *value;
	size_t size;
	struct kafka_mark mark = {.offset = message->offset,
	    .time_ms = made_ms(message),
	    .hash = kafka_tracker_mix(
		KAFKA_TRACKER_HASH, span_of(message->key, message->key_len))};
	mark.hash = kafka_tracker_mix(
	    mark.hash, span_of(message->payload, message->len));
	if (rd_kafka_message_headers(message, &headers) !=
	    RD_KAFKA_RESP_ERR_NO_ERROR)
		return mark;
	for (size_t i = 0; rd_kafka_header_get_all(headers, i, &name, &value,
			       &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
	     i++)
		mark.hash = kafka_tracker_mix(
		    kafka_tracker_mix(mark.hash, span_str(name)),
		    span_of(value, size));
	return mark;
}

int64_t
kafka_message_offset(const struct kafka_part *part, struct span position)
{
	size_t len = strlen(part->name);
	int64_t offset;
	struct span digits;
	if (!span_starts(position, span_str(part->name)) ||
	    position.len < len + 2 || position.ptr[len] != '/')
		return -1;
	struct span rest = span_from(position, len + 1);
	return span_next(&rest, '@', &digits) &&
		digits_read(digits, INT64_MAX, &offset)
	    ? offset
	    : -1;
}
