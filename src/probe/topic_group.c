/* SPDX-License-Identifier: BSD-2-Clause */
#include <librdkafka/rdkafka.h>

#include "base/mem.h"
#include "probe/topic_client.h"
#include "probe/topic_group.h"

enum { ANSWER_MS = 5000 };

static char *
protocol_of(const struct rd_kafka_group_list *list)
{
	for (int i = 0; i < list->group_cnt; i++)
		if (list->groups[i].err == RD_KAFKA_RESP_ERR_NO_ERROR &&
		    list->groups[i].member_cnt > 0 &&
		    list->groups[i].protocol[0] != '\0')
			return mem_text(list->groups[i].protocol);
	return NULL;
}

char *
topic_group_protocol(const struct conf_broker *broker, const char *group)
{
	const struct rd_kafka_group_list *list;
	char *protocol = NULL;
	rd_kafka_t *client = topic_client_new(
	    RD_KAFKA_CONSUMER, topic_client_conf(broker), NULL, 0);
	if (client == NULL)
		return NULL;
	if (rd_kafka_list_groups(client, group, &list, ANSWER_MS) ==
	    RD_KAFKA_RESP_ERR_NO_ERROR) {
		protocol = protocol_of(list);
		rd_kafka_group_list_destroy(list);
	}
	rd_kafka_destroy_flags(client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
	return protocol;
}
