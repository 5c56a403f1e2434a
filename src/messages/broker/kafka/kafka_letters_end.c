/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/error.h"
#include "base/mem.h"
#include "messages/broker/kafka/kafka_letters_private.h"

/*
 * The end of a dead letter: always in a transaction, with what is put at that,
 * if anything.  Its source's partition is committed in it, which tells that the
 * letter is finished, and which only who has that partition can.
 */
struct kafka_letter_end {
	struct kafka_letter_end *next;
	struct kafka *kafka;
	struct broker_finish *finish; /* NULL: given up */
	struct span position;
	struct kafka_place place;
	size_t record; /* of the batch; or none of it */
	struct arena *arena;
};

/* --- lists --- */

static void
append(struct kafka_letter_ends *list, struct kafka_letter_end *end)
{
	end->next = NULL;
	*list->last = end;
	list->last = &end->next;
}

static struct kafka_letter_end *
shift(struct kafka_letter_ends *list)
{
	struct kafka_letter_end *end = list->first;
	if (end != NULL && (list->first = end->next) == NULL)
		list->last = &list->first;
	return end;
}

void
kafka_letters_end_init(struct kafka_letters *letters)
{
	letters->ends.last = &letters->ends.first;
	letters->sent.last = &letters->sent.first;
}

/* --- one --- */

static void
settle_end(struct kafka_letter_end *end, int error)
{
	struct arena *arena = end->arena; /* it lies there */
	if (end->finish != NULL)
		op_done(&end->finish->op, error);
	arena_free(&arena);
}

static void
finish_end(struct kafka_letter_end *end, enum broker_finished finished)
{
	if (end->finish != NULL)
		end->finish->finished = finished;
	settle_end(end, 0);
}

static void
refuse_end(struct kafka_letter_end *end, const char *words, bool too_large)
{
	if (end->finish != NULL) {
		snprintf(end->finish->refused, sizeof end->finish->refused,
		    "%s", words);
		end->finish->fault =
		    too_large ? BROKER_FAULT_SIZE : BROKER_FAULT_PLACE;
	}
	settle_end(end, E_BROKER_REFUSED);
}

static struct kafka_ring *
ring_of(const struct kafka_letter_end *end, struct kafka_part **ret_part)
{
	struct kafka_part *part =
	    kafka_letters_owner(end->kafka, end->position);
	*ret_part = part;
	return part == NULL
	    ? NULL
	    : &kafka_shelf_at(&part->shelves, end->place.number)->ring;
}

/* It has not been read here yet, or was finished before. */
static void
end_unseen(struct kafka_letter_end *end, const struct kafka_ring *ring)
{
	if (kafka_scan_is_finished(&ring->kept, end->place.offset) ||
	    end->place.offset < ring->next) {
		finish_end(end, BROKER_NOT_PENDING);
		return;
	}
	kafka_letters_page_read(end->kafka->letters, end->position);
	finish_end(end, BROKER_LOCKED);
}

/* It may go into a transaction; else it has ended. */
static struct kafka_given *
look_at_end(struct kafka_letter_end *end, struct kafka_part **ret_part,
    struct kafka_ring **ret_ring)
{
	struct kafka *kafka = end->kafka;
	struct kafka_ring *ring = *ret_ring = ring_of(end, ret_part);
	struct kafka_part *part = *ret_part;
	if (!kafka->assigned || kafka->revoking) {
		finish_end(end, BROKER_LOCKED);
	} else if (part == NULL) {
		finish_end(end, BROKER_ELSEWHERE);
	} else if (part->step != KAFKA_READING ||
	    kafka_ring_low(&part->ring, true) < 0) {
		finish_end(end, BROKER_LOCKED);
	} else {
		struct kafka_given *given =
		    kafka_ring_find(ring, end->place.offset);
		if (given != NULL && given->state == KAFKA_UNFINISHED)
			return given;
		if (given == NULL)
			end_unseen(end, ring);
		else
			finish_end(end, given->state == KAFKA_FINISHED
				? BROKER_NOT_PENDING
				: BROKER_LOCKED);
	}
	return NULL;
}

/* Its owner has given it up: what is under way is not waited for. */
static void
detach_end(struct op *op, int error)
{
	(void)error;
	struct broker_finish *finish =
	    CONTAINER_OF(op, struct broker_finish, op);
	((struct kafka_letter_end *)finish->token)->finish = NULL;
}

