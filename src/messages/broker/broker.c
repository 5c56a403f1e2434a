/* SPDX-License-Identifier: BSD-2-Clause */
#include "messages/broker/broker.h"

void
broker_message_free(struct broker_message **message)
{
	struct broker_message *m = *message;
	*message = NULL;
	if (m == NULL)
		return;
	struct arena *arena = m->arena;
	arena_free(&m->bulk);
	arena_free(&arena);
}

void
broker_reader_close(struct broker_reader **reader)
{
	struct broker_reader *r = *reader;
	*reader = NULL;
	if (r != NULL)
		r->client->close(r);
}

void
broker_reader_credit(
    struct broker_reader *reader, unsigned messages, size_t bytes)
{
	reader->client->credit(reader, messages, bytes);
}

void
broker_reader_finish(
    struct broker_reader *reader, struct broker_finish *finish)
{
	reader->client->finish(reader, finish);
}

void
broker_reader_read_again(
    struct broker_reader *reader, struct broker_again *again)
{
	reader->client->read_again(reader, again);
}

void
broker_reader_copies(
    struct broker_reader *reader, struct broker_copies *copies)
{
	reader->client->copies(reader, copies);
}

void
broker_reader_give_back(
    struct broker_reader *reader, const struct broker_message *message)
{
	reader->client->give_back(reader, message);
}

struct broker_health
broker_reader_health(const struct broker_reader *reader)
{
	return reader->client->health(reader);
}

void
broker_reader_floor(struct broker_reader *reader, const char *part,
    struct span floor, enum broker_decision decided)
{
	if (reader->client->floor != NULL)
		reader->client->floor(reader, part, floor, decided);
}

void
broker_reader_tell(struct broker_reader *reader)
{
	if (reader->client->tell != NULL)
		reader->client->tell(reader);
}

bool
broker_reader_is_told(const struct broker_reader *reader)
{
	return reader->client->is_told == NULL ||
	    reader->client->is_told(reader);
}
