/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/digest.h"
#include "base/hex.h"
#include "base/mem.h"
#include "base/must.h"
#include "messages/broker/kafka/kafka_conf.h"

/*
 * What librdkafka is told.  The file's settings come first; what the promise
 * rests on comes after them, and the loader refuses it there.
 */
enum {
	QUEUE_SHARE = 64, /* of all memory that messages may take */
	QUEUE_LEAST = 64, /* kbytes */
	QUEUE_MOST = 1024,
	/* Of a digest of what distinguishes a name from others. */
	BRIEF_HEX = 8,
};

struct setting {
	const char *name, *value;
};

static const struct setting of_reader[] = {
    {"enable.auto.commit", "false"},
    {"enable.auto.offset.store", "false"},
    {"auto.offset.reset", "earliest"},
    {"isolation.level", "read_committed"},
    {"enable.partition.eof", "true"},
};

static const struct setting of_member[] = {
    {"queued.min.messages", "1000"},
    /* Others' bugs in 2.0.2 end in a hang or at 100 % of a CPU. */
    {"partition.assignment.strategy", KAFKA_CONF_PROTOCOL},
    {"log.queue", "true"},
};

/*
 * "murmur2_random" is where Java's producers put a key.  What a transaction has
 * to ask again is asked soon: a tenth of a second, as it is else, is longer
 * than all the rest of it.
 */
static const struct setting usual_of_producer[] = {
    {"partitioner", "murmur2_random"},
    {"retry.backoff.ms", "10"},
    {"message.max.bytes", "1000000000"},
    /* A topic that is not there is seldom made in this moment. */
    {"topic.metadata.propagation.max.ms", "3000"},
};

/*
 * What a producer that died has left open holds up whoever reads next, for so
 * long; the others must not be longer.
 */
static const struct setting of_producer[] = {
    /*
     * A broker refuses all that comes to it together for being too large
     * together; so whatever may be too large comes alone.
     */
    {"batch.size", "16384"},
    /* A topic that is deleted is to be known before they have timed out. */
    {"topic.metadata.refresh.interval.ms", "4000"},
    {"transaction.timeout.ms", "10000"},
    {"message.timeout.ms", "10000"},
    {"socket.timeout.ms", "10000"},
};

/* --- names --- */

const char *
kafka_conf_dead(
    const struct conf_source *source, struct span topic, struct arena *arena)
{
	return source->dead_letters != NULL
	    ? arena_dup(arena, span_str(source->dead_letters)).ptr
	    : arena_printf(arena, "%.*s.dead", SPAN_FMT(topic)).ptr;
}

/*
 * Whoever comes back under that name ends what was left open under it.  The
 * group is in it, as a broker knows nothing of groups there: those of two
 * groups would end each other's.
 */
char *
kafka_conf_id(const struct conf_source *source, const char *instance)
{
	uint8_t hash[DIGEST_BYTES];
	char hex[DIGEST_HEX + 1];
	struct digest digest;
	digest_begin(&digest, SPAN("kafka transactions"), SPAN(""));
	digest_part(&digest, span_str(source->group));
	digest_part(&digest, span_str(source->name));
	digest_part(&digest, span_str(instance));
	digest_end(&digest, hash);
	hex_encode(hash, sizeof hash, hex);
	return mem_printf(
	    "onceproxy-%s-%s-%.*s", source->name, instance, BRIEF_HEX, hex);
}

char *
kafka_conf_relay_id(const char *relay, struct span store)
{
	return mem_printf("onceproxy-relay-%s-%.*s", relay, SPAN_FMT(store));
}

/* --- configurations --- */

static void
set(rd_kafka_conf_t *conf, const char *name, const char *value)
{
	char words[KAFKA_WORDS_BYTES];
	must(rd_kafka_conf_set(conf, name, value, words, sizeof words) ==
	    RD_KAFKA_CONF_OK);
}

static void
set_list(rd_kafka_conf_t *conf, const struct setting *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		set(conf, list[i].name, list[i].value);
}

#define SET(conf, list) set_list(conf, list, sizeof list / sizeof *list)

/* A value that the loader took was well then; a file may be gone since. */
static void
set_file(rd_kafka_conf_t *conf, const struct conf_settings *settings)
{
	char words[KAFKA_WORDS_BYTES];
	for (size_t i = 0; i < settings->count; i++)
		rd_kafka_conf_set(conf, settings->list[i].name,
		    settings->list[i].value, words, sizeof words);
}

