/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/container.h"
#include "base/error.h"
#include "base/test_build.h"
#include "gate/claimant.h"
#include "gate/disposition.h"
#include "gate/execution.h"
#include "gate/key/policy.h"
#include "gate/message.h"
#include "gate/witness.h"
#include "gate/worker_state.h"
#include "http/head/proxy_headers.h"
#include "store/claim.h"
#include "store/record/provenance.h"

/*
 * The way of an execution:
 *
 *   RECONCILE ⇢ RECONCILED ─┬─ it happened, and this is its answer: COMPLETE
 *   (LOOK_UP ⇢ LOOKED_UP)   ├─ it did not: RECLAIM ⇢ RECLAIMED ─── FORWARD
 *                           └─ no answer to go by: MARK_UNKNOWN
 *
 *   FORWARD ⇢ FORWARDED ─┬─ a whole answer, to be stored: COMPLETE ⇢ COMPLETED
 *                        ├─ nothing sent, or it says so:  RELEASE ⇢ RELEASED
 *                        └─ sent, and no whole answer:    MARK_UNKNOWN ⇢ …
 *
 * The outcome goes to Redis before anybody hears of it.  What Redis does not
 * take goes to disk (JOURNAL ⇢ JOURNALED), and where that fails too, it is
 * tried again after PAUSE ⇢ PAUSED, for as long as the process lives, until one
 * of them has it; then FINISH.
 *
 * Where the policy has a witness, that is asked in place of the upstream, and
 * besides before an answer that is no 2xx is believed (LOOK_UP ⇢ LOOKED_UP).
 * Why each key is executed once all the same, whatever happens between two
 * steps (a kill, a freeze beyond the lease, Redis or the database away):
 *  - A key is claimed again, or set free, only behind LOOKED_UP, which has read
 *    that the revocation of that attempt is committed.  What is committed stays
 *    so: whoever comes later, this owner after a freeze included, may act on it
 *    at any time.  Redis compares the attempt, so that the next one, should
 *    there be one by then, is not touched.
 *  - Between the commit and that claim nothing is lost: the lease runs out, the
 *    attempt is UNKNOWN as before, and the next question finds `revoked`.
 *  - The next attempt has a number of its own, and so a row; numbers never come
 *    again while the record lives, as nothing is forgotten.  Those of a life
 *    before are found where the API refuses: its answer is looked up, `done`
 *    completes, and `revoked` of somebody else sets free for the next number.
 *  - What the API still does of a revoked attempt fails in its database.  Its
 *    answer is none that is a 2xx; or it is looked up, or fenced: never stored.
 *  - An answer that is no 2xx is stored or set free only behind the own row: a
 *    payment that is still open behind it (a balancer said it) fails then.
 *  - What Redis has not taken is not handed out: the witness may say the same
 *    in other words meanwhile.
 */

enum {
	PAUSE_FIRST_MS = 50,
	PAUSE_MAX_MS = 1000,
};

enum execution_step {
#define EXECUTION_STEP(name, function, operation) EXECUTION_##name,
#include "tbl/steps.h"
	EXECUTION_STEPS_,
};

#define EXECUTION_STEP(name, function, operation)                             \
	static enum after function(struct machine *machine);
#include "tbl/steps.h"

static const struct machine_step steps[] = {
#define EXECUTION_STEP(name, function, operation) {#name, function},
#include "tbl/steps.h"
};

static struct execution *
execution_of(struct machine *machine)
{
	return CONTAINER_OF(machine, struct execution, machine);
}

static const struct op *
execution_awaited(struct machine *machine)
{
	const struct execution *e = execution_of(machine);
	switch ((enum execution_step)machine->step) {
#define EXECUTION_STEP(name, function, operation)                             \
	case EXECUTION_##name:                                                 \
		return operation;
#include "tbl/steps.h"
	case EXECUTION_STEPS_:
		break;
	}
	must(false);
	return NULL;
}

static void
execution_free(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	list_remove(&e->lease.item);
	forward_stop(&e->forward);
	op_cancel(&e->witness.op);
	op_cancel(&e->store.op);
	op_cancel(&e->journal.op);
	op_cancel(&e->pause);
	witness_clear(&e->witness);
	forward_clear(&e->forward);
	answer_unref(&e->store.answer);
	answer_unref(&e->given);
	answer_unref(&e->answer);
	body_clear(&e->body);
	generation_unref(&e->generation);
	/* The execution itself lies in there. */
	struct arena *arena = e->arena;
	arena_free(&arena);
}

static const struct machine_kind execution_kind = {
    "execution", steps, execution_awaited, execution_free};

/*
 * A short step that is under way ends the claim, or is tried again after a
 * pause.  A large answer may be on its way for longer than a lease.
 */
static bool
is_ending(struct lease *lease)
{
	const struct execution *e =
	    CONTAINER_OF(lease, struct execution, lease);
	return op_pending(&e->store.op) &&
	    e->machine.step != EXECUTION_COMPLETED;
}

/* An execution that is about to end has lost nothing. */
static void
on_lease_lost(struct lease *lease)
{
	const struct execution *e =
	    CONTAINER_OF(lease, struct execution, lease);
	if (op_pending(&e->store.op))
		return;
	counter_add(&e->worker->meter.leases_lost, 1);
	struct logline line = log_begin(EV_lease_lost);
	execution_log(e, &line);
	log_end(&line);
}

static const struct lease_owner lease_owner = {is_ending, on_lease_lost};

