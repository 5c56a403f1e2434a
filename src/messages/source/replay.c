/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/container.h"
#include "base/error.h"
#include "base/mem.h"
#include "gate/journal_replay.h"
#include "messages/source/message_end.h"
#include "messages/source/replay_private.h"
#include "messages/source/source_credit.h"
#include "messages/source/source_standing.h"

/*
 *   BEGIN ⇢ BEGUN SHAPE STAND CLAIM ⇢ CLAIMED EXECUTE ⇢ EXECUTED
 *     its record is FAILED: RELEASE ⇢ RELEASED ............ SHAPE again
 *     somebody is at it: WAIT ⇢ HEARD ..................... SHAPE again
 *     released, not sent: BACK_OFF, UNSENT or LOOK ⇢ RESTED SHAPE again
 *     it cannot be executed: STAY ⇢ STAYED
 *   FINISH ⇢ FINISHED END ⇢ ENDED (the next of its lane BEGINs)
 *   and of one that is only to be acknowledged:
 *   BEGIN ⇢ BEGUN ACKNOWLEDGE ⇢ ACKNOWLEDGED ⇢ CONFIRMED
 */
enum {
	RENEW_MS = LETTERS_LEASE_MS / 3,
	MARGIN_MS = 1000, /* it is nobody's by our clock before Redis' */
	LOOK_MS = 200,
	STAND_MS = 500, /* its source stands still */
	WAIT_LEAST_MS = 50,
	AGAIN_MS = 1000, /* the broker did not take its end */
};

static struct replay *
replay_of(struct machine *machine)
{
	return CONTAINER_OF(machine, struct replay, machine);
}

#define REPLAY_STEP(name, function, operation)                                \
	static enum after function(struct machine *machine);
#include "tbl/steps.h"

static const struct machine_step steps[] = {
#define REPLAY_STEP(name, function, operation) {#name, function},
#include "tbl/steps.h"
};

static const struct op *
awaited(struct machine *machine)
{
	const struct replay *r = replay_of(machine);
	switch ((enum replay_step)machine->step) {
#define REPLAY_STEP(name, function, operation)                                \
	case REPLAY_##name:                                                    \
		return operation;
#include "tbl/steps.h"
	case REPLAY_STEPS_:
		break;
	}
	must(false);
	return NULL;
}

static enum after
to(struct replay *r, enum replay_step step, enum after after)
{
	machine_to(&r->machine, step);
	return after;
}

/* --- its life --- */

static void
replay_free(struct machine *machine)
{
	struct replay *r = replay_of(machine);
	struct source *source = r->source;
	if (r->message != NULL)
		attempt_end(&r->a, r->machine.step == REPLAY_CLAIMED);
	timer_clear(&r->renew);
	op_cancel(&r->renewal.op.op);
	op_cancel(&r->op.op.op);
	op_cancel(&r->record.op.op);
	op_cancel(&r->rest);
	op_cancel(&r->finish.op);
	broker_message_free(&r->message);
	arena_free(&r->put_arena);
	arena_free(&r->renewal_arena);
	arena_free(&r->arena);
	free(r);
	/* What is left of those that were asked for comes next. */
	source_credit_replayed(source);
}

static const struct machine_kind replay_kind = {
    "replay", steps, awaited, replay_free};

static bool
runs(const struct source *source, const struct letter_name *name)
{
	struct machine *m;
	LIST_EACH(m, &source->replays.list, item)
		if (!memcmp(replay_of(m)->name.id, name->id, sizeof name->id))
			return true;
	return false;
}

/* Its lease is renewed while it lives; where another has it, it ends. */
static void
on_renewed(void *arg)
{
	struct replay *r = arg;
	const struct store_op *op = &r->renewal.op;
	timer_set(&r->renew, RENEW_MS);
	if (op->op.error == 0 && op->verdict != VERDICT_DONE)
		machine_end(&r->machine);
	else if (op->op.error == 0)
		r->until_us = op->op.took_us >= 0
		    ? clock_us() - op->op.took_us +
			(LETTERS_LEASE_MS - MARGIN_MS) * INT64_C(1000)
		    : r->until_us;
}

