/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

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
};

/* --- what waits --- */

/* What it is about; NULL: it is nobody's here any more. */
static struct kafka_given *
given_of(const struct finishing *f, struct kafka_part **ret_part)
{
	const struct kafka_finishing *own = (const struct kafka_finishing *)f;
	struct kafka_part *part;
	*ret_part = NULL;
	LIST_EACH (part, &((struct kafka *)f->reader)->parts, link)
		if (part->serial == own->serial)
			*ret_part = part;
	part = *ret_part;
	return part != NULL && part->step == KAFKA_READING
	    ? kafka_tracker_find(&part->tracker, own->offset)
	    : NULL;
}

/*
 * Of one that is not in flight here: what is finished is below what comes next,
 * and anything else is with whoever works on it.  What stood in a topic that is
 * not read any more is nobody's.
 */
static enum broker_finished
look_up(const struct kafka *kafka, struct span position)
{
	const struct strings *topics = &kafka->core.source->topics;
	struct kafka_part *part;
	struct span rest = position, topic = SPAN("");
	bool is_read = false;
	(void)span_next(&rest, '/', &topic);
	for (size_t i = 0; i < topics->count; i++)
		is_read |= span_eq(topic, span_str(topics->list[i]));
	LIST_EACH (part, &kafka->parts, link) {
		int64_t offset = kafka_message_offset(part, position);
		if (offset >= 0 && part->step == KAFKA_READING &&
		    offset < part->tracker.next &&
		    kafka_tracker_find(&part->tracker, offset) == NULL)
			return BROKER_NOT_PENDING;
	}
	return is_read ? BROKER_ELSEWHERE : BROKER_NOT_PENDING;
}

/* It puts nothing: that is noted, and told with the next commit. */
static void
finish_plain(struct finishing *f)
{
	struct kafka_part *part;
	struct kafka_given *given = given_of(f, &part);
	if (given != NULL) {
		part->putting -= given->putting;
		kafka_tracker_finish(&part->tracker, given);
	}
	reader_finish_end(
	    f, given != NULL ? BROKER_FINISHED : BROKER_NOT_PENDING);
}

/* --- a transaction --- */

static const struct kafka_record *
add_put(
    struct kafka_batch *batch, const char *topic, const struct broker_put *what)
{
	struct arena *arena = batch->arena;
	struct kafka_record *record = &batch->records[batch->count++];
	size_t count = what->fields.count;
	record->batch = batch;
	record->topic = arena_dup(arena, span_str(topic)).ptr;
	record->key = reader_copy(arena, what->key);
	if (what->has_body)
		record->body = reader_copy(arena, what->body);
	struct field *list = arena_alloc(arena, count * sizeof *list);
	for (size_t i = 0; i < count; i++) {
		list[i].name = reader_copy(arena, what->fields.list[i].name);
		list[i].value = reader_copy(arena, what->fields.list[i].value);
	}
	record->headers = (struct fields){list, count};
	return record;
}

/* The copy is done with; and the result, if there is one. */
static void
add_mark(struct kafka_batch *batch, struct finishing *f, const char *topic)
{
	const struct broker_reader *core = f->reader;
	const struct broker_finish *finish = f->finish;
	struct field list[] = {
	    {SPAN("onceproxy-done"), finish->position},
	    {SPAN("onceproxy-source"), span_str(core->source->name)},
	    {SPAN("onceproxy-store"), span_str(core->store_id)},
	};
	const struct broker_put mark = {
	    .fields = {list, 3}, .key = finish->key};
	const struct kafka_record *first = NULL;
	if (finish->put != NULL && finish->put->place == BROKER_RESULTS)
		first = add_put(batch, core->source->results, finish->put);
	const struct kafka_record *record = add_put(batch, topic, &mark);
	((struct kafka_finishing *)f)->record = first != NULL ? first : record;
}

/*
 * It goes into the batch, unless that is another topic's.  Those whose
 * partition was taken away are over: another reader has them.
 */