/* Whoever had it asked waits no more; it is asked all the same. */
static void
leave_question(struct op *op, int error)
{
	struct question *question = CONTAINER_OF(op, struct question, op);
	(void)error;
	question->execution->question = NULL;
}

struct execution *
execution_new(const struct execution_terms *t)
{
	const struct store_op *claimed = t->claimed;
	struct execution *e = arena_alloc(t->arena, sizeof *e);
	struct worker *w = t->worker;
	struct span first_id = span_str(claimed->first_id);
	machine_init(&e->machine, &execution_kind, &w->executions);
	hex_encode(t->claim->key_id.bytes, DIGEST_BYTES, e->machine.id);
	e->worker = w;
	e->generation = generation_ref(t->generation);
	e->route = t->route;
	e->arena = arena_ref(t->arena);
	e->claimant = t->claimant;
	e->owned = (struct owned_claim){
	    .key_id = t->claim->key_id,
	    .owner = t->claim->owner,
	    .attempt = claimed->attempt,
	    .tries = claimed->tries,
	    .created_ms = claimed->created_ms,
	    .policy = t->claim->policy,
	    .provenance = t->claim->provenance,
	};
	memcpy(e->owned.fingerprint, t->claim->fingerprint,
	    sizeof e->owned.fingerprint);
	e->claim = *t->claim;
	/* Whoever waits for the execution is given the whole answer. */
	e->claim.brief = false;
	if (t->claim->entity != NULL) {
		e->entity = *t->claim->entity;
		e->claim.entity = e->owned.entity = &e->entity;
	}
	e->reconciles = claimed->verdict == VERDICT_RECONCILE;
	e->query = t->query;
	e->by = t->by;
	e->asked = ASKED_UNKNOWN;
	e->unknown_at_ms = claimed->unknown_at_ms;
	e->unknown_ms = claimed->now_ms - claimed->unknown_at_ms;
	e->before = claimed->before_count;
	e->claim_ms = claimed->now_ms;
	e->reason = claimed->reason;
	e->counts = t->counts;
	e->request_id = t->request_id;
	e->first_id = first_id.len > 0 ? arena_dup(e->arena, first_id)
				       : t->request_id;
	e->label = t->label;
	body_init(&e->body, w->budget);
	e->only_asks = t->message == NULL;
	must(!e->only_asks || e->reconciles);
	if (!e->only_asks) {
		e->message = *t->message;
		body_move(&e->body, t->body);
		e->message.body = body_span(&e->body);
		e->message.spent = &e->body;
	}
	e->question = t->question;
	if (e->question != NULL) {
		e->question->execution = e;
		op_start(&e->question->op, OP_UNTIMED, leave_question);
	}
	op_init(&e->forward.op, w->loop, machine_run, &e->machine);
	op_init(&e->witness.op, w->loop, machine_run, &e->machine);
	op_init(&e->store.op, w->loop, machine_run, &e->machine);
	op_init(&e->journal.op, w->loop, machine_run, &e->machine);
	op_init(&e->pause, w->loop, machine_run, &e->machine);
	lease_begin(&w->leases, &e->lease, &lease_owner, &e->owned,
	    claimed->op.began_us);
	machine_to(&e->machine,
	    e->reconciles ? EXECUTION_RECONCILE : EXECUTION_FORWARD);
	return e;
}

void
execution_cut(struct execution *e)
{
	bool looks = op_pending(&e->witness.op);
	if (!looks && !op_pending(&e->forward.op))
		return;
	op_cancel(&e->forward.op);
	op_cancel(&e->witness.op);
	e->sent = looks || e->forward.sent_bytes > 0;
	e->reason = REASON_DRAIN;
	/* What is still being reconciled stays in doubt. */
	bool doubt =
	    (e->sent && INVARIANT(cut_is_unknown)) || e->reconciles;
	machine_to(
	    &e->machine, doubt ? EXECUTION_MARK_UNKNOWN : EXECUTION_RELEASE);
	machine_run(&e->machine);
}

void
execution_log(const struct execution *e, struct logline *line)
{
	log_str(line, "key_id", e->machine.id);
	log_str(line, "route", e->route->name);
	if (e->request_id.len > 0)
		log_span(line, "request_id", e->request_id);
	if (!span_eq(e->first_id, e->request_id))
		log_span(line, "first_request_id", e->first_id);
	if (e->label.len > 0)
		log_span(line, "label", e->label);
	log_int(line, "attempt", e->owned.attempt);
}

/* Moves to the next step, and returns what the one before returns. */
static enum after
execution_to(struct execution *e, enum execution_step step, enum after after)
{
	machine_to(&e->machine, step);
	return after;
}

/* --- the claimant is told a result --- */

/*
 * Tells it once; afterwards the execution is alone.  The caller may add to the
 * result, which the claimant reads later.  NULL: nobody waits.
 */
static struct claimant *
tell(struct execution *e, enum outcome outcome, enum problem problem)
{
	struct claimant *c = e->claimant;
	if (c == NULL)
		return NULL;
	e->claimant = NULL;
	c->execution = NULL;
	c->outcome = outcome;
	c->problem = problem;
	c->original_status = 0;
	c->retry_after_s = 0;
	memcpy(c->claim_op.current, e->store.current,
	    sizeof c->claim_op.current);
	c->answer = NULL;
	c->replay = false;
	c->omitted.count = 0;
	c->stored = e->stored;
	c->store_us += e->store_us;
	c->upstream_us = e->forward.op.took_us;
	c->target = forward_target(&e->forward);
	op_done(&c->join, 0);
	return c;
}

