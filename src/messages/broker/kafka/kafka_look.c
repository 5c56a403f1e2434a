/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "messages/broker/kafka/kafka_call.h"
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

/* --- which --- */

static void
add_topic(struct kafka_look *look, enum kafka_subject subject, char *name)
{
	size_t i = 0;
	while (i < look->count && strcmp(look->list[i].name, name) != 0)
		i++;
	if (i < look->count) {
		free(name);
		return;
	}
	look->list[look->count++] = (struct kafka_topic){name, subject, false};
}

void
kafka_look_init(struct kafka *kafka)
{
	const struct conf_source *source = kafka->core.source;
	size_t count = source->topics.count;
	struct kafka_look *look =
	    mem_zero(sizeof *look + (2 * count + 1) * sizeof *look->list);
	for (size_t i = 0; i < count; i++)
		add_topic(
		    look, KAFKA_OF_TOPIC, mem_text(source->topics.list[i]));
	if (source->results != NULL)
		add_topic(look, KAFKA_OF_PLACE, mem_text(source->results));
	for (size_t i = 0; i < count; i++)
		add_topic(look, KAFKA_OF_PLACE,
		    source->dead_letters != NULL
			? mem_text(source->dead_letters)
			: mem_printf("%s.dead", source->topics.list[i]));
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
	struct broker_reader *core = &kafka->core;
	bool reads = topic->subject == KAFKA_OF_TOPIC;
	const struct kafka_call_names names = {
	    .topic = topic->name, .writes = !reads};
	char words[KAFKA_WORDS_BYTES];
	struct kafka_part *part;
	if (asked->error == RD_KAFKA_RESP_ERR_NO_ERROR) {
		topic->seen = true;
		learn_leaders(kafka, asked);
		LIST_EACH (part, &kafka->parts, link)
			if (asked->holed && !strcmp(part->topic, topic->name))
				kafka_part_policy(
				    part, asked->policy, asked->words);
		/* It was away, and may be another one. */
		kafka->anew |= kafka->assigned &&
		    reader_trouble_is(core, KAFKA_OF_TOPIC, topic->name);
		reader_trouble_end(core, topic->subject, topic->name);
		return;
	}
	bool may_be_made = !topic->seen && !reads &&
	    asked->error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	if (!may_be_made &&
	    kafka_call_refused(asked->error, &names, words, sizeof words))
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
learn_log(struct kafka_part *part, const struct kafka_ask_look *seen)
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

void
kafka_look_done(void *arg, const struct kafka_ask_look *seen)
{
	struct kafka *kafka = arg;
	struct kafka_part *part;
	kafka->looking = false;
	/* librdkafka says that all are down, but not in any case. */
	kafka->unheard = seen->heard > 0 ? 0 : kafka->unheard + 1;
	if (kafka->up && kafka->unheard >= UNHEARD_MOST)
		kafka_trouble_away(kafka);
	/* In the order in which they were asked for. */
	for (size_t i = 0; i < seen->heard; i++)
		learn_topic(kafka, &kafka->look->list[i], &seen->topics[i]);
	bool all = list_empty(&kafka->core.troubles);
	if (kafka->looked_for == kafka->serials)
		LIST_EACH (part, &kafka->parts, link)
			all &= learn_log(part, seen);
	if (kafka->looked_for != kafka->serials)
		kafka->look_ms = 0;
	else if (seen->heard > 0)
		kafka->look_ms = loop_now_ms(kafka->core.loop) +
		    (all ? LOOK_MS : LOOK_AGAIN_MS);
	reader_kick(&kafka->core);
}

void
kafka_look_go_on(struct kafka *kafka)
{
	const struct kafka_look *look = kafka->look;
	int64_t now = loop_now_ms(kafka->core.loop);
	struct kafka_part *part;
	if (!kafka->up || kafka->looking || now < kafka->look_ms)
		return;
	kafka->looking = true;
	kafka->looked_for = kafka->serials;
	kafka->look_ms = now + LOOK_MS;
	/* A topic that was made again may have as many as the old one. */
	if (kafka->assigned && !kafka->revoking)
		kafka_commit_ask(kafka);
	struct kafka_ask_look *asked = kafka_ask_look_new(look->count);
	for (size_t i = 0; i < look->count; i++) {
		const char *name = look->list[i].name;
		LIST_EACH (part, &kafka->parts, link)
			asked->topics[i].holed |= part->step == KAFKA_HOLE &&
			    strcmp(part->topic, name) == 0;
		asked->topics[i].name = mem_text(name);
		asked->topics[i].wanted =
		    reader_trouble_is(&kafka->core, KAFKA_OF_TOPIC, name);
	}
	LIST_EACH (part, &kafka->parts, link) {
		rd_kafka_topic_partition_list_add(
		    asked->begins, part->topic, part->number);
		rd_kafka_topic_partition_list_add(
		    asked->ends, part->topic, part->number);
	}
	kafka_ask_look(kafka->ask, asked);
}
