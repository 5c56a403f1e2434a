/* SPDX-License-Identifier: BSD-2-Clause */
#include <librdkafka/rdkafka.h>

#include "base/loop/clock.h"
#include "operators/probe/topic_client.h"
#include "operators/probe/topic_read.h"

enum { ANSWER_MS = 6000, SLICE_MS = 100 };

static rd_kafka_t *
make_reader(const struct conf_broker *broker)
{
	rd_kafka_conf_t *conf = topic_client_conf(broker);
	topic_client_set(conf, "group.id", "none");
	topic_client_set(conf, "enable.auto.commit", "false");
	topic_client_set(conf, "enable.partition.eof", "true");
	topic_client_set(conf, "fetch.wait.max.ms", "20");
	return topic_client_new(RD_KAFKA_CONSUMER, conf, NULL, 0);
}

static void
read_end(rd_kafka_t *client, const char *topic)
{
	rd_kafka_topic_partition_list_t *list =
	    rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(list, topic, 0)->offset =
	    RD_KAFKA_OFFSET_END;
	rd_kafka_assign(client, list);
	rd_kafka_topic_partition_list_destroy(list);
}

/* What a group may not is nothing to us. */
static bool
answers(rd_kafka_resp_err_t error)
{
	return error == RD_KAFKA_RESP_ERR_NO_ERROR ||
	    error == RD_KAFKA_RESP_ERR__PARTITION_EOF ||
	    error == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
}

bool
topic_read_forbidden(const struct conf_broker *broker, const char *topic)
{
	rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR__TIMED_OUT;
	int64_t until_ms = clock_us() / 1000 + ANSWER_MS;
	rd_kafka_t *client = make_reader(broker);
	if (client == NULL)
		return false;
	read_end(client, topic);
	while (!answers(error) && clock_us() / 1000 < until_ms) {
		rd_kafka_message_t *message =
		    rd_kafka_consumer_poll(client, SLICE_MS);
		if (message == NULL)
			continue;
		error = message->err;
		rd_kafka_message_destroy(message);
	}
	rd_kafka_assign(client, NULL);
	rd_kafka_destroy_flags(client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
	return error == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
}
