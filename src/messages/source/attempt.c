/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "base/random.h"
#include "base/test_build.h"
#include "http/head/header_value.h"
#include "messages/source/attempt.h"
#include "messages/source/source_credit.h"
#include "messages/source/source_standing.h"
#include "store/claim.h"

void
attempt_init(struct attempt *a, struct source *source,
    const struct broker_message *message, struct machine *machine)
{
	*a = (struct attempt){
	    .source = source, .message = message, .machine = machine};
	body_init(&a->body, NULL);
	a->refusals = source_standing_no_refusals(source);
	op_init(&a->waiter.op, source->worker->loop, machine_run, machine);
}

/* --- what is known for people --- */

/* It outlives the request. */
static void
note(struct attempt *a)
{
	struct arena *own = a->message->arena;
	const struct claimant *c = &a->c;
	if (c->route != NULL &&
	    (a->route == NULL || strcmp(c->route->name, a->route) != 0))
		a->route = arena_dup(own, span_str(c->route->name)).ptr;
	if (c->label.len > 0 && !span_eq(c->label, a->label))
		a->label = arena_dup(own, c->label);
	if (c->key_hex[0] != '\0')
		memcpy(a->key_hex, c->key_hex, sizeof a->key_hex);
	if (c->attempt > 0)
		a->number = c->attempt;
}

int
attempt_status(const struct attempt *a)
{
	if (a->c.arena == NULL)
		return 0;
	return a->c.answer != NULL ? a->c.answer->status
				   : a->c.original_status;
}

void
attempt_clear(struct attempt *a)
{
	struct arena *arena = a->c.arena;
	key_waiters_leave(&a->waiter);
	a->busy = a->whole = false;
	body_clear(&a->body);
	if (arena == NULL)
		return;
	claimant_clear(&a->c);
	a->c = (struct claimant){.arena = NULL};
	arena_free(&arena);
}

void
attempt_end(struct attempt *a, bool claimed)
{
	const struct store_op *op = &a->c.claim_op;
	if (claimed && op->op.state == OP_DONE && op->op.error == 0 &&
	    (op->verdict == VERDICT_OURS || op->verdict == VERDICT_RECONCILE))
		claim_undo(a->source->worker->store, &a->c.claim);
	attempt_clear(a);
	source_credit_uncharge(a->source, a->charged);
	a->charged = 0;
}

/* --- the request --- */

bool
attempt_has_no_value(const struct attempt *a)
{
	return !a->message->has_payload &&
	    a->source->source->broker->kind != BROKER_STREAMS;
}

enum shape_verdict
attempt_make_body(struct attempt *a)
{
	const struct conf_source *conf = a->source->source;
	if (attempt_has_no_value(a)) {
		if (conf->nulls != NULLS_DEAD_LETTER)
			return SHAPE_GOOD;
		a->detail = SPAN("it has no value");
		return SHAPE_MALFORMED;
	}
	return shape_body(conf, a->message, &a->body, &a->detail);
}

enum shape_verdict
attempt_make_request(struct attempt *a)
{
	claimant_init(
	    &a->c, a->source->worker, arena_new(), a->machine);
	/* Nobody but its record knows how often it was tried. */
	a->c.counts = COUNTS_ALWAYS;
	struct span detail = SPAN("");
	enum shape_verdict verdict = shape_request(
	    a->source->source, a->message, &a->c, &a->body, &detail);
	note(a);
	/* All fields as JSON may be more than they are, as is what decodes. */
	size_t bytes = a->message->bytes + a->body.len + a->c.decoded.len;
	if (bytes > a->charged) {
		must(source_credit_charge(
		    a->source, bytes - a->charged, BUDGET_GRANTED));
		a->charged = bytes;
	}
	/* It outlives the request. */
	a->detail = detail.len > 0 ? arena_dup(a->message->arena, detail)
				   : SPAN("");
	return verdict;
}

enum message_outcome
attempt_misshapen(enum shape_verdict verdict)
{
	return verdict == SHAPE_KEY_MISSING ? MESSAGE_KEY_MISSING
	    : verdict == SHAPE_TOO_LARGE    ? MESSAGE_TOO_LARGE
					    : MESSAGE_MALFORMED;
}

/* --- the claim --- */

