/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/error.h"
#include "base/mem.h"
#include "messages/broker/kafka/kafka_private.h"

/*
 * The end of a message.  Without anything to put it is noted, and told with the
 * next commit.  With something it waits for a transaction, in which that is
 * produced and the position is committed that it is finished in: so nobody who
 * reads what is committed sees it twice, or misses it.  Where a transaction is
 * aborted nothing has happened, and where that is not known, what is committed
 * says it.
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
	struct kafka_put *next;
	struct kafka *kafka;
	struct broker_finish *finish; /* NULL: given up */
	uintptr_t serial; /* of its partition */
	int64_t offset;
};

/* --- lists --- */

static void
add_put(struct kafka_puts *list, struct kafka_put *put)
{
	put->next = NULL;
	*list->last = put;
	list->last = &put->next;
	list->count++;
}

static struct kafka_put *
take_put(struct kafka_puts *list)
{
	struct kafka_put *put = list->first;
	list->first = put->next;
	if (list->first == NULL)
		list->last = &list->first;
	list->count--;
	return put;
}

/* All of the second come before those of the first. */
static void
put_back(struct kafka_puts *list, struct kafka_puts *others)
{
	if (others->count == 0)
		return;
	*others->last = list->first;
	if (list->count > 0)
		others->last = list->last;
	list->first = others->first;
	list->last = others->last;
	list->count += others->count;
	*others = (struct kafka_puts){NULL, &others->first, 0};
}

static void
wait_for_more(struct kafka *kafka)
{
	bool ordered = kafka->source->order_by != SOURCE_ORDER_NONE;
	if (!timer_is_set(&kafka->put_timer))
		timer_set(&kafka->put_timer,
		    ordered ? WAIT_ORDERED_MS : WAIT_MS);
}

static void
on_put_time(void *arg)
{
	kafka_kick(arg);
}

void
kafka_put_init(struct kafka *kafka)
{
	kafka->puts.last = &kafka->puts.first;
	kafka->sent.last = &kafka->sent.first;
	kafka->batch_most = BATCH_MAX;
	timer_init(&kafka->put_timer, kafka->loop, on_put_time, kafka);
}

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
end_put(struct kafka_put *put, int error)
{
	if (put->finish != NULL)
		op_done(&put->finish->op, error);
	free(put);
}

static void
end_as(struct kafka_put *put, enum broker_finished finished)
{
	if (put->finish != NULL)
		put->finish->finished = finished;
	end_put(put, 0);
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
	end_put(put, E_BROKER_REFUSED);
}

/* What it is about; NULL: it is nobody's here any more. */
static struct kafka_given *
given_of(const struct kafka_put *put, struct kafka_part **ret_part)
{
	struct kafka_part *part =
	    kafka_group_part(put->kafka, (void *)put->serial);
	*ret_part = part;
	return part != NULL && part->step == KAFKA_READING
	    ? kafka_ring_find(&part->ring, put->offset)
	    : NULL;
}

static bool
is_put(const struct broker_finish *finish)
{
	return finish->put != NULL && finish->put->place != BROKER_NOWHERE;
}

void
kafka_put_finish(struct kafka *kafka, struct broker_finish *finish)
{
	if (finish->letter.len > 0) {
		kafka_letters_end_add(kafka, finish);
		return;
	}
	struct kafka_part *part = kafka_group_part(kafka, finish->token);
	struct kafka_put *put = mem_zero(sizeof *put);
	put->kafka = kafka;
	put->finish = finish;
	put->serial = part != NULL ? part->serial : 0;
	put->offset = part != NULL
	    ? kafka_message_offset(part, finish->position)
	    : -1;
	finish->token = put;
	op_start(&finish->op, 0, forget_finish);
	struct kafka_given *given = given_of(put, &part);
	if (given == NULL || given->state == KAFKA_FINISHED) {
		end_as(put, BROKER_NOT_PENDING);
	} else if (is_put(finish)) {
		add_put(&kafka->puts, put);
		wait_for_more(kafka);
		kafka_kick(kafka);
	} else {
		kafka_ring_set(&part->ring, given, KAFKA_FINISHED);
		end_as(put, BROKER_FINISHED);
	}
}

/* --- a transaction --- */

static struct span
dup_into(struct arena *arena, struct span s)
{
	return s.ptr != NULL ? arena_dup(arena, s) : s;
}

