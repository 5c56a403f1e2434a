/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>

#include "base/container.h"
#include "base/error.h"
#include "base/test_build.h"
#include "conf/amount.h"
#include "gate/access_log.h"
#include "gate/cors.h"
#include "gate/key/policy.h"
#include "gate/message.h"
#include "gate/replay_json.h"
#include "gate/request.h"
#include "gate/response.h"
#include "gate/worker_state.h"
#include "http/front/route.h"
#include "http/head/header_value.h"
#include "http/head/proxy_headers.h"

/*
 * The way of a request:
 *
 *   CHECK ROUTE KEY BODY ⇢ RECEIVED DERIVE CLAIM ⇢ CLAIMED ─┬─ ANSWER
 *                     START ⇢ JOINED ───────────────────────┤
 *   (keys are asked for)  (RECEIVED) ⇢ VERIFIED DERIVE      │
 *   (in flight, and it may wait)  ⇢ WAITED, and CLAIM again │
 *   (a path of ours)  (ROUTE) FIND LOOK_UP ⇢ LOOKED_UP ─────┤
 *   (pass-through)        (RECEIVED) PASS ⇢ PASSED ─────────┴─ ANSWER
 *   ANSWER ⇢ ANSWERED FINISH       (a refusal goes to ANSWER from anywhere)
 */

enum {
	/* A body without a key up to this length is read before it is sent. */
	SMALL_BYTES = 16 * 1024,
	/* A wait for an outcome that another worker delivers is this short. */
	OTHERS_OUTCOME_MS = 200,
	/* After so long, what became of a key may have changed. */
	RETRY_AFTER_S = 1,
	/* A token's key is waited for this long, and looked for this often. */
	KEYS_WAIT_MS = 2000,
	KEYS_LOOK_MS = 50,
};

enum request_step {
#define REQUEST_STEP(name, function, operation) REQUEST_##name,
#include "tbl/steps.h"
};

#define REQUEST_STEP(name, function, operation)                               \
	static enum after function(struct machine *machine);
#include "tbl/steps.h"

