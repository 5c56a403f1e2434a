/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/loop/log.h"
#include "base/mem.h"
#include "messages/broker/driver.h"
#include "messages/broker/reader.h"

/* --- what is in flight, by its position --- */

/* FNV-1a: who could choose positions to collide could as well send more. */
static uint64_t
hash_of(struct span position)
{
	uint64_t value = 14695981039346656037u;
	for (size_t i = 0; i < position.len; i++)
		value = (value ^ (uint8_t)position.ptr[i]) * 1099511628211u;
	return value ^ value >> 32;
}

struct flight *
reader_flight_find(const struct broker_reader *reader, struct span position)
{
	struct flight *f;
	HASH_EACH_OF(
	    f, &reader->by_position, hash_of(position), of_position)
		if (span_eq(f->position, position))
			return f;
	return NULL;
}

struct flight *
reader_flight_came_again(struct broker_reader *reader, struct span position)
{
	struct flight *f = reader_flight_find(reader, position);
	if (f != NULL && f->finishing != NULL)
		f->came_again = true;
	return f;
}

/*
 * The estimate follows at once where messages become larger, and slowly where
 * they become smaller: what is asked for by it is to be too few rather than too
 * many.
 */
void
reader_flight_weigh(struct broker_reader *reader, size_t bytes)
{
	if (bytes >= reader->usual_bytes)
		reader->usual_bytes = bytes;
	else
		reader->usual_bytes -= (reader->usual_bytes - bytes) / 16;
}

struct flight *
reader_flight_add(struct broker_reader *reader, struct broker_message *message)
{
	size_t own = reader->driver->flight_bytes;
	struct span position = message->position;
	struct flight *f = mem_zero(own + position.len + 1);
	char *copy = (char *)f + own;
	if (position.len > 0)
		memcpy(copy, position.ptr, position.len);
	f->position = span_of(copy, position.len);
	f->token = message->token;
	f->message = message;
	hash_add(&reader->by_position, &f->of_position, hash_of(position));
	list_add_last(&reader->in_flight, &f->of_reader);
	list_add_last(&reader->queue, &f->of_queue);
	reader->queued++;
	reader->queued_bytes += message->bytes;
	reader_flight_weigh(reader, message->bytes);
	reader_kick(reader);
	return f;
}

static struct broker_message *
leave_queue(struct broker_reader *reader, struct flight *f)
{
	struct broker_message *message = f->message;
	list_remove(&f->of_queue);
	f->message = NULL;
	reader->queued--;
	reader->queued_bytes -= message->bytes;
	return message;
}

struct broker_message *
reader_flight_hand_over(struct broker_reader *reader)
{
	struct flight *first =
	    LIST_FIRST(&reader->queue, struct flight, of_queue);
	return first != NULL ? leave_queue(reader, first) : NULL;
}

void
reader_flight_keep(struct broker_reader *reader, struct broker_message *message)
{
	struct flight *f = reader_flight_find(reader, message->position);
	f->message = message;
	list_add_first(&reader->queue, &f->of_queue);
	reader->queued++;
	reader->queued_bytes += message->bytes;
}

void
reader_flight_forget(struct broker_reader *reader, struct flight *f)
{
	if (reader->driver->forget != NULL)
		reader->driver->forget(reader, f);
	if (f->finishing != NULL)
		f->finishing->message = NULL;
	if (f->message != NULL) {
		struct broker_message *message = leave_queue(reader, f);
		broker_message_free(&message);
	}
	hash_remove(&reader->by_position, &f->of_position);
	list_remove(&f->of_reader);
	free(f);
}

void
reader_flight_forget_queue(struct broker_reader *reader)
{
	struct flight *f;
	LIST_EACH(f, &reader->queue, of_queue)
		reader_flight_forget(reader, f);
}

/* --- what is not in flight any more, and was not finished --- */

void
reader_flight_recall(struct broker_reader *reader, const void *token)
{
	struct flight *f;
	if (reader->events.recalled != NULL && !reader->leaving)
		reader->events.recalled(reader->events.arg, token);
	LIST_EACH(f, &reader->in_flight, of_reader)
		if (f->token == token)
			reader_flight_forget(reader, f);
}

void
reader_flight_lost(struct broker_reader *reader, enum broker_loss how,
    uint64_t count, struct span position, const char *part)
{
	static const char *const words[BROKER_LOSS_COUNT_] = {
	    [BROKER_TRIMMED_UNREAD] = "trimmed-unread",
	    [BROKER_TRIMMED_PENDING] = "trimmed-pending",
	    [BROKER_DELETED] = "deleted",
	};
	struct logline line = log_begin(EV_source_lost);
	log_str(&line, "source", reader->source->name);
	log_str(&line, "how", words[how]);
	log_int(&line, "count", (int64_t)count);
	if (position.len > 0)
		log_cut(&line, "position", position, 200);
	if (part != NULL)
		log_str(&line, "partition", part);
	log_end(&line);
	if (!reader->leaving)
		reader->events.lost(
		    reader->events.arg, how, count, position);
	struct flight *f = reader_flight_find(reader, position);
	if (f != NULL)
		reader_flight_forget(reader, f);
}
