/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/loop/clock.h"
#include "base/mem.h"
#include "messages/broker/kafka/kafka_call.h"
#include "messages/broker/kafka/kafka_name.h"
#include "messages/broker/kafka/kafka_private.h"

/*
 * What is looked at every few seconds: whether the topics of a reader are
 * there, all that it reads and puts to, and whether it may see them, as
 * librdkafka says some of that minutes late; who leads partitions; and where
 * their logs end.  One that is put to and was never there may yet be made by
 * the broker, when something is put.
 */
enum {
	LOOK_MS = 4000,
	LOOK_AGAIN_MS = 500, /* while one is missing */
	/* Looks in a row without an answer, and no broker is there. */
	UNHEARD_MOST = 3,
	/* So long may a partition be silent; and when all was well since. */
	SILENT_FIRST_MS = 20000,
	SILENT_MOST_MS = 320000,
	CALM_MS = 600000,
	/* For an answer. */
	PATIENCE_MS = 3000,
	SOON_MS = 1000,
};

struct kafka_topic {
	char *name;
	enum kafka_subject subject;
	bool seen; /* it was there */
};

struct kafka_look {
	size_t count;
	struct kafka_topic list[];
};

/* A look, and what is seen of each topic, in their order. */
struct topics_look {
	struct kafka_job job;
	struct kafka *kafka; /* the loop's */
	rd_kafka_t *consumer;
	uintptr_t serials; /* of the reader, when it was begun */
	int first;         /* which log is asked for first, one by one */
	size_t n_topics;
	size_t heard; /* of so many, the first ones, was told */
	struct seen_topic {
		char *name;
		/* Once it is there, the consumer is to know it at once. */
		bool wanted;
		bool holed; /* its policy is wanted */
		rd_kafka_resp_err_t error;
		/* Who leads each partition; below 0: nobody does now. */
		int32_t *leaders;
		int n_leaders;
		enum kafka_policy policy;
		char words[160]; /* why it is unknown */
	} * topics;
	/*
	 * Of partitions; then: where their logs begin and end, as their leaders
	 * say, below 0 where that is not told.  Those that nobody leads are not
	 * in it any more.
	 */
	rd_kafka_topic_partition_list_t *begins, *ends;
};

/* --- which --- */

static void
add_topic(struct kafka_look *look, enum kafka_subject subject, const char *name)
{
	for (size_t i = 0; i < look->count; i++)
		if (!strcmp(look->list[i].name, name))
			return;
	look->list[look->count++] =
	    (struct kafka_topic){mem_text(name), subject, false};
}

void
kafka_look_init(struct kafka *kafka)
{
	const struct conf_source *source = kafka->core.source;
	size_t count = source->topics.count;
	struct kafka_look *look =
	    mem_zero(sizeof *look + (2 * count + 1) * sizeof *look->list);
	struct arena *arena = arena_new();
	for (size_t i = 0; i < count; i++)
		add_topic(look, KAFKA_OF_TOPIC, source->topics.list[i]);
	if (source->results != NULL)
		add_topic(look, KAFKA_OF_PLACE, source->results);
	for (size_t i = 0; i < count; i++)
		add_topic(look, KAFKA_OF_PLACE,
		    kafka_name_dead(
			source, span_str(source->topics.list[i]), arena));
	arena_free(&arena);
	kafka->look = look;
}

void
kafka_look_free(struct kafka *kafka)
{
	for (size_t i = 0; i < kafka->look->count; i++)
		free(kafka->look->list[i].name);
	free(kafka->look);
	kafka->look = NULL;
}

/* --- in a thread, as it blocks --- */

static void
look_at_policy(rd_kafka_t *consumer, struct seen_topic *topic)
{
	char *policy = kafka_call_setting(consumer, RD_KAFKA_RESOURCE_TOPIC,
	    topic->name, "cleanup.policy", SOON_MS, topic->words,
	    sizeof topic->words);
	if (policy != NULL)
		topic->policy = strstr(policy, "compact") != NULL
		    ? KAFKA_POLICY_COMPACT
		    : KAFKA_POLICY_DELETE;
	free(policy);
}

/* A consumer joins its group anew where an answer has all topics. */
static void
look_at_topics(struct topics_look *look)
{
	const struct rd_kafka_metadata *all;
	bool is_new = false;
	while (look->heard < look->n_topics) {
		struct seen_topic *topic = &look->topics[look->heard];
		topic->error = kafka_call_topic(look->consumer, topic->name,
		    SOON_MS, &topic->leaders, &topic->n_leaders);
		if (topic->error < 0)
			break;
		look->heard++;
		is_new |= topic->wanted && topic->n_leaders > 0;
		if (topic->holed)
			look_at_policy(look->consumer, topic);
	}
	if (is_new &&
	    rd_kafka_metadata(look->consumer, 1, NULL, &all, PATIENCE_MS) ==
		RD_KAFKA_RESP_ERR_NO_ERROR)
		rd_kafka_metadata_destroy(all);
}

