/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/loop/log.h"
#include "base/must.h"
#include "messages/broker/kafka/kafka_name.h"
#include "messages/broker/kafka/kafka_private.h"

/*
 * Which partitions a reader has: what its group gives, once it is known where
 * each is to be read from, and as long as the group does not want them back.
 * Nobody waits for a call: deliveries of what is given back are ended at once,
 * and what is executed goes on without them.
 */
enum {
	/* So long it may take until the group has our answer. */
	GIVEN_MS = 1000,
	REVOKE_MS = 500,
	ASK_AGAIN_MS = 500,
};

/* --- parts --- */

struct kafka_part *
kafka_group_part(const struct kafka *kafka, const void *token)
{
	struct kafka_part *part = kafka->parts;
	while (part != NULL && part->serial != (uintptr_t)token)
		part = part->next;
	return part;
}

struct kafka_part *
kafka_group_part_at(
    const struct kafka *kafka, const char *topic, int32_t number)
{
	struct kafka_part *part = kafka->parts;
	while (part != NULL &&
	    (part->number != number || strcmp(part->topic, topic) != 0))
		part = part->next;
	return part;
}

static void
recall(struct kafka *kafka)
{
	const struct broker_events *events = &kafka->events;
	for (struct kafka_part *part = kafka->parts;
	     part != NULL && !kafka->leaving; part = part->next)
		if (events->recalled != NULL)
			events->recalled(events->arg, (void *)part->serial);
}

static void
free_parts(struct kafka *kafka)
{
	while (kafka->parts != NULL) {
		struct kafka_part *part = kafka->parts;
		kafka->parts = part->next;
		kafka_part_free(&part);
	}
	kafka->turn = NULL;
}

void
kafka_group_clear(struct kafka *kafka)
{
	recall(kafka);
	free_parts(kafka);
	if (kafka->list != NULL)
		rd_kafka_topic_partition_list_destroy(kafka->list);
	kafka->list = NULL;
	kafka->given = kafka->assigned = kafka->revoking = false;
	kafka->again = false;
	kafka->commits = 0;
}

static void
make_parts(struct kafka *kafka)
{
	for (int i = 0; i < kafka->list->cnt; i++) {
		const rd_kafka_topic_partition_t *at = &kafka->list->elems[i];
		struct kafka_part *part =
		    kafka_part_new(kafka, at->topic, at->partition);
		if (part == NULL)
			continue;
		part->next = kafka->parts;
		part->has_floor = part->has_letters =
		    kafka->events.floor_wanted == NULL;
		kafka->parts = part;
	}
	kafka->given = true;
	kafka->assigned = false;
	kafka->given_ms = loop_now_ms(kafka->loop);
	kafka->ask_again_ms = kafka->given_ms;
	for (struct kafka_part *part = kafka->parts; part != NULL;
	     part = part->next)
		if (!part->has_floor) {
			kafka->events.floor_wanted(
			    kafka->events.arg, part->name);
			kafka->events.floor_wanted(
			    kafka->events.arg, part->shelved.name);
		}
}

/* --- what is committed --- */

/*
 * Nothing is known of what an answer leaves out, which is not the same as that
 * nothing was committed.
 */
static void
want(rd_kafka_topic_partition_list_t *list, const char *topic, int32_t number)
{
	rd_kafka_topic_partition_list_add(list, topic, number)->err =
	    RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION;
}

/*
 * All partitions of its topics up to the last of ours: a partition that was
 * added to a topic is no reason to begin anew.
 */
static rd_kafka_topic_partition_list_t *
list_to_ask(const struct kafka *kafka)
{
	rd_kafka_topic_partition_list_t *list =
	    rd_kafka_topic_partition_list_new(16);
	for (struct kafka_part *part = kafka->parts; part != NULL;
	     part = part->next)
		for (int32_t i = part->number; i >= 0; i--) {
			if (rd_kafka_topic_partition_list_find(
				list, part->topic, i) != NULL)
				break;
			want(list, part->topic, i);
		}
	if (list->cnt == 0)
		want(list, kafka->source->topics.list[0], 0);
	return list;
}

