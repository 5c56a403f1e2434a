/* SPDX-License-Identifier: BSD-2-Clause */
#include <librdkafka/rdkafka.h>
#include <string.h>

#include "base/mem.h"
#include "operators/probe/topic_client.h"
#include "operators/probe/topic_group.h"

enum { ANSWER_MS = 5000 };

static char *
others_of(const struct rd_kafka_group_info *group, const char *protocol,
    const char *begins)
{
	if (group->member_cnt > 0 && group->protocol[0] != '\0' &&
	    strcmp(group->protocol, protocol) != 0)
		return mem_printf("by %s", group->protocol);
	for (int i = 0; i < group->member_cnt; i++) {
		const struct rd_kafka_group_member_info *member =
		    &group->members[i];
		if (strncmp(member->client_id, begins, strlen(begins)) != 0)
			return mem_printf("\"%s\" of %s", member->client_id,
			    member->client_host);
	}
	return NULL;
}

char *
topic_group_others(const struct conf_broker *broker, const char *group,
    const char *protocol, const char *begins)
{
	const struct rd_kafka_group_list *list;
	char *others = NULL;
	rd_kafka_t *client = topic_client_new(
	    RD_KAFKA_CONSUMER, topic_client_conf(broker), NULL, 0);
	if (client == NULL)
		return NULL;
	if (rd_kafka_list_groups(client, group, &list, ANSWER_MS) ==
	    RD_KAFKA_RESP_ERR_NO_ERROR) {
		if (list->group_cnt > 0 &&
		    list->groups[0].err == RD_KAFKA_RESP_ERR_NO_ERROR)
			others = others_of(
			    &list->groups[0], protocol, begins);
		rd_kafka_group_list_destroy(list);
	}
	rd_kafka_destroy_flags(client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
	return others;
}
