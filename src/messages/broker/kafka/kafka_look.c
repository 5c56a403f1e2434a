/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "messages/broker/kafka/kafka_call.h"
#include "messages/broker/kafka/kafka_private.h"

/*
 * What is looked at every few seconds: whether the topics that a reader reads
 * are there, and whether it may see them, as librdkafka says some of that
 * minutes late; who leads partitions; and where their logs end.
 */
enum {
	LOOK_MS = 4000,
	LOOK_AGAIN_MS = 500, /* while one is missing */
	/* Looks in a row without an answer, and no broker is there. */
	UNHEARD_MOST = 3,
	SILENT_MS = 120000, /* so long may a partition be */
	/* For an answer. */
	PATIENCE_MS = 3000,
	SOON_MS = 1000,
};

/* A look, and what is seen of each topic, in the order of the source's. */
struct topics_look {
	struct kafka_job job;
	struct kafka *kafka; /* the loop's */
	rd_kafka_t *consumer;
	uintptr_t serials; /* of the reader, when it was begun */
	size_t n_topics;
	size_t heard; /* of so many, the first ones, was told */
	struct seen_topic {
		char *name;
		/* Once it is there, the consumer is to know it at once. */
		bool wanted;
		bool holed; /* its policy is wanted */
		rd_kafka_resp_err_t error;
		const struct rd_kafka_metadata *found; /* NULL: it is not */
		char *policy;    /* NULL: it is not known, … */
		char words[160]; /* … for that reason */
	} * topics;
	/*
	 * Of partitions, where their logs begin and end, as their leaders say;
	 * below 0: that is not told.
	 */
	rd_kafka_topic_partition_list_t *begins, *ends;
};

/* --- in a thread, as it blocks --- */

/* A consumer joins its group anew where an answer has all topics. */
static void
look_at_topics(struct topics_look *look)
{
	const struct rd_kafka_metadata *all;
	bool is_new = false;
	while (look->heard < look->n_topics) {
		struct seen_topic *topic = &look->topics[look->heard];
		topic->error = kafka_call_topic(
		    look->consumer, topic->name, SOON_MS, &topic->found);
		if (topic->error < 0)
			break;
		look->heard++;
		is_new |= topic->wanted && topic->found != NULL;
		if (topic->holed)
			topic->policy = kafka_call_setting(look->consumer,
			    RD_KAFKA_RESOURCE_TOPIC, topic->name,
			    "cleanup.policy", SOON_MS, topic->words,
			    sizeof topic->words);
	}
	if (is_new &&
	    rd_kafka_metadata(look->consumer, 1, NULL, &all, PATIENCE_MS) ==
		RD_KAFKA_RESP_ERR_NO_ERROR)
		rd_kafka_metadata_destroy(all);
}

/* Below 0: nobody does now, or that is not told. */
static int32_t
leader_of(const struct topics_look *look, const char *name, int32_t number)
{
	for (size_t i = 0; i < look->heard; i++) {
		const struct seen_topic *topic = &look->topics[i];
		if (topic->found == NULL || strcmp(topic->name, name) != 0)
			continue;
		const struct rd_kafka_metadata_topic *at = topic->found->topics;
		for (int j = 0; j < at->partition_cnt; j++)
			if (at->partitions[j].id == number)
				return at->partitions[j].leader;
	}
	return -1;
}

static void
look_at_logs_of(struct topics_look *look, int32_t leader)
{
	rd_kafka_topic_partition_list_t *begins, *ends;
	begins = rd_kafka_topic_partition_list_new(16);
	for (int i = 0; i < look->begins->cnt; i++) {
		const rd_kafka_topic_partition_t *at = &look->begins->elems[i];
		if (leader_of(look, at->topic, at->partition) == leader)
			rd_kafka_topic_partition_list_add(
			    begins, at->topic, at->partition);
	}
	ends = rd_kafka_topic_partition_list_copy(begins);
	if (kafka_call_side(look->consumer, begins, RD_KAFKA_OFFSET_BEGINNING,
		PATIENCE_MS) == RD_KAFKA_RESP_ERR_NO_ERROR &&
	    kafka_call_side(look->consumer, ends, RD_KAFKA_OFFSET_END,
		PATIENCE_MS) == RD_KAFKA_RESP_ERR_NO_ERROR)
		for (int i = 0; i < begins->cnt; i++) {
			const rd_kafka_topic_partition_t *at =
			    &begins->elems[i];
			rd_kafka_topic_partition_list_set_offset(look->begins,
			    at->topic, at->partition, at->offset);
			rd_kafka_topic_partition_list_set_offset(look->ends,
			    at->topic, at->partition, ends->elems[i].offset);
		}
	rd_kafka_topic_partition_list_destroy(begins);
	rd_kafka_topic_partition_list_destroy(ends);
}

