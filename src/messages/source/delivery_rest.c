/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/loop/log.h"
#include "base/random.h"
#include "http/head/header_value.h"
#include "messages/source/delivery_private.h"
#include "messages/source/source_credit.h"
#include "messages/source/source_standing.h"

/*
 * What keeps a message until it is tried again: its source stands still;
 * somebody else is at its key; nobody knows its outcome; it did not work out.
 */
enum {
	LOOK_MOST_MS = 200,
	WAIT_LEAST_MS = 50, /* for somebody else's lease to end */
	HELD_FIRST_MS = 1000,
	HELD_LOOK_MS = 30000,
	YIELD_FIRST_MS = 250,
	YIELD_MOST_MS = 10000,
	REJECTED_FIRST_MS = 5000,
	REJECTED_MOST_MS = 120000,
	/* More, for each that its source has. */
	REJECTED_EACH_MS = 20,
	REJECTED_SIZE_EACH_MS = 1000,
};

enum after
delivery_rest(struct delivery *d, int64_t ms, enum delivery_step next)
{
	key_waiters_leave(&d->waiter);
	if (next == DELIVERY_SHAPE)
		delivery_unshape(d);
	d->next = next;
	d->next_ms = clock_wall_ms() + ms;
	op_start(&d->waiter.op, ms > 0 ? ms : 1, NULL);
	return delivery_to(d, DELIVERY_RESTED, WAIT);
}

enum after
delivery_rest_over(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	source_credit_rest(d->source, d, false);
	if (d->again_us != 0 && !d->proves)
		d->again_us = clock_us();
	d->proves = false;
	/*
	 * What has woken one that is held has been decided, or asked in vain
	 * just now: by itself, by another message of its key, or by the sweep.
	 */
	d->looks = d->held_since_ms != 0 && d->waiter.op.error == 0;
	/* It is made anew, or it stood before a claim. */
	if (d->next == DELIVERY_SHAPE || d->outcome == MESSAGE_COUNT_)
		delivery_unshape(d);
	return delivery_to(d, (enum delivery_step)d->next, MORE);
}

/* --- its source stands still --- */

enum after
delivery_rest_stand(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	struct source *s = d->source;
	/* It stands before it is acknowledged, or before a claim. */
	bool is_ending = d->replay == NULL && d->outcome != MESSAGE_COUNT_;
	/* It has waited: its request was given up, or is to be made anew. */
	enum delivery_step begin =
	    d->c.arena != NULL ? DELIVERY_CLAIM : DELIVERY_SHAPE;
	if (d->replay != NULL &&
	    source_standing_goes(s, 1u << STANDING_DEAD_LETTERS))
		return delivery_to(d, begin, MORE);
	/* While it is paused, none is claimed, not even to find out. */
	bool tries = d->stand.probes &&
	    (is_ending || !pause_stands(&s->pause));
	/*
	 * One that is held for its end has a time of its own for that, where
	 * nothing is in the way but that the ends of others are refused, too.
	 */
	tries |= d->rejected && s->refused >= SOURCE_REFUSED_MAX &&
	    s->reader != NULL && broker_reader_health(s->reader).up &&
	    source_standing_goes(s, 1u << STANDING_BROKER);
	/* To look at what is held asks the API nothing: it may be decided. */
	tries |= !is_ending && d->held_since_ms != 0 && d->c.arena != NULL &&
	    (d->looks || d->c.policy->on_unknown == UNKNOWN_HOLD) &&
	    source_standing_goes(s, STANDINGS_OF_API);
	bool has_room = is_ending || source_credit_has_room(d);
	if (!tries && !(has_room && source_standing_goes(s, 0))) {
		key_waiters_leave(&d->waiter);
		/* It was to try, and something else has come in the way. */
		source_standing_tried(s, &d->stand);
		d->stand.to_finish = is_ending;
		/* It has been tried: others may be taken, and tried, too. */
		if (!is_ending)
			source_credit_rest(s, d,
			    d->tries > 0 || d->held_since_ms != 0);
		list_add_first(&s->waiting, &d->stand.item);
		op_start(d->stand.op, 0, NULL);
		d->next = DELIVERY_STAND;
		return delivery_to(d, DELIVERY_RESTED, WAIT);
	}
	if (!is_ending)
		return delivery_to(d, begin, MORE);
	source_standing_tried(s, &d->stand);
	return delivery_to(
	    d, d->buried ? DELIVERY_BURY : DELIVERY_FINISH, MORE);
}

