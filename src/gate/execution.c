/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "base/test_build.h"
#include "gate/disposition.h"
#include "gate/execution_private.h"
#include "gate/key/policy.h"
#include "gate/message.h"
#include "gate/worker_state.h"
#include "http/head/proxy_headers.h"

/*
 * The way of an execution (and before it, or within, what execution_question.c
 * has):
 *
 *   FORWARD ⇢ FORWARDED ─┬─ a whole answer, to be stored: COMPLETE ⇢ COMPLETED
 *                        ├─ nothing sent, or it says so:  RELEASE ⇢ RELEASED
 *                        └─ sent, and no whole answer:    MARK_UNKNOWN ⇢ …
 *
 * The outcome goes to Redis before anybody hears of it.  What Redis does not
 * take goes to disk (JOURNAL ⇢ JOURNALED), and where that fails too, it is
 * tried again after PAUSE ⇢ PAUSED, for as long as the process lives, until one
 * of them has it; then FINISH.
 */

enum {
	PAUSE_FIRST_MS = 50,
	PAUSE_MAX_MS = 1000,
};

static const struct machine_step steps[] = {
#define EXECUTION_STEP(name, function, operation)                             \
	{#name, function, sizeof #operation != sizeof "NULL"},
#include "tbl/steps.h"
};

static struct op *
execution_awaited(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	switch (machine->step) {
#define EXECUTION_STEP(name, function, operation)                             \
	case EXECUTION_##name:                                                 \
		return operation;
#include "tbl/steps.h"
	}
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
    "execution", steps, execution_awaited, execution_free, false};

/*
 * A short step that is under way ends the claim, or is tried again after a
 * pause.  A large answer may be on its way for longer than a lease.
 */
static bool
is_ending(struct lease *lease)
{
	const struct execution *e =
	    CONTAINER_OF(lease, struct execution, lease);
	return e->store.op.state == OP_PENDING &&
	    e->machine.step != EXECUTION_COMPLETED;
}

/* An execution that is about to end has lost nothing. */
static void
on_lease_lost(struct lease *lease)
{
	const struct execution *e =
	    CONTAINER_OF(lease, struct execution, lease);
	if (e->store.op.state == OP_PENDING)
		return;
	counter_add(&e->worker->meter.leases_lost, 1);
	struct logline line = execution_log(e, EV_lease_lost);
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
	    .labelled = t->label.len > 0,
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
	e->started_ms = claimed->started_at_ms > 0
	    ? claimed->now_ms - claimed->started_at_ms : 0;
	e->told = claimed->marked || !e->owned.policy->tells;
	e->claim_ms = claimed->now_ms;
	e->reason = claimed->reason;
	e->counts = t->counts;
	e->request_id = t->request_id;
	e->first_id = first_id.len > 0 ? arena_dup(e->arena, first_id)
				       : t->request_id;
	e->label = t->label;
	e->body = (struct body){.budget = w->budget};
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
	bool looks = e->witness.op.state == OP_PENDING;
	if (!looks && e->forward.op.state != OP_PENDING)
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

struct logline
execution_log(const struct execution *e, enum event event)
{
	struct logline line = log_begin(event);
	log_str(&line, "key_id", e->machine.id);
	log_str(&line, "route", e->route->name);
	log_any(&line, "request_id", e->request_id);
	if (!span_eq(e->first_id, e->request_id))
		log_span(&line, "first_request_id", e->first_id);
	log_any(&line, "label", e->label);
	log_int(&line, "attempt", e->owned.attempt);
	return line;
}

/* --- the claimant is told a result --- */

struct claimant *
execution_tell(struct execution *e, enum outcome outcome, enum problem problem)
{
	struct claimant *c = e->claimant;
	if (c == NULL)
		return NULL;
	e->claimant = NULL;
	c->execution = NULL;
	c->outcome = outcome;
	c->problem = problem;
	c->attempt = e->owned.attempt;
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
	struct claimant *c = execution_tell(
	    e, outcome, policy_not_kept(e->owned.policy, status));
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
	c = execution_tell(e, outcome, PROBLEM_COUNT_);
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

void
execution_tell_fenced(struct execution *e)
{
	struct answer *answer = e->store.answer;
	counter_add(&e->worker->meter.fenced, 1);
	struct logline line = execution_log(e, EV_fenced);
	if (e->answer != NULL)
		log_int(&line, "status", e->answer->status);
	else if (e->reason != REASON_NONE && !e->reconciles)
		log_str(&line, "reason", reason_words[e->reason]);
	log_end(&line);
	e->stored = e->store.verdict == VERDICT_COMPLETED ||
	    (e->store.verdict == VERDICT_FENCED &&
		e->store.state == STATE_COMPLETED);
	if (answer == NULL) {
		execution_tell(e, OUTCOME_FENCED, problem_of_record(&e->store));
		return;
	}
	if (answer->not_kept) {
		tell_not_kept(e, OUTCOME_FENCED, answer->status);
		return;
	}
	struct claimant *c = execution_tell(e, OUTCOME_FENCED, PROBLEM_COUNT_);
	if (c != NULL) {
		c->answer = answer_ref(answer);
		c->replay = true;
	}
}

/* Nobody knows the outcome: tells the upstream's answer, or e->reason. */
static void
tell_unknown(struct execution *e)
{
	const struct conf_idempotency *policy = e->owned.policy;
	enum problem problem = PROBLEM_UNKNOWN_BROKEN;
	int64_t wait_ms = 0; /* so much later a retry may know more */
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
	else if (e->reason == REASON_STATUS && execution_has_witness(e))
		problem = PROBLEM_UNKNOWN_UNPROVEN;
	if (policy->on_unknown == UNKNOWN_RECONCILE && !e->reconciles)
		wait_ms = policy->reconcile.settle_ms;
	else if (execution_has_witness(e) && !e->witness.distrusted)
		wait_ms = policy->witness.wait_ms;
	struct claimant *c = execution_tell(e, OUTCOME_UNKNOWN, problem);
	if (c != NULL)
		c->retry_after_s = (wait_ms + 999) / 1000;
}

/* --- the upstream --- */

/*
 * Makes the answer that the first client gets, and the one that is stored.
 * Where it is too large to keep, its head decides: the record says so before
 * the client gets a byte of it, and however the rest ends.  Of a route that
 * keeps none, an empty one is not kept either: fields may have a secret.
 */
void
execution_make_answers(struct execution *e, const struct heard_answer *said)
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

void
execution_make_upstreams(struct execution *e, int64_t status)
{
	execution_make_answers(e, &(struct heard_answer){
	    .status = status != 0 ? (int)status : e->forward.status,
	    .fields = &e->forward.fields,
	    .body = &e->forward.body,
	    .whole = e->forward.rest == NULL || !INVARIANT(large_not_kept),
	});
	e->given->head_length = e->forward.head_length;
}

/* A query does no harm; what is sent late might be sent twice. */
void
execution_send(struct execution *e, const struct message *message)
{
	struct forward_limits limits =
	    message_limits(e->route, e->owned.policy);
	if (message == &e->message)
		limits.send_until_us = &e->lease.until_us;
	forward_stop(&e->forward);
	forward_clear(&e->forward);
	forward_start(e->generation->upstreams, &e->forward, e->route->upstream,
	    message, &limits);
}

enum after
execution_forward(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	/* Another worker may have come to know it since the claim was asked. */
	e->withheld = outcome_is_awaited(
	    e->worker->store, e->worker->awaited, &e->claim);
	/* At the end of a drain nobody would be left to hear of its outcome. */
	if (e->worker->over || (e->withheld && INVARIANT(awaits_again)))
		return execution_to(e, EXECUTION_RELEASE, MORE);
	execution_send(e, &e->message);
	return execution_to(e, EXECUTION_FORWARDED, WAIT);
}

enum after
execution_in_doubt(struct execution *e, enum reason reason)
{
	e->sent = INVARIANT(sent_is_unknown);
	e->reason = reason;
	return execution_to(
	    e, e->sent ? EXECUTION_MARK_UNKNOWN : EXECUTION_RELEASE, MORE);
}

/* The answer's status counts even if there was no memory for its body. */
enum after
execution_weigh(struct execution *e)
{
	int status = e->forward.status;
	enum disposition disposition = disposition_of_answer(
	    &e->forward.fields, status, e->owned.policy->outcomes[status]);
	bool whole = e->forward.result == FORWARD_ANSWERED;
	if (whole) {
		execution_make_upstreams(e, 0);
	} else {
		struct logline line = execution_log(e, EV_answer_unread);
		log_int(&line, "status", status);
		log_end(&line);
	}
	if (disposition == DISPOSITION_STORE)
		return whole ? execution_to(e, EXECUTION_COMPLETE, MORE)
			     : execution_in_doubt(e, REASON_BROKEN);
	if (disposition != DISPOSITION_RELEASE &&
	    disposition != DISPOSITION_FORGET)
		return execution_in_doubt(e, REASON_STATUS);
	/* Nothing happened, says the upstream; does the attempt count? */
	bool spared = e->counts == COUNTS_NEVER ||
	    (e->counts == COUNTS_BY_ANSWER &&
		disposition_is_refusal(&e->forward.fields, status));
	/* Of an attempt with a witness, no other may have the number. */
	if (disposition == DISPOSITION_FORGET &&
	    e->counts == COUNTS_BY_ANSWER && !execution_has_witness(e))
		e->release = spared ? RELEASE_SPARED_FORGET
				    : RELEASE_COUNTED_FORGET;
	else
		e->release = spared ? RELEASE_SPARED : RELEASE_COUNTED;
	return execution_to(e, EXECUTION_RELEASE, MORE);
}

enum after
execution_forwarded(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	enum forward_result result = e->forward.result;
	if (result == FORWARD_NOT_SENT)
		return execution_to(e, EXECUTION_RELEASE, MORE);
	if (result != FORWARD_ANSWERED && result != FORWARD_UNREAD)
		return execution_in_doubt(e, result == FORWARD_TIMEOUT
			? REASON_TIMEOUT
			: result == FORWARD_MALFORMED ? REASON_MALFORMED
						      : REASON_BROKEN);
	/* A witness is asked before a no is believed, and has to know a yes. */
	int status = e->forward.status;
	enum disposition disposition = disposition_of_answer(
	    &e->forward.fields, status, e->owned.policy->outcomes[status]);
	bool success = status >= 200 && status <= 299 &&
	    disposition == DISPOSITION_STORE;
	e->sent = true;
	if (execution_has_witness(e) && success)
		witness_saw(e->worker->witnesses, e->route, &e->owned.key_id,
		    e->owned.attempt, e->claim_ms);
	else if (execution_has_witness(e) &&
	    disposition != DISPOSITION_UNKNOWN)
		return execution_to(e, EXECUTION_LOOK_UP, MORE);
	return execution_weigh(e);
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
		struct logline line = execution_log(e, EV_settle_late);
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
		    .kind = JOURNAL_UNKNOWN, .reason = e->reason,
		    .started = e->witness.answer == WITNESS_STARTED};
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

enum after
execution_complete(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	e->mark = cache_asking(e->worker->cache, &e->owned.key_id);
	store_outcome(e, EXECUTION_COMPLETE);
	return execution_to(e, EXECUTION_COMPLETED, WAIT);
}

/* The answer is in Redis before the client sees it. */
enum after
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
	if (revocable && execution_has_witness(e) && !e->reconciles &&
	    e->witness.answer == WITNESS_UNKNOWN)
		witness_saw(e->worker->witnesses, e->route,
		    &e->owned.key_id, e->owned.attempt, 0);
	if (late)
		return execution_to(e, EXECUTION_JOURNAL, MORE);
	if (outcome_may_yet_count(
		&e->store, JOURNAL_COMPLETE, e->owned.attempt)) {
		/*
		 * Another attempt is under way.  Should nothing be sent of
		 * that, this answer is the truth: the journal offers it until
		 * that is known.
		 */
		execution_tell_fenced(e);
		e->settling = EXECUTION_COMPLETE;
		e->tries++;
		return execution_to(e, EXECUTION_JOURNAL, MORE);
	}
	if (e->store.verdict != VERDICT_DONE && INVARIANT(fenced_answer)) {
		execution_tell_fenced(e);
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

enum after
execution_release(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	if (e->tries == 0 && !e->sent) {
		const struct conf_target *target = e->forward.target;
		int error = e->forward.op.error;
		struct logline line = execution_log(e, EV_not_sent);
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
enum after
execution_released(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	bool late = not_taken(e, EXECUTION_RELEASE);
	if (!late && e->store.verdict == VERDICT_FENCED)
		execution_tell_fenced(e);
	else if (!late && e->store.state == STATE_UNKNOWN)
		/* Nothing was sent of this attempt; of one before, it was. */
		execution_tell(e, OUTCOME_UNKNOWN, PROBLEM_UNKNOWN_HELD);
	else if (e->answer != NULL && late && is_after_lease(e))
		execution_tell(
		    e, OUTCOME_STORE_DOWN, PROBLEM_OUTCOME_NOT_STORED);
	else if (e->answer != NULL)
		tell_answer(e, OUTCOME_RELEASED);
	else if (e->witness.answer == WITNESS_REVOKED && !e->witness.inserted)
		execution_tell(e, OUTCOME_FENCED, PROBLEM_ATTEMPT_REVOKED);
	else if (e->sent)
		execution_tell(e, OUTCOME_RELEASED, PROBLEM_REFUSAL_NO_MEMORY);
	else if (e->withheld)
		execution_tell(e, OUTCOME_IN_FLIGHT, PROBLEM_OUTCOME_WAITS);
	else
		execution_tell(
		    e, OUTCOME_UNREACHABLE, PROBLEM_UPSTREAM_UNREACHABLE);
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
	struct logline line = execution_log(e, event);
	if (!e->only_asks) {
		log_span(&line, "method", e->message.method);
		log_cut(&line, "path", path, LOG_PATH_BYTES);
	}
	if (target != NULL)
		log_str(&line, "target", target->url);
	if (e->reason != REASON_NONE)
		log_str(&line, "reason", reason_words[e->reason]);
	if (e->reconciles && e->forward.result == FORWARD_ANSWERED)
		log_int(&line, "status", e->forward.status);
	log_any(&line, "detail", span_str(e->witness.words));
	if (e->forward.op.error != 0)
		log_str(&line, "error", error_message(e->forward.op.error));
	log_end(&line);
}

enum after
execution_mark_unknown(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	/* What a witness says has a line of its own. */
	if (e->tries == 0 && !(e->reconciles && execution_has_witness(e)))
		log_doubt(e);
	store_outcome(e, EXECUTION_MARK_UNKNOWN);
	return execution_to(e, EXECUTION_MARKED_UNKNOWN, WAIT);
}

enum after
execution_marked_unknown(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	bool late = not_taken(e, EXECUTION_MARK_UNKNOWN);
	if (late && is_after_lease(e))
		answer_unref(&e->answer);
	if (!late && e->store.verdict == VERDICT_FENCED)
		execution_tell_fenced(e);
	else
		tell_unknown(e);
	/* So does a doubt; but who only asked has none that is not known. */
	if (!late && !e->reconciles && outcome_may_yet_count(&e->store,
		JOURNAL_UNKNOWN, e->owned.attempt)) {
		e->settling = EXECUTION_MARK_UNKNOWN;
		e->tries++;
		late = true;
	}
	return execution_to(
	    e, late ? EXECUTION_JOURNAL : EXECUTION_FINISH, MORE);
}

/* --- an outcome that Redis has not taken --- */

/* The outcome goes to disk, from where the journal is replayed. */
enum after
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
enum after
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
			execution_tell(e, OUTCOME_STORE_DOWN,
			    PROBLEM_OUTCOME_NOT_STORED);
	}
	return execution_to(
	    e, taken ? EXECUTION_FINISH : EXECUTION_PAUSE, MORE);
}

enum after
execution_pause(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	int64_t ms = PAUSE_FIRST_MS * (int64_t)e->tries;
	op_start(&e->pause, ms < PAUSE_MAX_MS ? ms : PAUSE_MAX_MS, NULL);
	return execution_to(e, EXECUTION_PAUSED, WAIT);
}

enum after
execution_paused(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	answer_unref(&e->store.answer);
	return execution_to(e, (enum execution_step)e->settling, MORE);
}

enum after
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
