/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "messages/broker/kafka/kafka_private.h"

/*
 * The end of a message.  Without anything to put it is noted, and told with the
 * next commit.  With something it waits for a transaction, in which that is
 * produced and the position is committed that it is finished in: so nobody who
 * reads what is committed sees it twice, or misses it.  Where a transaction is
 * aborted nothing has happened, and where that is not known, what is committed
 * says it.  What is put together goes to one topic: so one that refuses is in
 * no other's way.
 *
 * A dead letter that was replayed or dropped has no pending message: its result
 * and the mark that its copy is done with are a transaction of their own.
 */
enum {
	WAIT_MS = 100,
	/* Where messages wait for the end of the one before them. */
	WAIT_ORDERED_MS = 10,
	BATCH_DUE = 500,
	BATCH_MAX = 1000,
	MOVES_MAX = 10, /* in a row, and it is an outage */
};

struct kafka_put {
	struct list link; /* of puts, or of sent */
	struct kafka *kafka;
	struct broker_finish *finish; /* NULL: given up */
	uintptr_t serial; /* of its partition; 0: none is needed */
	int64_t offset;
	char *topic;
	const struct kafka_record *record; /* of the batch */
};

/* --- the end of one --- */

/* Its owner has given it up: what is under way is not waited for. */
static void
forget_finish(struct op *op, int error)
{
	struct kafka_put *put =
	    CONTAINER_OF(op, struct broker_finish, op)->token;
	(void)error;
	put->finish = NULL;
}

static void
end_put(struct kafka_put *put, int error, enum broker_finished finished)
{
	if (put->finish != NULL) {
		put->finish->finished = finished;
		op_done(&put->finish->op, error);
	}
	free(put->topic);
	free(put);
}

static void
refuse_put(struct kafka_put *put, const struct kafka_batch *batch)
{
	struct broker_finish *finish = put->finish;
	if (finish != NULL) {
		snprintf(finish->refused, sizeof finish->refused, "%s",
		    batch->words);
		finish->fault = batch->too_large ? BROKER_FAULT_SIZE
						 : BROKER_FAULT_PLACE;
	}
	end_put(put, E_BROKER_REFUSED, BROKER_NOT_PENDING);
}

/* What it is about; NULL: it is nobody's here any more. */
static struct kafka_given *
given_of(const struct kafka_put *put, struct kafka_part **ret_part)
{
	struct kafka_part *part =
	    kafka_part_of(put->kafka, (void *)put->serial);
	*ret_part = part;
	return part != NULL && part->step == KAFKA_READING
	    ? kafka_tracker_find(&part->tracker, put->offset)
	    : NULL;
}

/*
 * Of one that was not handed over here: what is finished is below what comes
 * next, and anything else is with whoever works on it.
 */
static enum broker_finished
look_up(struct kafka *kafka, struct span position)
{
	const struct kafka_given *given;
	struct kafka_part *part;
	LIST_EACH (part, &kafka->parts, link) {
		int64_t offset = kafka_message_offset(part, position);
		if (offset < 0 || part->step != KAFKA_READING)
			continue;
		given = kafka_tracker_find(&part->tracker, offset);
		if (given != NULL ? given->state == KAFKA_FINISHED
				  : offset < part->tracker.next)
			return BROKER_NOT_PENDING;
	}
	return BROKER_ELSEWHERE;
}

/* Where that goes, of a message that stood in a topic, or stands there. */
static char *
topic_of(const struct conf_source *source, const struct broker_finish *finish,
    enum broker_place place)
{
	struct span topic = SPAN(""), rest = finish->position;
	if (place == BROKER_RESULTS)
		return mem_text(source->results);
	if (source->dead_letters != NULL)
		return mem_text(source->dead_letters);
	(void)span_next(&rest, '/', &topic);
	return mem_printf("%.*s.dead", SPAN_FMT(topic));
}

static void
wait_for_more(struct kafka *kafka)
{
	bool ordered = kafka->source->order_by != SOURCE_ORDER_NONE;
	if (!timer_is_set(&kafka->put_timer))
		timer_set(&kafka->put_timer,
		    ordered ? WAIT_ORDERED_MS : WAIT_MS);
	kafka_trouble_kick(kafka);
}

