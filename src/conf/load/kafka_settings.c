/* SPDX-License-Identifier: BSD-2-Clause */
#ifdef HAVE_KAFKA
#include <librdkafka/rdkafka.h>
#include <signal.h>
#endif

#include "conf/load/kafka_settings_private.h"
#include "conf/load/text_private.h"

/*
 * Names, or with a dot at the end what names begin with, that the gateway says
 * itself: an order of messages, what is acknowledged and what is read rest on
 * them; and those by which a file could run code in the gateway.
 */
static const char *const refused[] = {
    "acks",
    "auto.commit.",
    "auto.offset.reset",
    "batch.size",
    "bootstrap.servers",
    "builtin.features",
    "delivery.report.only.error",
    "enable.auto.",
    "enable.idempotence",
    "enable.partition.eof",
    "group.id",
    "group.instance.id",
    "group.protocol",
    "group.remote.assignor",
    "internal.termination.signal",
    "isolation.level",
    "log.queue",
    "metadata.broker.list",
    "offset.store.",
    "partition.assignment.strategy",
    "plugin.library.paths",
    "queued.max.messages.kbytes",
    "queued.min.messages",
    "request.required.acks",
    "test.mock.",
    "transaction.timeout.ms",
    "transactional.id",
};

/* What librdkafka calls sensitive, and whatever else may be. */
static const char *const hidden[] = {"password", "secret", ".pem", "jaas",
    "oauthbearer.config", "username.token"};

static bool
is_refused(const char *name)
{
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		size_t len = strlen(refused[i]);
		bool begins = refused[i][len - 1] == '.';
		if (begins ? !strncasecmp(name, refused[i], len)
			   : !strcasecmp(name, refused[i]))
			return true;
	}
	return false;
}

/* --- what librdkafka says of them --- */

#ifdef HAVE_KAFKA
enum { WORDS_BYTES = 512 };

/* Some of its sentences end with a newline. */
static void
complain(struct loader *l, const struct json_place *at, char *words)
{
	size_t len = strlen(words);
	while (len > 0 && (words[len - 1] == '\n' || words[len - 1] == ' '))
		words[--len] = '\0';
	complaints_at(l, at, "%s", words);
}

static void
try_one(struct loader *l, const struct json_place *at,
    const struct conf_setting *setting)
{
	char words[WORDS_BYTES];
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	if (rd_kafka_conf_set(conf, setting->name, setting->value, words,
		sizeof words) != RD_KAFKA_CONF_OK)
		complain(l, at,
		    setting->shown ? words : (char[]){"librdkafka refuses it"});
	rd_kafka_conf_destroy(conf);
}

static void
say_nothing(const rd_kafka_t *rk, int level, const char *fac, const char *buf)
{
	(void)rk;
	(void)level;
	(void)fac;
	(void)buf;
}

/* A client of that type, of no server: it is made, and has no connection. */
static bool
try_client(const struct conf_settings *settings, rd_kafka_type_t type,
    char words[WORDS_BYTES])
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_conf_set_log_cb(conf, say_nothing);
	for (size_t i = 0; i < settings->count; i++)
		rd_kafka_conf_set(conf, settings->list[i].name,
		    settings->list[i].value, words, WORDS_BYTES);
	/* Its threads must not be the ones who get our signals. */
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rd_kafka_t *client = rd_kafka_new(type, conf, words, WORDS_BYTES);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (client == NULL) {
		rd_kafka_conf_destroy(conf);
		return false;
	}
	rd_kafka_destroy(client);
	return true;
}

#endif

void
kafka_settings_check(struct loader *l, const struct json_place *at,
    const struct conf_settings *settings)
{
#ifdef HAVE_KAFKA
	char words[WORDS_BYTES];
	if (settings->count > 0 &&
	    (!try_client(settings, RD_KAFKA_CONSUMER, words) ||
		!try_client(settings, RD_KAFKA_PRODUCER, words)))
		complain(l, at, words);
#else
	(void)l;
	(void)at;
	(void)settings;
#endif
}

/* --- the member --- */

void
kafka_settings_parse(struct loader *l, const struct given *given)
{
	struct conf_settings *settings = given->field;
	const char *name;
	json_t *value;
	settings->list = loader_alloc(
	    l, json_object_size(given->value) * sizeof *settings->list);
	json_object_foreach(given->value, name, value)
	{
		struct json_place at = {given->at, name, 0};
		if (is_refused(name)) {
			complaints_at(l, &at, "the gateway sets this itself");
			continue;
		}
		char *text = text_read_hidden(l, &at, value);
		if (text == NULL)
			continue;
		if (!strcmp(name, "ssl.key.location"))
			text_note_secret(l, &at, NULL, text);
		struct conf_setting *setting =
		    &settings->list[settings->count++];
		setting->name = loader_str(l, name);
		setting->shown = json_is_string(value);
		for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
			setting->shown &= strstr(name, hidden[i]) == NULL;
		setting->value = text_secret(l, text);
#ifdef HAVE_KAFKA
		try_one(l, &at, setting);
#endif
	}
}