static bool
is_good(int status)
{
	return (status >= 200 && status < 300) || status == 303;
}

enum found
attempt_cached(const struct attempt *a)
{
	return is_good(a->c.answer->status) ? FOUND_COMPLETED_GOOD
					    : FOUND_COMPLETED_BAD;
}

bool
attempt_claim(struct attempt *a, bool executes)
{
	struct claimant *c = &a->c;
	const struct conf_source *conf = a->source->source;
	claimant_prepare(c, true);
	c->claim.max_attempts = conf->retry_attempts;
	c->claim.brief = conf->results == NULL && !a->whole;
	key_waiters_listen(&c->worker->waiters, &a->waiter,
	    a->busy ? &c->claim_op.holder : &c->key_id);
	a->asks = !executes;
	c->claim.lost = a->lost;
	a->lost = false;
	bool cached = executes && !a->fresh && claimant_find_cached(c);
	if (!cached)
		claimant_claim(c, executes);
	note(a);
	return !cached;
}

/* A letter has the answer in it. */
static enum found
completed(struct attempt *a)
{
	struct claimant *c = &a->c;
	if (c->claim_op.brief && !is_good(c->claim_op.answer->status) &&
	    !a->source->source->refused_ack) {
		a->whole = true;
		answer_unref(&c->claim_op.answer);
		return FOUND_AGAIN;
	}
	claimant_take_answer(c);
	return attempt_cached(a);
}

/* Somebody has to decide, or time has to pass. */
static enum found
unknown(struct attempt *a)
{
	const struct claimant *c = &a->c;
	a->sent = true;
	a->c.attempt = c->claim_op.attempt;
	return c->policy->on_unknown == UNKNOWN_HOLD ||
		c->claim_op.settle_left_ms == 0
	    ? FOUND_UNKNOWN_HELD
	    : FOUND_UNKNOWN_TRIED;
}

/*
 * Which record holds a busy entity only the claim's answer says: so there is
 * another claim at once, from before which on it listens for that record.
 */
static enum found
busy(struct attempt *a)
{
	if (a->busy &&
	    !memcmp(&a->waiter.key_id, &a->c.claim_op.holder,
		sizeof a->waiter.key_id))
		return FOUND_IN_FLIGHT;
	a->busy = true;
	return FOUND_AGAIN;
}

/* As far as the record says: it has no more than a digest of the rest. */
static enum found
mismatch(struct attempt *a)
{
	const struct store_op *op = &a->c.claim_op;
	const char *words = op->differs == 'm' ? "of another method"
	    : op->differs == 'p'
	    ? "of another path"
	    : "of the same method and path, but another query, body or header";
	if (op->first_id[0] != '\0')
		a->detail = arena_printf(a->message->arena,
		    "its key is that of request %s, %s", op->first_id,
		    words);
	return FOUND_MISMATCH;
}

/* Only what would be executed is answered so, where no outcome waits. */
static bool
is_withheld(const struct attempt *a)
{
	return a->asks && !a->c.claim.has_outcome &&
	    a->c.claim_op.op.error == E_STORE_REFUSED &&
	    a->c.claim_op.verdict == VERDICT_REFUSED;
}

static enum found
found_by_claim(struct attempt *a, const char **ret_why)
{
	const struct store_op *op = &a->c.claim_op;
	a->c.store_us = op->op.took_us;
	if (op->op.error == E_NO_MEMORY)
		return FOUND_NOT_STORED;
	if (is_withheld(a))
		return FOUND_NOTHING;
	*ret_why = op->op.error != 0 ? error_message(op->op.error)
	    : op->unreadable
	    ? "A stored answer cannot be read."
	    : op->verdict == VERDICT_FULL
	    ? "Too many events wait for relays."
	    : NULL;
	if (*ret_why != NULL)
		return FOUND_NO_STORE;
	switch (op->verdict) {
	case VERDICT_OURS:
	case VERDICT_RECONCILE:
		return FOUND_OURS;
	case VERDICT_COMPLETED:
		return completed(a);
	case VERDICT_IN_FLIGHT:
		return FOUND_IN_FLIGHT;
	case VERDICT_BUSY:
		return busy(a);
	case VERDICT_UNKNOWN:
		return unknown(a);
	case VERDICT_FAILED:
		a->c.attempt = op->attempt;
		return FOUND_FAILED;
	case VERDICT_MISMATCH:
		return mismatch(a);
	case VERDICT_STALE:
		return FOUND_STALE;
	case VERDICT_FULL:
	case VERDICT_BROKEN:
	case VERDICT_LATE:
	case VERDICT_REFUSED:
	case VERDICT_DONE:
	case VERDICT_FENCED:
	case VERDICT_GONE:
	case VERDICT_COUNT_:
		break;
	}
	/* Or what no claim is answered: it is not to be believed. */
	return FOUND_BROKEN;
}

