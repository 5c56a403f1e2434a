/* SPDX-License-Identifier: BSD-2-Clause */
#include "messages/broker/driver.h"
#include "messages/broker/reader.h"

void
broker_reader_close(struct broker_reader **reader)
{
	struct broker_reader *r = *reader;
	*reader = NULL;
	if (r != NULL)
		reader_leave(r);
}

void
broker_reader_credit(
    struct broker_reader *reader, unsigned messages, size_t bytes)
{
	reader->credit = messages;
	reader->credit_bytes = bytes;
	reader_kick(reader);
}

void
broker_reader_finish(
    struct broker_reader *reader, struct broker_finish *finish)
{
	reader_finish_start(reader, finish);
}

void
broker_reader_copies(
    struct broker_reader *reader, struct broker_copies *copies)
{
	reader->driver->copies(reader, copies);
}

void
broker_reader_give_back(
    struct broker_reader *reader, const struct broker_message *message)
{
	struct flight *f = reader_flight_find(reader, message->position);
	if (f == NULL)
		return;
	reader->driver->give_back(reader, f);
	reader_flight_forget(reader, f);
}

struct broker_health
broker_reader_health(const struct broker_reader *reader)
{
	struct broker_health health = {.lag = -1};
	const struct flight *next =
	    LIST_FIRST(&reader->queue, struct flight, of_queue);
	reader->driver->health(reader, &health);
	health.next_bytes = next != NULL ? next->message->bytes : 0;
	health.message = reader_trouble_words(reader);
	return health;
}

void
broker_reader_floor(struct broker_reader *reader, const char *part,
    struct span floor, enum broker_decision decided)
{
	if (reader->driver->floor != NULL)
		reader->driver->floor(reader, part, floor, decided);
}

bool
broker_reader_tell(struct broker_reader *reader)
{
	return reader->driver->tell == NULL || reader->driver->tell(reader);
}