/* The request was executed, and its answer is not to be kept, or not known. */
static void
tell_not_kept(struct execution *e, enum outcome outcome, int status)
{
	struct claimant *c =
	    tell(e, outcome, policy_not_kept(e->owned.policy, status));
	if (c != NULL)
		c->original_status = status;
}

/* Tells the upstream's own answer, as far as there is one. */
static void
tell_answer(struct execution *e, enum outcome outcome)
{
	struct flow *rest = e->forward.rest;
	struct claimant *c = e->claimant;
	/* A claimant that takes no more content is told what a retry is. */
	bool ends_here = c != NULL && c->rest == NULL && rest != NULL;
	if ((ends_here || e->given == NULL) && e->stored) {
		tell_not_kept(e, outcome, e->answer->status);
		return;
	}
	c = tell(e, outcome, PROBLEM_COUNT_);
	if (c == NULL)
		return;
	c->answer = e->given ? answer_ref(e->given) : NULL;
	c->replay = e->reconciles;
	/* They may be sent when the forward is gone, which they point into. */
	c->omitted.count = e->omitted.count;
	c->omitted.list = arena_alloc(
	    c->arena, e->omitted.count * sizeof *c->omitted.list);
	for (size_t i = 0; i < e->omitted.count; i++)
		c->omitted.list[i] = (struct field){
		    arena_dup(c->arena, e->omitted.list[i].name),
		    arena_dup(c->arena, e->omitted.list[i].value)};
	if (rest != NULL && c->rest != NULL)
		forward_move(c->rest, &e->forward);
}

/* A retry is told this problem now, as its record has no answer to give. */
static enum problem
problem_of_record(const struct store_op *op)
{
	if (op->op.error == E_NO_MEMORY)
		return PROBLEM_ANSWER_NO_MEMORY;
	if (store_op_unfetched(op))
		return PROBLEM_ANSWER_NOT_FETCHED;
	if (op->verdict == VERDICT_BROKEN)
		return op->unreadable ? PROBLEM_RECORD_UNREADABLE
				      : PROBLEM_RECORD_BROKEN;
	if (op->verdict == VERDICT_IN_FLIGHT ||
	    (op->verdict == VERDICT_FENCED && op->state == STATE_PROCESSING))
		return PROBLEM_IN_FLIGHT;
	if (op->verdict == VERDICT_FENCED && op->state == STATE_FAILED)
		return PROBLEM_ATTEMPTS_EXHAUSTED;
	return PROBLEM_UNKNOWN_HELD;
}

/* Another owner has decided: the claimant is told what retries are. */
static void
tell_fenced(struct execution *e)
{
	struct answer *answer = e->store.answer;
	counter_add(&e->worker->meter.fenced, 1);
	struct logline line = log_begin(EV_fenced);
	execution_log(e, &line);
	log_end(&line);
	e->stored = e->store.verdict == VERDICT_COMPLETED ||
	    (e->store.verdict == VERDICT_FENCED &&
		e->store.state == STATE_COMPLETED);
	if (answer == NULL) {
		tell(e, OUTCOME_FENCED, problem_of_record(&e->store));
		return;
	}
	if (answer->not_kept) {
		tell_not_kept(e, OUTCOME_FENCED, answer->status);
		return;
	}
	struct claimant *c = tell(e, OUTCOME_FENCED, PROBLEM_COUNT_);
	if (c != NULL) {
		c->answer = answer_ref(answer);
		c->replay = true;
	}
}

/* So much later a retry may know more; 0: nobody can say. */
static int64_t
retry_after_s(const struct execution *e)
{
	const struct conf_idempotency *policy = e->owned.policy;
	int64_t ms = 0;
	if (policy->on_unknown == UNKNOWN_RECONCILE && !e->reconciles)
		ms = policy->reconcile.settle_ms;
	else if (policy->on_unknown == UNKNOWN_WITNESS &&
	    !e->witness.distrusted)
		ms = policy->witness.wait_ms;
	return (ms + 999) / 1000;
}

/* Nobody knows the outcome: tells the upstream's answer, or e->reason. */
static void
tell_unknown(struct execution *e)
{
	enum problem problem = PROBLEM_UNKNOWN_BROKEN;
	if (e->answer != NULL) {
		tell_answer(e, OUTCOME_UNKNOWN);
		return;
	}
	if (e->reconciles)
		problem = PROBLEM_UNKNOWN_HELD;
	else if (e->reason == REASON_TIMEOUT)
		problem = PROBLEM_UNKNOWN_TIMEOUT;
	else if (e->reason == REASON_DRAIN)
		problem = PROBLEM_UNKNOWN_DRAIN;
	else if (e->reason == REASON_STATUS &&
	    e->owned.policy->on_unknown == UNKNOWN_WITNESS)
		problem = PROBLEM_UNKNOWN_UNPROVEN;
	struct claimant *c = tell(e, OUTCOME_UNKNOWN, problem);
	if (c != NULL)
		c->retry_after_s = retry_after_s(e);
}

/* --- the upstream --- */

static void
start_forward(struct execution *e, const struct message *message)
{
	struct forward_limits limits =
	    message_limits(e->route, e->owned.policy);
	/* A query does no harm; what is sent late might be sent twice. */
	if (message == &e->message)
		limits.send_until_us = &e->lease.until_us;
	forward_stop(&e->forward);
	forward_clear(&e->forward);
	forward_start(e->generation->upstreams, &e->forward, e->route->upstream,
	    message, &limits);
}

