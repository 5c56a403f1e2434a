/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/loop/log.h"
#include "base/mem.h"
#include "messages/broker/kafka/kafka_call.h"
#include "messages/broker/kafka/kafka_private.h"

/*
 * A partition: where it begins, and its messages.
 *
 * It is read from where the group stands, or the store's copy of that where it
 * is further on.  With that comes a mark, of the last message that is finished:
 * that ONE message is looked at first.  It is there: this is the log that was
 * read, and it is read on.  It lies below the log's first offset: the log was
 * trimmed, and what was not read of that is counted.  Nothing stands there in a
 * topic that is compacted: it was compacted away.  Anything else: nobody knows
 * what became of the log, and the partition stands, unproven, until an operator
 * has decided.
 *
 * Whatever makes that doubtful while it is read has the whole reader begin
 * anew: another leader, which may lack the end of the log; an offset that comes
 * again; a commit of ours that is gone.
 */
enum {
	TURN_MAX = 1000, /* events of one turn */
	ODD_AGAIN_MS = 10000,
};

/* --- its life --- */

struct kafka_part *
kafka_part_new(struct kafka *kafka, const char *topic, int32_t number)
{
	static const uint64_t one = 1;
	rd_kafka_queue_t *queue =
	    rd_kafka_queue_get_partition(kafka->consumer, topic, number);
	if (queue == NULL)
		return NULL;
	struct kafka_part *part = mem_zero(sizeof *part);
	part->kafka = kafka;
	part->topic = mem_text(topic);
	part->number = number;
	part->name = mem_printf("%s/%" PRId32, topic, number);
	part->serial = ++kafka->serials;
	part->copy.low = part->stand.low = -1;
	part->tracker.next = part->begin = part->end = -1;
	part->leader = part->leads = KAFKA_LEADER_UNKNOWN;
	part->heard_ms = loop_now_ms(kafka->core.loop);
	part->queue = queue;
	rd_kafka_queue_forward(part->queue, NULL);
	rd_kafka_queue_io_event_enable(
	    part->queue, kafka->fd, &one, sizeof one);
	return part;
}

void
kafka_part_free(struct kafka_part **part)
{
	struct kafka_part *p = *part;
	*part = NULL;
	reader_flight_recall(&p->kafka->core, (void *)p->serial);
	rd_kafka_queue_io_event_enable(p->queue, -1, NULL, 0);
	rd_kafka_queue_destroy(p->queue);
	kafka_tracker_clear(&p->tracker);
	kafka_tracker_forget(&p->stand);
	kafka_tracker_forget(&p->copy);
	free(p->told);
	free(p->topic);
	free(p->name);
	free(p);
}

/* Where its log begins, as was said with what came last; below 0: nothing. */
static int64_t
begin_of(const struct kafka_part *part)
{
	int64_t begin = -1, end;
	rd_kafka_get_watermark_offsets(
	    part->kafka->consumer, part->topic, part->number, &begin, &end);
	return begin;
}

void
kafka_part_seek(struct kafka_part *part, int64_t offset)
{
	rd_kafka_topic_partition_list_t *list =
	    kafka_call_list(part->topic, part->number, offset);
	/*
	 * It is not waited for: what was read before is outdated at once, and
	 * a partition that is no longer fetched is about to be taken away.
	 */
	rd_kafka_error_t *error =
	    rd_kafka_seek_partitions(part->kafka->consumer, list, 0);
	if (error != NULL ||
	    list->elems[0].err != RD_KAFKA_RESP_ERR__IN_PROGRESS)
		kafka_trouble_remake(
		    part->kafka, "a position could not be set");
	if (error != NULL)
		rd_kafka_error_destroy(error);
	rd_kafka_topic_partition_list_destroy(list);
	part->empty = false;
}

/* --- where it begins --- */

static void
tell_moved(
    const struct kafka_part *part, enum event event, int64_t from, int64_t to)
{
	struct logline line = log_begin(event);
	log_str(&line, "source", part->kafka->core.source->name);
	log_str(&line, "partition", part->name);
	log_int(&line, "offset", from);
	log_int(&line, "to", to);
	log_end(&line);
}

/* What is told of it holds; where it begins is committed, unless it is. */
static int64_t
begin_at(struct kafka_part *part, struct kafka_stand *stand, bool committed)
{
	int64_t low = stand->low;
	bool told = committed && stand->ours && !part->foreign;
	kafka_tracker_clear(&part->tracker);
	kafka_tracker_init(&part->tracker, stand);
	part->tracker.changed = !told;
	part->step = told ? KAFKA_READING : KAFKA_TELLING;
	part->kafka->tells |= !told;
	reader_trouble_end(&part->kafka->core, KAFKA_OF_PROOF, part->name);
	return low > part->begin ? low : part->begin;
}

