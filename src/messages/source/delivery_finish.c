/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "base/error.h"
#include "base/test_build.h"
#include "messages/source/delivery_private.h"
#include "messages/source/message_end.h"
#include "messages/source/source_credit.h"
#include "messages/source/source_standing.h"

/*
 * The end of a message: it is acknowledged, and what becomes of it, a result or
 * the copy of its letter, is put in the same step of its broker.  A letter is
 * written in the store before that, and confirmed after it.
 */

/* The upstream refused it, and that is stored. */
enum after
delivery_finish_refuse(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	if (d->source->source->refused_ack)
		return delivery_to(d, DELIVERY_FINISH, MORE);
	d->reason = MESSAGE_REFUSED;
	d->buried = true;
	return delivery_to(d,
	    d->replay != NULL ? DELIVERY_STAY : DELIVERY_BURY, MORE);
}

/* --- its letter --- */

/* Redis cannot be asked. */
static enum after
not_written(struct delivery *d)
{
	source_standing_begin(d->source, STANDING_STORE,
	    error_message(d->written.op.op.error));
	source_standing_tried(d->source, &d->stand);
	return delivery_to(d, DELIVERY_STAND, MORE);
}

enum after
delivery_finish_bury(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	struct source *s = d->source;
	const struct letters *letters = &s->letters;
	if (!d->buried)
		d->reason = d->outcome;
	d->buried = true;
	if (d->was_letter || !INVARIANT(letter_first))
		return delivery_to(d, DELIVERY_FINISH, MORE);
	/* A process that was frozen has read on: it hears of its loss next. */
	if (!source_standing_lets_begin(s))
		return delivery_to(d, DELIVERY_YIELD, MORE);
	/*
	 * Nothing is put away beyond what an operator has room for: then its
	 * source stands.  One that was written already, which nobody heard of,
	 * has its room.
	 */
	bool has_room = letters->dead + letters->parked + s->burying <
		(uint64_t)s->source->keep_dead ||
	    (letters->n_unknown == 0 &&
		letters_may_be_written(letters, d->message->position));
	if (!has_room && INVARIANT(room_for_dead)) {
		char words[96];
		snprintf(words, sizeof words,
		    "%lld messages are dead or parked: replay or drop some.",
		    (long long)s->source->keep_dead);
		source_standing_begin(s, STANDING_DEAD_LETTERS, words);
		return delivery_to(d, DELIVERY_STAND, MORE);
	}
	d->namesake = false;
	d->burying = true;
	s->burying++;
	message_end_letter(d, &d->letter);
	/*
	 * Where this gateway stands still, another one may have its message,
	 * and have executed it, as an operator has released its key.
	 */
	int64_t until_us =
	    letter_until_us(d->known_us, d->message->bytes);
	if (source_standing_has_one_reader(s) &&
	    s->leadership.until_us < until_us)
		until_us = s->leadership.until_us;
	letter_put(&s->letters, &d->written, &d->letter,
	    d->reason == MESSAGE_BEHIND ? LETTER_BEHIND : LETTER_FIRST,
	    until_us);
	return delivery_to(d, DELIVERY_BURIED, WAIT);
}

enum after
delivery_finish_buried(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	d->source->burying -= d->burying;
	d->burying = false;
	if (d->written.op.op.error != 0)
		return not_written(d);
	source_standing_end(d->source, STANDING_STORE);
	/* One that was there before, and acknowledged, may be of another. */
	if (d->written.op.verdict == VERDICT_DONE)
		return delivery_to(d,
		    d->written.letter.state == LETTER_WRITTEN
			? DELIVERY_FINISH
			: DELIVERY_SEEK,
		    MORE);
	/*
	 * Its lane is parked no more, or it is late: it goes its own way,
	 * unless Redis has lost what it was parked behind.
	 */
	d->buried = false;
	d->again_us = clock_us();
	d->detail = SPAN("");
	delivery_unshape(d);
	return delivery_to(d, DELIVERY_SHAPE, MORE);
}

/* As far as all of it is known. */
static bool
is_other(const struct broker_message *m, const struct letter_op *found)
{
	const struct letter *letter = &found->letter;
	if (found->sealed_shut)
		return false;
	/* What is too large is a letter without its content. */
	if (letter->is_cut || m->too_large)
		return letter->is_cut != m->too_large;
	if (letter->has_payload != m->has_payload ||
	    !span_eq(letter->payload, m->payload) ||
	    !span_eq(letter->entity, m->entity) ||
	    !span_eq(letter->type, m->type) ||
	    letter->fields.count != m->fields.count)
		return true;
	for (size_t i = 0; i < m->fields.count; i++)
		if (!span_eq(letter->fields.list[i].name,
			m->fields.list[i].name) ||
		    !span_eq(letter->fields.list[i].value,
			m->fields.list[i].value))
			return true;
	return false;
}

/* It may be a letter already, which its broker had not acknowledged yet. */
enum after
delivery_finish_seek(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	const struct letter_name name = delivery_letter_name(d);
	letter_do(&d->source->letters, &d->written, LETTER_SHOW, &name,
	    LETTER_REPLAY, NULL);
	return delivery_to(d, DELIVERY_SOUGHT, WAIT);
}

