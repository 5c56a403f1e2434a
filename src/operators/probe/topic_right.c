/* SPDX-License-Identifier: BSD-2-Clause */
#include <librdkafka/rdkafka.h>

#include "base/loop/clock.h"
#include "operators/probe/topic_client.h"
#include "operators/probe/topic_right.h"

enum { ANSWER_MS = 6000, SLICE_MS = 500 };

/* A name that no topic may have. */
#define NO_TOPIC "."

/* --- transactional ids --- */

bool
topic_right_id_denied(const struct conf_broker *broker, const char *id)
{
	char words[200];
	rd_kafka_conf_t *conf = topic_client_conf(broker);
	topic_client_set(conf, "transactional.id", id);
	topic_client_set(conf, "transaction.timeout.ms", "2147483647");
	rd_kafka_t *client =
	    topic_client_new(RD_KAFKA_PRODUCER, conf, NULL, 0);
	if (client == NULL)
		return false;
	rd_kafka_error_t *error =
	    rd_kafka_init_transactions(client, ANSWER_MS);
	rd_kafka_resp_err_t code = rd_kafka_error_code(error);
	if (code == RD_KAFKA_RESP_ERR__FATAL)
		code = rd_kafka_fatal_error(client, words, sizeof words);
	rd_kafka_error_destroy(error);
	rd_kafka_destroy(client);
	return code == RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED;
}

/* --- groups --- */

static rd_kafka_t *
make_member(const struct conf_broker *broker, const char *group)
{
	rd_kafka_conf_t *conf = topic_client_conf(broker);
	topic_client_set(conf, "group.id", group);
	topic_client_set(conf, "enable.auto.commit", "false");
	return topic_client_new(RD_KAFKA_CONSUMER, conf, NULL, 0);
}

/* What the client says beside: that nobody may know who has the group. */
static bool
is_told_denied(rd_kafka_t *client)
{
	rd_kafka_message_t *message = rd_kafka_consumer_poll(client, 0);
	if (message == NULL)
		return false;
	bool denied =
	    message->err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED;
	rd_kafka_message_destroy(message);
	return denied;
}

/* Whether it may see the group.  Nothing of it can be asked for before. */
static rd_kafka_resp_err_t
see_group(rd_kafka_t *client, rd_kafka_topic_partition_list_t *list)
{
	int64_t until_ms = clock_us() / 1000 + ANSWER_MS;
	rd_kafka_resp_err_t error;
	do {
		error = rd_kafka_committed(client, list, SLICE_MS);
		if (is_told_denied(client))
			return RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED;
	} while ((error == RD_KAFKA_RESP_ERR__TIMED_OUT ||
		     error == RD_KAFKA_RESP_ERR__WAIT_COORD) &&
	    clock_us() / 1000 < until_ms);
	return error;
}

/* Whether it may commit as the group, as who reads does. */
static rd_kafka_resp_err_t
try_commit(rd_kafka_t *client, rd_kafka_topic_partition_list_t *list)
{
	rd_kafka_queue_t *queue = rd_kafka_queue_new(client);
	rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
	list->elems[0].offset = 0;
	error = rd_kafka_commit_queue(client, list, queue, NULL, NULL);
	rd_kafka_event_t *event = error == RD_KAFKA_RESP_ERR_NO_ERROR
	    ? rd_kafka_queue_poll(queue, ANSWER_MS)
	    : NULL;
	if (event != NULL) {
		error = rd_kafka_event_error(event);
		rd_kafka_event_destroy(event);
	}
	rd_kafka_queue_destroy(queue);
	return error;
}

bool
topic_right_group_denied(const struct conf_broker *broker, const char *group)
{
	rd_kafka_t *client = make_member(broker, group);
	if (client == NULL)
		return false;
	rd_kafka_topic_partition_list_t *list =
	    rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(list, NO_TOPIC, 0);
	rd_kafka_resp_err_t error = see_group(client, list);
	if (error != RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
		error = try_commit(client, list);
	rd_kafka_topic_partition_list_destroy(list);
	rd_kafka_destroy_flags(client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
	return error == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED;
}
