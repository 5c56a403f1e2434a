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
	/* Questions in a row without an answer, and no broker is there. */
	UNHEARD_MOST = 3,
};

struct kafka_topic {
	char *name;
	enum kafka_subject subject;
	const char *what; /* it is for that */
	bool seen;        /* it was there */
};

struct kafka_topics {
	size_t count;
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
	const struct conf_source *source = kafka->core.source;
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

/*
 * A partition that nobody leads, or another one than a moment ago, may lack the
 * end of its log, and have been written on since: whatever comes next of it is
 * not taken before that is looked at.
 */
static void
learn_leaders(struct kafka *kafka, const struct kafka_ask_topic *asked)
{
	for (int i = 0; i < asked->n_leaders; i++) {
		struct kafka_part *part = kafka_part_at(kafka, asked->name, i);
		if (part == NULL)
			continue;
		if (asked->leaders[i] < 0 ||
		    (part->leads >= 0 && part->leads != asked->leaders[i]))
			part->leader = KAFKA_LEADER_DOUBTED;
		part->leads = asked->leaders[i];
	}
}

static void
learn_topic(struct kafka *kafka, struct kafka_topic *topic,
    const struct kafka_ask_topic *asked)
{
	char words[KAFKA_WORDS_BYTES];
	bool reads = topic->subject == KAFKA_OF_TOPIC;
	switch ((int)asked->error) {
	case RD_KAFKA_RESP_ERR_NO_ERROR:
		topic->seen = true;
		learn_leaders(kafka, asked);
		/* It was away, and may be another one. */
		kafka->anew |= kafka->assigned &&
		    reader_trouble_is(
			&kafka->core, KAFKA_OF_TOPIC, topic->name);
		reader_trouble_end(&kafka->core, topic->subject, topic->name);
		return;
	case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
		if (!topic->seen && !reads)
			return;
		snprintf(words, sizeof words,
		    "there is no topic \"%s\"%s: make it", topic->name,
		    topic->what);
		break;
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
		snprintf(words, sizeof words,
		    "no right to %s the topic \"%s\": %s",
		    reads ? "read" : "write to", topic->name,
		    reads ? "Describe, Read" : "Describe, Write");
		break;
	default:
		return;
	}
	reader_trouble_begin(
	    &kafka->core, topic->subject, topic->name, span_str(words));
}

void
kafka_topics_answered(void *arg, const struct kafka_ask_topics *asked)
{
	struct kafka *kafka = arg;
	kafka->looking = false;
	/* librdkafka says that all are down, but not in any case. */
	kafka->unheard = asked->count > 0 ? 0 : kafka->unheard + 1;
	if (kafka->up && kafka->unheard >= UNHEARD_MOST)
		kafka_trouble_away(kafka);
	/* In the order in which they were asked for. */
	for (size_t i = 0; i < asked->count; i++)
		learn_topic(kafka, &kafka->topics->list[i], &asked->list[i]);
	if (asked->count > 0)
		kafka->look_ms = loop_now_ms(kafka->core.loop) +
		    (list_empty(&kafka->core.troubles) ? LOOK_MS
						       : LOOK_AGAIN_MS);
	reader_kick(&kafka->core);
}

/* Not while a group that has just given partitions waits for our answer. */
void
kafka_topics_look(struct kafka *kafka)
{
	const struct kafka_topics *topics = kafka->topics;
	int64_t now = loop_now_ms(kafka->core.loop);
	bool waits = kafka->given && !kafka->assigned && !kafka->deferred;
	if (!kafka->up || kafka->looking || waits || now < kafka->look_ms)
		return;
	kafka->looking = true;
	kafka->look_ms = now + LOOK_MS;
	struct kafka_ask_topics *ask = kafka_ask_topics_new(topics->count);
	for (size_t i = 0; i < topics->count; i++)
		ask->list[i] = (struct kafka_ask_topic){
		    .name = mem_text(topics->list[i].name),
		    .wanted = reader_trouble_is(&kafka->core,
			KAFKA_OF_TOPIC, topics->list[i].name)};
	kafka_ask_topics(kafka->ask, ask);
}
