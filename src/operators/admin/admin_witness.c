/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/error.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "conf/nearest.h"
#include "gate/worker.h"
#include "operators/admin/admin_answer.h"
#include "operators/admin/admin_body.h"
#include "operators/admin/admin_private.h"
#include "store/record/answer_json.h"

/*
 * Operators and witnesses: whether one is believed, an operator's word that it
 * may be, and the row that keeps an attempt from happening once its key is set
 * free by hand.
 */

/* Longer than a connection to the database may take, and its answer. */
enum { PATIENCE_MS = 20000 };

/* --- trust --- */

json_t *
admin_witness_list(const struct admin_request *a)
{
	json_t *list = json_array();
	for (size_t i = 0; i < a->conf->n_routes; i++) {
		const struct conf_route *route = &a->conf->routes[i];
		enum trust_state state = TRUST_UNPROVEN;
		int64_t ended_ms = 0;
		if (!conf_has_witness(route))
			continue;
		const struct conf_witness *policy =
		    &route->idempotency->witness;
		(void)trust_view(a->admin->view.workers[0]->trusts, route->name,
		    &state, &ended_ms);
		json_array_append_new(list,
		    json_pack("{s:o, s:s, s:s, s:s?, s:s, s:b, s:o*}",
			"route", answer_json_text(span_str(route->name)),
			"broker", policy->broker->name,
			"table", policy->table,
			"enforced_by", policy->enforced_by,
			"state", trust_words[state],
			"trusted", trust_is_trusted(state),
			"since",
			ended_ms > 0 ? admin_body_time(ended_ms) : NULL));
	}
	return list;
}

enum after
admin_witness_trust(struct admin_request *a)
{
	struct span name = admin_body_span(json_object_get(a->in, "route"));
	struct nearest nearest = nearest_to(name);
	if (a->note.len == 0 || name.len == 0)
		return admin_answer_bad_request(a,
		    "The body must have \"route\", and a \"note\" that says "
		    "why.");
	for (size_t i = 0; i < a->conf->n_routes; i++) {
		const struct conf_route *route = &a->conf->routes[i];
		if (!conf_has_witness(route))
			continue;
		nearest_try(&nearest, span_str(route->name));
		if (!span_eq(name, span_str(route->name)))
			continue;
		trust_say(&a->trust, a->admin->store, route->name, a->who,
		    a->note);
		return admin_request_to(a, ADMIN_TRUSTED, WAIT);
	}
	return admin_answer_problem(a, PROBLEM_NOT_FOUND,
	    nearest.found.ptr == NULL
		? SPAN("There is no route of this name that has a witness.")
		: arena_printf(a->arena,
		      "There is no route of this name that has a witness; did "
		      "you mean %.*s?", SPAN_FMT(nearest.found)));
}

static void
log_trust(const struct admin_request *a, enum event event)
{
	struct logline line = log_begin(event);
	log_span(&line, "route",
	    admin_body_span(json_object_get(a->in, "route")));
	if (a->trust.op.error != 0)
		log_str(&line, "error", error_message(a->trust.op.error));
	admin_answer_log(a, &line);
}

enum after
admin_witness_trusted(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	const struct store_op *op = &a->trust;
	if (op->op.error != 0) {
		log_trust(a, EV_operator_trust_unsure);
		return admin_answer_store_failed(
		    a, &op->op, ". Say it again.");
	}
	if (op->verdict == VERDICT_GONE)
		return admin_answer_refused(
		    a, "Nothing has ended the trust in this route's witness.");
	log_trust(a, EV_witness_trusted);
	return admin_answer_json(a, 200,
	    json_pack("{s:O, s:o, s:o*}", "route",
		json_object_get(a->in, "route"), "note",
		answer_json_text(a->note), "who", admin_body_text(a->who)));
}

/* --- to a worker and back --- */

