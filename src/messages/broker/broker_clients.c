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

/* The loader takes no kind that is not there. */
struct broker_reader *
broker_clients_open(const struct broker_start *start)
{
	const struct driver *driver = &streams_driver;
#ifdef HAVE_KAFKA
	if (start->source->broker->kind == BROKER_KAFKA)
		return kafka_client.open(start);
#endif
#ifdef HAVE_POSTGRES
	if (start->source->broker->kind == BROKER_POSTGRES)
		driver = &postgres_driver;
#endif
	return reader_open(driver, start);
}

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
