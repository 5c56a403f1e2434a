/* SPDX-License-Identifier: BSD-2-Clause */
#include "operators/probe/outbox_query.h"
#include "operators/probe/source_query.h"
#include "operators/probe/stream_query.h"
#include "operators/probe/topic_query.h"

void
source_query(const struct conf_source *source, struct source_seen *ret_seen)
{
	*ret_seen = (struct source_seen){.how = BROKER_SEEN, .lag = -1};
#ifdef HAVE_POSTGRES
	if (source->broker->kind == BROKER_POSTGRES)
		outbox_query(source, ret_seen);
#endif
#ifdef HAVE_KAFKA
	if (source->broker->kind == BROKER_KAFKA)
		topic_query(source, ret_seen);
#endif
	if (source->broker->kind == BROKER_STREAMS)
		stream_query(source, ret_seen);
}