static int64_t
stand_still(struct kafka_part *part, const char *why)
{
	struct kafka *kafka = part->kafka;
	const struct broker_events *events = &kafka->core.events;
	const char *source = kafka->core.source->name;
	char words[KAFKA_WORDS_BYTES];
	snprintf(words, sizeof words,
	    "%s: %s; it was finished below %" PRId64 ": \"messages resume %s "
	    "--unproven %s\" goes on there, \"messages rewind %s %s\" at the "
	    "log's beginning",
	    part->name, why, part->stand.low, source, part->name, source,
	    part->name);
	part->step = KAFKA_UNPROVEN;
	/* What an operator decides is asked for soon. */
	kafka->copies_ms = 0;
	reader_trouble_say(&kafka->core, EV_source_unproven, KAFKA_OF_PROOF,
	    part->name, span_str(words));
	events->floor_wanted(events->arg, part->name, true);
	return RD_KAFKA_OFFSET_BEGINNING;
}

static int64_t
begin_as_decided(struct kafka_part *part)
{
	struct kafka_stand *stand = &part->stand,
			   begins = {.low = part->begin, .mark = {-1, -1, 0}};
	int64_t low = stand->low;
	if (part->decided == BROKER_REWIND) {
		begins.put_below =
		    low > stand->mark.offset ? low : stand->mark.offset + 1;
	} else {
		begins.put_below = stand->put_below;
		begins.low = low < part->end ? low : part->end;
		if (low < 0)
			begins.low = part->begin;
	}
	kafka_tracker_forget(stand);
	part->anew = true;
	return begin_at(part, &begins, false);
}

/* Which of the two is further on; true: what is committed. */
static bool
choose_stand(struct kafka_part *part)
{
	struct kafka_stand *stand = &part->stand, *copy = &part->copy;
	int64_t committed = stand->low;
	if (copy->low < committed || (copy->low == committed && stand->ours) ||
	    copy->low < 0) {
		/* Whoever set the group left out what is between. */
		if (copy->low >= 0 && copy->low < committed && !stand->ours)
			tell_moved(
			    part, EV_source_set_ahead, copy->low, committed);
		return true;
	}
	if (copy->low > committed)
		tell_moved(part, EV_source_rewound, committed, copy->low);
	kafka_tracker_forget(stand);
	*stand = *copy;
	copy->ranges = NULL;
	copy->n_ranges = 0;
	return false;
}

int64_t
kafka_part_begin(struct kafka_part *part)
{
	struct kafka *kafka = part->kafka;
	struct kafka_stand *stand = &part->stand;
	const char *store = stand->ours ? stand->store : "";
	part->foreign =
	    store[0] != '\0' && strcmp(store, kafka->core.store_id) != 0;
	/* The owner judges of that: he gives credit anew, or does not. */
	kafka->core.credit = 0;
	reader_origin(&kafka->core, span_str(store));
	bool by_others = !stand->ours;
	bool committed = choose_stand(part);
	/* Whoever has set the group says nothing of what was put before. */
	if (by_others && stand->low >= 0 && stand->put_below < part->end)
		stand->put_below = part->end;
	if (part->decided != BROKER_UNDECIDED)
		return begin_as_decided(part);
	if (stand->low < 0) {
		bool latest =
		    part->group_is_new && kafka->core.source->start_latest;
		*stand = (struct kafka_stand){
		    .low = latest ? part->end : part->begin,
		    .mark = {-1, -1, 0}};
		return begin_at(part, stand, false);
	}
	if (part->end < stand->low || part->end <= stand->mark.offset)
		return stand_still(part, "its log ends before what was read");
	if (stand->mark.offset < part->begin)
		return begin_at(part, stand, committed);
	part->step = KAFKA_LOOKING;
	part->by_commit = committed;
	return stand->mark.offset;
}

/* --- the message that was read last --- */

/* here: it has just come, and what comes next is what is behind it. */
static void
proven(struct kafka_part *part, bool here)
{
	int64_t behind = part->stand.mark.offset + 1;
	int64_t next = begin_at(part, &part->stand, part->by_commit);
	if (!here || next != behind)
		kafka_part_seek(part, next);
}

/*
 * What has come where it is to be: that message, or the end of the log (mark
 * NULL).
 */
