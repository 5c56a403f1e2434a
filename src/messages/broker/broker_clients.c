/* SPDX-License-Identifier: BSD-2-Clause */
#include "messages/broker/broker_clients.h"
#include "messages/broker/reader.h"
#include "messages/broker/streams.h"
#ifdef HAVE_KAFKA
#include "messages/broker/kafka/kafka.h"
#endif
#ifdef HAVE_POSTGRES
#include "messages/broker/postgres.h"
#endif

/* By enum broker_kind; the loader takes none that is not there. */
static const struct broker_client *const clients[BROKER_KIND_COUNT_] = {
    [BROKER_STREAMS] = NULL, /* it has a driver */
#ifdef HAVE_POSTGRES
    [BROKER_POSTGRES] = &postgres_client,
#endif
#ifdef HAVE_KAFKA
    [BROKER_KAFKA] = &kafka_client,
#endif
};

struct broker_reader *
broker_clients_open(const struct broker_start *start)
{
	enum broker_kind kind = start->source->broker->kind;
	return kind == BROKER_STREAMS ? reader_open(&streams_driver, start)
				      : clients[kind]->open(start);
}

/* A table has nothing to give back: its locks end with its connection. */
size_t
broker_clients_leaving(const struct loop *loop)
{
	size_t count = reader_leaving(loop);
#ifdef HAVE_KAFKA
	count += kafka_leave_count(loop);
#endif
	return count;
}

void
broker_clients_abandon(struct loop *loop)
{
	reader_abandon(loop);
#ifdef HAVE_KAFKA
	kafka_leave_abandon(loop);
#endif
}
