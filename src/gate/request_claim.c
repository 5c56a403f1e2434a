/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "base/test_build.h"
#include "gate/entity.h"
#include "gate/execution.h"
#include "gate/message.h"
#include "gate/request_private.h"
#include "gate/scope.h"
#include "gate/variables.h"
#include "gate/worker.h"
#include "http/header.h"

/*
 * The key's side of a request: its record is claimed, and what that brings is
 * a line of tbl/situations.h.
 */

/* A wait for what is delivered from the journal. */
enum { LOOK_AGAIN_MS = 200 };

static void leave_execution(struct op *join, int error);
static void on_client_left(void *request);
static int64_t wait_ms(const struct request *r);
static enum after give_kept(struct request *r);

/* Gives the record its name; false: the namespace cannot be made. */
static bool
name_record(struct request *r, const struct span *scope)
{
	struct span namespace = span_str(r->policy->namespace.text);
	if (template_has(&r->policy->namespace, TEMPLATE_PATH) &&
	    !variables_fill(r, &r->policy->namespace, &namespace))
		return false;
	/* The store's secret never changes while it runs. */
	key_id_make(r->worker->conf, namespace, &r->policy->scope, scope,
	    r->key.bytes, &r->key_id);
	hex_encode(r->key_id.bytes, DIGEST_BYTES, r->key_hex);
	return true;
}

/* What the request changes; on a cluster it must be of the record's shard. */
static enum after
find_entity(struct request *r, const struct span *scope)
{
	const char *wrong = entity_find(r, scope, &r->entity);
	if (wrong != NULL)
		return request_refuse_saying(r, PROBLEM_BAD_REQUEST,
		    OUTCOME_BAD_REQUEST, span_str(wrong));
	if (r->worker->conf->store.cluster.count == 0)
		return request_to(r, REQUEST_CLAIM, MORE);
	if (!r->derived && r->policy->entity.path == NULL)
		return request_refuse_saying(r, PROBLEM_KEY_INVALID,
		    OUTCOME_KEY_INVALID,
		    SPAN("The key of this request is made of its body; it must "
			 "not bring one of its own."));
	entity_share_shard(&r->entity, &r->key_id);
	hex_encode(r->key_id.bytes, DIGEST_BYTES, r->key_hex);
	return request_to(r, REQUEST_CLAIM, MORE);
}

enum after
request_claim_derive(struct machine *machine)
{
	struct request *r = request_of(machine);
	if (r->derived &&
	    key_derive(r->arena, r->policy, body_span(&r->x->body), &r->key) !=
		KEY_FOUND)
		return request_without_key(r, REQUEST_PASS);

	struct span *values = request_scope(r);
	must(scope_find(r->policy, &r->head.fields, values) == SCOPE_FOUND);
	if (!name_record(r, values))
		return request_refuse_saying(r, PROBLEM_BAD_REQUEST,
		    OUTCOME_BAD_REQUEST,
		    SPAN("A segment of the path that names what the key "
			 "belongs to is empty or only dots."));
	if (conf_has_entity(r->policy))
		return find_entity(r, values);
	return request_to(r, REQUEST_CLAIM, MORE);
}

/* The answer is in memory; of another body with this key Redis decides. */
static bool
find_kept(struct request *r)
{
	struct worker *w = r->worker;
	const struct cached *kept =
	    cache_find(w->cache, &r->key_id, store_latest_ms(w->store));
	if (kept == NULL ||
	    (memcmp(kept->fingerprint, r->claim.fingerprint,
		 sizeof kept->fingerprint) != 0 &&
		INVARIANT(cached_request)))
		return false;
	r->claim_op.verdict = VERDICT_COMPLETED;
	r->answer = answer_ref(kept->answer);
	r->attempt = kept->attempt;
	return true;
}

/*
 * The outcome of this key's request, or a version of its entity, is in this
 * process and not in Redis yet, which may have lost the claim as well, and has
 * nothing to tell this retry.
 */
static enum after
await_outcome(struct request *r)
{
	/* Perhaps it is known by now, or known to be another store's. */
	if (!journaled_awaits(
		r->worker->store, r->worker->waiting, &r->claim))
		return request_to(r, REQUEST_CLAIM, MORE);
	int64_t now_ms = loop_now_ms(r->worker->loop);
	if (r->wait_until_ms == 0)
		r->wait_until_ms = now_ms + wait_ms(r);
	int64_t left_ms = r->wait_until_ms - now_ms;
	if (!r->claim.waits || left_ms <= 0 || r->x->gone || r->worker->over)
		return request_refuse(
		    r, PROBLEM_OUTCOME_WAITS, OUTCOME_STORE_DOWN);
	r->waited = true;
	/* Of what another worker delivers nobody tells this one. */
	waiters_wait(
	    &r->waiter, left_ms < LOOK_AGAIN_MS ? left_ms : LOOK_AGAIN_MS);
	exchange_watch_client(r->x, on_client_left, r);
	return request_to(r, REQUEST_WAITED, WAIT);
}

