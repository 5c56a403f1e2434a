/* SPDX-License-Identifier: BSD-2-Clause */
#include "messages/source/source_leadership.h"

/*
 * That is a stream with an order, and a table that is ordered by what its rows
 * are not parted by.  The partitions of Kafka are given to one reader each by
 * their group.
 */
bool
source_leadership_is_needed(const struct source *s)
{
	const struct conf_source *conf = s->source;
	return conf->order_by != SOURCE_ORDER_NONE &&
	    conf->broker->kind != BROKER_KAFKA &&
	    (conf->table == NULL || conf->order_by != SOURCE_ORDER_ENTITY);
}

const struct leadership *
source_leadership(const struct source *s)
{
	return source_leadership_is_needed(s) ? &s->leadership : NULL;
}

bool
source_leadership_lets_begin(const struct source *s)
{
	const struct leadership *leader = source_leadership(s);
	return leader == NULL || leadership_is_held(leader);
}