static const struct machine_step steps[] = {
#define REQUEST_STEP(name, function, operation)                               \
	{#name, function, sizeof #operation != sizeof "NULL"},
#include "tbl/steps.h"
};

static struct request *
request_of(struct machine *machine)
{
	return CONTAINER_OF(machine, struct request, machine);
}

static struct op *
request_awaited(struct machine *machine)
{
	struct request *r = request_of(machine);
	switch (machine->step) {
#define REQUEST_STEP(name, function, operation)                               \
	case REQUEST_##name:                                                   \
		return operation;
#include "tbl/steps.h"
	}
	return NULL;
}

static void
request_free(struct machine *machine)
{
	struct request *r = request_of(machine);
	key_waiters_leave(&r->waiter);
	if (r->lookup != NULL) {
		op_cancel(&r->lookup->op.op);
		answer_unref(&r->lookup->op.answer);
	}
	if (r->observation != NULL)
		observation_end(
		    &r->observation, r->c.route->idempotency, NULL);
	/* What it waits for is its generation's, which may end with it. */
	forward_stop(&r->forward);
	claimant_clear(&r->c);
	exchange_end(&r->x);
	forward_clear(&r->forward);
	flow_clear(&r->up);
	/* The request itself lies in there. */
	struct arena *arena = r->c.arena;
	arena_free(&arena);
}

static const struct machine_kind request_kind = {
    "request", steps, request_awaited, request_free, true};

void
request_new(void *arg, struct exchange *x)
{
	struct worker *w = arg;
	struct request *r = arena_alloc(x->arena, sizeof *r);
	machine_init(&r->machine, &request_kind, &w->requests);
	r->x = x;
	claimant_init(&r->c, w, arena_ref(x->arena), &r->machine);
	r->c.method = x->head.method;
	r->c.body = &x->body;
	r->c.has_body = x->has_body;
	r->c.tls = x->tls;
	r->c.certificate = x->certificate;
	r->c.client = x->client;
	r->c.rest = &r->forward;
	op_init(&x->op, w->loop, machine_run, &r->machine);
	op_init(&r->waiter.op, w->loop, machine_run, &r->machine);
	r->waiter.is_retry = true;
	op_init(&r->forward.op, w->loop, machine_run, &r->machine);
	r->up = (struct flow){.loop = w->loop, .body.budget = w->budget};
	machine_run(&r->machine);
}

/* Moves to the next step, and returns what the one before returns. */
static enum after
request_to(struct request *r, enum request_step step, enum after after)
{
	machine_to(&r->machine, step);
	return after;
}

/* --- refusals: the client gets a problem document --- */

static enum after
refuse(struct request *r, enum problem problem, enum outcome outcome)
{
	r->c.problem = problem;
	r->c.outcome = outcome;
	return request_to(r, REQUEST_ANSWER, MORE);
}

/* Refuses it with a sentence of its own. */
static enum after
refuse_saying(struct request *r, enum problem problem, enum outcome outcome,
    struct span detail)
{
	r->detail = detail;
	return refuse(r, problem, outcome);
}

/* Refuses it with "WORDS: 1048576 bytes (1 MiB) at most." */
static enum after
refuse_size(struct request *r, enum problem problem, const char *words,
    int64_t most)
{
	const struct amount_words amount = amount_words(most, AMOUNT_SIZE);
	size_t digits = strspn(amount.text, "0123456789");
	struct span unit = SPAN("");
	if (amount.text[digits] != '\0')
		unit = arena_printf(r->c.arena, " (%.*s %s)", (int)digits,
		    amount.text, amount.text + digits);
	return refuse_saying(r, problem, OUTCOME_TOO_LARGE,
	    arena_printf(r->c.arena, "%s: %" PRId64 " bytes%.*s at most.",
		words, most, SPAN_FMT(unit)));
}

static const char repeated_scope[] =
    "A header field that names the scope appears twice.";

/* The request is not to be believed: the connection is closed behind it. */
static enum after
refuse_malformed(struct request *r, const char *detail)
{
	r->close = true;
	return refuse_saying(r, PROBLEM_BAD_REQUEST, OUTCOME_BAD_REQUEST,
	    span_str(detail));
}

/* --- the head, the route and the scope --- */

/* The head is malformed: it is never forwarded. */
static enum after
refuse_head(struct request *r, enum head_verdict verdict)
{
	bool large = verdict == HEAD_CHECK_TOO_LARGE ||
	    verdict == HEAD_CHECK_HEADERS_TOO_LARGE;
	r->close = true;
	/* Too many bytes; too many fields have a sentence of their own. */
	if (verdict == HEAD_CHECK_HEADERS_TOO_LARGE &&
	    *r->c.head.message == '\0')
		return refuse_size(r, PROBLEM_HEADERS_TOO_LARGE,
		    "The request's header fields, together with its target, "
		    "are larger than the gateway accepts",
		    r->c.store_conf->max_request_headers);
	return refuse_saying(r, response_to_head_check(verdict),
	    large ? OUTCOME_TOO_LARGE : OUTCOME_BAD_REQUEST,
	    span_str(r->c.head.message));
}

static enum after
request_check(struct machine *machine)
{
	struct request *r = request_of(machine);
	enum head_verdict verdict =
	    head_check(r->c.arena, &r->x->head, &r->c.head);
	if (verdict != HEAD_CHECK_OK)
		return refuse_head(r, verdict);
	r->c.id = header_value_request_id(r->c.arena, &r->c.head.fields);
	machine_name(&r->machine, r->c.id);
	if (!proxy_headers_connection_ok(r->c.conf, &r->c.head.fields) &&
	    INVARIANT(connection_names))
		return refuse_malformed(
		    r, "Connection names a field that must not be removed.");
	return request_to(r, REQUEST_ROUTE, MORE);
}

static enum after
request_route(struct machine *machine)
{
	struct request *r = request_of(machine);
	r->c.answer = cors_preflight(r->c.arena, r->c.conf, r->c.method,
	    &r->c.head.target, &r->c.head.fields, &r->c.route);
	if (r->c.answer != NULL) {
		r->c.outcome = OUTCOME_PREFLIGHT;
		return request_to(r, REQUEST_ANSWER, MORE);
	}
	if (!claimant_find_route(&r->c))
		return refuse_malformed(
		    r, "The path leads to different routes, depending on "
		       "whether %2F is a slash.");
	if (r->c.route == NULL)
		return refuse(r, PROBLEM_NO_ROUTE, OUTCOME_NO_ROUTE);
	/* In the words of its route, which may be a page's. */
	if (r->c.worker->draining && INVARIANT(draining_refuses)) {
		r->close = true;
		return refuse(r, PROBLEM_DRAINING, OUTCOME_DRAINING);
	}
	if (r->c.route->kind != ROUTE_UPSTREAM)
		return request_to(r, REQUEST_FIND, MORE);
	const struct conf_upstream *upstream = r->c.route->upstream;
	bool has_base = false;
	for (size_t i = 0; i < upstream->n_targets; i++)
		has_base |= upstream->targets[i].base_path[0] != '\0';
	if (has_base && r->c.head.target.climbs && INVARIANT(base_kept))
		return refuse_malformed(r, "The path climbs above the root, "
		    "and out of what its upstream's paths begin with.");
	return request_to(r, r->c.policy ? REQUEST_KEY : REQUEST_BODY, MORE);
}

/*
 * Goes on with next where the fields name a scope.  A route may pass on what
 * has none, but never a lookup of a key (next is not BODY).
 */
static enum after
find_scope(struct request *r, enum request_step next)
{
	struct token_refusal refusal = {.words = NULL};
	enum scope_verdict verdict = claimant_find_scope(&r->c, &refusal);
	int64_t now_ms = loop_now_ms(r->c.worker->loop);
	if (refusal.pending && r->keys_until_ms == 0)
		r->keys_until_ms = now_ms + KEYS_WAIT_MS;
	/* The keys of its token are asked for; its body is read meanwhile. */
	if (refusal.pending && now_ms < r->keys_until_ms && !r->x->gone) {
		if (next == REQUEST_BODY)
			return request_to(r, REQUEST_BODY, MORE);
		op_start(&r->waiter.op, KEYS_LOOK_MS, NULL);
		return request_to(r, REQUEST_VERIFIED, WAIT);
	}
	if (verdict == SCOPE_FOUND)
		return request_to(r, next, MORE);
	if (verdict == SCOPE_MISSING && r->c.policy->scope_missing_forward &&
	    next == REQUEST_BODY) {
		r->c.policy = NULL;
		return request_to(r, REQUEST_BODY, MORE);
	}
	if (verdict == SCOPE_REPEATED)
		return refuse_malformed(r, repeated_scope);
	if (verdict == SCOPE_UNVERIFIED)
		return refuse(
		    r, PROBLEM_TOKEN_UNVERIFIED, OUTCOME_TOKEN_UNVERIFIED);
	if (verdict == SCOPE_INVALID)
		return refuse_saying(r, PROBLEM_TOKEN_INVALID,
		    OUTCOME_TOKEN_INVALID,
		    arena_printf(r->c.arena,
			"%s This says nothing of a request that was sent "
			"before: renew the token, and keep the key.",
			refusal.words));
	struct span wanted = scope_wanted(r->c.arena, &r->c.policy->scope);
	return refuse_saying(r, PROBLEM_SCOPE_MISSING, OUTCOME_SCOPE_MISSING,
	    verdict == SCOPE_MALFORMED
		? SPAN("The credentials in Authorization, which say whose "
		       "idempotency key this is, are malformed.")
		: arena_printf(r->c.arena,
		      "A request with an idempotency key must say whose key "
		      "it is, by %.*s; this one does not.", SPAN_FMT(wanted)));
}

/* The keys of its token may have come. */
static enum after
request_verified(struct machine *machine)
{
	struct request *r = request_of(machine);
	return find_scope(r,
	    r->c.route->kind == ROUTE_UPSTREAM ? REQUEST_DERIVE
					       : REQUEST_LOOK_UP);
}

/* --- a path of ours tells the state of a key, or the policy --- */

/* The gateway answers by itself: no stored answer is ever given out here. */
static enum after
tell(struct request *r, json_t *document)
{
	struct body body;
	body_line(&body, json_dumps(document, JSON_COMPACT));
	json_decref(document);
	struct field list[] = {
	    {SPAN("Date"), header_value_date(r->c.arena, clock_wall_ms())},
	    {SPAN("Content-Type"), SPAN("application/json")},
	    {SPAN("Cache-Control"), SPAN("no-store")},
	};
	const struct fields fields = {list, 3};
	r->c.answer = answer_new(200, &fields, &body, SPAN(""));
	r->c.outcome = OUTCOME_LOOKED_UP;
	return request_to(r, REQUEST_ANSWER, MORE);
}

static enum after
request_find(struct machine *machine)
{
	struct request *r = request_of(machine);
	if (r->c.route->kind == ROUTE_POLICY)
		return tell(r,
		    policy_document(&r->c.conf->routes[r->c.route->index]));
	/* The key in the path is read as its header would be. */
	struct field field = {
	    span_str(r->c.policy->headers.list[0]), SPAN("")};
	const struct fields fields = {&field, 1};
	must(route_variable(r->c.arena, r->c.route, &r->c.head.target,
	    SPAN("key"), &field.value));
	if (key_find(r->c.arena, r->c.policy, &fields, &r->c.key) == KEY_FOUND)
		return find_scope(r, REQUEST_LOOK_UP);
	return refuse_saying(r, PROBLEM_KEY_INVALID, OUTCOME_KEY_INVALID,
	    span_str(r->c.key.message));
}

/*
 * True where this process has the key's outcome, and Redis will have it soon;
 * or where it was here when Redis was asked, which may have got it after that.
 */
static bool
is_undelivered(struct request *r)
{
	r->c.claim.key_id = r->c.key_id;
	r->was_undelivered |= claimant_is_withheld(&r->c);
	return r->was_undelivered;
}

static enum after
request_look_up(struct machine *machine)
{
	struct request *r = request_of(machine);
	struct span detail = SPAN("");
	enum problem problem = claimant_name_record(&r->c, &detail);
	if (problem != PROBLEM_COUNT_)
		return refuse_saying(r, problem, OUTCOME_BAD_REQUEST, detail);
	r->lookup = arena_alloc(r->c.arena, sizeof *r->lookup);
	r->lookup->arena = r->c.arena;
	op_init(
	    &r->lookup->op.op, r->c.worker->loop, machine_run, &r->machine);
	(void)is_undelivered(r);
	records_show(r->c.worker->store, r->lookup, &r->c.key_id,
	    RECORDS_STATUS);
	return request_to(r, REQUEST_LOOKED_UP, WAIT);
}

/*
 * Where no retry is answered either, its problem says why, and what to do;
 * PROBLEM_COUNT_: one is.
 */
static enum after
tell_state(struct request *r, const char *state, enum problem problem,
    int64_t after_s)
{
	const struct problem_details details = {
	    .key_id = span_str(r->c.key_hex),
	    .on_unknown = r->c.policy->on_unknown,
	};
	json_t *document = json_pack("{s:s, s:o*}", "state", state,
	    "retry_after", after_s > 0 ? json_integer(after_s) : NULL);
	if (problem != PROBLEM_COUNT_)
		problem_put_hints(document, problem, &details);
	return tell(r, document);
}

/* The status of an answer that is encrypted needs the whole record. */
static enum after
tell_completed(struct request *r)
{
	struct records_op *found = r->lookup;
	int status =
	    found->op.answer ? found->op.answer->status : found->status;
	if (found->unreadable != NULL && !found->damaged)
		return refuse(
		    r, PROBLEM_RECORD_UNREADABLE, OUTCOME_STORE_DOWN);
	if (status != 0)
		return tell(r,
		    json_pack("{s:s, s:i}", "state", "completed", "status",
			status));
	if (found->damaged || found->whole)
		return refuse(r, PROBLEM_RECORD_BROKEN, OUTCOME_UNKNOWN);
	records_show(r->c.worker->store, found, &r->c.key_id,
	    RECORDS_WHOLE);
	return request_to(r, REQUEST_LOOKED_UP, WAIT);
}

static enum after
tell_record(struct request *r)
{
	const struct record *record = &r->lookup->record;
	const struct conf_idempotency *policy = r->c.policy;
	int64_t now_ms = r->lookup->op.now_ms;
	int64_t settle_ms = policy->reconcile.settle_ms, left_ms = 0;
	if (record->state == STATE_COMPLETED)
		return tell_completed(r);
	if (record->state == STATE_FAILED)
		return tell_state(
		    r, "failed", PROBLEM_ATTEMPTS_EXHAUSTED, 0);
	/* A lease may be over before anybody has noticed. */
	if ((record->state == STATE_PROCESSING &&
		record->lease_until_ms > now_ms) ||
	    is_undelivered(r))
		return tell_state(
		    r, "in-flight", PROBLEM_COUNT_, RETRY_AFTER_S);
	if (record->state == STATE_RELEASED)
		return tell_state(r, "none", PROBLEM_COUNT_, 0);
	/* Until the API may be asked no retry gets further (lua/claim.lua). */
	if (policy->on_unknown == UNKNOWN_RECONCILE)
		left_ms = record->lease_until_ms + settle_ms - now_ms;
	if (left_ms > settle_ms)
		left_ms = settle_ms;
	return tell_state(
	    r, "unknown", PROBLEM_UNKNOWN_HELD, (left_ms + 999) / 1000);
}

static enum after
request_looked_up(struct machine *machine)
{
	struct request *r = request_of(machine);
	const struct store_op *op = &r->lookup->op;
	r->c.store_us = op->op.took_us;
	if (op->op.error == E_NO_MEMORY)
		return refuse(r, PROBLEM_ANSWER_NO_MEMORY, OUTCOME_OVERLOADED);
	if (op->op.error != 0)
		return refuse(r, PROBLEM_STORE_UNAVAILABLE, OUTCOME_STORE_DOWN);
	if (op->verdict != VERDICT_DONE && op->verdict != VERDICT_GONE)
		return refuse(r, PROBLEM_RECORD_BROKEN, OUTCOME_UNKNOWN);
	/* What is gone is told as what was released. */
	if (op->verdict == VERDICT_GONE)
		r->lookup->record.state = STATE_RELEASED;
	return tell_record(r);
}

/* --- the key, and the body --- */

/*
 * There is no key: the request goes on with next where the route does not
 * require one.
 */
static enum after
without_key(struct request *r, enum request_step next)
{
	const struct conf_idempotency *policy = r->c.policy;
	struct arena *arena = r->c.arena;
	struct span detail, names = SPAN("");
	if (!policy->required) {
		r->c.policy = NULL;
		return request_to(r, next, MORE);
	}
	for (size_t i = 0; i < policy->headers.count; i++)
		names = arena_printf(arena, "%.*s%s%s", SPAN_FMT(names),
		    i > 0 ? " or " : "", policy->headers.list[i]);
	if (r->c.derived)
		detail = key_members_wrong(arena, "No key can be made",
		    &policy->derive_from, &r->c.content);
	else
		detail = arena_printf(arena, "Requests to this path need an "
		    "idempotency key, in the header %.*s.", SPAN_FMT(names));
	return refuse_saying(
	    r, PROBLEM_KEY_MISSING, OUTCOME_KEY_MISSING, detail);
}

static enum after
request_key(struct machine *machine)
{
	struct request *r = request_of(machine);
	struct token_refusal refusal = {.words = NULL};
	enum key_verdict verdict = claimant_find_key(&r->c);
	if (verdict == KEY_INVALID)
		return refuse_saying(r, PROBLEM_KEY_INVALID,
		    OUTCOME_KEY_INVALID, span_str(r->c.key.message));
	if (verdict == KEY_FOUND || r->c.derived)
		return find_scope(r, REQUEST_BODY);
	/* It may pass, but nobody can tell whose it is. */
	if (!r->c.policy->required &&
	    claimant_find_scope(&r->c, &refusal) == SCOPE_REPEATED)
		return refuse_malformed(r, repeated_scope);
	return without_key(r, REQUEST_BODY);
}

/*
 * With a key the body is read whole.  Without one it is passed on as it comes,
 * but for a small one, which goes to the upstream in one piece with its head;
 * and where it is observed all of it counts, while there is much room.
 */
static enum after
request_body(struct machine *machine)
{
	struct request *r = request_of(machine);
	const struct conf_route *route = r->c.route;
	const struct budget *budget = r->c.worker->budget;
	int64_t most = SMALL_BYTES;
	if (r->c.policy != NULL)
		most = r->c.policy->max_request_body;
	else if (route->observes &&
	    route->idempotency->max_request_body > SMALL_BYTES &&
	    atomic_load(&budget->used) < atomic_load(&budget->limit) / 2)
		most = route->idempotency->max_request_body;
	if (r->c.policy == NULL && r->x->has_body &&
	    (r->c.head.chunked || r->c.head.length > most))
		return request_to(r, REQUEST_PASS, MORE);
	exchange_read_body(r->x, (size_t)most);
	return request_to(r, REQUEST_RECEIVED, WAIT);
}

static enum after
request_received(struct machine *machine)
{
	struct request *r = request_of(machine);
	int error = r->x->op.error;
	if (error == 0 && r->c.policy != NULL &&
	    (error = claimant_read_content(&r->c)) == E_MALFORMED)
		return refuse_size(r, PROBLEM_REQUEST_TOO_LARGE,
		    "The request's body is no whole gzip, or is decoded larger "
		    "than this path accepts",
		    r->c.policy->max_request_body);
	switch (error) {
	case 0:
		if (r->keys_until_ms != 0)
			return find_scope(r, REQUEST_DERIVE);
		return request_to(
		    r, r->c.policy ? REQUEST_DERIVE : REQUEST_PASS, MORE);
	case E_TOO_LARGE:
		return refuse_size(r, PROBLEM_REQUEST_TOO_LARGE,
		    "The request's body is larger than this path accepts",
		    r->c.policy->max_request_body);
	case E_NO_MEMORY:
		return refuse(r, PROBLEM_OVERLOADED, OUTCOME_OVERLOADED);
	case E_MALFORMED:
		/* A chunk of its body is malformed, or a trailer. */
		r->c.head.message = r->x->head.message;
		return refuse_head(r, r->x->head.verdict);
	default:
		/* The client left: nothing was claimed or forwarded. */
		r->c.outcome = OUTCOME_BAD_REQUEST;
		return request_to(r, REQUEST_FINISH, MORE);
	}
}

static enum after
request_derive(struct machine *machine)
{
	struct request *r = request_of(machine);
	if (r->c.derived &&
	    key_derive(r->c.arena, r->c.policy, &r->c.content, &r->c.key) !=
		KEY_FOUND)
		return without_key(r, REQUEST_PASS);
	struct span detail = SPAN("");
	enum problem problem = claimant_name(&r->c, &detail);
	if (problem == PROBLEM_COUNT_)
		return request_to(r, REQUEST_CLAIM, MORE);
	return refuse_saying(r, problem,
	    problem == PROBLEM_KEY_INVALID ? OUTCOME_KEY_INVALID
					   : OUTCOME_BAD_REQUEST,
	    detail);
}

/* --- the claim --- */

/*
 * Returns how long this retry may wait for the first request with its key, from
 * its first claim on: the route says it, and within that the client (Prefer:
 * wait=N, RFC 7240, section 4.3, seconds).
 */
static int64_t
wait_ms(const struct request *r)
{
	int64_t most_ms = r->c.policy->wait_timeout_ms;
	int64_t ms = r->c.policy->in_flight == IN_FLIGHT_WAIT ? most_ms : 0;
	size_t at = 0;
	const struct field *f;
	while ((f = fields_next(&r->c.head.fields, SPAN("Prefer"), &at))) {
		struct span list = f->value, piece;
		while (span_next(&list, ',', &piece)) {
			int64_t seconds = header_value_prefer_wait(piece);
			if (seconds >= 0)
				ms = seconds * 1000 < most_ms ? seconds * 1000
							      : most_ms;
		}
	}
	return ms;
}

/* Follows the line of tbl/situations.h for the claim's verdict. */
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
	const struct situation *s = &situations[r->c.claim_op.verdict];
	/* No claim is answered so: a reply that says it is not believed. */
	if (!s->known)
		s = &situations[VERDICT_BROKEN];
	r->c.problem = s->problem;
	r->c.outcome = s->outcome;
	return request_to(r, s->step, MORE);
}