void
kafka_put_finish(struct kafka *kafka, struct broker_finish *finish)
{
	bool puts = finish->mark ||
	    (finish->put != NULL && finish->put->place != BROKER_NOWHERE);
	bool is_unknown = !finish->mark && finish->token == NULL;
	struct kafka_part *part =
	    finish->mark ? NULL : kafka_part_of(kafka, finish->token);
	struct kafka_put *put = mem_zero(sizeof *put);
	put->kafka = kafka;
	put->finish = finish;
	if (part != NULL) {
		put->serial = part->serial;
		put->offset = kafka_message_offset(part, finish->position);
	}
	finish->token = put;
	op_start(&finish->op, 0, forget_finish);
	struct kafka_given *given = given_of(put, &part);
	if (is_unknown) {
		end_put(put, 0, look_up(kafka, finish->position));
	} else if (!finish->mark &&
	    (given == NULL || given->state == KAFKA_FINISHED)) {
		end_put(put, 0, BROKER_NOT_PENDING);
	} else if (puts) {
		put->topic = topic_of(kafka->source, finish,
		    finish->mark ? BROKER_DEAD_LETTERS : finish->put->place);
		list_add_last(&kafka->puts, &put->link);
		kafka->n_puts++;
		wait_for_more(kafka);
	} else {
		kafka_tracker_set(&part->tracker, given, KAFKA_FINISHED);
		end_put(put, 0, BROKER_FINISHED);
	}
}

/* --- a transaction --- */

static struct span
dup_into(struct arena *arena, struct span s)
{
	return s.ptr != NULL ? arena_dup(arena, s) : s;
}

static struct kafka_record *
add_record(struct kafka_batch *batch, const char *topic)
{
	struct kafka_record *record = &batch->records[batch->count++];
	record->batch = batch;
	record->topic = arena_dup(batch->arena, span_str(topic)).ptr;
	return record;
}

static void
add_put(struct kafka_batch *batch, struct kafka_put *put, const char *topic,
    const struct broker_put *what)
{
	struct arena *arena = batch->arena;
	struct kafka_record *record = add_record(batch, topic);
	size_t count = what->fields.count;
	record->key = dup_into(arena, what->key);
	if (what->has_body)
		record->body = dup_into(arena, what->body);
	struct field *list = arena_alloc(arena, count * sizeof *list);
	for (size_t i = 0; i < count; i++) {
		list[i].name = dup_into(arena, what->fields.list[i].name);
		list[i].value = dup_into(arena, what->fields.list[i].value);
	}
	record->headers = (struct fields){list, count};
	put->record = record;
}

/* The copy is done with; and the result, if there is one. */
static void
add_mark(struct kafka *kafka, struct kafka_batch *batch, struct kafka_put *put)
{
	const struct broker_finish *finish = put->finish;
	struct arena *arena = batch->arena;
	if (finish->put != NULL && finish->put->place == BROKER_RESULTS)
		add_put(batch, put, kafka->source->results, finish->put);
	struct kafka_record *record = add_record(batch, put->topic);
	struct field *list = arena_alloc(arena, 3 * sizeof *list);
	list[0] = (struct field){SPAN("onceproxy-done"),
	    arena_dup(arena, finish->position)};
	list[1] = (struct field){SPAN("onceproxy-source"),
	    arena_dup(arena, span_str(kafka->source->name))};
	list[2] = (struct field){SPAN("onceproxy-store"),
	    arena_dup(arena, span_str(kafka->store))};
	record->headers = (struct fields){list, 3};
	record->key = dup_into(arena, finish->key);
	put->record = put->record != NULL ? put->record : record;
}

/*
 * It goes into the batch, unless that is another topic's.  Those whose
 * partition was taken away are over: another reader has them; so are those that
 * a transaction has finished that nobody waited for.
 */
