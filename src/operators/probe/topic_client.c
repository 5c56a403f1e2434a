/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "operators/probe/topic_client.h"

static void
keep_quiet(const rd_kafka_t *client, int level, const char *facility,
    const char *words)
{
	(void)client;
	(void)level;
	(void)facility;
	(void)words;
}

void
topic_client_set(rd_kafka_conf_t *conf, const char *name, const char *value)
{
	char words[200];
	/* Values of the file were tried when it was read. */
	(void)rd_kafka_conf_set(conf, name, value, words, sizeof words);
}

rd_kafka_conf_t *
topic_client_conf(const struct conf_broker *broker)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	char *servers = mem_text("");
	for (size_t i = 0; i < broker->settings.count; i++)
		topic_client_set(conf, broker->settings.list[i].name,
		    broker->settings.list[i].value);
	for (size_t i = 0; i < broker->kafka.count; i++) {
		char *more = mem_printf("%s%s%s", servers, i > 0 ? "," : "",
		    broker->kafka.list[i]);
		free(servers);
		servers = more;
	}
	topic_client_set(conf, "bootstrap.servers", servers);
	free(servers);
	topic_client_set(conf, "client.id", "onceproxy doctor");
	topic_client_set(conf, "allow.auto.create.topics", "false");
	rd_kafka_conf_set_log_cb(conf, keep_quiet);
	return conf;
}

rd_kafka_t *
topic_client_new(rd_kafka_type_t type, rd_kafka_conf_t *conf, char *ret_words,
    size_t size)
{
	rd_kafka_t *client = rd_kafka_new(type, conf, ret_words, size);
	if (client == NULL)
		rd_kafka_conf_destroy(conf);
	else if (type == RD_KAFKA_CONSUMER)
		rd_kafka_poll_set_consumer(client);
	return client;
}
