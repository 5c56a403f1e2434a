/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "messages/broker/kafka/kafka_private.h"

/*
 * Whether the topics of a reader are there, all that it reads and puts to, and
 * whether it may see them: librdkafka says some of that, minutes late.  One
 * that is put to and was never there may yet be made by the broker, when
 * something is put.
 */
enum {
	LOOK_MS = 4000,
	LOOK_AGAIN_MS = 500, /* while one is missing */
};

struct kafka_topic {
	char *name;
	enum kafka_subject subject;
	const char *what; /* it is for that */
	bool seen;        /* it was there */
};

struct kafka_topics {
	size_t count;
	int64_t look_ms; /* the next one, by the loop's clock */
	struct kafka_topic list[];
};

/* --- which --- */

static void
add_topic(struct kafka_topics *topics, enum kafka_subject subject,
    const char *what, char *name)
{
	size_t i = 0;
	while (i < topics->count && strcmp(topics->list[i].name, name) != 0)
		i++;
	if (i < topics->count) {
		free(name);
		return;
	}
	topics->list[topics->count++] =
	    (struct kafka_topic){name, subject, what, false};
}

void
kafka_topics_init(struct kafka *kafka)
{
	const struct conf_source *source = kafka->source;
	size_t count = source->topics.count;
	struct kafka_topics *topics = mem_zero(sizeof *topics +
	    (2 * count + 1) * sizeof *topics->list);
	for (size_t i = 0; i < count; i++)
		add_topic(topics, KAFKA_OF_TOPIC, "",
		    mem_text(source->topics.list[i]));
	if (source->results != NULL)
		add_topic(topics, KAFKA_OF_PLACE, " for results",
		    mem_text(source->results));
	for (size_t i = 0; i < count; i++)
		add_topic(topics, KAFKA_OF_PLACE, " for dead letters",
		    source->dead_letters != NULL
			? mem_text(source->dead_letters)
			: mem_printf("%s.dead", source->topics.list[i]));
	kafka->topics = topics;
}

void
kafka_topics_free(struct kafka *kafka)
{
	for (size_t i = 0; i < kafka->topics->count; i++)
		free(kafka->topics->list[i].name);
	free(kafka->topics);
	kafka->topics = NULL;
}

/* --- what is seen of them --- */

static struct kafka_topic *
topic_named(struct kafka *kafka, const char *name)
{
	struct kafka_topics *topics = kafka->topics;
	for (size_t i = 0; i < topics->count; i++)
		if (!strcmp(topics->list[i].name, name))
			return &topics->list[i];
	return NULL;
}

static void
tell_missing(struct kafka *kafka, const struct kafka_topic *topic)
{
	char words[KAFKA_WORDS_BYTES];
	snprintf(words, sizeof words, "there is no topic \"%s\"%s: make it",
	    topic->name, topic->what);
	kafka_trouble_begin(kafka, topic->subject, topic->name, words);
}

static void
tell_forbidden(struct kafka *kafka, const struct kafka_topic *topic)
{
	char words[KAFKA_WORDS_BYTES];
	bool reads = topic->subject == KAFKA_OF_TOPIC;
	snprintf(words, sizeof words,
	    "no right to %s the topic \"%s\": %s",
	    reads ? "read" : "write to", topic->name,
	    reads ? "Describe, Read" : "Describe, Write");
	kafka_trouble_begin(kafka, topic->subject, topic->name, words);
}

/*
 * A partition that nobody leads may be given older data meanwhile.  Where
 * another one leads it, messages tell.
 */
static void
learn_leaders(struct kafka *kafka, const struct kafka_ask_topic *asked)
{
	for (int i = 0; i < asked->n_leaders; i++)
		if (asked->leaders[i] < 0)
			kafka_doubt_log(kafka, asked->name, i);
}

static void
learn_topic(struct kafka *kafka, const struct kafka_ask_topic *asked)
{
	struct kafka_topic *topic = topic_named(kafka, asked->name);
	switch ((int)asked->error) {
	case RD_KAFKA_RESP_ERR_NO_ERROR:
		topic->seen = true;
		learn_leaders(kafka, asked);
		kafka_trouble_end(kafka, topic->subject, topic->name);
		break;
	case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
		if (topic->seen || topic->subject == KAFKA_OF_TOPIC)
			tell_missing(kafka, topic);
		break;
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
		tell_forbidden(kafka, topic);
		break;
	default:
		break;
	}
}

void
kafka_topics_answered(void *arg, const struct kafka_ask_topics *asked)
{
	struct kafka *kafka = arg;
	kafka->looking = false;
	for (size_t i = 0; i < asked->count; i++)
		learn_topic(kafka, &asked->list[i]);
	if (asked->count > 0)
		kafka->topics->look_ms = loop_now_ms(kafka->loop) +
		    (kafka->troubles != NULL ? LOOK_AGAIN_MS : LOOK_MS);
	kafka_kick(kafka);
}

void
kafka_topics_miss(struct kafka *kafka, const char *name)
{
	const struct kafka_topic *topic = topic_named(kafka, name);
	if (topic != NULL)
		tell_missing(kafka, topic);
}

void
kafka_topics_now(struct kafka *kafka)
{
	kafka->topics->look_ms = 0;
	kafka_kick(kafka);
}

/* Not while a group that has just given partitions waits for our answer. */
void
kafka_topics_look(struct kafka *kafka)
{
	const struct kafka_topics *topics = kafka->topics;
	int64_t now = loop_now_ms(kafka->loop);
	bool waits = kafka->given && !kafka->assigned &&
	    kafka->given_ms != INT64_MAX;
	if (!kafka->up || kafka->looking || waits || now < topics->look_ms)
		return;
	kafka->looking = true;
	kafka->topics->look_ms = now + LOOK_MS;
	struct kafka_ask_topics *ask = kafka_ask_topics_new(topics->count);
	for (size_t i = 0; i < topics->count; i++)
		ask->list[i] = (struct kafka_ask_topic){
		    .name = mem_text(topics->list[i].name),
		    .wanted = kafka_trouble_is(
			kafka, KAFKA_OF_TOPIC, topics->list[i].name)};
	kafka_ask_topics_begin(kafka->ask, ask);
}