static struct fields
dup_fields(struct arena *arena, const struct fields *fields)
{
	struct fields copy = {
	    arena_alloc(arena, fields->count * sizeof *copy.list),
	    fields->count};
	for (size_t i = 0; i < fields->count; i++) {
		copy.list[i].name = dup_into(arena, fields->list[i].name);
		copy.list[i].value = dup_into(arena, fields->list[i].value);
	}
	return copy;
}

/* The topic where that kind of thing goes of this partition. */
static struct span
topic_of(const struct kafka_part *part, struct arena *arena,
    enum broker_place place)
{
	const struct conf_source *source = part->kafka->source;
	const char *name = place == BROKER_RESULTS ? source->results
						   : source->dead_letters;
	return name != NULL ? arena_dup(arena, span_str(name))
			    : arena_printf(arena, "%s.dead", part->topic);
}

void
kafka_put_record(struct kafka_batch *batch, const struct kafka_part *part,
    const struct broker_put *put)
{
	struct kafka_record *record = &batch->records[batch->count++];
	struct arena *arena = batch->arena;
	record->batch = batch;
	record->topic =
	    (char *)(uintptr_t)topic_of(part, arena, put->place).ptr;
	record->partition = put->place == BROKER_DEAD_LETTERS
	    ? kafka_letters_number(part)
	    : RD_KAFKA_PARTITION_UA;
	record->key = dup_into(arena, put->key);
	if (put->has_body)
		record->body = dup_into(arena, put->body);
	record->headers = dup_fields(arena, &put->fields);
}

/*
 * Those whose partition was taken away are over: another reader has them.  So
 * are those that a transaction has finished that nobody waited for.
 */
static void
move_some(struct kafka *kafka, struct kafka_batch *batch)
{
	struct kafka_part *part;
	while (kafka->puts.count > 0 && batch->count < kafka->batch_most) {
		struct kafka_put *put = take_put(&kafka->puts);
		struct kafka_given *given = given_of(put, &part);
		if (put->finish == NULL || given == NULL ||
		    given->state != KAFKA_UNFINISHED) {
			end_as(put, BROKER_NOT_PENDING);
			continue;
		}
		kafka_ring_set(&part->ring, given, KAFKA_PUTTING);
		part->putting++;
		kafka_put_record(batch, part, put->finish->put);
		add_put(&kafka->sent, put);
	}
}

static void
begin_batch(struct kafka *kafka)
{
	struct arena *arena = arena_new();
	struct kafka_batch *batch = arena_alloc(arena, sizeof *batch);
	batch->arena = arena;
	batch->records =
	    arena_alloc(arena, BATCH_MAX * sizeof *batch->records);
	bool letters = kafka_letters_end_move(kafka, batch, kafka->batch_most);
	move_some(kafka, batch);
	if (batch->count == 0 && !letters) {
		kafka_producer_free_batch(&batch);
		return;
	}
	batch->offsets = kafka_commit_list(kafka, true);
	batch->group = rd_kafka_consumer_group_metadata(kafka->consumer);
	kafka->batch = batch;
	kafka_thread_begin(kafka->thread, batch);
}

void
kafka_put_go_on(struct kafka *kafka)
{
	if (!kafka->prepared &&
	    (kafka->source->results != NULL || kafka->unanswered)) {
		kafka->prepared = true;
		kafka_thread_prepare(kafka->thread);
	}
	bool ready = kafka->assigned && !kafka->revoking && !kafka->remake &&
	    kafka->batch == NULL && kafka->commits == 0;
	bool due = kafka->puts.count >= BATCH_DUE ||
	    (kafka->puts.count > 0 && kafka->batch_most < BATCH_MAX) ||
	    (kafka->puts.count > 0 && !timer_is_set(&kafka->put_timer)) ||
	    kafka_letters_end_is_due(kafka);
	bool waits = kafka->puts.count > 0 || due;
	if (ready && waits && kafka_doubt_is_over(kafka) && due)
		begin_batch(kafka);
}

/* It is finished, or to be decided again. */
static void
settle_put(struct kafka_put *put, bool finished)
{
	struct kafka_part *part;
	struct kafka_given *given = given_of(put, &part);
	if (given == NULL || given->state != KAFKA_PUTTING)
		return;
	part->putting--;
	kafka_ring_set(&part->ring, given,
	    finished ? KAFKA_FINISHED : KAFKA_UNFINISHED);
}

/*
 * All of them wait again.  Where one is not taken, a broker refuses those
 * beside it too: they are tried fewer at a time until it is alone, and ends.
 */