static rd_kafka_conf_t *
conf_of(const struct conf_broker *broker, const char *client)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	set(conf, "client.id", client);
	/* Small requests are not to wait for one another (Nagle). */
	set(conf, "socket.nagle.disable", "true");
	char *servers = mem_str(SPAN(""));
	for (size_t i = 0; i < broker->kafka.count; i++) {
		char *more = mem_printf("%s%s%s", servers, i > 0 ? "," : "",
		    broker->kafka.list[i]);
		free(servers);
		servers = more;
	}
	set(conf, "bootstrap.servers", servers);
	free(servers);
	return conf;
}

/* Its threads are given no signals. */
rd_kafka_t *
kafka_conf_client(rd_kafka_type_t type, rd_kafka_conf_t *conf,
    char words[KAFKA_WORDS_BYTES])
{
	sigset_t every, before;
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &before);
	rd_kafka_t *client =
	    rd_kafka_new(type, conf, words, KAFKA_WORDS_BYTES);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (client == NULL)
		rd_kafka_conf_destroy(conf);
	else if (type == RD_KAFKA_CONSUMER)
		rd_kafka_poll_set_consumer(client);
	return client;
}

rd_kafka_t *
kafka_conf_consumer(const struct conf_source *source, const char *instance,
    int64_t memory, char words[KAFKA_WORDS_BYTES])
{
	/*
	 * It holds for each partition, as each has a queue of its own, and for
	 * the answers that it is filled with (fetch.max.bytes), unless one
	 * message is longer.
	 */
	int64_t kbytes = memory / QUEUE_SHARE / 1024;
	kbytes = kbytes < QUEUE_LEAST ? QUEUE_LEAST
	    : kbytes > QUEUE_MOST     ? QUEUE_MOST
				      : kbytes;
	char *queued = mem_printf("%" PRId64, kbytes);
	char *client = mem_printf("onceproxy-%s-%s", source->name, instance);
	rd_kafka_conf_t *conf = conf_of(source->broker, client);
	free(client);
	/* Whoever died is missed so soon; the file may say otherwise. */
	set(conf, "session.timeout.ms", "10000");
	set_file(conf, &source->broker->settings);
	SET(conf, of_reader);
	set(conf, "group.id", source->group);
	SET(conf, of_member);
	set(conf, "queued.max.messages.kbytes", queued);
	free(queued);
	rd_kafka_conf_set_events(conf,
	    RD_KAFKA_EVENT_FETCH | RD_KAFKA_EVENT_REBALANCE |
		RD_KAFKA_EVENT_OFFSET_COMMIT | RD_KAFKA_EVENT_ERROR |
		RD_KAFKA_EVENT_LOG);
	return kafka_conf_client(RD_KAFKA_CONSUMER, conf, words);
}

/* What goes wrong is an error of the call that it concerns. */
static void
say_nothing(const rd_kafka_t *rk, int level, const char *fac, const char *buf)
{
	(void)rk;
	(void)level;
	(void)fac;
	(void)buf;
}

rd_kafka_conf_t *
kafka_conf_transactions(
    const struct conf_broker *broker, const char *client, const char *id)
{
	rd_kafka_conf_t *conf = conf_of(broker, client);
	SET(conf, usual_of_producer);
	set_file(conf, &broker->settings);
	SET(conf, of_producer);
	rd_kafka_conf_set_log_cb(conf, say_nothing);
	set(conf, "transactional.id", id);
	return conf;
}

rd_kafka_conf_t *
kafka_conf_producer(const struct conf_source *source, const char *instance)
{
	char *client = mem_printf("onceproxy-%s-%s", source->name, instance);
	char *name = kafka_conf_id(source, instance);
	rd_kafka_conf_t *conf =
	    kafka_conf_transactions(source->broker, client, name);
	free(client);
	free(name);
	return conf;
}

rd_kafka_conf_t *
kafka_conf_asker(
    const struct conf_broker *broker, const char *client, const char *group)
{
	rd_kafka_conf_t *conf = conf_of(broker, client);
	set_file(conf, &broker->settings);
	SET(conf, of_reader);
	/* What is not decided yet is waited for. */
	set(conf, "fetch.wait.max.ms", "10");
	rd_kafka_conf_set_log_cb(conf, say_nothing);
	set(conf, "group.id", group);
	return conf;
}