/* The client gets the stored answer, or hears that it was too large. */
static enum after
replay(struct request *r)
{
	if (r->c.answer->not_kept && INVARIANT(not_kept_said)) {
		r->c.original_status = r->c.answer->status;
		return refuse(r,
		    policy_not_kept(r->c.policy, r->c.answer->status),
		    OUTCOME_NOT_KEPT);
	}
	r->c.replay = true;
	meet_situation(r);
	if (r->waited)
		r->c.outcome = OUTCOME_WAITED;
	return MORE;
}

static enum after
request_claim(struct machine *machine)
{
	struct request *r = request_of(machine);
	/* An outcome that Redis might not take must have a place to go. */
	if (!journal_replay_can_write(&r->c.worker->journal_replay) &&
	    INVARIANT(writable_journal))
		return refuse(r, PROBLEM_STORE_UNAVAILABLE, OUTCOME_STORE_DOWN);
	claimant_prepare(&r->c,
	    r->wait_until_ms == 0
		? wait_ms(r) > 0
		: r->wait_until_ms > loop_now_ms(r->c.worker->loop));
	if (r->c.claim.waits)
		key_waiters_listen(&r->c.worker->waiters, &r->waiter,
		    r->busy ? &r->c.claim_op.holder : &r->c.key_id);
	if (claimant_find_cached(&r->c))
		return replay(r);
	claimant_claim(&r->c, true);
	return request_to(r, REQUEST_CLAIMED, WAIT);
}

