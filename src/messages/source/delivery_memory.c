/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "messages/source/delivery_private.h"
#include "messages/source/source_credit.h"
#include "messages/source/source_standing.h"

/*
 * A message that rests for long, or that waits behind one that does, has no
 * bytes: they went back to the budget, and are read again from its broker when
 * it goes on.  Whoever waits for memory has none, so that no two can wait for
 * each other.
 */

enum { LOOKS_MIN = 2 };

/* --- giving back --- */

/* What becomes a letter needs its bytes, and has few if it is too large. */
static bool
may_shed(const struct delivery *d)
{
	return d->message->bulk != NULL && !d->shed && !d->buried &&
	    !d->message->too_large;
}

void
delivery_memory_shed(struct delivery *d)
{
	struct broker_message *m = d->message;
	if (!may_shed(d))
		return;
	attempt_forget_request(&d->a);
	arena_free(&m->bulk);
	m->fields = (struct fields){NULL, 0};
	m->payload = m->key = m->entity = m->type = span_of(NULL, 0);
	budget_give(d->source->worker->budget, m->bytes);
	d->shed = true;
}

static void
unreserve(struct delivery *d)
{
	budget_give(d->source->worker->budget, d->reserved);
	d->reserved = 0;
}

static void
end_look(struct delivery *d)
{
	op_cancel(&d->record.op.op);
	arena_free(&d->record.arena);
}

void
delivery_memory_end(struct delivery *d)
{
	op_cancel(&d->again.op);
	broker_message_free(&d->again.message);
	end_look(d);
	conf_unref(&d->held_under);
	unreserve(d);
	if (!d->shed)
		budget_give(d->source->worker->budget, d->message->bytes);
}

enum after
delivery_memory_await(struct delivery *d)
{
	delivery_unshape(d);
	delivery_probed(d);
	delivery_memory_shed(d);
	source_credit_starve(d->source, d, true);
	return delivery_to(d, DELIVERY_LOOK, MORE);
}

void
delivery_memory_look(struct delivery *d)
{
	bool stands = d->machine.step == DELIVERY_STOOD &&
	    d->outcome == MESSAGE_COUNT_;
	d->stood = stands ? d->stood + 1 : 0;
	/* The first of its lane may be who waits for memory. */
	bool waits = d->machine.step == DELIVERY_TURNED &&
	    (lanes_rests(&d->place) || d->source->starving > 0);
	if (d->stood > LOOKS_MIN || waits)
		delivery_memory_shed(d);
}

/* --- reading again --- */

/* For the message and its body: all of it, or nothing. */
static bool
reserve(struct delivery *d)
{
	struct budget *budget = d->source->worker->budget;
	size_t bytes = d->message->bytes;
	size_t used = atomic_load_explicit(&budget->used, memory_order_relaxed);
	if (used + 2 * bytes > budget_limit(budget) / 4 * 3 ||
	    !budget_take(budget, bytes, BUDGET_COMMON))
		return false;
	d->reserved = bytes;
	if (body_reserve(&d->a.body, bytes, BUDGET_COMMON) == 0)
		return true;
	unreserve(d);
	return false;
}

enum after
delivery_memory_fetch(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	if (!reserve(d))
		return delivery_memory_await(d);
	source_credit_starve(d->source, d, false);
	d->again.position = d->message->position;
	broker_reader_read_again(d->source->reader, &d->again);
	return delivery_to(d, DELIVERY_FETCHED, WAIT);
}

/* What was read, in place of what was given back. */
static void
take_over(struct delivery *d)
{
	struct broker_message *m = d->message, *new = d->again.message;
	m->bulk = new->bulk;
	new->bulk = NULL;
	m->fields = new->fields;
	m->has_payload = new->has_payload;
	m->payload = new->payload;
	m->key = new->key;
	m->entity = new->entity;
	m->type = new->type;
	m->odd = new->odd;
	m->too_large = new->too_large;
	m->bytes = new->bytes;
	broker_message_free(&d->again.message);
	must(budget_take(
	    d->source->worker->budget, m->bytes, BUDGET_GRANTED));
	d->shed = false;
}

static enum after
not_read(struct delivery *d)
{
	body_clear(&d->a.body);
	delivery_probed(d);
	if (d->again.op.error != E_BROKER_REFUSED)
		return delivery_to(d,
		    source_standing_goes(d->source) ? DELIVERY_LOOK
						    : DELIVERY_STAND,
		    MORE);
	source_standing_begin(d->source, STANDING_BROKER, d->again.refused);
	return delivery_to(d, DELIVERY_STAND, MORE);
}

enum after
delivery_memory_fetched(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	unreserve(d);
	if (d->again.op.error != 0)
		return not_read(d);
	source_standing_end(d->source, STANDING_BROKER);
	/* Another has finished it, or its reader has told that it is lost. */
	if (d->again.message == NULL)
		return DONE;
	take_over(d);
	return delivery_to(d, DELIVERY_SHAPE, MORE);
}

/* --- held, without its bytes --- */

void
delivery_memory_hold(struct delivery *d)
{
	if (!may_shed(d))
		return;
	conf_unref(&d->held_under);
	/* Where another claim would change nothing. */
	if (d->a.c.policy->on_unknown == UNKNOWN_HOLD)
		d->held_under =
		    conf_ref(d->source->worker->generation->conf);
	delivery_memory_shed(d);
}

/* Not where `hold` is over, or its request might be another one by now. */
bool
delivery_memory_may_peek(const struct delivery *d)
{
	const struct worker *w = d->source->worker;
	return d->held && d->shed &&
	    loop_now_ms(w->loop) <
	    d->held_since_ms + d->source->source->hold_ms &&
	    d->held_under == w->generation->conf;
}

enum after
delivery_memory_peek(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	struct worker *w = d->source->worker;
	const struct key_id key_id = d->a.waiter.key_id;
	d->record.arena = arena_new();
	key_waiters_listen(&w->waiters, &d->a.waiter, &key_id);
	records_show(w->store, &d->record, &key_id, RECORDS_HEAD);
	return delivery_to(d, DELIVERY_PEEKED, WAIT);
}

enum after
delivery_memory_peeked(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	const struct store_op *op = &d->record.op;
	/* While Redis is away, nothing is known to have changed. */
	bool is_unknown = op->verdict == VERDICT_DONE &&
	    d->record.record.state == STATE_UNKNOWN;
	bool holds = !d->let &&
	    (op->op.error != 0 ||
		(d->gone ? op->verdict == VERDICT_GONE : is_unknown));
	end_look(d);
	/* Nothing else remembers it, if Redis should lose more. */
	d->noted = d->noted && !d->gone;
	if (holds)
		return delivery_to(d, DELIVERY_HOLD, MORE);
	source_credit_rest(d->source, d, false);
	d->held = false;
	delivery_unshape(d);
	return delivery_to(d, DELIVERY_SHAPE, MORE);
}
