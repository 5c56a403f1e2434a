/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "base/error.h"
#include "messages/source/delivery_private.h"
#include "messages/source/letter.h"
#include "messages/source/source_letters.h"

/*
 * Whether the first of a lane is a dead letter still, as Redis says.  Others
 * may have deleted that, or it was replayed while its source had no order: then
 * the lane waits for nothing.  A letter that is behind it always looks.  Of
 * messages one at a time does, and once for each lane, for a look goes through
 * all dead letters where their broker has no index of them; the others believe
 * what Redis says, and are dead letters themselves then, no more.
 */

/* --- which lanes are known --- */

static struct key_id
digest_of(const struct delivery *d)
{
	struct key_id digest;
	_Static_assert(sizeof digest.bytes == sizeof d->lane.bytes,
	    "a lane has another digest");
	memcpy(digest.bytes, d->lane.bytes, sizeof digest.bytes);
	return digest;
}

void
delivery_first_seen(struct delivery *d)
{
	struct key_set *seen = &d->source->firsts;
	struct key_id digest = digest_of(d);
	if (seen->count >= PARKED_LANES_MAX)
		key_set_clear(seen);
	key_set_add(seen, &digest);
}

/* What seems to be the first itself may be another one at its position. */
bool
delivery_first_must_prove(const struct delivery *d)
{
	struct key_id digest = digest_of(d);
	if (d->proved)
		return false;
	return d->parked ||
	    (d->source->prover == NULL &&
		!key_set_has(&d->source->firsts, &digest));
}

/* --- looking --- */

void
delivery_first_look(struct delivery *d, struct span position, bool look)
{
	if (d->first == NULL) {
		d->first = arena_alloc(d->message->arena, sizeof *d->first);
		op_init(&d->first->op, d->source->worker->loop, machine_run,
		    &d->machine);
		d->first->brief = true;
		d->first->limit = 1;
	}
	d->first->look = look;
	d->first->position = position;
	broker_reader_letters(d->source->reader, d->first);
}

bool
delivery_first_found(struct broker_letters *letters)
{
	bool found = letters->messages != NULL;
	broker_messages_free(&letters->messages);
	return found;
}

/* Its dead letter may have been deleted by others, or was never put. */
enum after
delivery_first_prove(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	if (d->source->prover == NULL)
		d->source->prover = d;
	delivery_first_look(d, d->park.first, true);
	return delivery_to(d, DELIVERY_PROVED, WAIT);
}

static void
prove_no_more(struct delivery *d)
{
	if (d->source->prover == d)
		d->source->prover = NULL;
	if (d->first != NULL)
		d->first->after[0] = '\0';
}

/* --- what was found --- */

static enum after
stays(struct delivery *d)
{
	prove_no_more(d);
	return delivery_is_letter(d) ? delivery_letter_stays(d)
				     : delivery_lane_proved(d);
}

/*
 * A table may count from the start again.  What has the key of the dead letter
 * is the same message, which came again.
 */
static bool
is_another(const struct delivery *d, const struct broker_message *found)
{
	struct letter letter;
	letter_read(found, &letter);
	return letter.key_id.len > 0 &&
	    !span_eq(letter.key_id, span_str(d->c.key_hex));
}

static enum after
found_one(struct delivery *d)
{
	if (d->parked && is_another(d, d->first->messages))
		d->parked = false;
	delivery_first_found(d->first);
	delivery_first_seen(d);
	return stays(d);
}

/* The broker is asked again, at the next message. */
static enum after
not_found_out(struct delivery *d)
{
	if (!delivery_is_letter(d))
		return stays(d);
	prove_no_more(d);
	return delivery_letter_refuse(d, "broker");
}

/*
 * Gone is what was missing twice: it may have become a dead letter between the
 * look for that and the one whether it is pending.
 */
enum after
delivery_first_proved(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	struct broker_letters *first = d->first;
	if (first->op.error != 0)
		return not_found_out(d);
	if (first->messages != NULL)
		return found_one(d);
	snprintf(first->after, sizeof first->after, "%s", first->next);
	if (first->after[0] != '\0')
		return delivery_to(d, DELIVERY_PROVE, MORE);
	if (first->pending || d->parked)
		return stays(d);
	bool gone = d->missing;
	d->missing = !gone;
	return delivery_to(d, gone ? DELIVERY_SKIP : DELIVERY_PROVE, MORE);
}

enum after
delivery_first_skip(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	prove_no_more(d);
	parked_skip(&d->source->parked, &d->park, &d->lane,
	    d->first->position, source_turn(d->source));
	return delivery_to(d, DELIVERY_SKIPPED, WAIT);
}

enum after
delivery_first_skipped(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	const struct store_op *op = &d->park.op;
	bool answered = op->op.error == 0 && op->verdict != VERDICT_FENCED;
	if (!answered && delivery_is_letter(d))
		return delivery_letter_refuse(d, "store");
	/* Following says what the trouble is. */
	if (answered &&
	    (op->verdict == VERDICT_REFUSED ||
		span_eq(d->park.first, d->first->position)))
		return stays(d);
	if (answered && op->verdict == VERDICT_DONE)
		source_letters_tell_gone(d->source, d->first->position);
	d->behind = false;
	return delivery_to(d, DELIVERY_FOLLOW, MORE);
}

void
delivery_first_end(struct delivery *d)
{
	prove_no_more(d);
	if (d->first == NULL)
		return;
	op_cancel(&d->first->op);
	delivery_first_found(d->first);
}