/* Returns how long it may wait from now on; 0: not, or not any more. */
static int64_t
left_to_wait_ms(struct request *r)
{
	int64_t now_ms = loop_now_ms(r->c.worker->loop);
	if (r->wait_until_ms == 0)
		r->wait_until_ms = now_ms + wait_ms(r);
	if (!r->c.claim.waits || r->wait_until_ms <= now_ms || r->x->gone ||
	    r->c.worker->over)
		return 0;
	return r->wait_until_ms - now_ms;
}

/* The client closed its connection, or its half of it: the wait is over. */
static void
on_client_left(void *arg)
{
	struct request *r = arg;
	key_waiters_stop(&r->waiter);
}

static enum after
await_change(struct request *r, int64_t ms)
{
	r->waited = true;
	key_waiters_wait(&r->waiter, ms);
	exchange_watch_client(r->x, on_client_left, r);
	return request_to(r, REQUEST_WAITED, WAIT);
}

/*
 * The outcome of this key's request, or a version of its entity, is in this
 * process and not in Redis yet, which may have lost the claim as well: the
 * retry waits until it is delivered.
 */
static enum after
await_outcome(struct request *r)
{
	/* Perhaps it is known by now, or known to be another store's. */
	if (!claimant_is_withheld(&r->c))
		return request_to(r, REQUEST_CLAIM, MORE);
	int64_t ms = left_to_wait_ms(r);
	if (ms == 0)
		return refuse(r, PROBLEM_OUTCOME_WAITS, OUTCOME_IN_FLIGHT);
	/* When another worker delivers it, nobody tells this one. */
	return await_change(r, ms < OTHERS_OUTCOME_MS ? ms : OTHERS_OUTCOME_MS);
}

