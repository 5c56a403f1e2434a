/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "messages/source/delivery_private.h"
#include "messages/source/message_end.h"
#include "messages/source/restore.h"
#include "messages/source/source_standing.h"

enum {
	RENEW_MS = LETTERS_LEASE_MS / 3,
	MARGIN_MS = 1000, /* it is nobody's by our clock before Redis' */
	AGAIN_MS = 1000, /* the broker, or Redis, did not take its end */
};

/* --- its life --- */

/* When it is nobody's, where that begins now. */
static int64_t
lease_end_us(void)
{
	return clock_us() + (LETTERS_LEASE_MS - MARGIN_MS) * INT64_C(1000);
}

/* Its lease is renewed while it lives; where another has it, it ends. */
static void
on_renewed(void *arg)
{
	struct replay *r = arg;
	const struct store_op *op = &r->renewal.op;
	timer_set(&r->renew, RENEW_MS);
	if (op->op.error != 0)
		return;
	if (op->verdict != VERDICT_DONE)
		machine_end(&r->delivery->machine);
	else if (op->op.took_us >= 0)
		r->until_us = lease_end_us() - op->op.took_us;
}

static void
on_renew(void *arg)
{
	struct replay *r = arg;
	letter_do(&r->delivery->source->letters, &r->renewal, LETTER_RENEW,
	    &r->name, LETTER_REPLAY, &r->owner);
}

/* owner NULL: a new one; else it is that one's already. */
static void
start(struct source *source, const struct letter_name *name,
    enum letter_act act, const struct owner *owner)
{
	struct loop *loop = source->worker->loop;
	struct arena *arena = arena_new();
	struct delivery *d = delivery_make(source, &source->replays, arena);
	struct replay *r = arena_alloc(arena, sizeof *r);
	d->replay = r;
	d->placed = true;
	r->delivery = d;
	r->name = *name;
	r->act = act;
	if (owner != NULL)
		r->owner = *owner;
	else
		owner_new(&r->owner);
	r->renewal.arena = r->record.arena = arena;
	op_init(&r->renewal.op.op, loop, on_renewed, r);
	op_init(&r->record.op.op, loop, machine_run, &d->machine);
	timer_init(&r->renew, loop, on_renew, r);
	machine_to(&d->machine, DELIVERY_BEGIN);
	machine_run(&d->machine);
}

void
delivery_replay_new(struct source *source, const struct letter_name *name,
    enum letter_act act)
{
	struct machine *m;
	LIST_EACH(m, &source->replays.list, item)
		if (!memcmp(delivery_of(m)->replay->name.id, name->id,
			sizeof name->id))
			return;
	start(source, name, act, NULL);
}

/* --- it is taken --- */

enum after
delivery_replay_begin(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	struct replay *r = d->replay;
	r->until_us = lease_end_us();
	bool begins = r->act != LETTER_ACKNOWLEDGE;
	letter_do(&d->source->letters, &d->written,
	    begins ? LETTER_BEGIN : LETTER_SHOW, &r->name, r->act,
	    begins ? &r->owner : NULL);
	return delivery_to(d, DELIVERY_BEGUN, WAIT);
}

/* Somebody else has it, or nobody any more: what is left is told again. */
enum after
delivery_replay_begun(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	struct replay *r = d->replay;
	const struct letter_op *op = &d->written;
	/* An operator may have thought better of it meanwhile. */
	d->source->left |= op->op.op.error == 0 &&
	    op->op.verdict == VERDICT_REFUSED &&
	    op->letter.state == LETTER_BEGUN;
	if (op->op.op.error != 0 || op->op.verdict != VERDICT_DONE)
		return DONE;
	d->letter = op->letter;
	d->first_ms = d->letter.first_ms;
	d->message = message_end_of_letter(d->arena, &d->letter);
	/* By its first owner; a table takes the same result but once. */
	d->message->may_be_put = d->letter.state == LETTER_BEGUN &&
	    d->source->source->table == NULL;
	machine_name(&d->machine, d->message->position);
	r->shut = op->sealed_shut;
	if (r->act == LETTER_ACKNOWLEDGE) {
		d->buried = true;
		return d->letter.state == LETTER_WRITTEN
		    ? delivery_to(d, DELIVERY_FINISH, MORE)
		    : DONE;
	}
	timer_set(&r->renew, RENEW_MS);
	/* Where no key is found now, operators are told of that one. */
	memcpy(d->key_hex, d->letter.key_id.ptr, d->letter.key_id.len);
	/*
	 * What may have been executed is not because its record is gone, or is
	 * of an attempt before.
	 */
	bool unknown = span_eq(d->letter.reason, SPAN("unknown"));
	d->old = unknown || span_eq(d->letter.reason, SPAN("mismatch"));
	if (unknown)
		d->sent = d->attempt = d->letter.attempt;
	d->outcome = MESSAGE_DROPPED;
	return delivery_to(d,
	    r->act == LETTER_DROP ? DELIVERY_FINISH
		: r->shut	     ? DELIVERY_STAY
				     : DELIVERY_SHAPE,
	    MORE);
}