/* Offsets that a transaction under way may still take back are not told. */
static void
ask_group(struct kafka *kafka)
{
	kafka->asking = true;
	kafka->asked_for = kafka->serials;
	kafka_doubt_asked(kafka);
	kafka_ask_begin(kafka->ask, list_to_ask(kafka));
}

void
kafka_group_ping(struct kafka *kafka)
{
	if (!kafka->asking)
		ask_group(kafka);
}

/* False: not all of that topic is known. */
static bool
all_told(const rd_kafka_topic_partition_list_t *list, const char *topic,
    bool *ret_new)
{
	*ret_new = true;
	for (int i = 0; i < list->cnt; i++) {
		if (strcmp(list->elems[i].topic, topic) != 0)
			continue;
		if (list->elems[i].err != RD_KAFKA_RESP_ERR_NO_ERROR)
			return false;
		if (list->elems[i].offset >= 0)
			*ret_new = false;
	}
	return true;
}

static void
learn(struct kafka_part *part, rd_kafka_topic_partition_list_t *list)
{
	bool is_new;
	const rd_kafka_topic_partition_t *at =
	    rd_kafka_topic_partition_list_find(list, part->topic, part->number);
	if (part->has_commit || at == NULL ||
	    !all_told(list, part->topic, &is_new))
		return;
	part->has_commit = true;
	part->group_is_new = is_new;
	struct span metadata = kafka_letters_learn(
	    part, span_of(at->metadata, at->metadata_size));
	kafka_ring_text_read(at->offset, metadata, &part->commit);
	kafka_letters_floor_recall(part);
}