/* What is there of an answer, the upstream's or a row's. */
struct heard_answer {
	int status; /* 0: nobody knows it */
	const struct fields *fields;
	struct body *body; /* is moved */
	bool whole;
};

/*
 * Makes the answer that the first client gets, and the one that is stored.
 * Where it is too large to keep, its head decides: the record says so before
 * the client gets a byte of it, and however the rest ends.  Of a route that
 * keeps none, an empty one is not kept either: fields may have a secret.
 */
static void
make_answers(struct execution *e, const struct heard_answer *said)
{
	const struct conf_idempotency *policy = e->owned.policy;
	const struct proxy_client client = {
	    span_str(policy->replay_header), e->request_id, clock_wall_ms()};
	struct fields none = {NULL, 0};
	struct fields fields =
	    proxy_headers_for_client(e->arena, said->fields, &client);
	e->omitted = proxy_headers_listed(
	    e->arena, &fields, &policy->omit_headers, true);
	fields = proxy_headers_listed(
	    e->arena, &fields, &policy->omit_headers, false);
	if (said->whole || e->forward.rest != NULL)
		e->given = answer_new(
		    said->status, &fields, said->body, e->first_id);
	if (said->whole && policy->max_response_body > 0) {
		e->answer = answer_ref(e->given);
	} else {
		e->answer = answer_new(said->status, &none, NULL, e->first_id);
		e->answer->not_kept = true;
	}
}

/* The upstream's, perhaps under another status. */
static void
make_upstreams_answers(struct execution *e, int64_t status)
{
	make_answers(e, &(struct heard_answer){
	    .status = status != 0 ? (int)status : e->forward.status,
	    .fields = &e->forward.fields,
	    .body = &e->forward.body,
	    .whole = e->forward.rest == NULL || !INVARIANT(large_not_kept),
	});
	e->given->head_length = e->forward.head_length;
}

/* --- what became of an earlier attempt --- */

static bool
has_witness(const struct execution *e)
{
	return e->owned.policy->on_unknown == UNKNOWN_WITNESS;
}

/* Goes into the log, and with the next step into the record's history. */
static void
note_answer(struct execution *e, enum asked answer, const char *words)
{
	struct span act = provenance_act_text(
	    e->arena, span_str(execution_asked_word(answer)), e->by);
	e->asked = answer;
	e->claim.asked = e->owned.asked =
	    arena_printf(e->arena, "q%.*s", SPAN_FMT(act));
	meter_asked(e->generation->metered.routes[e->route->index], e->by,
	    answer);
	struct logline line = log_begin(EV_asked);
	execution_log(e, &line);
	log_span(&line, "by", e->by);
	log_str(&line, "answer", execution_asked_word(answer));
	if (words[0] != '\0')
		log_str(&line, "detail", words);
	log_end(&line);
}

const char *
execution_asked_word(enum asked answer)
{
	static const char *const words[ASKED_COUNT_] = {
	    [ASKED_HAPPENED] = "happened",
	    [ASKED_DID_NOT] = "did-not",
	    [ASKED_UNKNOWN] = "unknown",
	    [ASKED_AWAY] = "away",
	};
	return words[answer];
}

/* The upstream, or what it is made of, cannot be had, or has too much to do. */
static bool
is_away(const struct forward *f)
{
	bool answered =
	    f->result == FORWARD_ANSWERED || f->result == FORWARD_UNREAD;
	return answered ? f->status >= 500 || f->status == 429
			: f->result != FORWARD_MALFORMED;
}

/* Asks the API's database, or the upstream. */
static enum after
execution_reconcile(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	if (e->worker->over) {
		e->reason = REASON_DRAIN;
		return execution_to(e, EXECUTION_MARK_UNKNOWN, MORE);
	}
	if (has_witness(e) && !e->started)
		return execution_to(e, EXECUTION_LOOK_UP, MORE);
	if (e->query == NULL) {
		note_answer(e, ASKED_UNKNOWN, "there is no question to ask");
		return execution_to(e, EXECUTION_MARK_UNKNOWN, MORE);
	}
	start_forward(e, e->query);
	return execution_to(e, EXECUTION_RECONCILED, WAIT);
}

static enum after
execution_reconciled(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	const struct conf_reconcile *rules = &e->owned.policy->reconcile;
	bool whole = e->forward.result == FORWARD_ANSWERED;
	enum disposition disposition = DISPOSITION_UNKNOWN;
	if (whole || e->forward.result == FORWARD_UNREAD)
		disposition = disposition_of_reconcile(
		    rules, e->forward.status, &e->forward.fields);
	if (disposition == DISPOSITION_STORE && whole) {
		note_answer(e, ASKED_HAPPENED, "");
		make_upstreams_answers(e, rules->status);
		return execution_to(e, EXECUTION_COMPLETE, MORE);
	}
	if (disposition == DISPOSITION_RELEASE ||
	    disposition == DISPOSITION_FORGET || !INVARIANT(upstream_said_no)) {
		/* What the database says has begun must not go on. */
		if (e->started)
			return execution_to(e, EXECUTION_LOOK_UP, MORE);
		note_answer(e, ASKED_DID_NOT, "");
		return execution_to(e, EXECUTION_RECLAIM, MORE);
	}
	note_answer(
	    e, is_away(&e->forward) ? ASKED_AWAY : ASKED_UNKNOWN, "");
	return execution_to(e, EXECUTION_MARK_UNKNOWN, MORE);
}