static void
add_finishing(struct kafka_batch *batch, struct finishing *f)
{
	struct kafka_part *part;
	struct kafka_given *given = given_of(f, &part);
	bool marks = f->finish->mark;
	if (!marks && (given == NULL || given->putting)) {
		reader_finish_end(f, BROKER_NOT_PENDING);
		return;
	}
	const struct conf_source *source = f->reader->source;
	struct span topic_read = SPAN(""), rest = f->finish->position;
	(void)span_next(&rest, '/', &topic_read);
	const char *topic =
	    !marks && f->finish->put->place == BROKER_RESULTS
	    ? source->results
	    : kafka_conf_dead(source, topic_read, batch->arena);
	if (batch->count > 0 &&
	    (marks || strcmp(topic, batch->records[0].topic) != 0))
		return;
	reader_finish_send(f);
	if (marks) {
		add_mark(batch, f, topic);
		return;
	}
	given->putting = true;
	part->putting++;
	((struct kafka_finishing *)f)->record =
	    add_put(batch, topic, f->finish->put);
}

static void
begin_batch(struct kafka *kafka)
{
	struct kafka_batch *batch = kafka_producer_batch(BATCH_MAX + 2);
	struct broker_reader *core = &kafka->core;
	struct finishing *f;
	bool marks = false;
	LIST_EACH (f, &core->waiting, of_reader) {
		if (marks || batch->count >= BATCH_MAX)
			break;
		marks = f->finish->mark && batch->count == 0;
		add_finishing(batch, f);
	}
	kafka->put_due = false;
	timer_clear(&kafka->put_timer);
	if (batch->count == 0) {
		kafka_producer_free_batch(&batch);
		return;
	}
	batch->offsets = kafka_commit_list(kafka, true);
	batch->group = rd_kafka_consumer_group_metadata(kafka->consumer);
	batch->group_name =
	    arena_dup(batch->arena, span_str(core->source->group)).ptr;
	kafka->batch = batch;
	kafka_producer_begin(kafka->producer, batch);
}

void
kafka_put_prepare(struct kafka *kafka)
{
	if (!kafka->preparing)
		kafka_producer_begin(kafka->producer, kafka_producer_batch(0));
	kafka->preparing = true;
	kafka->unanswered = false;
}

void
kafka_put_finish(struct broker_reader *core)
{
	struct kafka *kafka = (struct kafka *)core;
	struct finishing *f;
	size_t puts = 0;
	/* All that waits for no transaction; those that do are left. */
	LIST_EACH (f, &core->waiting, of_reader) {
		struct kafka_finishing *own = (struct kafka_finishing *)f;
		/* Where it stands is known for longer than it is in flight. */
		if (f->message != NULL) {
			own->serial = (uintptr_t)f->message->token;
			own->offset =
			    ((const struct kafka_flight *)f->message)->offset;
		}
		if (!f->finish->mark && own->serial == 0)
			reader_finish_end(
			    f, look_up(kafka, f->finish->position));
		else if (f->finish->mark || f->finish->put != NULL)
			puts++;
		else
			finish_plain(f);
	}
	if (puts == 0)
		return;
	/* More may come in a moment, which is put in the same transaction. */
	if (!kafka->put_due && !timer_is_set(&kafka->put_timer))
		timer_set(&kafka->put_timer,
		    core->source->order_by != SOURCE_ORDER_NONE
			? WAIT_ORDERED_MS
			: WAIT_MS);
	bool ready = kafka->consumer != NULL && kafka->assigned &&
	    !kafka->revoking && !kafka->remake && !kafka->anew &&
	    kafka->batch == NULL && !kafka->commits;
	bool due = puts >= BATCH_DUE || kafka->put_due;
	if (ready && kafka_commit_is_sure(kafka) && due)
		begin_batch(kafka);
}

/* --- its end --- */