/* --- its record is FAILED; an operator wants it to be tried anew --- */

enum after
delivery_replay_release(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	const struct records_order order = {.act = ACT_RELEASE_FAILED,
	    .retention_ms = d->c.policy->retention_ms};
	records_operate(d->source->worker->store, &d->replay->record,
	    &d->c.key_id, &order);
	return delivery_to(d, DELIVERY_RELEASED, WAIT);
}

/* Whatever it is now, the next claim says. */
enum after
delivery_replay_released(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	d->replay->tried |= d->replay->record.op.op.error == 0;
	return delivery_to(d, DELIVERY_LOOK, MORE);
}

/* --- it stays a letter --- */

enum after
delivery_replay_stay(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	struct replay *r = d->replay;
	struct letter head;
	if (!d->buried) {
		bool mismatches = d->outcome == MESSAGE_MISMATCH;
		d->reason = mismatches ? MESSAGE_MISMATCH : MESSAGE_UNKNOWN;
		if (d->why != NULL && d->detail.len == 0)
			d->detail = span_str(d->why);
	}
	/* Whatever else is wrong with it: the detail says that. */
	if (d->old && !d->tried && d->reason != MESSAGE_REFUSED)
		d->reason = MESSAGE_UNKNOWN;
	d->buried = true;
	d->outcome = d->reason;
	message_end_letter(d, &head);
	letter_put_back(&d->source->letters, &d->written, &r->name, &r->owner,
	    r->shut ? NULL : &head);
	return delivery_to(d, DELIVERY_STAYED, WAIT);
}

/* What Redis did not take is begun again when its lease is over. */
enum after
delivery_replay_stayed(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	if (d->written.op.op.error != 0 || d->replay->shut)
		return DONE;
	delivery_count(d, d->outcome);
	message_end_log(d);
	return DONE;
}

/* --- its end --- */

/* The broker is away, or does not take it: it is asked again. */
enum after
delivery_replay_finished(struct delivery *d)
{
	const struct broker_finish *finish = &d->finish;
	/*
	 * Where it is pending no more, it was acknowledged; what is not done
	 * now is told again.
	 */
	if (d->replay->act == LETTER_ACKNOWLEDGE)
		return finish->op.error == 0 &&
			finish->finished != BROKER_LOCKED &&
			finish->finished != BROKER_ELSEWHERE
		    ? delivery_to(d, DELIVERY_CONFIRM, MORE)
		    : DONE;
	enum standing standing =
	    source_standing_of_finish(finish, finish->put == NULL);
	if (finish->op.error == E_BROKER_REFUSED)
		source_standing_begin(d->source, standing, finish->refused);
	if (finish->op.error != 0 || finish->finished == BROKER_LOCKED)
		return delivery_rest(d, AGAIN_MS, DELIVERY_FINISH);
	source_standing_end(d->source, standing);
	restore_over(d->source->restore, d->message->position);
	return delivery_to(d, DELIVERY_CLOSE, MORE);
}

enum after
delivery_replay_close(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	letter_do(&d->source->letters, &d->written, LETTER_END,
	    &d->replay->name, LETTER_REPLAY, &d->replay->owner);
	return delivery_to(d, DELIVERY_CLOSED, WAIT);
}

/* The next of its lane is this owner's already. */
enum after
delivery_replay_closed(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	const struct letter_op *op = &d->written;
	if (op->op.op.error != 0)
		return delivery_rest(d, AGAIN_MS, DELIVERY_CLOSE);
	if (op->op.verdict != VERDICT_DONE)
		return DONE;
	if (op->has_next && !d->source->member.draining)
		start(d->source, &op->letter.name, LETTER_REPLAY,
		    &d->replay->owner);
	return delivery_to(d, DELIVERY_END, MORE);
}