/* --- somebody decides --- */

/* Another owner is at it; its end is heard of, or its lease is over. */
enum after
delivery_rest_wait(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	delivery_count(d, MESSAGE_WAITED);
	int64_t left_ms = d->c.claim_op.lease_left_ms;
	d->next = DELIVERY_SHAPE;
	key_waiters_wait(&d->waiter,
	    left_ms > WAIT_LEAST_MS ? left_ms : WAIT_LEAST_MS);
	return delivery_to(d, DELIVERY_RESTED, WAIT);
}

/* It is held, as its record says, or as that is gone. */
static void
log_record(const struct delivery *d, enum event event)
{
	struct logline line = log_begin(event);
	log_str(&line, "source", d->source->source->name);
	log_cut(&line, "position", d->message->position, 256);
	log_str(&line, "key_id", d->c.key_hex);
	log_str(&line, "route", d->c.route->name);
	log_span(&line, "request_id", d->c.id);
	if (d->c.label.len > 0)
		log_span(&line, "label", d->c.label);
	log_end(&line);
}

/*
 * Redis has lost the record, or has one of an attempt before, somebody has
 * deleted it, or another is meant: one is made that is UNKNOWN, so that nobody
 * executes it before that is decided.
 */
enum after
delivery_rest_miss(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	log_record(d, EV_message_record_gone);
	d->lost = true;
	return delivery_to(d, DELIVERY_CLAIM, MORE);
}

/*
 * Nobody knows: an operator, or a retry, decides; or `hold` is over.  For how
 * long it is so the record says.
 */
enum after
delivery_rest_hold(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	const struct store_op *op = &d->c.claim_op;
	int64_t now_ms = loop_now_ms(d->source->worker->loop);
	/* From then on by our own clock: Redis' may jump. */
	if (d->held_since_ms == 0) {
		delivery_count(d, MESSAGE_HELD);
		log_record(d, EV_message_held);
		d->held_since_ms = now_ms -
		    (op->verdict == VERDICT_UNKNOWN ? op->unknown_ms : 0);
		/* 0 stands for none. */
		d->held_since_ms -= d->held_since_ms == 0;
	}
	int64_t left_ms =
	    d->held_since_ms + d->source->source->hold_ms - now_ms;
	if (left_ms <= 0) {
		delivery_condemn(d, MESSAGE_UNKNOWN, SPAN(""));
		return delivery_to(d, DELIVERY_BURY, MORE);
	}
	d->rested = MESSAGE_STATE_HELD;
	d->next_ms = clock_wall_ms() + left_ms;
	source_credit_rest(d->source, d, true);
	/* What was asked about in vain is so again at growing distances. */
	bool asked = d->c.policy->on_unknown != UNKNOWN_HOLD &&
	    (d->looks || op->verdict == VERDICT_RECONCILE);
	int64_t look_ms = now_ms - d->held_since_ms;
	if (!asked || look_ms > HELD_LOOK_MS)
		look_ms = HELD_LOOK_MS;
	else if (look_ms < HELD_FIRST_MS)
		look_ms = HELD_FIRST_MS;
	d->next = DELIVERY_SHAPE;
	key_waiters_wait(&d->waiter, left_ms < look_ms ? left_ms : look_ms);
	return delivery_to(d, DELIVERY_RESTED, WAIT);
}

/* --- its broker does not take its end now --- */

/*
 * What is known of it stays: it is not executed, nor looked up, again.  It is
 * tried after so long, twice that, … most.
 */
enum after
delivery_rest_yield(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	/* For its size: each try ends a transaction of others, too. */
	int64_t each_ms = d->finish.fault == BROKER_FAULT_SIZE
	    ? REJECTED_SIZE_EACH_MS
	    : REJECTED_EACH_MS;
	int64_t ms = d->rejected ? REJECTED_FIRST_MS : YIELD_FIRST_MS;
	int64_t most_ms = d->rejected ? REJECTED_MOST_MS : YIELD_MOST_MS;
	for (unsigned i = 0; i < d->yields && ms < most_ms; i++)
		ms *= 2;
	if (ms > most_ms)
		ms = most_ms;
	if (d->rejected)
		ms += (int64_t)d->source->rejected * each_ms;
	d->yields++;
	source_credit_rest(d->source, d, true);
	return delivery_rest(d, ms, DELIVERY_STAND);
}