/* It is finished, or to be decided again. */
static void
settle(struct finishing *f, bool finished)
{
	struct kafka_part *part;
	struct kafka_given *given = given_of(f, &part);
	if (given == NULL || !given->putting)
		return;
	part->putting--;
	given->putting = false;
	if (finished)
		kafka_tracker_finish(&part->tracker, given);
}

static void
batch_failed(struct kafka *kafka, struct kafka_batch *batch)
{
	struct list *sent = &kafka->core.sent;
	bool aborted = batch->end == KAFKA_BATCH_ABORTED;
	/*
	 * Partitions are moving, or another gateway has our name: that is no
	 * trouble of the broker's.
	 */
	bool moved = batch->code == RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION ||
	    batch->code == RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID ||
	    batch->code == RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS ||
	    batch->fenced;
	/* What is not refused for its size nobody's is taken of there. */
	bool denied = aborted &&
	    (batch->denied || (batch->refused != NULL && !batch->too_large));
	struct finishing *f;
	if (aborted && !denied &&
	    (batch->refused != NULL || (moved && !kafka->core.leaving))) {
		/* They wait again, but for the one that is too large. */
		while ((f = LIST_LAST(sent, struct finishing, of_reader)) !=
		    NULL) {
			const struct kafka_finishing *own =
			    (const struct kafka_finishing *)f;
			settle(f, false);
			if (batch->refused != NULL &&
			    own->record == batch->refused)
				reader_finish_refuse(f, span_str(batch->words),
				    BROKER_FAULT_SIZE);
			else
				reader_finish_again(f, 0);
		}
		kafka->put_due |= batch->refused != NULL;
		return;
	}
	LIST_EACH (f, sent, of_reader) {
		settle(f, false);
		if (denied)
			reader_finish_refuse(
			    f, span_str(batch->words), BROKER_FAULT_PLACE);
		else
			reader_finish_fail(f, aborted);
	}
	if (!moved && !denied)
		kafka_trouble_is_down(kafka,
		    batch->words[0] != '\0' ? batch->words
					    : "a transaction was given up");
	/* What is known here may be wrong: what is committed is asked for. */
	kafka->anew |= !aborted;
}

void
kafka_put_done(void *arg, struct kafka_batch *batch)
{
	static const enum broker_transaction ends[] = {
	    [KAFKA_BATCH_COMMITTED] = BROKER_COMMITTED,
	    [KAFKA_BATCH_ABORTED] = BROKER_ABORTED,
	    [KAFKA_BATCH_UNCLEAR] = BROKER_UNCLEAR,
	};
	struct kafka *kafka = arg;
	struct counter *transactions = kafka->core.events.transactions;
	bool good = batch->end == KAFKA_BATCH_COMMITTED;
	struct finishing *f;
	if (batch == kafka->batch) {
		kafka->batch = NULL;
		if (!kafka->core.leaving)
			counter_add(&transactions[batch->fenced
						? BROKER_FENCED
						: ends[batch->end]],
			    1);
		if (good) {
			LIST_EACH (f, &kafka->core.sent, of_reader) {
				settle(f, true);
				reader_finish_end(f, BROKER_FINISHED);
			}
		}
		kafka_commit_over(kafka, good);
		if (!good)
			batch_failed(kafka, batch);
		if (kafka->revoking)
			kafka_commit_go_on(kafka);
	} else {
		kafka->preparing = false;
	}
	kafka_producer_free_batch(&batch);
	reader_kick(&kafka->core);
}

/* --- without it --- */

void
kafka_put_due(void *arg)
{
	struct kafka *kafka = arg;
	kafka->put_due = true;
	reader_kick(&kafka->core);
}

void
kafka_put_forget(struct kafka *kafka)
{
	struct finishing *f;
	kafka->batch = NULL;
	kafka->preparing = false;
	LIST_EACH (f, &kafka->core.sent, of_reader) {
		settle(f, false);
		reader_finish_fail(f, false);
	}
}