/*
 * Nothing happened: the claim is made again, as an attempt of its own; or where
 * nothing is to be sent, the key is set free.
 */
static enum after
execution_reclaim(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	e->claim.reconciled = true;
	e->claim.frees = e->only_asks;
	claim_start(e->worker->store, &e->store, &e->claim);
	return execution_to(e, EXECUTION_RECLAIMED, WAIT);
}

/* The claim is not ours any more; nor does the record say what was found. */
static enum after
reclaimed_by_other(struct execution *e)
{
	e->asked = ASKED_UNKNOWN;
	if (!store_op_answered(&e->store))
		/* The store gives such a claim back by itself. */
		tell(e, OUTCOME_STORE_DOWN, PROBLEM_STORE_UNAVAILABLE);
	else if (e->store.verdict == VERDICT_FAILED)
		tell(e, OUTCOME_EXHAUSTED, PROBLEM_ATTEMPTS_EXHAUSTED);
	else if (e->store.verdict == VERDICT_STALE)
		tell(e, OUTCOME_STALE, PROBLEM_STALE_VERSION);
	else if (e->store.verdict == VERDICT_BUSY)
		/* Such a claim too is given back. */
		tell(e, OUTCOME_ENTITY_BUSY, PROBLEM_ENTITY_BUSY);
	else
		tell_fenced(e);
	return execution_to(e, EXECUTION_FINISH, MORE);
}

static enum after
execution_reclaimed(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	e->store_us += e->store.op.took_us;
	if (e->only_asks && e->store.op.error == 0 &&
	    e->store.verdict == VERDICT_DONE)
		return execution_to(e, EXECUTION_FINISH, MORE);
	if (e->store.op.error != 0 || e->store.verdict != VERDICT_OURS)
		return reclaimed_by_other(e);
	e->claim_ms = e->store.now_ms;
	e->owned.asked = SPAN("");
	/* That was the witness' word on another attempt. */
	e->witness.answer = WITNESS_UNKNOWN;
	bool next = e->store.attempt == e->owned.attempt + 1;
	e->owned.attempt = e->store.attempt;
	e->owned.tries = e->store.tries;
	e->owned.created_ms = e->store.created_ms;
	if (!next) {
		/*
		 * The record that was reconciled is gone, and the claim made
		 * a new one: what the upstream said is not said of that.  It
		 * becomes UNKNOWN, as the old one was.
		 */
		struct logline line = log_begin(EV_record_broken);
		execution_log(e, &line);
		log_end(&line);
		return execution_to(e, EXECUTION_MARK_UNKNOWN, MORE);
	}
	lease_extend(&e->lease, e->store.op.began_us);
	e->reconciles = false;
	e->reason = REASON_NONE;
	return execution_to(e, EXECUTION_FORWARD, MORE);
}

static enum after
execution_forward(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	/* Another worker may have come to know it since the claim was asked. */
	e->withheld = outcome_is_awaited(
	    e->worker->store, e->worker->awaited, &e->claim);
	/* At the end of a drain nobody would be left to hear of its outcome. */
	if (e->worker->over || (e->withheld && INVARIANT(awaits_again)))
		return execution_to(e, EXECUTION_RELEASE, MORE);
	start_forward(e, &e->message);
	return execution_to(e, EXECUTION_FORWARDED, WAIT);
}

static enum after
in_doubt(struct execution *e, enum reason reason)
{
	e->sent = INVARIANT(sent_is_unknown);
	e->reason = reason;
	return execution_to(
	    e, e->sent ? EXECUTION_MARK_UNKNOWN : EXECUTION_RELEASE, MORE);
}

/* Nothing happened, says the upstream; and whether the attempt counts. */
static enum after
release_as_said(struct execution *e, bool forget)
{
	bool spared = e->counts == COUNTS_NEVER ||
	    (e->counts == COUNTS_BY_ANSWER &&
		disposition_is_refusal(
		    &e->forward.fields, e->forward.status));
	/* Of an attempt with a witness, no other may have the number. */
	if (forget && e->counts == COUNTS_BY_ANSWER && !has_witness(e))
		e->release = spared ? RELEASE_SPARED_FORGET
				    : RELEASE_COUNTED_FORGET;
	else
		e->release = spared ? RELEASE_SPARED : RELEASE_COUNTED;
	return execution_to(e, EXECUTION_RELEASE, MORE);
}

static enum disposition
disposition_of_own(const struct execution *e)
{
	return disposition_of_answer(&e->forward.fields, e->forward.status,
	    e->owned.policy->outcomes[e->forward.status]);
}

/* The answer's status counts even if there was no memory for its body. */
static enum after
weigh_answer(struct execution *e)
{
	bool whole = e->forward.result == FORWARD_ANSWERED;
	if (whole) {
		make_upstreams_answers(e, 0);
	} else {
		struct logline line = log_begin(EV_answer_unread);
		execution_log(e, &line);
		log_int(&line, "status", e->forward.status);
		log_end(&line);
	}
	switch (disposition_of_own(e)) {
	case DISPOSITION_STORE:
		return whole ? execution_to(e, EXECUTION_COMPLETE, MORE)
			     : in_doubt(e, REASON_BROKEN);
	case DISPOSITION_RELEASE:
		return release_as_said(e, false);
	case DISPOSITION_FORGET:
		return release_as_said(e, true);
	case DISPOSITION_UNKNOWN:
		return in_doubt(e, REASON_STATUS);
	}
	must(false);
	return DONE;
}

