/* SPDX-License-Identifier: BSD-2-Clause */
#include "messages/brokers.h"
#include "messages/broker/reader.h"
#include "messages/broker/streams/streams.h"
#ifdef HAVE_KAFKA
#include "messages/broker/kafka/kafka.h"
#include "messages/broker/kafka/kafka_thread.h"
#endif
#ifdef HAVE_POSTGRES
#include "messages/broker/postgres/postgres.h"
#endif

/* By enum broker_kind; the loader takes none that is not there. */
static const struct driver *const drivers[BROKER_KIND_COUNT_] = {
    [BROKER_STREAMS] = &streams_driver,
#ifdef HAVE_POSTGRES
    [BROKER_POSTGRES] = &postgres_driver,
#endif
#ifdef HAVE_KAFKA
    [BROKER_KAFKA] = &kafka_driver,
#endif
};

struct broker_reader *
brokers_open(const struct broker_start *start)
{
	return reader_open(drivers[start->source->broker->kind], start);
}

size_t
brokers_leaving(const struct loop *loop)
{
	size_t count = reader_leaving(loop);
#ifdef HAVE_KAFKA
	count += kafka_thread_leaving(loop);
#endif
	return count;
}

void
brokers_abandon(struct loop *loop)
{
	reader_abandon(loop);
#ifdef HAVE_KAFKA
	kafka_thread_abandon(loop);
#endif
}