static void
move_put(struct kafka *kafka, struct kafka_batch *batch, struct kafka_put *put)
{
	struct kafka_part *part;
	struct kafka_given *given = given_of(put, &part);
	bool marks = put->finish != NULL && put->finish->mark;
	bool over = put->finish == NULL ||
	    (!marks &&
		(given == NULL || given->state != KAFKA_UNFINISHED));
	if (!over && batch->count > 0 &&
	    (marks || strcmp(put->topic, batch->records[0].topic) != 0))
		return;
	list_remove(&put->link);
	kafka->n_puts--;
	put->record = NULL;
	if (over) {
		end_put(put, 0, BROKER_NOT_PENDING);
		return;
	}
	list_add_last(&kafka->sent, &put->link);
	if (marks) {
		add_mark(kafka, batch, put);
		return;
	}
	kafka_tracker_set(&part->tracker, given, KAFKA_PUTTING);
	part->putting++;
	add_put(batch, put, put->topic, put->finish->put);
}

static void
begin_batch(struct kafka *kafka)
{
	struct kafka_batch *batch = kafka_producer_batch(BATCH_MAX + 2, 1);
	struct kafka_put *put;
	bool marks = false;
	LIST_EACH (put, &kafka->puts, link) {
		if (marks || batch->count >= BATCH_MAX)
			break;
		move_put(kafka, batch, put);
		marks = !list_empty(&kafka->sent) &&
		    CONTAINER_OF(kafka->sent.next, struct kafka_put, link)
			->finish->mark;
	}
	if (batch->count == 0) {
		kafka_producer_free_batch(&batch);
		return;
	}
	batch->apart = kafka->apart;
	rd_kafka_topic_partition_list_t *offsets =
	    kafka_commit_list(kafka, true);
	if (offsets != NULL)
		batch->told[batch->n_told++] = (struct kafka_told){offsets,
		    rd_kafka_consumer_group_metadata(kafka->consumer)};
	kafka->batch = batch;
	kafka_producer_begin(kafka->producer, batch);
}

void
kafka_put_go_on(struct kafka *kafka)
{
	if (!kafka->prepared &&
	    (kafka->source->results != NULL || kafka->unanswered)) {
		/* It ends what may be open, from before we were killed. */
		kafka->prepared = true;
		kafka_producer_begin(
		    kafka->producer, kafka_producer_batch(0, 0));
	}
	bool ready = kafka->assigned && !kafka->revoking && !kafka->remake &&
	    !kafka->anew && kafka->batch == NULL && !kafka->commits;
	bool due = kafka->n_puts >= BATCH_DUE ||
	    (kafka->n_puts > 0 &&
		(kafka->apart || !timer_is_set(&kafka->put_timer)));
	if (ready && kafka->n_puts > 0 && kafka_commit_is_sure(kafka) && due)
		begin_batch(kafka);
}

/* It is finished, or to be decided again. */
static void
settle_put(struct kafka_put *put, bool finished)
{
	struct kafka_part *part;
	struct kafka_given *given = given_of(put, &part);
	list_remove(&put->link);
	if (given == NULL || given->state != KAFKA_PUTTING)
		return;
	part->putting--;
	kafka_tracker_set(&part->tracker, given,
	    finished ? KAFKA_FINISHED : KAFKA_UNFINISHED);
}

static void
end_all(struct kafka *kafka, int error)
{
	struct kafka_put *put;
	LIST_EACH (put, &kafka->sent, link) {
		settle_put(put, error == 0);
		end_put(put, error, BROKER_FINISHED);
	}
}

/*
 * They wait again, but for the one that is not taken.  A broker refuses those
 * beside it too: which one it is, is known once each is in a request of its
 * own.
 */
static void
try_again(struct kafka *kafka, const struct kafka_batch *batch)
{
	bool known = batch->apart || batch->count == 1;
	struct kafka_put *put;
	struct list again;
	list_init(&again);
	LIST_EACH (put, &kafka->sent, link) {
		bool refused = known && put->record == batch->refused;
		settle_put(put, false);
		if (refused) {
			refuse_put(put, batch);
			continue;
		}
		list_add_last(&again, &put->link);
		kafka->n_puts++;
	}
	list_move_all(&kafka->puts, &again);
	list_move_all(&again, &kafka->puts);
	kafka->apart = batch->refused != NULL;
	wait_for_more(kafka);
}

/* That will not be better by trying again at once, nor one by one. */
static void
refuse_all(struct kafka *kafka, const struct kafka_batch *batch)
{
	struct kafka_put *put;
	LIST_EACH (put, &kafka->sent, link) {
		settle_put(put, false);
		refuse_put(put, batch);
	}
}