enum after
delivery_rest_rejected(struct delivery *d)
{
	enum event event = EV_message_not_finished;
	const char *why = "not-finished"; /* for operators */
	if (d->finish.fault == BROKER_FAULT_SIZE) {
		event = d->buried ? EV_message_letter_too_large
				  : EV_message_result_too_large;
		why = d->buried ? "letter-too-large" : "result-too-large";
	} else if (!d->refused && d->finish.fault == BROKER_FAULT_MESSAGE) {
		/*
		 * It may be that of all.  Five in a row, of which each may be
		 * faulty, or none, and its source stands: they are tried once
		 * more, one at a time, and who is refused again is held.
		 */
		d->refused = true;
		if (++d->source->refused >= SOURCE_REFUSED_MAX) {
			source_standing_begin(d->source, STANDING_BROKER,
			    d->finish.refused);
			return delivery_to(d, DELIVERY_STAND, MORE);
		}
	}
	if (!d->rejected || d->why != why) {
		struct logline line = log_begin(event);
		log_str(&line, "source", d->source->source->name);
		log_cut(&line, "position", d->message->position, 256);
		log_str(&line, d->buried ? "reason" : "outcome",
		    source_meter_outcomes[d->buried ? d->reason : d->outcome]);
		log_int(&line, "bytes", (int64_t)d->message->bytes);
		log_str(&line, "error", d->finish.refused);
		log_end(&line);
	}
	source_standing_end(d->source, STANDING_BROKER);
	if (!d->rejected) {
		d->rejected = true;
		d->source->rejected++;
		d->yields = 0;
		delivery_count(d, MESSAGE_HELD);
	}
	/* Who had it dropped hears that it was not, though it is tried on. */
	delivery_view_over(d);
	d->rested = MESSAGE_STATE_HELD;
	d->why = why;
	return delivery_to(d, DELIVERY_YIELD, MORE);
}

/* --- it is tried again --- */

/*
 * The back-off of its source: first, twice that, … most; of each, from a half
 * to the whole.  Or longer where the upstream or the record says so.
 */
enum after
delivery_rest_back_off(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	const struct conf_source *conf = d->source->source;
	const struct claimant *c = &d->c;
	int64_t settle_ms = c->claim_op.settle_left_ms;
	int64_t wanted_ms = c->answer != NULL
	    ? header_value_retry_after(&c->answer->fields, clock_wall_ms())
	    : c->retry_after_s * 1000;
	int64_t ms = conf->retry_first_ms;
	uint32_t random;
	delivery_count(d, MESSAGE_RETRIED);
	d->tries++;
	for (unsigned i = 1; i < d->tries && ms < conf->retry_most_ms; i++)
		ms *= 2;
	if (ms > conf->retry_most_ms)
		ms = conf->retry_most_ms;
	random_bytes(&random, sizeof random);
	ms = ms / 2 + (int64_t)(random % (uint64_t)(ms - ms / 2 + 1));
	ms = ms > wanted_ms ? ms : wanted_ms;
	d->rested = MESSAGE_STATE_RETRYING;
	source_credit_rest(d->source, d, true);
	return delivery_rest(
	    d, ms > settle_ms ? ms : settle_ms, DELIVERY_SHAPE);
}

/* Nothing was sent: that is no attempt, and may be no fault of the message. */
enum after
delivery_rest_unsent(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	if (++d->source->unsent >= SOURCE_UNSENT_MAX)
		source_standing_begin(d->source, STANDING_UPSTREAM,
		    "Nothing can be sent to the upstream.");
	/* A letter is let through where its source stands for dead letters. */
	if (d->replay == NULL && !source_standing_goes(d->source, 0)) {
		delivery_unshape(d);
		d->outcome = MESSAGE_COUNT_;
		return delivery_to(d, DELIVERY_STAND, MORE);
	}
	d->rested = MESSAGE_STATE_RETRYING;
	source_credit_rest(d->source, d, true);
	return delivery_rest(
	    d, d->source->source->retry_first_ms, DELIVERY_SHAPE);
}

/* What is about to be known is so within a millisecond, or after some time. */
enum after
delivery_rest_look(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	int64_t age_ms = (clock_us() - d->began_us) / 1000;
	return delivery_rest(
	    d, age_ms < LOOK_MOST_MS ? age_ms : LOOK_MOST_MS, DELIVERY_SHAPE);
}
