/* SPDX-License-Identifier: BSD-2-Clause */
#include <librdkafka/rdkafka.h>

#include "operators/probe/topic_client.h"
#include "operators/probe/topic_write.h"

enum { FLUSH_MS = 6000 };

static const char *const of_request[][2] = {
    {"enable.idempotence", "false"},
    {"request.required.acks", "2"},
    {"retries", "0"},
    {"message.timeout.ms", "5000"},
};

static void
on_answer(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque)
{
	rd_kafka_resp_err_t *error = opaque;
	(void)client;
	*error = message->err;
}

static rd_kafka_t *
make_asker(const struct conf_broker *broker, rd_kafka_resp_err_t *error)
{
	rd_kafka_conf_t *conf = topic_client_conf(broker);
	for (size_t i = 0; i < sizeof of_request / sizeof *of_request; i++)
		topic_client_set(
		    conf, of_request[i][0], of_request[i][1]);
	rd_kafka_conf_set_dr_msg_cb(conf, on_answer);
	rd_kafka_conf_set_opaque(conf, error);
	return topic_client_new(RD_KAFKA_PRODUCER, conf, NULL, 0);
}

bool
topic_write_forbidden(const struct conf_broker *broker, const char *topic)
{
	rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
	rd_kafka_t *client = make_asker(broker, &error);
	if (client == NULL)
		return false;
	if (rd_kafka_producev(client, RD_KAFKA_V_TOPIC(topic),
		RD_KAFKA_V_END) == RD_KAFKA_RESP_ERR_NO_ERROR)
		rd_kafka_flush(client, FLUSH_MS);
	rd_kafka_purge(client, RD_KAFKA_PURGE_F_QUEUE |
		RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING);
	rd_kafka_destroy(client);
	return error == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
}