void
kafka_letters_end_add(struct kafka *kafka, struct broker_finish *finish)
{
	struct arena *arena = arena_new();
	struct kafka_letter_end *end = arena_alloc(arena, sizeof *end);
	end->arena = arena;
	end->kafka = kafka;
	end->finish = finish;
	end->position = arena_dup(arena, finish->position);
	finish->token = end;
	op_start(&finish->op, 0, detach_end);
	if (!kafka_scan_place(finish->letter, &end->place)) {
		finish_end(end, BROKER_NOT_PENDING);
		return;
	}
	append(&kafka->letters->ends, end);
	kafka_kick(kafka);
}

/* --- in a transaction --- */

bool
kafka_letters_end_is_due(const struct kafka *kafka)
{
	return kafka->letters->ends.first != NULL;
}

static void
move_end(struct kafka_letter_end *end, struct kafka_batch *batch)
{
	struct kafka_part *part;
	struct kafka_ring *ring;
	if (end->finish == NULL) {
		settle_end(end, 0);
		return;
	}
	struct kafka_given *given = look_at_end(end, &part, &ring);
	if (given == NULL)
		return;
	kafka_ring_set(ring, given, KAFKA_PUTTING);
	if (!kafka_letters_fit(part)) {
		kafka_ring_set(ring, given, KAFKA_UNFINISHED);
		refuse_end(end,
		    "too many dead letters were finished behind unfinished "
		    "ones",
		    false);
		return;
	}
	part->putting++;
	end->record = SIZE_MAX;
	if (end->finish->put != NULL) {
		end->record = batch->count;
		kafka_put_record(batch, part, end->finish->put);
	}
	append(&end->kafka->letters->sent, end);
}

bool
kafka_letters_end_move(
    struct kafka *kafka, struct kafka_batch *batch, size_t most)
{
	struct kafka_letters *letters = kafka->letters;
	while (letters->ends.first != NULL && batch->count < most)
		move_end(shift(&letters->ends), batch);
	return letters->sent.first != NULL;
}

static void
settle_sent(struct kafka_letter_end *end, bool finished)
{
	struct kafka_part *part;
	struct kafka_ring *ring = ring_of(end, &part);
	struct kafka_given *given =
	    ring != NULL ? kafka_ring_find(ring, end->place.offset) : NULL;
	if (given == NULL || given->state != KAFKA_PUTTING)
		return;
	part->putting--;
	kafka_ring_set(
	    ring, given, finished ? KAFKA_FINISHED : KAFKA_UNFINISHED);
}

void
kafka_letters_end_batch(struct kafka *kafka, const struct kafka_batch *batch)
{
	struct kafka_letters *letters = kafka->letters;
	struct kafka_letter_end *end;
	bool good = batch->end == KAFKA_BATCH_COMMITTED;
	bool refused = batch->end == KAFKA_BATCH_ABORTED && batch->refused;
	/* What is put beside what is refused is tried again (kafka_put.c). */
	bool alone = refused && batch->count == 1;
	while ((end = shift(&letters->sent)) != NULL) {
		settle_sent(end, good);
		if (good)
			finish_end(end, BROKER_FINISHED);
		else if (batch->denied || (alone && end->record == 0))
			refuse_end(end, batch->words, batch->too_large);
		else if (refused)
			append(&letters->ends, end);
		else
			settle_end(end, E_BROKER_DOWN);
	}
}

void
kafka_letters_end_drop(struct kafka *kafka, int error)
{
	struct kafka_letters *letters = kafka->letters;
	struct kafka_letter_end *end;
	while ((end = shift(&letters->ends)) != NULL)
		settle_end(end, error);
	for (end = letters->sent.first; end != NULL; end = end->next) {
		if (end->finish != NULL)
			op_done(&end->finish->op, error);
		end->finish = NULL;
	}
	if (kafka->leaving)
		kafka_letters_page_end(letters);
}

void
kafka_letters_end_forget(struct kafka *kafka)
{
	struct kafka_letter_end *end;
	while ((end = shift(&kafka->letters->sent)) != NULL)
		settle_end(end, E_CANCELLED);
}