/* The first thing that the broker refuses. */
static rd_kafka_resp_err_t
refusal_of(const rd_kafka_topic_partition_list_t *list)
{
	for (int i = 0; i < list->cnt; i++)
		switch ((int)list->elems[i].err) {
		case RD_KAFKA_RESP_ERR_NO_ERROR:
		case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
		case RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT:
			break;
		default:
			return list->elems[i].err;
		}
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static void
refuse_group(struct kafka *kafka, const char *before, const char *behind)
{
	char words[KAFKA_WORDS_BYTES];
	snprintf(words, sizeof words, "%s \"%s\"%s", before,
	    kafka->source->group, behind);
	kafka_is_up(kafka);
	kafka_trouble_begin(kafka, KAFKA_OF_GROUP, "", words);
}

void
kafka_group_forbidden(struct kafka *kafka)
{
	refuse_group(kafka, "no right to read as the group", ": Read");
}

/* It is no member of it, and tries again by itself. */
static bool
is_kept_out(struct kafka *kafka, rd_kafka_resp_err_t error)
{
	static const char who[] = "no member of the group";
	switch ((int)error) {
	case RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL:
		refuse_group(kafka, who,
		    ": others share its partitions by another protocol than "
		    "\"" KAFKA_NAME_PROTOCOL
		    "\"; end them, or set another group");
		return true;
	case RD_KAFKA_RESP_ERR_GROUP_MAX_SIZE_REACHED:
		refuse_group(kafka, who,
		    ": it has as many as the brokers' group.max.size allows");
		return true;
	case RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT:
		refuse_group(kafka, who,
		    ": the brokers' group.min and group.max.session.timeout.ms "
		    "do not allow this session.timeout.ms");
		return true;
	default:
		return false;
	}
}

bool
kafka_group_error(struct kafka *kafka, rd_kafka_resp_err_t error)
{
	switch ((int)error) {
	case RD_KAFKA_RESP_ERR_NO_ERROR:
		kafka_is_up(kafka);
		return true;
	case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
		kafka_group_forbidden(kafka);
		return true;
	case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
		kafka_is_up(kafka);
		kafka_topics_now(kafka);
		return true;
	default:
		return is_kept_out(kafka, error);
	}
}

void
kafka_group_answered(void *arg, rd_kafka_resp_err_t error,
    rd_kafka_topic_partition_list_t *list)
{
	struct kafka *kafka = arg;
	int64_t now = loop_now_ms(kafka->loop);
	bool of_these = kafka->asked_for == kafka->serials;
	kafka->asking = false;
	kafka->unanswered |= error == RD_KAFKA_RESP_ERR__TIMED_OUT;
	/* What was asked for those before is older than what they are. */
	kafka->ask_again_ms = of_these ? now + ASK_AGAIN_MS : now;
	kafka->doubt.again_ms = kafka->ask_again_ms;
	(void)kafka_group_error(kafka,
	    error != RD_KAFKA_RESP_ERR_NO_ERROR ? error : refusal_of(list));
	if (error == RD_KAFKA_RESP_ERR_NO_ERROR && of_these)
		for (struct kafka_part *part = kafka->parts; part != NULL;
		     part = part->next)
			learn(part, list);
	if (error == RD_KAFKA_RESP_ERR_NO_ERROR && of_these)
		kafka_doubt_answered(kafka, list);
	kafka_kick(kafka);
}

/* --- what the group gives --- */

static void
assign_nothing(struct kafka *kafka)
{
	rd_kafka_topic_partition_list_t *none =
	    rd_kafka_topic_partition_list_new(1);
	rd_kafka_assign(kafka->consumer, none);
	rd_kafka_topic_partition_list_destroy(none);
}

static bool
is_topic_of_ours(const struct kafka *kafka, const char *topic)
{
	const struct strings *topics = &kafka->source->topics;
	for (size_t i = 0; i < topics->count; i++)
		if (!strcmp(topics->list[i], topic))
			return true;
	return false;
}

/*
 * Another member has shared them out: what is no topic of ours, or is there
 * twice, is not read.
 */
static rd_kafka_topic_partition_list_t *
list_of_ours(const struct kafka *kafka,
    const rd_kafka_topic_partition_list_t *given)
{
	rd_kafka_topic_partition_list_t *list =
	    rd_kafka_topic_partition_list_new(given->cnt);
	for (int i = 0; i < given->cnt; i++) {
		const rd_kafka_topic_partition_t *at = &given->elems[i];
		if (at->partition >= 0 && is_topic_of_ours(kafka, at->topic) &&
		    rd_kafka_topic_partition_list_find(
			list, at->topic, at->partition) == NULL)
			rd_kafka_topic_partition_list_add(
			    list, at->topic, at->partition);
	}
	return list;
}

static void
on_given(struct kafka *kafka, const rd_kafka_topic_partition_list_t *list)
{
	kafka_is_up(kafka);
	kafka_trouble_end(kafka, KAFKA_OF_GROUP, NULL);
	kafka_trouble_end(kafka, KAFKA_OF_ELSE, NULL);
	kafka_trouble_end(kafka, KAFKA_OF_READ, NULL);
	kafka_trouble_end(kafka, KAFKA_OF_PART, NULL);
	kafka_trouble_end(kafka, KAFKA_OF_PROOF, NULL);
	kafka_group_clear(kafka);
	kafka->list = list_of_ours(kafka, list);
	kafka->rebalances++;
	make_parts(kafka);
	kafka_changed(kafka);
}

static void
log_parts(const struct kafka *kafka)
{
	struct logline line = log_begin(EV_source_partitions);
	log_str(&line, "source", kafka->source->name);
	log_int(&line, "partitions", kafka->list->cnt);
	log_end(&line);
}

static void
assign(struct kafka *kafka)
{
	rd_kafka_topic_partition_list_t *list =
	    rd_kafka_topic_partition_list_new(kafka->list->cnt);
	for (struct kafka_part *part = kafka->parts; part != NULL;
	     part = part->next) {
		rd_kafka_topic_partition_list_add(
		    list, part->topic, part->number)
		    ->offset = kafka_proof_begin(part);
		rd_kafka_queue_forward(part->queue, NULL);
	}
	rd_kafka_resp_err_t error = rd_kafka_assign(kafka->consumer, list);
	rd_kafka_topic_partition_list_destroy(list);
	kafka->assigned = true;
	if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
		kafka_remake(kafka, rd_kafka_err2str(error));
	log_parts(kafka);
}

static bool
all_is_known(const struct kafka *kafka)
{
	for (struct kafka_part *part = kafka->parts; part != NULL;
	     part = part->next)
		if (!part->has_floor || !part->has_letters ||
		    !part->has_commit)
			return false;
	return true;
}

/* The group has an answer in any case: its others wait for that. */
static void
answer(struct kafka *kafka)
{
	int64_t now = loop_now_ms(kafka->loop);
	if (all_is_known(kafka) && !kafka->leaving) {
		assign(kafka);
		return;
	}
	if (!kafka->asking && now >= kafka->ask_again_ms && !kafka->leaving)
		ask_group(kafka);
	if (kafka->given_ms == INT64_MAX ||
	    (now - kafka->given_ms < GIVEN_MS && !kafka->leaving))
		return;
	assign_nothing(kafka);
	kafka->given_ms = INT64_MAX;
	/* It may be one of ours that is open, from before we were killed. */
	if (!kafka->leaving)
		kafka_thread_prepare(kafka->thread);
}

/* --- what it takes back --- */

static void
on_revoked(struct kafka *kafka)
{
	recall(kafka);
	kafka->revoking = true;
	kafka->revoke_ms = loop_now_ms(kafka->loop);
	/* Where others have them already, nothing can be committed. */
	kafka->revoke_told = rd_kafka_assignment_lost(kafka->consumer) != 0;
}

static void
give_all_back(struct kafka *kafka)
{
	kafka_group_clear(kafka);
	rd_kafka_assign(kafka->consumer, NULL);
}

static void
give_up(struct kafka *kafka)
{
	int64_t took = loop_now_ms(kafka->loop) - kafka->revoke_ms;
	if (!kafka->revoke_told && kafka->batch == NULL &&
	    kafka->commits == 0)
		kafka->revoke_told = kafka_commit_go_on(kafka);
	bool waits = kafka->commits > 0 || kafka->batch != NULL ||
	    !kafka->revoke_told;
	if (waits && took < REVOKE_MS)
		return;
	give_all_back(kafka);
}

/*
 * What a member sent before its session was over may come when it has its name
 * anew, and then the two are taken for two: that fences it, and says nothing of
 * another gateway.  One that was fenced has lost its session by that.
 */
static void
look_for_session(struct kafka *kafka)
{
	if (!kafka->remake && rd_kafka_assignment_lost(kafka->consumer) != 0)
		kafka->fenced_ms = 0;
}

void
kafka_group_rebalance(struct kafka *kafka, rd_kafka_event_t *event)
{
	look_for_session(kafka);
	if (rd_kafka_event_error(event) ==
		RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS &&
	    !kafka->leaving)
		on_given(kafka, rd_kafka_event_topic_partition_list(event));
	else if (kafka->parts != NULL)
		on_revoked(kafka);
	else
		give_all_back(kafka);
	kafka_kick(kafka);
}

void
kafka_group_again(struct kafka *kafka)
{
	if (!kafka->given || kafka->revoking)
		return;
	rd_kafka_topic_partition_list_t *list = kafka->list;
	kafka->list = NULL;
	assign_nothing(kafka);
	kafka_group_clear(kafka);
	kafka->list = list;
	make_parts(kafka);
}

void
kafka_group_go_on(struct kafka *kafka)
{
	if (kafka->revoking)
		give_up(kafka);
	else if (kafka->given && !kafka->assigned)
		answer(kafka);
	else if (kafka->again && kafka->credit > 0 && kafka->batch == NULL &&
	    !kafka->leaving)
		kafka_group_again(kafka);
}