static void
take_fingerprint(struct request *r)
{
	const struct request_target *target = &r->head.target;
	struct fingerprinted what = {
	    .method = r->x->head.method,
	    .path = target->path,
	    .query = target->query,
	    .has_query = target->has_query,
	    .fields = &r->head.fields,
	    .body = body_span(&r->x->body),
	    .question = variables_digest(r, &r->policy->reconcile.path),
	};
	if (r->claim.entity != NULL) {
		what.entity = span_of(
		    (const char *)r->entity.name, sizeof r->entity.name);
		what.version = r->entity.version;
	}
	fingerprint_make(r->policy, span_str(r->worker->conf->store.secret),
	    &what, r->claim.fingerprint);
}

enum after
request_claim(struct machine *machine)
{
	struct request *r = request_of(machine);
	/* An outcome that Redis might not take must have a place to go. */
	if (!journal_relay_can_write(&r->worker->journal_relay) &&
	    INVARIANT(writable_journal))
		return request_refuse(
		    r, PROBLEM_STORE_UNAVAILABLE, OUTCOME_STORE_DOWN);
	r->claim = (struct claim){
	    .key_id = r->key_id,
	    .policy = r->policy,
	    .route = span_str(r->route->name),
	    .entity = conf_has_entity(r->policy) ? &r->entity : NULL,
	};
	r->claim.waits = r->wait_until_ms == 0
	    ? wait_ms(r) > 0
	    : r->wait_until_ms > loop_now_ms(r->worker->loop);
	if (r->claim.waits)
		waiters_listen(&r->worker->waiters, &r->waiter,
		    r->busy ? &r->claim_op.holder : &r->key_id);
	owner_new(&r->claim.owner);
	take_fingerprint(r);
	if (find_kept(r))
		return give_kept(r);
	r->claim.withheld = journaled_awaits(
	    r->worker->store, r->worker->waiting, &r->claim);
	r->mark = cache_asking(r->worker->cache, &r->key_id);
	store_claim(r->worker->store, &r->claim_op, &r->claim);
	return request_to(r, REQUEST_CLAIMED, WAIT);
}

/*
 * So long this retry may wait for the first request with its key, from its
 * first claim on: what the route says, and what the client asks for within
 * that (Prefer: wait=N, RFC 7240, section 4.3, seconds).
 */
static int64_t
wait_ms(const struct request *r)
{
	int64_t most_ms = r->policy->wait_timeout_ms;
	int64_t ms = r->policy->in_flight == IN_FLIGHT_WAIT ? most_ms : 0;
	size_t at = 0;
	const struct field *f;
	while ((f = fields_next(&r->head.fields, SPAN("Prefer"), &at))) {
		struct span list = f->value, piece;
		while (span_next(&list, ',', &piece)) {
			int64_t seconds = header_prefer_wait(piece);
			if (seconds >= 0)
				ms = seconds * 1000 < most_ms ? seconds * 1000
							      : most_ms;
		}
	}
	return ms;
}

/* The wait is over, or there was none. */
static enum after
refuse_in_flight(struct request *r)
{
	return r->busy ? request_refuse(
			     r, PROBLEM_ENTITY_BUSY, OUTCOME_ENTITY_BUSY)
		       : request_refuse(
			     r, PROBLEM_IN_FLIGHT, OUTCOME_IN_FLIGHT);
}

/*
 * In flight, or busy: another claim when something has changed, or 409.  Which
 * record holds a busy entity only the claim's answer says: so there is another
 * claim at once, from before which on the waiter listens for that record.
 */
static enum after
in_flight(struct request *r)
{
	int64_t now_ms = loop_now_ms(r->worker->loop);
	bool busy = r->claim_op.verdict == VERDICT_BUSY;
	bool listens = r->claim.waits &&
	    !memcmp(&r->waiter.key_id,
		busy ? &r->claim_op.holder : &r->key_id,
		sizeof r->key_id);
	r->busy = busy;
	if (r->wait_until_ms == 0)
		r->wait_until_ms = now_ms + wait_ms(r);
	if (!r->claim.waits || r->wait_until_ms <= now_ms || r->x->gone)
		return refuse_in_flight(r);
	r->waited = true;
	if (!listens)
		return request_to(r, REQUEST_CLAIM, MORE);
	waiters_wait(&r->waiter, r->wait_until_ms - now_ms);
	exchange_watch_client(r->x, on_client_left, r);
	return request_to(r, REQUEST_WAITED, WAIT);
}

/* The client closed its connection, or its half of it: the wait is over. */
static void
on_client_left(void *arg)
{
	struct request *r = arg;
	waiters_stop(&r->waiter, E_CLIENT_GONE);
}

enum after
request_claim_waited(struct machine *machine)
{
	struct request *r = request_of(machine);
	int error = r->waiter.op.error;
	exchange_watch_client(r->x, NULL, NULL);
	/*
	 * When its time is up it looks once more: a Redis that is full tells
	 * nobody of a change.
	 */
	bool look = error == 0 || (error == E_TIMEOUT && INVARIANT(last_look));
	if (!look || r->x->gone)
		return refuse_in_flight(r);
	return request_to(r, REQUEST_CLAIM, MORE);
}