/* The retry may not wait, or not any more. */
static enum after
refuse_in_flight(struct request *r)
{
	return r->busy ? refuse(r, PROBLEM_ENTITY_BUSY, OUTCOME_ENTITY_BUSY)
		       : refuse(r, PROBLEM_IN_FLIGHT, OUTCOME_IN_FLIGHT);
}

/*
 * A claim that is IN_FLIGHT or BUSY is made again when something has changed,
 * or it is 409.  Only its reply says which record has the busy entity: so
 * another claim is made at once, before which the waiter begins to listen for
 * that record.
 */
static enum after
await_holder(struct request *r)
{
	r->busy = r->c.claim_op.verdict == VERDICT_BUSY;
	bool listens = r->c.claim.waits &&
	    !memcmp(&r->waiter.key_id,
		r->busy ? &r->c.claim_op.holder : &r->c.key_id,
		sizeof r->c.key_id);
	int64_t ms = left_to_wait_ms(r);
	if (ms == 0)
		return refuse_in_flight(r);
	if (listens)
		return await_change(r, ms);
	r->waited = true;
	return request_to(r, REQUEST_CLAIM, MORE);
}

static enum after
request_claimed(struct machine *machine)
{
	struct request *r = request_of(machine);
	const struct store_op *op = &r->c.claim_op;
	r->c.store_us = op->op.took_us;
	if (op->op.error == E_NO_MEMORY)
		return refuse(r, PROBLEM_ANSWER_NO_MEMORY, OUTCOME_OVERLOADED);
	if (store_op_unfetched(op) && INVARIANT(known_executed))
		return refuse(
		    r, PROBLEM_ANSWER_NOT_FETCHED, OUTCOME_STORE_DOWN);
	if (op->op.error != 0 && r->c.claim.has_outcome)
		return await_outcome(r);
	if (op->op.error != 0) {
		/*
		 * The route says what happens while Redis is out of reach; what
		 * it has called in flight is not forwarded.
		 */
		bool reached = op->reached || r->waited ||
		    op->op.error == E_STORE_REFUSED;
		if ((r->c.policy->on_store_down == STORE_DOWN_REJECT &&
			INVARIANT(claimed_first)) ||
		    (reached && INVARIANT(known_executed)))
			return refuse(
			    r, PROBLEM_STORE_UNAVAILABLE, OUTCOME_STORE_DOWN);
		r->c.policy = NULL;
		return request_to(r, REQUEST_PASS, MORE);
	}
	if (op->unreadable)
		return refuse(
		    r, PROBLEM_RECORD_UNREADABLE, OUTCOME_STORE_DOWN);
	if (op->verdict == VERDICT_IN_FLIGHT || op->verdict == VERDICT_BUSY)
		return await_holder(r);
	r->busy = false;
	r->c.retry_after_s = (op->settle_left_ms + 999) / 1000;
	if (op->verdict != VERDICT_COMPLETED)
		return meet_situation(r);
	claimant_take_answer(&r->c);
	return replay(r);
}