static bool
is_success(const struct execution *e)
{
	return e->forward.status >= 200 && e->forward.status <= 299 &&
	    disposition_of_own(e) == DISPOSITION_STORE;
}

/* A witness is asked before a no is believed, and has to know of a yes. */
static enum after
meet_answer(struct execution *e)
{
	e->sent = true;
	if (!has_witness(e))
		return weigh_answer(e);
	if (is_success(e))
		witness_saw(e->worker->witnesses, e->route, &e->owned.key_id,
		    e->owned.attempt, e->claim_ms);
	else if (disposition_of_own(e) != DISPOSITION_UNKNOWN)
		return execution_to(e, EXECUTION_LOOK_UP, MORE);
	return weigh_answer(e);
}

static enum after
execution_forwarded(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	switch (e->forward.result) {
	case FORWARD_NOT_SENT:
		return execution_to(e, EXECUTION_RELEASE, MORE);
	case FORWARD_ANSWERED:
	case FORWARD_UNREAD:
		return meet_answer(e);
	case FORWARD_TIMEOUT:
		return in_doubt(e, REASON_TIMEOUT);
	case FORWARD_BROKEN:
		return in_doubt(e, REASON_BROKEN);
	case FORWARD_MALFORMED:
		return in_doubt(e, REASON_MALFORMED);
	}
	must(false);
	return DONE;
}

/*
 * Asks the witness: about the earlier attempt (and those before it that are
 * unknown), or about the own one, before an answer that is no 2xx is believed.
 */
static enum after
execution_look_up(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	struct witness_op *op = &e->witness;
	const struct conf_idempotency *policy = e->owned.policy;
	if (e->reconciles && e->unknown_ms > policy->unknown_retention_ms) {
		note_answer(e, ASKED_UNKNOWN, "it was sent too long ago");
		return execution_to(e, EXECUTION_MARK_UNKNOWN, MORE);
	}
	witness_clear(op);
	op->route = e->route;
	op->policy = policy;
	op->key_id = e->owned.key_id;
	op->attempt = e->owned.attempt;
	op->count = e->reconciles ? 1 + e->before : 1;
	op->claimed_ms =
	    e->reconciles ? e->owned.created_ms : e->claim_ms;
	op->unknown_ms = e->reconciles ? e->unknown_at_ms : 0;
	op->question = e->started ? WITNESS_REVOKE_STARTED : WITNESS_REVOKE;
	witness_start(e->worker->witnesses, op);
	return execution_to(e, EXECUTION_LOOKED_UP, WAIT);
}

/* Nobody knows more than before; and of the own attempt, not enough. */
static enum after
not_known(struct execution *e)
{
	return e->reconciles ? execution_to(e, EXECUTION_MARK_UNKNOWN, MORE)
			     : in_doubt(e, REASON_STATUS);
}

/*
 * It has not happened, and never will.  Of the own attempt the answer is true
 * then, unless it came of somebody else's revocation.
 */
static enum after
was_revoked(struct execution *e)
{
	if (e->reconciles) {
		note_answer(e, ASKED_DID_NOT, "");
		return execution_to(e, EXECUTION_RECLAIM, MORE);
	}
	if (e->witness.inserted)
		return weigh_answer(e);
	/* The API has not said so, which would spare messages. */
	e->release = RELEASE_COUNTED;
	return execution_to(e, EXECUTION_RELEASE, MORE);
}

/* It was executed; its row is judged as an upstream's answer is. */
static enum after
keep_row(struct execution *e)
{
	struct witness_op *row = &e->witness;
	const struct conf_idempotency *policy = e->owned.policy;
	bool kept = row->status == 0 ||
	    disposition_of_answer(&row->fields, row->status,
		policy->outcomes[row->status]) == DISPOSITION_STORE;
	if (!kept)
		snprintf(row->words, sizeof row->words, "its row has the "
		    "status %d, which is not stored (outcomes)", row->status);
	if (e->reconciles)
		note_answer(e, kept ? ASKED_HAPPENED : ASKED_UNKNOWN,
		    kept ? "" : row->words);
	if (!kept)
		return not_known(e);
	forward_stop(&e->forward);
	forward_clear(&e->forward);
	make_answers(e, &(struct heard_answer){
	    .status = row->status,
	    .fields = &row->fields,
	    .body = &row->body,
	    .whole = row->status != 0 && !row->too_large,
	});
	return execution_to(e, EXECUTION_COMPLETE, MORE);
}

/*
 * `started` is for the API to explain, by when it can do no more about it.  A
 * row may have been written long after the attempt became unknown.
 */
static bool
may_ask_on(const struct execution *e)
{
	const struct conf_idempotency *policy = e->owned.policy;
	return policy->witness.then_reconcile && e->reconciles &&
	    !e->started && e->query != NULL &&
	    e->unknown_ms >= policy->reconcile.settle_ms &&
	    e->witness.age_ms >= policy->reconcile.settle_ms;
}

static enum after
execution_looked_up(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	const struct witness_op *op = &e->witness;
	switch (op->answer) {
	case WITNESS_DONE:
		return keep_row(e);
	case WITNESS_REVOKED:
		return was_revoked(e);
	case WITNESS_STARTED:
		if (may_ask_on(e)) {
			e->started = true;
			return execution_to(e, EXECUTION_RECONCILE, MORE);
		}
		break;
	case WITNESS_UNKNOWN:
		break;
	}
	if (e->reconciles)
		note_answer(e, op->away ? ASKED_AWAY : ASKED_UNKNOWN,
		    op->answer == WITNESS_STARTED ? "it is started"
						  : op->words);
	return INVARIANT(revoked_first) ? not_known(e) : was_revoked(e);
}