/*
 * librdkafka tells nothing of any log that is asked for together with one that
 * has an error: so one leader after the other is asked for its own.
 */
static void
run_look(struct kafka_job *job)
{
	struct topics_look *look = CONTAINER_OF(job, struct topics_look, job);
	int32_t next = -1;
	look_at_topics(look);
	while (next < INT32_MAX && !kafka_thread_ends(job->thread)) {
		int32_t last = next;
		next = INT32_MAX;
		for (int i = 0; i < look->begins->cnt; i++) {
			const rd_kafka_topic_partition_t *at =
			    &look->begins->elems[i];
			int32_t leader =
			    leader_of(look, at->topic, at->partition);
			if (leader > last && leader < next)
				next = leader;
		}
		if (next < INT32_MAX)
			look_at_logs_of(look, next);
	}
}

/* --- what is seen of topics --- */

/*
 * A partition that nobody leads, or another one than a moment ago, may lack the
 * end of its log, and have been written on since: whatever comes next of it is
 * not taken before that is looked at.
 */
static void
learn_leaders(struct kafka *kafka, const struct seen_topic *seen)
{
	const struct rd_kafka_metadata_topic *topic = seen->found->topics;
	struct kafka_part *part;
	LIST_EACH (part, &kafka->parts, link) {
		int at = 0;
		while (at < topic->partition_cnt &&
		    topic->partitions[at].id != part->number)
			at++;
		if (at == topic->partition_cnt ||
		    strcmp(part->topic, seen->name) != 0)
			continue;
		int32_t leader = topic->partitions[at].leader;
		if (leader < 0 || (part->leads >= 0 && part->leads != leader))
			part->leader = KAFKA_LEADER_DOUBTED;
		part->leads = leader;
	}
}

static void
learn_topic(struct kafka *kafka, const struct seen_topic *seen)
{
	struct broker_reader *core = &kafka->core;
	const struct kafka_call_names names = {.topic = seen->name};
	char words[KAFKA_WORDS_BYTES];
	struct kafka_part *part;
	if (seen->found == NULL) {
		if (kafka_call_refused(
			seen->error, &names, words, sizeof words))
			reader_trouble_begin(core, KAFKA_OF_TOPIC, seen->name,
			    span_str(words));
		return;
	}
	learn_leaders(kafka, seen);
	LIST_EACH (part, &kafka->parts, link)
		if (seen->holed && !strcmp(part->topic, seen->name))
			kafka_part_policy(part, seen->policy, seen->words);
	/* It was away, and may be another one. */
	kafka->anew |= kafka->assigned &&
	    reader_trouble_is(core, KAFKA_OF_TOPIC, seen->name);
	reader_trouble_end(core, KAFKA_OF_TOPIC, seen->name);
}

/* --- what is seen of logs ---
 *
 * librdkafka may stop to read a partition for ever, and say nothing: in all
 * versions it leaves one at a broker that does not lead it where the leader
 * moves there and back before the thread of the first broker has given it up;
 * what it shows of that partition then is what it was when it was last read.
 * So leaders are asked where logs end.  One of which nothing comes although it
 * has more is not read any more, for whatever reason: only another consumer is
 * sure to read it.
 */

static void
learn_end(struct kafka_part *part, int64_t end)
{
	struct kafka *kafka = part->kafka;
	int64_t now = loop_now_ms(kafka->core.loop);
	part->end = end;
	if (!kafka_part_wants(part) ||
	    (part->step == KAFKA_READING && part->tracker.next >= end) ||
	    rd_kafka_queue_length(part->queue) > 0)
		part->heard_ms = now;
	if (kafka->remake || now - part->heard_ms < SILENT_MS)
		return;
	struct logline line = log_begin(EV_source_opened_again);
	log_str(&line, "source", kafka->core.source->name);
	log_str(&line, "broker", kafka->core.source->broker->name);
	log_str(&line, "partition", part->name);
	log_int(&line, "offset", part->tracker.next);
	log_int(&line, "end", end);
	log_end(&line);
	kafka->remake = true;
}