enum after
delivery_finish_sought(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	if (d->written.op.op.error != 0) {
		delivery_unshape(d);
		d->buried = d->sought = d->namesake = false;
		d->outcome = MESSAGE_COUNT_;
		return not_written(d);
	}
	source_standing_end(d->source, STANDING_STORE);
	d->sought = true;
	bool is_there = d->written.op.verdict == VERDICT_DONE;
	bool is_others = is_there && is_other(d->message, &d->written);
	bool is_written = d->written.letter.state == LETTER_WRITTEN;
	d->was_letter = is_there && !is_others;
	d->namesake = is_others && (is_written || d->buried);
	/* Nobody acknowledges that one any more: it was written over. */
	if (d->namesake && is_written)
		return delivery_to(d, DELIVERY_CONFIRM, MORE);
	/* Its position has no second letter: so it is not acknowledged. */
	if (d->namesake) {
		source_standing_begin(d->source, STANDING_DEAD_LETTERS,
		    "The dead letter of another message has a message's "
		    "position: replay or drop that.");
		return delivery_to(d, DELIVERY_STAND, MORE);
	}
	if (!d->was_letter)
		return delivery_to(d, DELIVERY_TURN, MORE);
	d->letter = d->written.letter;
	if (d->buried)
		return delivery_to(d, DELIVERY_FINISH, MORE);
	d->buried = true;
	enum message_outcome outcome = 0;
	while (outcome < MESSAGE_COUNT_ &&
	    !span_eq(d->letter.reason,
		span_str(source_meter_outcomes[outcome])))
		outcome++;
	d->outcome = d->reason =
	    outcome < MESSAGE_COUNT_ ? outcome : MESSAGE_UNKNOWN;
	return delivery_to(d, DELIVERY_FINISH, MORE);
}

/* --- its acknowledgement --- */

enum after
delivery_finish(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	struct broker_finish *finish = &d->finish;
	/* It is decided: what becomes of its key is nothing to it any more. */
	key_waiters_leave(&d->waiter);
	/* What is tried again is made again, of what is known then. */
	arena_free(&d->put_arena);
	d->put_arena = arena_new();
	d->put.place = BROKER_NOWHERE;
	if (d->buried)
		message_end_copy(d->put_arena, d, &d->put);
	else
		message_end_result(d->put_arena, d, &d->put);
	finish->position = d->message->position;
	finish->key = d->message->key;
	finish->mark = d->replay != NULL && !d->buried;
	finish->put = d->put.place == BROKER_NOWHERE ? NULL : &d->put;
	source_credit_finish(d->source, d,
	    finish->put != NULL &&
		d->source->source->broker->kind == BROKER_KAFKA);
	broker_reader_finish(d->source->reader, finish);
	return delivery_to(d, DELIVERY_FINISHED, WAIT);
}

enum after
delivery_finish_answered(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	const struct broker_finish *finish = &d->finish;
	source_credit_finish(d->source, d, false);
	if (d->replay != NULL)
		return delivery_replay_finished(d);
	if (finish->op.error == E_BROKER_REFUSED &&
	    finish->fault >= BROKER_FAULT_MESSAGE)
		return delivery_rest_rejected(d);
	/* The broker is away, or takes no more of these: none is to blame. */
	if (finish->op.error != 0) {
		bool refused = finish->op.error == E_BROKER_REFUSED;
		enum standing standing =
		    source_standing_of_finish(finish, d->buried);
		/* Whoever knows why the broker is away has said so already. */
		if (refused || (d->source->standing & 1u << standing) == 0)
			source_standing_begin(d->source, standing,
			    refused ? finish->refused
				    : error_message(finish->op.error));
		/* What is held may try meanwhile: it has a time for that. */
		return delivery_to(d,
		    d->rejected ? DELIVERY_YIELD : DELIVERY_STAND, MORE);
	}
	if (finish->finished == BROKER_FINISHED)
		d->source->refused = 0; /* so not all are refused */
	source_standing_end(d->source, STANDING_BROKER);
	if (finish->finished == BROKER_ELSEWHERE)
		return DONE;
	if (finish->finished == BROKER_LOCKED)
		return delivery_to(d, DELIVERY_YIELD, MORE);
	if (finish->put != NULL && finish->finished == BROKER_FINISHED)
		source_standing_end(d->source,
		    d->buried ? STANDING_DEAD_LETTERS : STANDING_RESULTS);
	return delivery_to(d,
	    d->buried || d->was_letter ? DELIVERY_CONFIRM : DELIVERY_END,
	    MORE);
}

/* Not pending any more: whoever finished it, or lost it, it is a letter. */
enum after
delivery_finish_confirm(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	const struct letter_name name = delivery_letter_name(d);
	letter_do(&d->source->letters, &d->written, LETTER_CONFIRM, &name,
	    d->buried || d->namesake ? LETTER_REPLAY : LETTER_DROP, NULL);
	return delivery_to(d, DELIVERY_CONFIRMED, WAIT);
}

/* What Redis did not take is confirmed later, by whoever reads the source. */
enum after
delivery_finish_confirmed(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	const struct letter_name name = delivery_letter_name(d);
	if (d->replay != NULL)
		return DONE;
	if (d->namesake)
		return delivery_to(d, DELIVERY_SEEK, MORE);
	if (!d->buried) /* it was dropped */
		delivery_replay_new(d->source, &name, LETTER_DROP);
	return delivery_to(d, DELIVERY_END, MORE);
}

enum after
delivery_finish_end(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	struct source_meter *meter = d->source->meter;
	bool finished = d->finish.finished == BROKER_FINISHED;
	delivery_count(d, d->outcome);
	if (d->replay == NULL)
		histogram_add(&meter->seconds, clock_us() - d->began_us);
	if (finished && d->buried)
		counter_add(&meter->dead_letters[d->reason], 1);
	else if (finished && d->finish.put != NULL)
		counter_add(&meter->results, 1);
	message_end_log(d);
	return DONE;
}
