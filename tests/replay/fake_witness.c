/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/container.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/must.h"
#include "gate/execution.h"
#include "gate/trust.h"
#include "gate/witness.h"
#include "gate/worker_state.h"
#include "replay/choice.h"
#include "replay/fakes.h"

/*
 * In place of src/gate/witness.c and trust.c: the database of the API, which
 * proves its rows.  Its transactions are over at once, but for those that are
 * open, of which it is decided when somebody asks: they have committed, or hold
 * the lock, or fail from then on.  The scheduler says when a question is
 * answered, and whether its answer arrives.
 */
struct witnesses {
	struct gateway *gateway;
};

struct asked_row {
	struct asked_row *next;
	struct gateway *gateway;
	struct witness_op *op;
	struct truth *truth;
};

static struct asked_row *asked; /* in the order in which they began */

struct witnesses *
witness_new(struct worker *worker)
{
	struct witnesses *w = mem_zero(sizeof *w);
	w->gateway = loop_gateway(worker->loop);
	return w;
}

void
witness_free(struct witnesses **witnesses)
{
	free(*witnesses);
	*witnesses = NULL;
}

void
witness_reload(struct witnesses *witnesses)
{
	(void)witnesses;
}

void
witness_saw(struct witnesses *witnesses, const struct conf_route *route,
    const struct key_id *key_id, uint32_t attempt, int64_t claim_ms)
{
	(void)witnesses;
	(void)route;
	(void)key_id;
	(void)attempt;
	(void)claim_ms;
}

struct trusts *
trust_new(struct worker *worker)
{
	(void)worker;
	return NULL;
}

void
trust_reload(struct trusts *trusts)
{
	(void)trusts;
}

void
trust_stop(struct trusts *trusts)
{
	(void)trusts;
}

void
trust_free(struct trusts **trusts)
{
	*trusts = NULL;
}

/* --- the rows --- */

bool
fake_witness_is_asked(void)
{
	return world.confs[0]->routes[0].idempotency->on_unknown ==
	    UNKNOWN_WITNESS;
}

bool
fake_witness_commit(struct truth *truth, unsigned attempt)
{
	uint64_t bit = (uint64_t)1 << attempt;
	if (truth->rows_revoked & bit)
		return false;
	truth->rows_done |= bit;
	return true;
}

static void
say_done(struct witness_op *op, const struct truth *truth)
{
	struct span text = arena_printf(op->arena, "%s execution 1",
	    truth->key);
	struct field *fields = arena_alloc(op->arena, 2 * sizeof *fields);
	fields[0] = (struct field){SPAN("Content-Type"), SPAN("text/plain")};
	fields[1] = (struct field){SPAN("X-Execution"), text};
	op->answer = WITNESS_DONE;
	op->status = 200;
	op->fields = (struct fields){fields, 2};
	must(body_append(&op->body, text.ptr, text.len) == 0);
}

/* Its transaction. */
static void
look(struct asked_row *a)
{
	struct witness_op *op = a->op;
	struct truth *truth = a->truth;
	uint64_t bit = (uint64_t)1 << op->attempt;
	op->answer = WITNESS_UNKNOWN;
	if (truth->rows_open & bit) {
		unsigned what = choose(3);
		if (what == 1)
			return; /* it holds the lock */
		truth->rows_open &= ~bit;
		if (what == 2 && fake_witness_commit(truth, op->attempt)) {
			truth->unsure--;
			truth->executed++;
		}
	}
	if (truth->rows_done & bit) {
		say_done(op, truth);
		return;
	}
	op->answer = WITNESS_REVOKED;
	op->inserted = (truth->rows_revoked & bit) == 0;
	truth->rows_revoked |= bit;
}

/* --- questions --- */

static void
forget(struct asked_row *a)
{
	struct asked_row **at = &asked;
	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	free(a);
}

static struct asked_row *
get(unsigned index)
{
	struct asked_row *a = asked;
	while (index-- > 0)
		a = a->next;
	must(a != NULL);
	return a;
}

/* Nobody waits any more; what was sent may be done all the same. */
static void
on_detach(struct op *op, int error)
{
	struct asked_row *a = asked;
	(void)error;
	while (&a->op->op != op)
		a = a->next;
	if (choose(2) == 1)
		look(a);
	witness_clear(a->op);
	a->op->answer = WITNESS_UNKNOWN;
	forget(a);
}

void
witness_start(struct witnesses *witnesses, struct witness_op *op)
{
	const struct execution *e =
	    CONTAINER_OF(op, struct execution, witness);
	const struct fields *fields = &e->message.fields;
	const struct field *tenant =
	    fields_first(fields, SPAN("Authorization"));
	const struct field *key = fields_first(fields, SPAN("Idempotency-Key"));
	must(tenant != NULL && key != NULL);
	struct asked_row *a = mem_zero(sizeof *a), **end = &asked;
	a->gateway = witnesses->gateway;
	a->op = op;
	a->truth = truth_of(tenant->value, key->value);
	while (*end != NULL)
		end = &(*end)->next;
	*end = a;
	op->arena = arena_new();
	op->inserted = op->away = false;
	op->body = (struct body){0};
	world.deeds++;
	op_start(&op->op, 7000, on_detach);
}

void
witness_clear(struct witness_op *op)
{
	body_clear(&op->body);
	arena_free(&op->arena);
	op->fields = (struct fields){0};
}

unsigned
fake_witness_questions(void)
{
	unsigned count = 0;
	for (struct asked_row *a = asked; a != NULL; a = a->next)
		count++;
	return count;
}

struct gateway *
fake_witness_gateway(unsigned index)
{
	return get(index)->gateway;
}

void
fake_witness_answer(unsigned index, bool arrives)
{
	struct asked_row *a = get(index);
	struct witness_op *op = a->op;
	world.deeds++;
	if (arrives || choose(2) == 1)
		look(a);
	if (!arrives) {
		witness_clear(op);
		op->answer = WITNESS_UNKNOWN;
		op->away = true;
	}
	forget(a);
	op_done(&op->op, 0);
}