static void
free_errand(struct admin_errand *errand)
{
	witness_clear(&errand->witness);
	conf_unref(&errand->conf);
	free(errand->by);
	free(errand);
}

static void on_worker(void *arg);

/*
 * All attempts that may be unknown are revoked, one after the other.  What is
 * started is revoked by a right of its own, UPDATE, which a gateway need not
 * have where no API writes that.
 */
static void
on_back(void *arg)
{
	struct admin_errand *errand = arg;
	struct witness_op *witness = &errand->witness;
	bool begun = witness->answer == WITNESS_STARTED &&
	    witness->question == WITNESS_REVOKE;
	bool revoked = witness->answer == WITNESS_REVOKED &&
	    witness->attempt > errand->first;
	if (errand->op == NULL) {
		free_errand(errand);
		return;
	}
	witness->question = begun ? WITNESS_REVOKE_STARTED : WITNESS_REVOKE;
	witness->attempt -= revoked;
	if (begun || revoked) {
		witness->answer = WITNESS_UNKNOWN;
		loop_post(errand->worker->loop, on_worker, errand);
	} else {
		op_done(&errand->op->op, 0);
	}
}

/* In the worker's thread, with an answer. */
static void
on_asked(void *arg)
{
	struct admin_errand *errand = arg;
	loop_post(errand->asker, on_back, errand);
}

/* In the worker's thread; or, once that has ended, in its owner's. */
static void
on_worker(void *arg)
{
	struct admin_errand *errand = arg;
	struct worker *w = errand->worker;
	/* Without libpq it has no witnesses either, and lives. */
	errand->ended = w->generation == NULL;
	if (errand->ended) {
		on_asked(errand);
		return;
	}
	if (errand->asks) {
		op_init(&errand->question.op, w->loop, on_asked, errand);
		sweeper_ask(w, &errand->question,
		    span_str(errand->witness.route->name),
		    &errand->witness.key_id, span_str(errand->by));
		return;
	}
	op_init(&errand->witness.op, w->loop, on_asked, errand);
	witness_start(w->witnesses, &errand->witness);
}

static void
let_go(struct op *op, int error)
{
	struct admin_errand_op *mine = (struct admin_errand_op *)op;
	(void)error;
	mine->errand->op = NULL;
	mine->errand = NULL;
}

void
admin_witness_end(struct admin_errand_op *op)
{
	op_cancel(&op->op);
	if (op->errand != NULL)
		free_errand(op->errand);
	op->errand = NULL;
}

enum after
admin_witness_send(
    struct admin_request *a, const struct conf_route *route, bool asks)
{
	const struct record *record = &a->look.record;
	/* Those before it may be unknown, too: as many as were sent. */
	uint32_t sent = record->tries < record->attempt ? record->tries
							: record->attempt;
	int64_t lock_ms = asks ? 0 : route->idempotency->witness.wait_ms;
	struct admin_errand *errand = mem_zero(sizeof *errand);
	*errand = (struct admin_errand){
	    .op = &a->errand,
	    .asker = a->admin->loop,
	    /* The first worker has all that is asked for here. */
	    .worker = a->admin->view.workers[0],
	    .conf = conf_ref(a->conf),
	    .asks = asks,
	    .witness = {
		.route = route,
		.policy = route->idempotency,
		.key_id = a->key_id,
		.attempt = record->attempt,
		.claimed_ms = record->created_ms,
		.unknown_ms = record->state == STATE_UNKNOWN
		    ? record->lease_until_ms
		    : record->changed_ms,
		.regardless = true,
	    },
	    .first = record->attempt - sent + 1,
	    .by = mem_str(a->who.len > 0 ? a->who : SPAN("operator")),
	};
	a->errand.errand = errand;
	op_start(&a->errand.op, lock_ms + PATIENCE_MS, let_go);
	loop_post(errand->worker->loop, on_worker, errand);
	return admin_request_to(
	    a, asks ? ADMIN_INQUIRED : ADMIN_REVOKED, WAIT);
}