/* --- the outcome --- */

/*
 * Each step that has a reply of Redis begins so: true where Redis has not taken
 * the outcome, or has a record that is damaged.
 */
static bool
not_taken(struct execution *e, unsigned again)
{
	int error = e->store.op.error;
	e->store_us += e->store.op.took_us;
	/* It has replied also where the record's answer cannot be had. */
	if (error == 0 ||
	    (store_op_answered(&e->store) && INVARIANT(fenced_unread))) {
		if (!store_op_broken(&e->store))
			return false;
		error = E_MALFORMED;
	}
	if (!INVARIANT(outcome_taken))
		return false;
	if (e->tries++ == 0) {
		struct logline line = log_begin(EV_settle_late);
		execution_log(e, &line);
		log_str(&line, "step", steps[again].name);
		log_str(&line, "error", error_message(error));
		log_end(&line);
	}
	e->settling = again;
	return true;
}

/* What that step stores. */
static struct owned_outcome
outcome_of(const struct execution *e, unsigned step)
{
	switch (step) {
	case EXECUTION_COMPLETE:
		return (struct owned_outcome){
		    .kind = JOURNAL_COMPLETE, .answer = e->answer};
	case EXECUTION_RELEASE:
		return (struct owned_outcome){
		    .kind = JOURNAL_RELEASE, .release = e->release};
	default:
		return (struct owned_outcome){
		    .kind = JOURNAL_UNKNOWN, .reason = e->reason};
	}
}

static void
store_outcome(struct execution *e, enum execution_step step)
{
	const struct owned_outcome outcome = outcome_of(e, step);
	outcome_store(e->worker->store, &e->store, &e->owned, &outcome);
}

/* From then on no outcome is told that Redis has not taken. */
static bool
is_after_lease(const struct execution *e)
{
	return clock_us() >= e->lease.until_us && INVARIANT(late_held_back);
}

static enum after
execution_complete(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	e->mark = cache_asking(e->worker->cache, &e->owned.key_id);
	store_outcome(e, EXECUTION_COMPLETE);
	return execution_to(e, EXECUTION_COMPLETED, WAIT);
}

/* The answer is in Redis before the client sees it. */
static enum after
execution_completed(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	bool late = not_taken(e, EXECUTION_COMPLETE);
	/*
	 * A 2xx of an attempt that somebody may have revoked, also if he has
	 * not come to tell Redis so.
	 */
	bool revocable = is_after_lease(e) ||
	    (!late && e->store.verdict != VERDICT_DONE);
	if (revocable && has_witness(e) && !e->reconciles &&
	    e->witness.answer == WITNESS_UNKNOWN)
		witness_saw_late(e->worker->witnesses, e->route,
		    &e->owned.key_id, e->owned.attempt);
	if (late)
		return execution_to(e, EXECUTION_JOURNAL, MORE);
	if (e->store.verdict == VERDICT_FENCED && e->store.before) {
		/*
		 * The attempt after this one is under way.  Should nothing be
		 * sent of that, this answer is the truth: the journal offers it
		 * until that is known.
		 */
		tell_fenced(e);
		e->settling = EXECUTION_COMPLETE;
		e->tries++;
		return execution_to(e, EXECUTION_JOURNAL, MORE);
	}
	if (e->store.verdict != VERDICT_DONE && INVARIANT(fenced_answer)) {
		tell_fenced(e);
		return execution_to(e, EXECUTION_FINISH, MORE);
	}
	/* Retries may get it without asking Redis (gate/cache.h). */
	struct cached cached = {
	    .answer = e->answer,
	    .attempt = e->owned.attempt,
	    .until_ms = e->store.now_ms + e->owned.policy->retention_ms,
	};
	memcpy(cached.fingerprint, e->claim.fingerprint,
	    sizeof cached.fingerprint);
	cache_put(e->worker->cache, &e->owned.key_id, e->mark, &cached);
	e->stored = true;
	tell_answer(e, e->reconciles ? OUTCOME_REPLAYED : OUTCOME_EXECUTED);
	return execution_to(e, EXECUTION_FINISH, MORE);
}

static enum after
execution_release(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	if (e->tries == 0 && !e->sent) {
		const struct conf_target *target = e->forward.target;
		int error = e->forward.op.error;
		struct logline line = log_begin(EV_not_sent);
		execution_log(e, &line);
		if (target != NULL)
			log_str(&line, "target", target->url);
		if (error != 0)
			log_str(&line, "error", error_message(error));
		log_end(&line);
	}
	store_outcome(e, EXECUTION_RELEASE);
	return execution_to(e, EXECUTION_RELEASED, WAIT);
}

/*
 * The client gets its answer whether or not Redis knows of it: nothing was
 * executed, or the upstream itself says so.
 */