static enum after
request_waited(struct machine *machine)
{
	struct request *r = request_of(machine);
	bool woken = r->waiter.op.error == 0;
	exchange_watch_client(r->x, NULL, NULL);
	/*
	 * When its time is up it claims once more: a Redis that is full tells
	 * nobody of a change.
	 */
	if ((!woken && !INVARIANT(last_look)) || r->x->gone)
		return refuse_in_flight(r);
	return request_to(r, REQUEST_CLAIM, MORE);
}

static enum after
request_start(struct machine *machine)
{
	struct request *r = request_of(machine);
	claimant_start(&r->c);
	return request_to(r, REQUEST_JOINED, WAIT);
}

static enum after
request_joined(struct machine *machine)
{
	return request_to(request_of(machine), REQUEST_ANSWER, MORE);
}

/* --- without a key --- */

/*
 * The client's request goes on to the upstream as it comes, and the answer goes
 * back.  A flow each way is between the two: by it they know each other's pace,
 * and nothing else of one another.
 */
static enum after
request_pass(struct machine *machine)
{
	struct request *r = request_of(machine);
	if (r->c.route->observes)
		r->observation = observation_begin(
		    &r->c, !r->x->has_body || r->x->body_ended);
	message_make(&r->c, 0);
	if (r->x->has_body && !r->x->body_ended) {
		r->c.message.source = &r->up;
		r->c.message.length =
		    r->c.head.chunked ? -1 : r->c.head.length;
		if (body_reserve(&r->up.body, FLOW_LEAST_BYTES,
			BUDGET_COMMON) != 0)
			return refuse(
			    r, PROBLEM_OVERLOADED, OUTCOME_OVERLOADED);
		exchange_stream_body(r->x, &r->up);
	}
	const struct forward_limits limits = message_limits(r->c.route, NULL);
	forward_start(r->c.generation->upstreams, &r->forward,
	    r->c.route->upstream, &r->c.message, &limits);
	return request_to(r, REQUEST_PASSED, WAIT);
}