static void
on_renew(void *arg)
{
	struct replay *r = arg;
	letter_renew(
	    &r->source->letters, &r->renewal, &r->name, &r->owner);
}

/* owner NULL: a new one; else it is that one's already. */
static void
start(struct source *source, const struct letter_name *name,
    enum replay_act act, const struct owner *owner)
{
	struct loop *loop = source->worker->loop;
	struct replay *r = mem_zero(sizeof *r);
	machine_init(&r->machine, &replay_kind, &source->replays);
	r->source = source;
	r->name = *name;
	r->act = act;
	if (owner != NULL)
		r->owner = *owner;
	else
		owner_new(&r->owner);
	r->began_us = clock_us();
	r->outcome = r->reason = MESSAGE_COUNT_;
	r->arena = r->op.arena = arena_new();
	r->renewal_arena = r->renewal.arena = arena_new();
	op_init(&r->op.op.op, loop, machine_run, &r->machine);
	op_init(&r->renewal.op.op, loop, on_renewed, r);
	op_init(&r->record.op.op, loop, machine_run, &r->machine);
	op_init(&r->rest, loop, machine_run, &r->machine);
	op_init(&r->finish.op, loop, machine_run, &r->machine);
	timer_init(&r->renew, loop, on_renew, r);
	machine_run(&r->machine);
}

void
replay_new(struct source *source, const struct letter_name *name,
    enum replay_act act)
{
	if (!runs(source, name))
		start(source, name, act, NULL);
}

/* --- it is taken --- */

static enum after
replay_begin(struct machine *machine)
{
	struct replay *r = replay_of(machine);
	struct letters *letters = &r->source->letters;
	r->until_us = clock_us() +
	    (LETTERS_LEASE_MS - MARGIN_MS) * INT64_C(1000);
	if (r->act == REPLAY_TO_CONFIRM)
		letter_show(letters, &r->op, &r->name);
	else
		letter_begin(letters, &r->op, &r->name,
		    r->act == REPLAY_TO_DROP ? LETTER_DROP : LETTER_REPLAY,
		    &r->owner);
	return to(r, REPLAY_BEGUN, WAIT);
}

/* Somebody else has it, or nobody any more: what is left is told again. */
static enum after
replay_begun(struct machine *machine)
{
	struct replay *r = replay_of(machine);
	/* An operator may have thought better of it meanwhile. */
	r->source->left |= r->op.op.op.error == 0 &&
	    r->op.op.verdict == VERDICT_REFUSED &&
	    r->op.state == LETTER_BEGUN;
	if (r->op.op.op.error != 0 || r->op.op.verdict != VERDICT_DONE)
		return DONE;
	r->letter = r->op.letter;
	r->shut = r->op.sealed_shut;
	r->message = message_end_of_letter(&r->letter);
	attempt_init(&r->a, r->source, r->message, &r->machine);
	machine_name(&r->machine, r->message->position);
	r->a.fresh = true;
	if (r->act == REPLAY_TO_CONFIRM && r->letter.state != LETTER_WRITTEN)
		return DONE;
	if (r->act == REPLAY_TO_CONFIRM)
		return to(r, REPLAY_ACKNOWLEDGE, MORE);
	timer_set(&r->renew, RENEW_MS);
	r->outcome = MESSAGE_DROPPED;
	return to(r,
	    r->act == REPLAY_TO_DROP ? REPLAY_FINISH : REPLAY_SHAPE, MORE);
}

/* --- a request is made, and its key is claimed --- */

static enum after
stay(struct replay *r, enum message_outcome reason, const char *why)
{
	r->reason = reason;
	r->why = why;
	return to(r, REPLAY_STAY, MORE);
}