static enum after
execution_released(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	bool late = not_taken(e, EXECUTION_RELEASE);
	if (!late && e->store.verdict == VERDICT_FENCED)
		tell_fenced(e);
	else if (!late && e->store.state == STATE_UNKNOWN)
		/* Nothing was sent of this attempt; of one before, it was. */
		tell(e, OUTCOME_UNKNOWN, PROBLEM_UNKNOWN_HELD);
	else if (e->answer != NULL && late && is_after_lease(e))
		tell(e, OUTCOME_STORE_DOWN, PROBLEM_OUTCOME_NOT_STORED);
	else if (e->answer != NULL)
		tell_answer(e, OUTCOME_RELEASED);
	else if (e->witness.answer == WITNESS_REVOKED && !e->witness.inserted)
		tell(e, OUTCOME_FENCED, PROBLEM_ATTEMPT_REVOKED);
	else if (e->sent)
		tell(e, OUTCOME_RELEASED, PROBLEM_REFUSAL_NO_MEMORY);
	else if (e->withheld)
		tell(e, OUTCOME_IN_FLIGHT, PROBLEM_OUTCOME_WAITS);
	else
		tell(e, OUTCOME_UNREACHABLE, PROBLEM_UPSTREAM_UNREACHABLE);
	return execution_to(
	    e, late ? EXECUTION_JOURNAL : EXECUTION_FINISH, MORE);
}

/* Logs which request is in doubt; a query's parameters are never logged. */
static void
log_doubt(const struct execution *e)
{
	const struct conf_target *target = forward_target(&e->forward);
	struct span path = e->message.target;
	const char *mark =
	    path.len > 0 ? memchr(path.ptr, '?', path.len) : NULL;
	enum event event = EV_outcome_unknown;
	if (mark != NULL)
		path.len = (size_t)(mark - path.ptr);
	if (e->reconciles)
		event = EV_reconcile_failed;
	else if (e->reason == REASON_DRAIN)
		event = EV_drain_timeout;
	struct logline line = log_begin(event);
	execution_log(e, &line);
	if (!e->only_asks) {
		log_span(&line, "method", e->message.method);
		log_path(&line, path);
	}
	if (target != NULL)
		log_str(&line, "target", target->url);
	if (e->reason != REASON_NONE)
		log_str(&line, "reason", reason_word(e->reason));
	if (e->reconciles && e->forward.result == FORWARD_ANSWERED)
		log_int(&line, "status", e->forward.status);
	if (e->witness.words[0] != '\0')
		log_str(&line, "detail", e->witness.words);
	if (e->forward.op.error != 0)
		log_str(&line, "error", error_message(e->forward.op.error));
	log_end(&line);
}

static enum after
execution_mark_unknown(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	/* What a witness says has a line of its own. */
	if (e->tries == 0 && !(e->reconciles && has_witness(e)))
		log_doubt(e);
	store_outcome(e, EXECUTION_MARK_UNKNOWN);
	return execution_to(e, EXECUTION_MARKED_UNKNOWN, WAIT);
}

static enum after
execution_marked_unknown(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	bool late = not_taken(e, EXECUTION_MARK_UNKNOWN);
	if (late && is_after_lease(e))
		answer_unref(&e->answer);
	if (!late && e->store.verdict == VERDICT_FENCED)
		tell_fenced(e);
	else
		tell_unknown(e);
	return execution_to(
	    e, late ? EXECUTION_JOURNAL : EXECUTION_FINISH, MORE);
}

/* --- an outcome that Redis has not taken --- */

/* The outcome goes to disk, from where the journal is replayed. */
static enum after
execution_journal(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	const struct owned_outcome outcome = outcome_of(e, e->settling);
	const struct journal_about about = outcome_journal(e->worker->store,
	    &e->worker->journal_replay.writer, &e->journal, &e->owned,
	    &outcome);
	if (!e->expected) {
		e->expected = true;
		e->awaited = about;
		journal_awaited_add(e->worker->awaited, &about, 0);
	}
	return execution_to(e, EXECUTION_JOURNALED, WAIT);
}

/* The execution tries again by itself where the disk did not take it either. */
static enum after
execution_journaled(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	bool taken = e->journal.op.error == 0 || !INVARIANT(journal_took_it);
	if (taken)
		e->expected = false; /* it is now the journal's */
	if (e->settling == EXECUTION_COMPLETE) {
		/*
		 * The answer is not told where somebody else may decide: after
		 * the lease, anybody; before that another execution, where the
		 * policy allows one or Redis has lost the record.
		 */
		bool others = is_after_lease(e) ||
		    ((e->store.gone ||
			 e->owned.policy->on_unknown != UNKNOWN_HOLD) &&
			INVARIANT(undecided_held_back));
		if (taken && !others)
			tell_answer(e, OUTCOME_EXECUTED);
		else
			tell(e, OUTCOME_STORE_DOWN,
			    PROBLEM_OUTCOME_NOT_STORED);
	}
	return execution_to(
	    e, taken ? EXECUTION_FINISH : EXECUTION_PAUSE, MORE);
}

static enum after
execution_pause(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	int64_t ms = PAUSE_FIRST_MS * (int64_t)e->tries;
	op_start(&e->pause, ms < PAUSE_MAX_MS ? ms : PAUSE_MAX_MS, NULL);
	return execution_to(e, EXECUTION_PAUSED, WAIT);
}

static enum after
execution_paused(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	answer_unref(&e->store.answer);
	return execution_to(e, (enum execution_step)e->settling, MORE);
}

static enum after
execution_finish(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	must(e->claimant == NULL);
	if (e->expected)
		journal_awaited_drop(e->worker->awaited, &e->awaited);
	key_waiters_wake(&e->worker->waiters, &e->owned.key_id);
	if (e->question != NULL) {
		e->question->answer = e->asked;
		op_done(&e->question->op, 0);
	}
	return DONE;
}
