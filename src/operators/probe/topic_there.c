/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "base/must.h"
#include "operators/probe/topic_client.h"
#include "operators/probe/topic_there.h"

enum { ANSWER_MS = 5000 };

/* What librdkafka says of a connection says more than the call's error. */
static void
keep_error(rd_kafka_t *rk, int err, const char *reason, void *opaque)
{
	char *words = opaque;
	(void)rk;
	if (err != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
		snprintf(words, TOPIC_THERE_WORDS, "%.*s",
		    (int)strcspn(reason, "("), reason);
}

static enum topic_there
look_with(rd_kafka_t *client, const char *topic, char words[TOPIC_THERE_WORDS])
{
	const struct rd_kafka_metadata *found;
	rd_kafka_topic_t *rkt = rd_kafka_topic_new(client, topic, NULL);
	must(rkt != NULL);
	rd_kafka_resp_err_t err =
	    rd_kafka_metadata(client, 0, rkt, &found, ANSWER_MS);
	rd_kafka_topic_destroy(rkt);
	rd_kafka_poll(client, 0);
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR) {
		if (words[0] == '\0')
			snprintf(words, TOPIC_THERE_WORDS, "%s",
			    rd_kafka_err2str(err));
		return TOPIC_THERE_UNKNOWN;
	}
	err = found->topic_cnt == 1 ? found->topics[0].err
				    : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	rd_kafka_metadata_destroy(found);
	snprintf(words, TOPIC_THERE_WORDS, "%s: %s", topic,
	    rd_kafka_err2str(err));
	return err == RD_KAFKA_RESP_ERR_NO_ERROR ||
		err == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE
	    ? TOPIC_THERE
	    : TOPIC_THERE_NOT;
}

/* A consumer: what asks for a topic as a producer has brokers make it. */
enum topic_there
topic_there_look(const struct conf_broker *broker, const char *topic,
    char ret_words[TOPIC_THERE_WORDS])
{
	rd_kafka_conf_t *conf = topic_client_conf(broker);
	ret_words[0] = '\0';
	rd_kafka_conf_set_error_cb(conf, keep_error);
	rd_kafka_conf_set_opaque(conf, ret_words);
	rd_kafka_t *client = rd_kafka_new(
	    RD_KAFKA_CONSUMER, conf, ret_words, TOPIC_THERE_WORDS);
	if (client == NULL) {
		rd_kafka_conf_destroy(conf);
		return TOPIC_THERE_UNKNOWN;
	}
	enum topic_there look = look_with(client, topic, ret_words);
	rd_kafka_destroy_flags(client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
	return look;
}
