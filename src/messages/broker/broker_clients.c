/* SPDX-License-Identifier: BSD-2-Clause */
#include "messages/broker/broker_clients.h"
#include "messages/broker/streams.h"
#ifdef HAVE_KAFKA
#include "messages/broker/kafka/kafka.h"
#include "messages/broker/kafka/kafka_ledger.h"
#endif
#ifdef HAVE_POSTGRES
#include "messages/broker/postgres.h"
#endif

/* By enum broker_kind; the loader takes none that is not there. */
static const struct broker_client *const clients[BROKER_KIND_COUNT_] = {
    [BROKER_STREAMS] = &streams_client,
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
	return clients[start->source->broker->kind]->open(start);
}

/* A table has nothing to give back: its locks end with its connection. */
size_t
broker_clients_leaving(const struct loop *loop)
{
	size_t count = streams_leave_count(loop);
#ifdef HAVE_KAFKA
	count += kafka_leave_count(loop) + kafka_ledger_leaving(loop);
#endif
	return count;
}

void
broker_clients_abandon(struct loop *loop)
{
	streams_leave_abandon(loop);
#ifdef HAVE_KAFKA
	kafka_leave_abandon(loop);
	kafka_ledger_abandon(loop);
#endif
}
