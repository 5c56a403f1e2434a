/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/mem.h"
#include "broker/broker.h"
#include "broker/streams.h"
#ifdef HAVE_KAFKA
#include "broker/kafka/kafka.h"
#include "broker/kafka/kafka_ledger.h"
#endif
#ifdef HAVE_POSTGRES
#include "broker/postgres.h"
#endif

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

/* The clients, by enum broker_kind. */
static const struct broker_client *const clients[BROKER_KIND_COUNT_] = {
    [BROKER_STREAMS] = &streams_client,
#ifdef HAVE_POSTGRES
    [BROKER_POSTGRES] = &postgres_client,
#endif
#ifdef HAVE_KAFKA
    [BROKER_KAFKA] = &kafka_client,
#endif
};

const struct broker_client *
broker_client(enum broker_kind kind)
{
	return clients[kind];
}

struct broker_reader *
broker_reader_open(const struct broker_start *start)
{
	return broker_client(start->source->broker->kind)->open(start);
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
broker_reader_credit(struct broker_reader *reader, unsigned credit)
{
	reader->client->credit(reader, credit);
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
broker_reader_letters(
    struct broker_reader *reader, struct broker_letters *letters)
{
	reader->client->letters(reader, letters);
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
    struct span floor, bool lowered)
{
	if (reader->client->floor != NULL)
		reader->client->floor(reader, part, floor, lowered);
}

/* A table has nothing to give back: its locks end with its connection. */
size_t
broker_leaving(const struct loop *loop)
{
	size_t count = streams_leave_count(loop);
#ifdef HAVE_KAFKA
	count += kafka_leave_count(loop) + kafka_ledger_leaving(loop);
#endif
	return count;
}

void
broker_abandon(struct loop *loop)
{
	streams_leave_abandon(loop);
#ifdef HAVE_KAFKA
	kafka_leave_abandon(loop);
	kafka_ledger_abandon(loop);
#endif
}