static bool
has_leader(const struct topics_look *look, const rd_kafka_topic_partition_t *at)
{
	for (size_t i = 0; i < look->heard; i++) {
		const struct seen_topic *topic = &look->topics[i];
		if (!strcmp(topic->name, at->topic))
			return at->partition < topic->n_leaders &&
			    topic->leaders[at->partition] >= 0;
	}
	return false;
}

static bool
ask_sides(rd_kafka_t *consumer, rd_kafka_topic_partition_list_t *begins,
    rd_kafka_topic_partition_list_t *ends, int timeout_ms)
{
	return kafka_call_side(consumer, begins, RD_KAFKA_OFFSET_BEGINNING,
		   timeout_ms) == RD_KAFKA_RESP_ERR_NO_ERROR &&
	    kafka_call_side(consumer, ends, RD_KAFKA_OFFSET_END, timeout_ms) ==
	    RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* Of one log alone. */
static void
look_at_one(rd_kafka_t *consumer, rd_kafka_topic_partition_t *begin,
    rd_kafka_topic_partition_t *end)
{
	rd_kafka_topic_partition_list_t *begins, *ends;
	begins = kafka_call_list(begin->topic, begin->partition, -1);
	ends = kafka_call_list(begin->topic, begin->partition, -1);
	if (ask_sides(consumer, begins, ends, SOON_MS)) {
		begin->offset = begins->elems[0].offset;
		end->offset = ends->elems[0].offset;
	}
	rd_kafka_topic_partition_list_destroy(begins);
	rd_kafka_topic_partition_list_destroy(ends);
}

/*
 * librdkafka tells nothing of any where one has an error: then as many as there
 * is time for are asked alone, the next time others.
 */
static void
look_at_logs(struct topics_look *look)
{
	rd_kafka_topic_partition_list_t *begins = look->begins,
					*ends = look->ends;
	for (int i = begins->cnt - 1; i >= 0; i--)
		if (!has_leader(look, &begins->elems[i])) {
			rd_kafka_topic_partition_list_del_by_idx(begins, i);
			rd_kafka_topic_partition_list_del_by_idx(ends, i);
		}
	if (begins->cnt == 0 ||
	    ask_sides(look->consumer, begins, ends, PATIENCE_MS))
		return;
	for (int i = 0; i < begins->cnt; i++)
		begins->elems[i].offset = ends->elems[i].offset = -1;
	int64_t until_ms = clock_us() / 1000 + PATIENCE_MS;
	for (int i = 0; i < begins->cnt && clock_us() / 1000 < until_ms &&
	     !kafka_thread_ends(look->job.thread);
	     i++) {
		int at = look->first++ % begins->cnt;
		look_at_one(
		    look->consumer, &begins->elems[at], &ends->elems[at]);
	}
}

static void
run_look(struct kafka_job *job)
{
	struct topics_look *look = CONTAINER_OF(job, struct topics_look, job);
	look_at_topics(look);
	look_at_logs(look);
}

/* --- what is seen of them --- */

/*
 * A partition that nobody leads, or another one than a moment ago, may lack the
 * end of its log, and have been written on since: whatever comes next of it is
 * not taken before that is looked at.
 */
static void
learn_leaders(struct kafka *kafka, const struct seen_topic *seen)
{
	for (int i = 0; i < seen->n_leaders; i++) {
		struct kafka_part *part = kafka_part_at(kafka, seen->name, i);
		if (part == NULL)
			continue;
		if (seen->leaders[i] < 0 ||
		    (part->leads >= 0 && part->leads != seen->leaders[i]))
			part->leader = KAFKA_LEADER_DOUBTED;
		part->leads = seen->leaders[i];
	}
}

static void
learn_topic(struct kafka *kafka, struct kafka_topic *topic,
    const struct seen_topic *seen)
{
	struct broker_reader *core = &kafka->core;
	bool reads = topic->subject == KAFKA_OF_TOPIC;
	const struct kafka_call_names names = {
	    .topic = topic->name, .writes = !reads};
	char words[KAFKA_WORDS_BYTES];
	struct kafka_part *part;
	if (seen->error == RD_KAFKA_RESP_ERR_NO_ERROR) {
		topic->seen = true;
		learn_leaders(kafka, seen);
		LIST_EACH (part, &kafka->parts, link)
			if (seen->holed && !strcmp(part->topic, topic->name))
				kafka_part_policy(
				    part, seen->policy, seen->words);
		/* It was away, and may be another one. */
		kafka->anew |= kafka->assigned &&
		    reader_trouble_is(core, KAFKA_OF_TOPIC, topic->name);
		reader_trouble_end(core, topic->subject, topic->name);
		return;
	}
	bool may_be_made = !topic->seen && !reads &&
	    seen->error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	if (!may_be_made &&
	    kafka_call_refused(seen->error, &names, words, sizeof words))
		reader_trouble_begin(
		    core, topic->subject, topic->name, span_str(words));
}

/* --- whether something stands still ---
 *
 * librdkafka may stop to read a partition for ever, and say nothing: in all
 * versions it leaves one at a broker that does not lead it where the leader
 * moves there and back before the thread of the first broker has given it up;
 * what it shows of that partition then is what it was when it was last read.
 * So leaders are asked where logs end.  One of which nothing comes although it
 * has more, again and again, is not read any more, for whatever reason: only
 * another consumer is sure to read it.  Where that was of no use, it is tried
 * again after twice the time.
 */

/* Something is to come of it that was asked for, and is not there. */
static bool
is_owed(const struct kafka_part *part)
{
	const struct kafka *kafka = part->kafka;
	if (part->heard || part->odd_ms != 0 ||
	    rd_kafka_queue_length(part->queue) > 0)
		return false;
	return part->step == KAFKA_LOOKING ||
	    (part->step == KAFKA_READING && reader_room(&kafka->core) > 0 &&
		!kafka_tracker_is_full(&part->tracker) &&
		!reader_trouble_is(&kafka->core, KAFKA_OF_READ, part->topic) &&
		part->tracker.next < part->end);
}

static void
learn_end(struct kafka_part *part, int64_t end)
{
	struct kafka *kafka = part->kafka;
	int64_t now = loop_now_ms(kafka->core.loop);
	if (now - kafka->mended_ms > CALM_MS || kafka->patience_ms == 0)
		kafka->patience_ms = SILENT_FIRST_MS;
	part->end = end;
	if (!is_owed(part))
		part->owes_ms = 0;
	else if (part->owes_ms == 0)
		part->owes_ms = now;
	part->heard = false;
	if (kafka->remake || part->owes_ms == 0 ||
	    now - part->owes_ms < kafka->patience_ms)
		return;
	struct logline line = log_begin(EV_source_opened_again);
	log_str(&line, "source", kafka->core.source->name);
	log_str(&line, "broker", kafka->core.source->broker->name);
	log_str(&line, "partition", part->name);
	log_int(&line, "offset", part->tracker.next);
	log_int(&line, "end", end);
	log_end(&line);
	kafka->mended_ms = now;
	if (kafka->patience_ms < SILENT_MOST_MS)
		kafka->patience_ms *= 2;
	kafka->wait_s = KAFKA_REMAKE_FIRST_S;
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
	if (begin == NULL || end == NULL || begin->offset < 0 ||
	    end->offset < 0)
		return part->has_log;
	if (part->has_log) {
		learn_end(part, end->offset);
		return true;
	}
	part->has_log = true;
	part->begin = begin->offset;
	part->end = end->offset;
	if (kafka->assigned && !kafka->revoking)
		kafka_part_seek(part, kafka_part_begin(part));
	return true;
}

/* --- a look --- */

static void
learn(struct kafka *kafka, const struct topics_look *seen)
{
	struct kafka_part *part;
	kafka->looking = false;
	kafka->look_first = seen->first;
	/* librdkafka says that all are down, but not in any case. */
	kafka->unheard = seen->heard > 0 ? 0 : kafka->unheard + 1;
	if (kafka->up && kafka->unheard >= UNHEARD_MOST)
		kafka_trouble_away(kafka);
	for (size_t i = 0; i < seen->heard; i++)
		learn_topic(kafka, &kafka->look->list[i], &seen->topics[i]);
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
		free(look->topics[i].leaders);
	}
	free(look->topics);
	rd_kafka_topic_partition_list_destroy(look->begins);
	rd_kafka_topic_partition_list_destroy(look->ends);
	free(look);
}