enum found
attempt_claimed(struct attempt *a, const char **ret_why)
{
	enum found found = found_by_claim(a, ret_why);
	note(a);
	return found;
}

/* --- the execution --- */

void
attempt_execute(struct attempt *a)
{
	a->sent = true;
	a->c.counts = source_standing_attempt_counts(a->source, &a->refusals)
	    ? COUNTS_ALWAYS
	    : COUNTS_NEVER;
	claimant_start(&a->c);
	note(a);
}

/* Redis has it COMPLETED: what the upstream said, and when it is kept. */
static enum found
stored(const struct attempt *a)
{
	int status = attempt_status(a);
	/* It is there, and cannot be read now: it is asked for again. */
	if (status == 0)
		return FOUND_NOT_STORED;
	/* Not by this execution: another owner had decided. */
	if (a->c.outcome == OUTCOME_FENCED)
		return is_good(status) ? FOUND_COMPLETED_GOOD
				       : FOUND_COMPLETED_BAD;
	return is_good(status) ? FOUND_STORED_GOOD : FOUND_STORED_BAD;
}

static enum found
found_by_execution(struct attempt *a)
{
	const struct claimant *c = &a->c;
	bool unreachable = c->outcome == OUTCOME_UNREACHABLE;
	if (!unreachable)
		a->met = c->answer != NULL ? c->answer->status : 0;
	a->sent = unreachable ? c->claim_op.verdict == VERDICT_RECONCILE
			      : c->outcome != OUTCOME_RELEASED;
	/* What only the journal has is on a disk that may die. */
	if (c->stored ||
	    (c->outcome == OUTCOME_EXECUTED && !INVARIANT(acknowledged_stored)))
		return stored(a);
	if (c->outcome == OUTCOME_RELEASED)
		return FOUND_RELEASED;
	if (unreachable)
		return FOUND_NOT_SENT;
	/* It is held where a question has left it unknown, too. */
	if (c->outcome == OUTCOME_UNKNOWN)
		return c->policy->on_unknown == UNKNOWN_HOLD ||
			c->problem == PROBLEM_UNKNOWN_HELD
		    ? FOUND_UNKNOWN_HELD
		    : FOUND_UNKNOWN_TRIED;
	/* The record knows better: it is asked. */
	return FOUND_NOT_STORED;
}

enum found
attempt_executed(struct attempt *a)
{
	enum found found = found_by_execution(a);
	note(a);
	if (found == FOUND_RELEASED)
		source_standing_refused_by_api(
		    a->source, &a->refusals, a->met);
	else if (found != FOUND_NOT_SENT)
		source_standing_executed(a->source, &a->refusals);
	return found;
}

/* first, twice that, … most; of each, from a half to the whole. */
int64_t
attempt_back_off_ms(const struct attempt *a, unsigned tries)
{
	const struct conf_source *conf = a->source->source;
	int64_t settle_ms = a->c.claim_op.settle_left_ms;
	int64_t wanted_ms = a->c.answer != NULL
	    ? header_value_retry_after(&a->c.answer->fields, clock_wall_ms())
	    : a->c.retry_after_s * 1000;
	int64_t ms = conf->retry_first_ms;
	uint32_t random;
	for (unsigned i = 1; i < tries && ms < conf->retry_most_ms; i++)
		ms *= 2;
	if (ms > conf->retry_most_ms)
		ms = conf->retry_most_ms;
	random_bytes(&random, sizeof random);
	ms = ms / 2 + (int64_t)(random % (uint64_t)(ms - ms / 2 + 1));
	ms = ms > wanted_ms ? ms : wanted_ms;
	return ms > settle_ms ? ms : settle_ms;
}