/*
 * Partitions are moving, or another gateway has our name: that is no trouble of
 * the broker's, unless it does not end.
 */
static bool
partitions_moved(struct kafka *kafka, const struct kafka_batch *batch)
{
	bool moved = batch->code == RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION ||
	    batch->code == RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID ||
	    batch->code == RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS ||
	    batch->code == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID ||
	    batch->fenced;
	return moved && ++kafka->moves <= MOVES_MAX;
}

/* What waits for a topic that is not there times out. */
static bool
is_denied(const struct kafka *kafka, struct kafka_batch *batch)
{
	for (size_t i = 0; i < batch->count && !batch->denied; i++) {
		const char *topic = batch->records[i].topic;
		if (!kafka_trouble_is(kafka, KAFKA_OF_PLACE, topic))
			continue;
		batch->denied = true;
		snprintf(batch->words, sizeof batch->words,
		    "the topic \"%s\" is not there, or not for us", topic);
	}
	return batch->denied;
}

static void
tell_transaction(struct kafka *kafka, const struct kafka_batch *batch)
{
	static const enum broker_transaction ends[] = {
	    [KAFKA_BATCH_COMMITTED] = BROKER_COMMITTED,
	    [KAFKA_BATCH_ABORTED] = BROKER_ABORTED,
	    [KAFKA_BATCH_UNCLEAR] = BROKER_UNCLEAR,
	};
	if (kafka->events.transacted != NULL && !kafka->leaving)
		kafka->events.transacted(kafka->events.arg,
		    batch->fenced ? BROKER_FENCED : ends[batch->end]);
}

static void
batch_failed(struct kafka *kafka, struct kafka_batch *batch)
{
	bool aborted = batch->end == KAFKA_BATCH_ABORTED;
	bool moved = partitions_moved(kafka, batch);
	if (aborted && is_denied(kafka, batch)) {
		refuse_all(kafka, batch);
		return;
	}
	if (aborted &&
	    (batch->refused != NULL || (moved && !kafka->leaving))) {
		try_again(kafka, batch);
		return;
	}
	end_all(kafka, E_BROKER_DOWN);
	if (!moved)
		kafka_trouble_is_down(kafka,
		    batch->words[0] != '\0' ? batch->words
					    : "a transaction was given up");
	/* What is known here may be wrong: what is committed is asked for. */
	kafka->anew |= !aborted;
}

void
kafka_put_done(void *arg, struct kafka_batch *batch)
{
	struct kafka *kafka = arg;
	bool good = batch->end == KAFKA_BATCH_COMMITTED;
	if (batch == kafka->batch) {
		kafka->batch = NULL;
		tell_transaction(kafka, batch);
		if (good) {
			kafka->moves = 0;
			kafka->apart = false;
			end_all(kafka, 0);
		}
		kafka_commit_over(kafka, good);
		if (!good)
			batch_failed(kafka, batch);
		if (kafka->revoking)
			kafka_commit_go_on(kafka);
	}
	kafka_producer_free_batch(&batch);
	kafka_trouble_kick(kafka);
}

/* --- without it --- */

static void
on_put_time(void *arg)
{
	kafka_trouble_kick(arg);
}

void
kafka_put_init(struct kafka *kafka)
{
	list_init(&kafka->puts);
	list_init(&kafka->sent);
	timer_init(&kafka->put_timer, kafka->loop, on_put_time, kafka);
}

void
kafka_put_drop(struct kafka *kafka, int error)
{
	struct kafka_put *put;
	LIST_EACH (put, &kafka->puts, link) {
		list_remove(&put->link);
		end_put(put, error, BROKER_NOT_PENDING);
	}
	kafka->n_puts = 0;
	LIST_EACH (put, &kafka->sent, link) {
		if (put->finish != NULL)
			op_done(&put->finish->op, error);
		put->finish = NULL;
	}
	timer_clear(&kafka->put_timer);
}

void
kafka_put_forget(struct kafka *kafka)
{
	struct kafka_put *put;
	kafka->batch = NULL;
	kafka->prepared = false;
	LIST_EACH (put, &kafka->sent, link) {
		list_remove(&put->link);
		free(put->topic);
		free(put);
	}
}