/* What a verdict means is a line of tbl/situations.h. */
static enum after
meet_situation(struct request *r)
{
	static const struct situation {
		bool known;
		enum request_step step;
		enum problem problem;
		enum outcome outcome;
	} situations[VERDICT_COUNT_] = {
#define SITUATION(verdict, step, problem, outcome)                             \
	[VERDICT_##verdict] = {true, REQUEST_##step, PROBLEM_##problem,        \
	    OUTCOME_##outcome},
#include "tbl/situations.h"
#undef SITUATION
	};
	const struct situation *s = &situations[r->claim_op.verdict];
	/* No claim is answered so: whatever did it is not to be believed. */
	if (!s->known)
		s = &situations[VERDICT_BROKEN];
	r->problem = s->problem;
	r->outcome = s->outcome;
	return request_to(r, s->step, MORE);
}

/* What the route says about requests while Redis is out of reach. */
static enum after
without_store(struct request *r)
{
	if (r->policy->on_store_down == STORE_DOWN_REJECT &&
	    INVARIANT(claimed_first))
		return request_refuse(
		    r, PROBLEM_STORE_UNAVAILABLE, OUTCOME_STORE_DOWN);
	r->policy = NULL;
	return request_to(r, REQUEST_PASS, MORE);
}

static void
keep_answer(struct request *r)
{
	struct cached cached = {
	    .answer = r->answer,
	    .attempt = r->attempt,
	    .until_ms = r->claim_op.until_ms,
	};
	memcpy(cached.fingerprint, r->claim.fingerprint,
	    sizeof cached.fingerprint);
	cache_put(r->worker->cache, &r->key_id, r->mark, &cached);
}

enum after
request_claim_answered(struct machine *machine)
{
	struct request *r = request_of(machine);
	r->store_us = r->claim_op.op.took_us;
	if (r->claim_op.op.error == E_NO_MEMORY)
		return request_refuse(
		    r, PROBLEM_ANSWER_NO_MEMORY, OUTCOME_OVERLOADED);
	if (store_op_unfetched(&r->claim_op) && INVARIANT(known_executed))
		return request_refuse(
		    r, PROBLEM_ANSWER_NOT_FETCHED, OUTCOME_STORE_DOWN);
	if (r->claim_op.op.error != 0)
		return r->claim.withheld ? await_outcome(r) : without_store(r);
	if (r->claim_op.unreadable)
		return request_refuse(
		    r, PROBLEM_RECORD_UNREADABLE, OUTCOME_STORE_DOWN);
	if (r->claim_op.verdict == VERDICT_IN_FLIGHT ||
	    r->claim_op.verdict == VERDICT_BUSY)
		return in_flight(r);
	r->busy = false;
	r->retry_after_s = (r->claim_op.settle_left_ms + 999) / 1000;
	if (r->claim_op.verdict != VERDICT_COMPLETED)
		return meet_situation(r);

	r->answer = r->claim_op.answer;
	r->claim_op.answer = NULL;
	r->attempt = r->claim_op.attempt;
	keep_answer(r);
	return give_kept(r);
}

/* The client gets the stored answer, or hears that it was too large. */
static enum after
give_kept(struct request *r)
{
	if (r->answer->not_kept && INVARIANT(not_kept_said)) {
		r->original_status = r->answer->status;
		return request_refuse(
		    r, PROBLEM_RESPONSE_NOT_KEPT, OUTCOME_NOT_KEPT);
	}
	r->replay = true;
	meet_situation(r);
	if (r->waited)
		r->outcome = OUTCOME_WAITED;
	return MORE;
}

enum after
request_claim_start(struct machine *machine)
{
	struct request *r = request_of(machine);
	bool ask = r->claim_op.verdict == VERDICT_RECONCILE;
	r->attempt = r->claim_op.attempt;
	/* If it is to be executed after all, that is an attempt more. */
	message_make(r, r->attempt + ask);
	struct message question = {0};
	bool can_ask = !ask || message_question(r, &question);
	const struct execution_start start = {
	    .worker = r->worker,
	    .generation = r->generation,
	    .route = r->route,
	    .arena = r->arena,
	    .request = r,
	    .attempt = r->attempt,
	    .tries = r->claim_op.tries,
	    .created_ms = r->claim_op.created_ms,
	    .claimed_us = r->claim_op.op.began_us,
	    .claim = r->claim,
	    .ask = ask,
	    .can_ask = can_ask,
	    .reason = r->claim_op.reason,
	    .question = question,
	    .message = r->message,
	    .body = &r->x->body,
	    .request_id = r->id,
	};
	op_start(&r->join, 0, leave_execution);
	r->execution = execution_new(&start);
	machine_run(&r->execution->machine);
	return request_to(r, REQUEST_JOINED, WAIT);
}

/* The request ends; its execution goes on by itself. */
static void
leave_execution(struct op *join, int error)
{
	struct request *r = CONTAINER_OF(join, struct request, join);
	(void)error;
	execution_leave(r->execution);
	r->execution = NULL;
}

enum after
request_claim_joined(struct machine *machine)
{
	return request_to(request_of(machine), REQUEST_ANSWER, MORE);
}