/* False: where its log begins and ends is not known yet. */
static bool
learn_log(struct kafka_part *part, const struct topics_look *seen)
{
	struct kafka *kafka = part->kafka;
	const rd_kafka_topic_partition_t *begin, *end;
	begin = rd_kafka_topic_partition_list_find(
	    seen->begins, part->topic, part->number);
	end = rd_kafka_topic_partition_list_find(
	    seen->ends, part->topic, part->number);
	if (begin == NULL || end == NULL || begin->offset < 0) {
		/* Whom nobody can ask is not silent. */
		part->heard_ms = loop_now_ms(kafka->core.loop);
		return part->has_log;
	}
	if (part->has_log) {
		learn_end(part, end->offset);
		return true;
	}
	part->has_log = true;
	part->begin = begin->offset;
	part->end = end->offset;
	if (kafka->assigned && !kafka->revoking) {
		int64_t from = kafka_part_begin(part);
		if (from >= 0)
			kafka_part_seek(part, from);
		part->late = true;
	}
	return true;
}

/* --- a look --- */

static void
learn(struct kafka *kafka, const struct topics_look *seen)
{
	struct kafka_part *part;
	kafka->looking = false;
	/* librdkafka says that all are down, but not in any case. */
	kafka->unheard = seen->heard > 0 ? 0 : kafka->unheard + 1;
	if (kafka->core.reachable && kafka->unheard >= UNHEARD_MOST)
		kafka_trouble_is_down(kafka, NULL);
	for (size_t i = 0; i < seen->heard; i++)
		learn_topic(kafka, &seen->topics[i]);
	bool all = list_empty(&kafka->core.troubles);
	if (seen->serials == kafka->serials)
		LIST_EACH (part, &kafka->parts, link)
			all &= learn_log(part, seen);
	if (seen->serials != kafka->serials)
		kafka->look_ms = 0;
	else if (seen->heard > 0)
		kafka->look_ms = loop_now_ms(kafka->core.loop) +
		    (all ? LOOK_MS : LOOK_AGAIN_MS);
	reader_kick(&kafka->core);
}

static void
on_looked(struct kafka_job *job, bool wanted)
{
	struct topics_look *look = CONTAINER_OF(job, struct topics_look, job);
	if (wanted)
		learn(look->kafka, look);
	for (size_t i = 0; i < look->n_topics; i++) {
		free(look->topics[i].name);
		free(look->topics[i].policy);
		if (look->topics[i].found != NULL)
			rd_kafka_metadata_destroy(look->topics[i].found);
	}
	free(look->topics);
	rd_kafka_topic_partition_list_destroy(look->begins);
	rd_kafka_topic_partition_list_destroy(look->ends);
	free(look);
}

void
kafka_look_go_on(struct kafka *kafka)
{
	const struct strings *topics = &kafka->core.source->topics;
	int64_t now = loop_now_ms(kafka->core.loop);
	struct kafka_part *part;
	if (!kafka->core.reachable || kafka->looking || now < kafka->look_ms)
		return;
	kafka->looking = true;
	kafka->look_ms = now + LOOK_MS;
	/* A topic that was made again may have as many as the old one. */
	if (kafka->assigned && !kafka->revoking)
		kafka_commit_ask(kafka);
	struct topics_look *look = mem_zero(sizeof *look);
	look->job.run = run_look;
	look->job.done = on_looked;
	look->kafka = kafka;
	look->consumer = kafka->consumer;
	look->serials = kafka->serials;
	look->n_topics = topics->count;
	look->topics = mem_zero(topics->count * sizeof *look->topics);
	for (size_t i = 0; i < topics->count; i++) {
		look->topics[i].name = mem_text(topics->list[i]);
		look->topics[i].wanted = reader_trouble_is(
		    &kafka->core, KAFKA_OF_TOPIC, topics->list[i]);
	}
	look->begins = rd_kafka_topic_partition_list_new(16);
	look->ends = rd_kafka_topic_partition_list_new(16);
	LIST_EACH (part, &kafka->parts, link) {
		for (size_t i = 0; i < topics->count; i++)
			look->topics[i].holed |= part->step == KAFKA_HOLE &&
			    strcmp(part->topic, topics->list[i]) == 0;
		rd_kafka_topic_partition_list_add(
		    look->begins, part->topic, part->number);
		rd_kafka_topic_partition_list_add(
		    look->ends, part->topic, part->number);
	}
	kafka_thread_add(kafka->asker, &look->job);
}