void
kafka_look_go_on(struct kafka *kafka)
{
	const struct kafka_look *all = kafka->look;
	int64_t now = loop_now_ms(kafka->core.loop);
	struct kafka_part *part;
	if (!kafka->up || kafka->looking || now < kafka->look_ms)
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
	look->first = kafka->look_first;
	look->n_topics = all->count;
	look->topics = mem_zero(all->count * sizeof *look->topics);
	for (size_t i = 0; i < all->count; i++) {
		const char *name = all->list[i].name;
		LIST_EACH (part, &kafka->parts, link)
			look->topics[i].holed |= part->step == KAFKA_HOLE &&
			    strcmp(part->topic, name) == 0;
		look->topics[i].name = mem_text(name);
		look->topics[i].wanted =
		    reader_trouble_is(&kafka->core, KAFKA_OF_TOPIC, name);
	}
	look->begins = rd_kafka_topic_partition_list_new(16);
	look->ends = rd_kafka_topic_partition_list_new(16);
	LIST_EACH (part, &kafka->parts, link) {
		rd_kafka_topic_partition_list_add(
		    look->begins, part->topic, part->number);
		rd_kafka_topic_partition_list_add(
		    look->ends, part->topic, part->number);
	}
	kafka_thread_add(kafka->asker, &look->job);
}