/* There is no answer to pass on. */
static enum after
refuse_pass(struct request *r)
{
	if (r->up.ended && r->up.error == E_MALFORMED) {
		r->c.head.message = r->x->head.message;
		return refuse_head(r, r->x->head.verdict);
	}
	if (r->up.ended && r->up.error != 0) {
		/* Half a request: its client has left. */
		r->c.outcome = OUTCOME_BAD_REQUEST;
		return request_to(r, REQUEST_FINISH, MORE);
	}
	access_log_failed(r, r->forward.op.error);
	if (r->forward.result != FORWARD_NOT_SENT)
		return refuse(r,
		    r->forward.result == FORWARD_TIMEOUT
			? PROBLEM_UPSTREAM_TIMEOUT
			: PROBLEM_UPSTREAM_BROKEN,
		    OUTCOME_UPSTREAM_FAILED);
	return r->forward.op.error == E_NO_MEMORY
	    ? refuse(r, PROBLEM_OVERLOADED, OUTCOME_OVERLOADED)
	    : refuse(r, PROBLEM_UPSTREAM_UNREACHABLE, OUTCOME_UNREACHABLE);
}

static enum after
request_passed(struct machine *machine)
{
	struct request *r = request_of(machine);
	r->c.upstream_us = r->forward.op.took_us;
	r->c.target = forward_target(&r->forward);
	if (r->observation != NULL)
		observation_end(&r->observation, r->c.route->idempotency,
		    &r->forward);
	if (r->forward.result != FORWARD_ANSWERED)
		return refuse_pass(r);
	const struct proxy_client client = {
	    SPAN(""), r->c.id, clock_wall_ms()};
	struct fields fields =
	    proxy_headers_for_client(r->c.arena, &r->forward.fields, &client);
	r->c.answer = answer_new(
	    r->forward.status, &fields, &r->forward.body, SPAN(""));
	r->c.answer->head_length = r->forward.head_length;
	r->c.problem = PROBLEM_COUNT_;
	r->c.outcome = OUTCOME_PASSED;
	return request_to(r, REQUEST_ANSWER, MORE);
}