static void
look(struct kafka_part *part, int64_t offset, const struct kafka_mark *mark)
{
	const struct kafka_mark *wanted = &part->stand.mark;
	if (mark != NULL && offset == wanted->offset) {
		if (mark->time_ms == wanted->time_ms &&
		    mark->hash == wanted->hash)
			proven(part, true);
		else
			(void)stand_still(
			    part, "another message stands where one was read");
	} else if (offset <= wanted->offset) {
		(void)stand_still(part, "its log ends before what was read");
	} else if (begin_of(part) > wanted->offset) {
		proven(part, false);
	} else {
		part->step = KAFKA_HOLE;
		part->kafka->look_ms = 0;
	}
}

void
kafka_part_policy(
    struct kafka_part *part, const char *policy, const char *words)
{
	struct broker_reader *core = &part->kafka->core;
	char text[KAFKA_WORDS_BYTES];
	if (part->step != KAFKA_HOLE || part->kafka->revoking)
		return;
	if (policy == NULL) {
		snprintf(text, sizeof text,
		    "%s: whether its topic is compacted cannot be read "
		    "(DescribeConfigs): %s",
		    part->name, words);
		reader_trouble_begin(
		    core, KAFKA_OF_PART, part->name, span_str(text));
		return;
	}
	reader_trouble_end(core, KAFKA_OF_PART, part->name);
	if (strstr(policy, "compact") != NULL)
		proven(part, false);
	else
		(void)stand_still(part,
		    "no message stands where one was read, and its topic is "
		    "not compacted");
}

/* --- what comes --- */

/* What the broker has dropped before it was read. */
static void
look_for_loss(struct kafka_part *part, int64_t offset)
{
	int64_t from = begin_of(part);
	if (from > offset)
		from = offset;
	if (from <= part->tracker.next)
		return;
	uint64_t lost = kafka_tracker_lost(&part->tracker, from);
	/* Else whoever reads it next counts that too. */
	part->tracker.changed = part->kafka->tells = true;
	if (lost > 0)
		reader_flight_lost(&part->kafka->core, BROKER_TRIMMED_UNREAD,
		    lost, SPAN(""), part->name);
}

/* It is read. */
static void
is_well(struct kafka_part *part)
{
	if (list_empty(&part->kafka->core.troubles))
		return;
	reader_trouble_end(&part->kafka->core, KAFKA_OF_PART, part->name);
	reader_trouble_end(&part->kafka->core, KAFKA_OF_READ, part->topic);
}

/*
 * A log that was known late is sought in while librdkafka asks its leader where
 * it begins (assign).  That answer is outdated then, so it asks once more half
 * a second later, and goes there, whatever it has read by then.  It is sought
 * once more; nothing is passed over, as it has not gone ahead.
 */
static bool
begins_again(struct kafka_part *part, int64_t offset)
{
	int64_t next = part->step == KAFKA_LOOKING ? part->stand.mark.offset
						   : part->tracker.next;
	if (!part->late || offset >= next)
		return false;
	part->late = false;
	kafka_part_seek(part, next);
	return true;
}

static void
take_message(struct kafka_part *part, const rd_kafka_message_t *message)
{
	struct kafka *kafka = part->kafka;
	struct kafka_mark mark = kafka_message_mark(message);
	int32_t before = part->leader;
	is_well(part);
	part->leader = rd_kafka_message_broker_id(message);
	if (begins_again(part, mark.offset))
		return;
	if (part->step == KAFKA_LOOKING) {
		look(part, mark.offset, &mark);
		return;
	}
	if (part->step != KAFKA_READING)
		return;
	if (before != part->leader && before != KAFKA_LEADER_UNKNOWN) {
		kafka->anew = true;
		return;
	}
	look_for_loss(part, mark.offset);
	switch (kafka_tracker_add(&part->tracker, &mark)) {
	case KAFKA_COME_BACK:
		kafka->anew = true;
		return;
	case KAFKA_COME_FINISHED:
		return;
	case KAFKA_COME_NEW:
		break;
	}
	struct broker_message *m =
	    kafka_message_read(part, message, kafka->core.most_bytes);
	struct flight *flight = reader_flight_add(&kafka->core, m);
	((struct kafka_flight *)flight)->offset = mark.offset;
}