static enum after
rest(struct replay *r, int64_t ms, enum replay_step next)
{
	if (next == REPLAY_SHAPE)
		attempt_clear(&r->a);
	r->next = next;
	op_start(&r->rest, ms > 0 ? ms : 1, NULL);
	return to(r, REPLAY_RESTED, WAIT);
}

static enum after
replay_shape(struct machine *machine)
{
	struct replay *r = replay_of(machine);
	struct attempt *a = &r->a;
	if (r->shut)
		return to(r, REPLAY_STAY, MORE);
	if (r->letter.is_cut)
		return stay(r, MESSAGE_TOO_LARGE, "not-kept");
	if (a->charged == 0 &&
	    source_credit_charge(
		r->source, 2 * r->message->bytes, BUDGET_TURN))
		a->charged = 2 * r->message->bytes;
	if (a->charged == 0)
		return to(r, REPLAY_LOOK, MORE);
	enum shape_verdict verdict = attempt_make_body(a);
	if (verdict == SHAPE_GOOD)
		verdict = attempt_make_request(a);
	if (verdict == SHAPE_OWN_SCOPE)
		return to(r, REPLAY_LOOK, MORE);
	if (verdict != SHAPE_GOOD)
		return stay(r, attempt_misshapen(verdict), NULL);
	return to(r, REPLAY_STAND, MORE);
}

/* While its source stands still, or is paused, it waits. */
static enum after
replay_stand(struct machine *machine)
{
	struct replay *r = replay_of(machine);
	if (!source_standing_replays(r->source))
		return rest(r, STAND_MS, REPLAY_SHAPE);
	return to(r, REPLAY_CLAIM, MORE);
}

/*
 * What nobody knew the outcome of is not executed because its record is gone;
 * nor is anything by who has been frozen for longer than the letter was his.
 */
static enum after
replay_claim(struct machine *machine)
{
	struct replay *r = replay_of(machine);
	bool was_unknown = span_eq(r->letter.reason,
	    span_str(source_meter_outcome(MESSAGE_UNKNOWN)));
	if (clock_us() >= r->until_us ||
	    !journal_replay_can_write(&r->source->worker->journal_replay))
		return to(r, REPLAY_LOOK, MORE);
	if (!attempt_claim(&r->a, !was_unknown || r->known))
		must(false); /* memory is not asked */
	return to(r, REPLAY_CLAIMED, WAIT);
}