/* --- the answer --- */

static enum after
request_answer(struct machine *machine)
{
	struct request *r = request_of(machine);
	if (r->c.replay && r->c.problem == PROBLEM_COUNT_ && r->c.own &&
	    replay_json_put(r->c.worker->budget, r->c.policy, r->c.own,
		&r->c.answer) != 0) {
		r->c.problem = PROBLEM_ANSWER_NO_MEMORY;
		r->c.outcome = OUTCOME_OVERLOADED;
	}
	if (r->c.problem != PROBLEM_COUNT_)
		response_problem(r);
	if (r->c.id.len == 0)
		r->c.id = header_value_request_id(
		    r->c.arena, &(struct fields){NULL, 0});
	struct fields more = response_client_fields(r);
	if (cors_applies(r->c.route))
		r->c.answer = cors_strip(r->c.arena, r->c.answer);
	if (response_echoes(r)) {
		const struct fields others = proxy_headers_listed(r->c.arena,
		    &r->c.answer->fields, &r->c.policy->headers, false);
		r->c.answer = answer_with_fields(r->c.answer, &others);
	}
	exchange_answer(r->x, r->c.answer, &more,
	    r->c.problem == PROBLEM_COUNT_ ? r->forward.rest : NULL,
	    r->forward.rest_length, r->close);
	return request_to(r, REQUEST_ANSWERED, WAIT);
}

static enum after
request_answered(struct machine *machine)
{
	struct request *r = request_of(machine);
	const struct flow *rest = r->forward.rest;
	/* An outcome in a record stands; without a record this is a failure. */
	if (rest != NULL && rest->ended && rest->error != 0 &&
	    r->c.outcome == OUTCOME_PASSED) {
		r->c.outcome = OUTCOME_UPSTREAM_FAILED;
		access_log_failed(r, rest->error);
	}
	return request_to(r, REQUEST_FINISH, MORE);
}

static enum after
request_finish(struct machine *machine)
{
	struct request *r = request_of(machine);
	int64_t took_us = clock_us() - r->x->began_us;
	struct series *series = r->c.route != NULL
	    ? r->c.generation->metered.routes[r->c.route->index]
	    : r->c.worker->meter.no_route;
	int status = 0;
	if (r->c.answer != NULL)
		status = r->c.answer->status;
	else if (r->x->late)
		status = problem_lines[PROBLEM_REQUEST_TIMEOUT].status;
	counter_add(&series->outcomes[r->c.outcome], 1);
	if (status != 0)
		counter_add(&series->classes[status / 100 - 1], 1);
	histogram_add(&series->seconds, took_us);
	access_log(r, status, took_us);
	return DONE;
}