/* A log that ends before what is to come is not the one that was meant. */
static void
take_eof(struct kafka_part *part, int64_t offset)
{
	is_well(part);
	if (part->step == KAFKA_LOOKING) {
		look(part, offset, NULL);
	} else if (part->step != KAFKA_READING) {
		return;
	} else if (offset >= 0 && offset < part->tracker.next) {
		part->kafka->anew = true;
	} else {
		look_for_loss(part, offset);
		kafka_tracker_reach(&part->tracker, offset);
	}
}

static void
take_error(struct kafka_part *part, rd_kafka_event_t *event, int64_t offset)
{
	struct kafka *kafka = part->kafka;
	rd_kafka_resp_err_t error = rd_kafka_event_error(event);
	switch ((int)error) {
	case RD_KAFKA_RESP_ERR__PARTITION_EOF:
		take_eof(part, offset);
		return;
	case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
	case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
	case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
		kafka->look_ms = 0;
		part->leader = KAFKA_LEADER_DOUBTED;
		return;
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
		part->odd_ms = loop_now_ms(kafka->core.loop);
		kafka_trouble_unreadable(kafka, part->topic);
		return;
	case RD_KAFKA_RESP_ERR__BAD_MSG:
	case RD_KAFKA_RESP_ERR__BAD_COMPRESSION:
	case RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED:
		/*
		 * librdkafka leaves it out, and may go on behind it.  It is
		 * neither finished nor lost by the broker: the partition stands
		 * there, and is fetched again in a while.
		 */
		part->odd_ms = loop_now_ms(kafka->core.loop);
		break;
	default:
		part->leader = KAFKA_LEADER_DOUBTED;
		break;
	}
	reader_trouble_begin(&kafka->core, KAFKA_OF_PART, part->name,
	    span_str(rd_kafka_event_error_string(event)));
}

static void
take_event(struct kafka_part *part, rd_kafka_event_t *event)
{
	const rd_kafka_message_t *message;
	part->heard_ms = loop_now_ms(part->kafka->core.loop);
	if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR) {
		rd_kafka_topic_partition_t *at =
		    rd_kafka_event_topic_partition(event);
		if (at == NULL)
			return;
		take_error(part, event, at->offset);
		rd_kafka_topic_partition_destroy(at);
		return;
	}
	while ((message = rd_kafka_event_message_next(event)) != NULL)
		if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR)
			take_message(part, message);
}

/* --- how much is taken --- */

/*
 * What was read last is looked for whether there is credit or not, and so is
 * whether a topic may be read again: nothing gives credit before.
 */
bool
kafka_part_wants(const struct kafka_part *part)
{
	const struct broker_reader *core = &part->kafka->core;
	if (part->odd_ms != 0)
		return false;
	return part->step == KAFKA_LOOKING ||
	    (part->step == KAFKA_READING &&
		(reader_room(core) > 0 ||
		    reader_trouble_is(core, KAFKA_OF_READ, part->topic)) &&
		!kafka_tracker_is_full(&part->tracker));
}

/* Each has its turn: whoever was read last is the last of the list. */
bool
kafka_part_take(struct kafka *kafka)
{
	int count = 0, idle = 0;
	if (!kafka->assigned || kafka->revoking || kafka->remake ||
	    kafka->core.leaving)
		return false;
	while (!kafka->anew && idle < kafka->n_parts && count < TURN_MAX) {
		struct kafka_part *part =
		    LIST_FIRST(&kafka->parts, struct kafka_part, link);
		rd_kafka_event_t *event = NULL;
		must(part != NULL);
		list_remove(&part->link);
		list_add_last(&kafka->parts, &part->link);
		if (!part->empty && kafka_part_wants(part)) {
			event = rd_kafka_queue_poll(part->queue, 0);
			part->empty = event == NULL;
		}
		idle = event == NULL ? idle + 1 : 0;
		if (event == NULL)
			continue;
		take_event(part, event);
		rd_kafka_event_destroy(event);
		count++;
	}
	return count == TURN_MAX;
}

void
kafka_part_again(struct kafka *kafka)
{
	int64_t now = loop_now_ms(kafka->core.loop);
	bool reads = kafka->assigned && !kafka->revoking && !kafka->remake;
	struct kafka_part *part;
	LIST_EACH (part, &kafka->parts, link) {
		part->empty = false;
		if (!reads || part->odd_ms == 0 ||
		    now - part->odd_ms < ODD_AGAIN_MS)
			continue;
		part->odd_ms = 0;
		int64_t next = part->step == KAFKA_LOOKING
		    ? part->stand.mark.offset
		    : part->tracker.next;
		if (next >= 0)
			kafka_part_seek(part, next);
	}
}