static void
try_again(struct kafka *kafka, const struct kafka_batch *batch)
{
	if (batch->refused && batch->count == 1 && kafka->sent.count == 1) {
		struct kafka_put *put = take_put(&kafka->sent);
		settle_put(put, false);
		refuse_put(put, batch);
		return;
	}
	if (batch->refused)
		kafka->batch_most = batch->count / 2 + (batch->count < 2);
	for (struct kafka_put *put = kafka->sent.first; put != NULL;
	     put = put->next)
		settle_put(put, false);
	put_back(&kafka->puts, &kafka->sent);
	wait_for_more(kafka);
}

static void
end_all(struct kafka *kafka, int error)
{
	while (kafka->sent.count > 0) {
		struct kafka_put *put = take_put(&kafka->sent);
		settle_put(put, error == 0);
		if (error == 0)
			end_as(put, BROKER_FINISHED);
		else
			end_put(put, error);
	}
}

static bool
was_fenced(const struct kafka_batch *batch)
{
	return batch->code == RD_KAFKA_RESP_ERR__FENCED ||
	    batch->code == RD_KAFKA_RESP_ERR_PRODUCER_FENCED ||
	    batch->code == RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH;
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
	    was_fenced(batch);
	return moved && ++kafka->moves <= MOVES_MAX;
}

/* What is known here may be wrong: what is committed is asked for. */
static void
read_anew(struct kafka *kafka)
{
	if (kafka->leaving)
		kafka_group_clear(kafka);
	else
		kafka_group_again(kafka);
}

/* That will not be better by trying again at once, nor one by one. */
static void
refuse_all(struct kafka *kafka, const struct kafka_batch *batch)
{
	while (kafka->sent.count > 0) {
		struct kafka_put *put = take_put(&kafka->sent);
		settle_put(put, false);
		refuse_put(put, batch);
	}
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
	bool fenced = batch->end != KAFKA_BATCH_COMMITTED && was_fenced(batch);
	if (kafka->events.transacted != NULL && !kafka->leaving)
		kafka->events.transacted(kafka->events.arg,
		    fenced ? BROKER_FENCED : ends[batch->end]);
}

static void
batch_failed(struct kafka *kafka, struct kafka_batch *batch)
{
	bool aborted = batch->end == KAFKA_BATCH_ABORTED;
	bool moved = partitions_moved(kafka, batch);
	if (aborted && (batch->refused || (moved && !kafka->leaving))) {
		try_again(kafka, batch);
		return;
	}
	if (aborted && is_denied(kafka, batch)) {
		refuse_all(kafka, batch);
		return;
	}
	end_all(kafka, E_BROKER_DOWN);
	if (!moved)
		kafka_is_down(kafka,
		    batch->words[0] != '\0' ? batch->words
					    : "a transaction was given up");
	if (!aborted)
		read_anew(kafka);
}

void
kafka_put_done(void *arg, struct kafka_batch *batch)
{
	struct kafka *kafka = arg;
	bool good = batch->end == KAFKA_BATCH_COMMITTED;
	kafka->batch = NULL;
	tell_transaction(kafka, batch);
	kafka_letters_end_batch(kafka, batch);
	if (good) {
		kafka->moves = 0;
		kafka->batch_most = kafka->batch_most < BATCH_MAX / 2
		    ? 2 * kafka->batch_most
		    : BATCH_MAX;
		end_all(kafka, 0);
	}
	kafka_commit_over(kafka, good);
	if (!good)
		batch_failed(kafka, batch);
	kafka_producer_free_batch(&batch);
	if (kafka->revoking)
		kafka_commit_go_on(kafka);
	kafka_kick(kafka);
}

void
kafka_put_drop(struct kafka *kafka, int error)
{
	while (kafka->puts.count > 0)
		end_put(take_put(&kafka->puts), error);
	for (struct kafka_put *put = kafka->sent.first; put != NULL;
	     put = put->next) {
		if (put->finish != NULL)
			op_done(&put->finish->op, error);
		put->finish = NULL;
	}
	timer_clear(&kafka->put_timer);
	kafka_letters_end_drop(kafka, error);
}

void
kafka_put_forget(struct kafka *kafka)
{
	kafka->batch = NULL;
	kafka->prepared = false;
	kafka_letters_end_forget(kafka);
	while (kafka->sent.count > 0)
		free(take_put(&kafka->sent));
}