/* What it means: of tbl/meanings.h. */
static enum after
meet(struct replay *r, enum found found)
{
	static const struct {
		enum replay_step step;
		enum message_outcome outcome;
		const char *why;
	} meanings[] = {
#define MEANING(found, step, of_letter, outcome, why)                         \
	[FOUND_##found] = {REPLAY_##of_letter, MESSAGE_##outcome, why},
#include "tbl/meanings.h"
#undef MEANING
	};
	r->outcome = meanings[found].outcome;
	r->why = meanings[found].why;
	r->reason = found == FOUND_MISMATCH ? MESSAGE_MISMATCH
					    : MESSAGE_UNKNOWN;
	return to(r, meanings[found].step, MORE);
}

static enum after
replay_claimed(struct machine *machine)
{
	struct replay *r = replay_of(machine);
	const char *why;
	enum found found = attempt_claimed(&r->a, &why);
	if (found == FOUND_NO_STORE)
		return to(r, REPLAY_LOOK, MORE);
	if (found == FOUND_NOTHING && r->a.c.claim_op.attempt > 0) {
		r->known = true;
		return to(r, REPLAY_CLAIM, MORE);
	}
	/* What has failed in this replay has used up its allowance. */
	if (found == FOUND_FAILED && (r->released || r->executes))
		return stay(r, MESSAGE_EXHAUSTED, NULL);
	return meet(r, found);
}

static enum after
replay_execute(struct machine *machine)
{
	struct replay *r = replay_of(machine);
	r->executes = true;
	attempt_execute(&r->a);
	return to(r, REPLAY_EXECUTED, WAIT);
}

static enum after
replay_executed(struct machine *machine)
{
	struct replay *r = replay_of(machine);
	return meet(r, attempt_executed(&r->a));
}

/* --- until it is tried again --- */

static enum after
replay_wait(struct machine *machine)
{
	struct replay *r = replay_of(machine);
	int64_t left_ms = r->a.c.claim_op.lease_left_ms;
	key_waiters_wait(&r->a.waiter,
	    left_ms > WAIT_LEAST_MS ? left_ms : WAIT_LEAST_MS);
	return to(r, REPLAY_HEARD, WAIT);
}

static enum after
replay_heard(struct machine *machine)
{
	struct replay *r = replay_of(machine);
	attempt_clear(&r->a);
	return to(r, REPLAY_SHAPE, MORE);
}

static enum after
replay_unsent(struct machine *machine)
{
	struct replay *r = replay_of(machine);
	source_standing_unsent(
	    r->source, "Nothing can be sent to the upstream.");
	return rest(r, r->source->source->retry_first_ms, REPLAY_SHAPE);
}

static enum after
replay_back_off(struct machine *machine)
{
	struct replay *r = replay_of(machine);
	r->tries++;
	return rest(r, attempt_back_off_ms(&r->a, r->tries), REPLAY_SHAPE);
}

static enum after
replay_look(struct machine *machine)
{
	return rest(replay_of(machine), LOOK_MS, REPLAY_SHAPE);
}

static enum after
replay_rested(struct machine *machine)
{
	struct replay *r = replay_of(machine);
	return to(r, (enum replay_step)r->next, MORE);
}

/* --- its record is FAILED; an operator wants it to be tried anew --- */

static enum after
replay_release(struct machine *machine)
{
	struct replay *r = replay_of(machine);
	const struct records_order order = {.act = ACT_RELEASE,
	    .retention_ms = r->a.c.policy->retention_ms};
	r->record.arena = r->arena;
	records_operate(r->source->worker->store, &r->record,
	    &r->a.c.key_id, &order);
	return to(r, REPLAY_RELEASED, WAIT);
}

/* Whatever it is now, the next claim says. */
static enum after
replay_released(struct machine *machine)
{
	struct replay *r = replay_of(machine);
	r->released = r->record.op.op.error == 0;
	return to(r, REPLAY_LOOK, MORE);
}

/* --- it stays a letter --- */

static enum after
replay_refuse(struct machine *machine)
{
	struct replay *r = replay_of(machine);
	if (r->source->source->refused_ack)
		return to(r, REPLAY_FINISH, MORE);
	return stay(r, MESSAGE_REFUSED, NULL);
}

static enum after
replay_stay(struct machine *machine)
{
	struct replay *r = replay_of(machine);
	struct letter head;
	struct letters_lane lane;
	memcpy(lane.bytes, r->name.lane, sizeof lane.bytes);
	message_end_letter(&r->a, r->reason,
	    r->name.in_order ? &lane : NULL, r->letter.first_ms, &head);
	if (r->why != NULL && head.detail.len == 0)
		head.detail = span_str(r->why);
	letter_put_back(&r->source->letters, &r->op, &r->name, &r->owner,
	    r->shut ? NULL : &head);
	return to(r, REPLAY_STAYED, WAIT);
}

static void
log_end_of(const struct replay *r, bool is_letter)
{
	const struct message_end end = {
	    .attempt = &r->a,
	    .position = r->message->position,
	    .outcome = is_letter ? r->reason : r->outcome,
	    .reason = is_letter ? r->reason : MESSAGE_COUNT_,
	    .replayed = r->act == REPLAY_TO_EXECUTE,
	    .took_us = clock_us() - r->began_us,
	};
	counter_add(&r->source->meter->outcomes[end.outcome], 1);
	message_end_log(&end);
}

/* What Redis did not take is begun again when its lease is over. */
static enum after
replay_stayed(struct machine *machine)
{
	struct replay *r = replay_of(machine);
	if (r->op.op.op.error == 0 && !r->shut)
		log_end_of(r, true);
	return DONE;
}

/* --- its end --- */

static enum after
replay_finish(struct machine *machine)
{
	struct replay *r = replay_of(machine);
	bool has_result = message_end_has_result(r->source, r->outcome);
	arena_free(&r->put_arena);
	r->put_arena = arena_new();
	if (has_result)
		message_end_result(r->put_arena, &r->a,
		    message_end_is_repeated(&r->a, r->outcome), &r->put);
	r->finish.position = r->message->position;
	r->finish.mark = true;
	r->finish.key = r->message->key;
	r->finish.put = has_result ? &r->put : NULL;
	r->finish.fault = BROKER_FAULT_PLACE;
	broker_reader_finish(r->source->reader, &r->finish);
	return to(r, REPLAY_FINISHED, WAIT);
}

static void
note_finish(struct replay *r, bool buried)
{
	const struct broker_finish *finish = &r->finish;
	enum standing standing = source_standing_of_finish(finish, buried);
	if (finish->op.error == 0)
		source_standing_end(r->source, standing);
	else if (finish->op.error == E_BROKER_REFUSED)
		source_standing_begin(r->source, standing, finish->refused);
}

/* The broker is away, or does not take it: it is asked again. */
static enum after
replay_finished(struct machine *machine)
{
	struct replay *r = replay_of(machine);
	note_finish(r, r->finish.put == NULL);
	if (r->finish.op.error == 0)
		return to(r, REPLAY_END, MORE);
	return rest(r, AGAIN_MS, REPLAY_FINISH);
}

static enum after
replay_end(struct machine *machine)
{
	struct replay *r = replay_of(machine);
	letter_end(&r->source->letters, &r->op, &r->name, &r->owner);
	return to(r, REPLAY_ENDED, WAIT);
}

static enum after
replay_ended(struct machine *machine)
{
	struct replay *r = replay_of(machine);
	struct source *source = r->source;
	if (r->op.op.op.error != 0)
		return rest(r, AGAIN_MS, REPLAY_END);
	if (r->op.op.verdict != VERDICT_DONE)
		return DONE;
	log_end_of(r, false);
	if (r->finish.put != NULL)
		counter_add(&source->meter->results, 1);
	if (r->op.has_next)
		start(source, &r->op.letter.name, REPLAY_TO_EXECUTE, &r->owner);
	return DONE;
}

/* --- one whose acknowledgement nobody has confirmed --- */

/* Where it is pending no more, it was acknowledged. */
static enum after
replay_acknowledge(struct machine *machine)
{
	struct replay *r = replay_of(machine);
	r->put_arena = arena_new();
	message_end_copy(
	    r->put_arena, r->source, r->message, &r->letter, &r->put);
	r->finish.position = r->message->position;
	r->finish.put = &r->put;
	r->finish.fault = BROKER_FAULT_PLACE;
	broker_reader_finish(r->source->reader, &r->finish);
	return to(r, REPLAY_ACKNOWLEDGED, WAIT);
}

/* What is not done now is told again. */
static enum after
replay_acknowledged(struct machine *machine)
{
	struct replay *r = replay_of(machine);
	if (r->finish.op.error != 0 ||
	    r->finish.finished == BROKER_LOCKED ||
	    r->finish.finished == BROKER_ELSEWHERE)
		return DONE;
	letter_confirm(&r->source->letters, &r->op, &r->name);
	return to(r, REPLAY_CONFIRMED, WAIT);
}

static enum after
replay_confirmed(struct machine *machine)
{
	(void)machine;
	return DONE;
}
