/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/test_build.h"
#include "gate/disposition.h"
#include "gate/execution_private.h"
#include "gate/worker_state.h"
#include "store/claim.h"
#include "store/record/provenance.h"

/*
 * What an execution asks.  About an earlier attempt, which is UNKNOWN: the
 * upstream, or where the policy has a witness, the API's database.
 *
 *   RECONCILE ⇢ RECONCILED ─┬─ it happened, and this is its answer: COMPLETE
 *   (LOOK_UP ⇢ LOOKED_UP)   ├─ it did not: RECLAIM ⇢ RECLAIMED ─── FORWARD
 *                           └─ no answer to go by: MARK_UNKNOWN
 *
 * A witness is asked about the own attempt, too, before an answer that is no
 * 2xx is believed (FORWARDED, then LOOK_UP ⇢ LOOKED_UP).
 *
 * Why each key is executed once, whatever happens between two steps (a kill, a
 * freeze beyond the lease, Redis or the database away):
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

/* --- what came of it --- */

const char *const execution_question_words[] = {
    [ASKED_HAPPENED] = "happened",
    [ASKED_DID_NOT] = "did-not",
    [ASKED_UNKNOWN] = "unknown",
    [ASKED_AWAY] = "away",
};

/* Goes into the log, and with the next step into the record's history. */
static void
note_answer(struct execution *e, enum asked answer, const char *words)
{
	struct span act = provenance_act_text(
	    e->arena, span_str(execution_question_words[answer]), e->by);
	struct series *series =
	    e->generation->metered.routes[e->route->index];
	size_t asker = span_eq(e->by, SPAN("request")) ? 0
	    : span_eq(e->by, SPAN("sweep")) ? 1 : 2; /* an operator */
	e->asked = answer;
	e->claim.asked = e->owned.asked =
	    arena_printf(e->arena, "q%.*s", SPAN_FMT(act));
	counter_add(&series->asked[asker * METER_ANSWERS + answer], 1);
	struct logline line = execution_log(e, EV_asked);
	log_span(&line, "by", e->by);
	log_str(&line, "answer", execution_question_words[answer]);
	log_any(&line, "detail", span_str(words));
	log_end(&line);
}

/* --- the upstream --- */

/*
 * Asks the API's database, or the upstream.  That they know nothing of an
 * attempt says nothing where the API was not told what they are asked by.
 */
enum after
execution_question_reconcile(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	if (e->worker->over) {
		e->reason = REASON_DRAIN;
		return execution_to(e, EXECUTION_MARK_UNKNOWN, MORE);
	}
	if (!e->told && INVARIANT(asked_by)) {
		e->witness.distrusted = true;
		note_answer(e, ASKED_UNKNOWN, "its API was not told what it is "
		    "asked by: only an operator can decide");
		return execution_to(e, EXECUTION_MARK_UNKNOWN, MORE);
	}
	if (execution_has_witness(e) && !e->started)
		return execution_to(e, EXECUTION_LOOK_UP, MORE);
	if (e->query == NULL) {
		note_answer(e, ASKED_UNKNOWN, "there is no question to ask");
		return execution_to(e, EXECUTION_MARK_UNKNOWN, MORE);
	}
	execution_send(e, e->query);
	return execution_to(e, EXECUTION_RECONCILED, WAIT);
}

/*
 * Why "it did not happen" says nothing; NULL: it does.  A cache answers of an
 * earlier day (RFC 9111, section 5.1).  Many routers decode the slash of a key
 * before they look for a path, and find none; but by its own word it is the API
 * that has answered.
 */
static const char *
is_no_word(const struct execution *e)
{
	struct span path, rest = e->query->target;
	const struct field *age =
	    fields_first(&e->forward.fields, SPAN("Age"));
	if (age != NULL && !span_eq(age->value, SPAN("0")))
		return "a cache said that it did not happen";
	if (disposition_of_answer(&e->forward.fields, e->forward.status,
		DISPOSITION_UNKNOWN) != DISPOSITION_UNKNOWN)
		return NULL;
	if (span_next(&rest, '?', &path) &&
	    (memmem(path.ptr, path.len, "%2F", 3) != NULL ||
		memmem(path.ptr, path.len, "%5C", 3) != NULL))
		return "it may be a router that knows no path with an encoded "
		       "slash: ask by ?key={key}";
	return NULL;
}

enum after
execution_question_reconciled(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	const struct conf_reconcile *rules = &e->owned.policy->reconcile;
	int status = e->forward.status;
	bool whole = e->forward.result == FORWARD_ANSWERED;
	bool answered = whole || e->forward.result == FORWARD_UNREAD;
	enum disposition disposition = DISPOSITION_UNKNOWN;
	if (answered)
		disposition = disposition_of_reconcile(
		    rules, status, &e->forward.fields);
	if (disposition == DISPOSITION_STORE && whole) {
		note_answer(e, ASKED_HAPPENED, "");
		execution_make_upstreams(e, rules->status);
		return execution_to(e, EXECUTION_COMPLETE, MORE);
	}
	bool absent = disposition == DISPOSITION_RELEASE ||
	    disposition == DISPOSITION_FORGET;
	const char *why = absent ? is_no_word(e) : NULL;
	if ((absent && why == NULL) || !INVARIANT(upstream_said_no)) {
		/* What the database says has begun must not go on. */
		if (e->started)
			return execution_to(e, EXECUTION_LOOK_UP, MORE);
		note_answer(e, ASKED_DID_NOT, "");
		return execution_to(e, EXECUTION_RECLAIM, MORE);
	}
	/* It, or what it is made of, cannot be had, or has too much to do. */
	bool away = answered ? status >= 500 || status == 429
			     : e->forward.result != FORWARD_MALFORMED;
	note_answer(e, away ? ASKED_AWAY : ASKED_UNKNOWN,
	    why != NULL ? why : "");
	return execution_to(e, EXECUTION_MARK_UNKNOWN, MORE);
}

/* --- the API's database --- */

/*
 * Asks the witness: about the earlier attempt, or about the own one, before an
 * answer that is no 2xx is believed.
 */
enum after
execution_question_look_up(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	struct witness_op *op = &e->witness;
	witness_clear(op);
	op->route = e->route;
	op->policy = e->owned.policy;
	op->key_id = e->owned.key_id;
	op->attempt = e->owned.attempt;
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
			     : execution_in_doubt(e, REASON_STATUS);
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
		return execution_weigh(e);
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
	execution_make_answers(e, &(struct heard_answer){
	    .status = row->status,
	    .fields = &row->fields,
	    .body = &row->body,
	    .whole = row->status != 0 && !row->too_large,
	});
	return execution_to(e, EXECUTION_COMPLETE, MORE);
}

enum after
execution_question_looked_up(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	const struct witness_op *op = &e->witness;
	const struct conf_idempotency *policy = e->owned.policy;
	if (op->answer == WITNESS_DONE)
		return keep_row(e);
	if (op->answer == WITNESS_REVOKED)
		return was_revoked(e);
	/*
	 * `started` is for the API to explain, by when it can do no more about
	 * it.  It goes on once that is committed, which may be long after it
	 * began to, and long after the attempt became unknown; when that was,
	 * only who sees the row knows.
	 */
	if (op->answer == WITNESS_STARTED && policy->witness.then_reconcile &&
	    e->reconciles && !e->started && e->query != NULL &&
	    e->started_ms >= policy->reconcile.settle_ms) {
		e->started = true;
		return execution_to(e, EXECUTION_RECONCILE, MORE);
	}
	if (e->reconciles)
		note_answer(e, op->away ? ASKED_AWAY : ASKED_UNKNOWN,
		    op->answer == WITNESS_STARTED ? "it is started"
						  : op->words);
	return INVARIANT(revoked_first) ? not_known(e) : was_revoked(e);
}

/* --- the key, once it is known that nothing happened --- */

/*
 * Nothing happened: the claim is made again, as an attempt of its own; or where
 * nothing is to be sent, the key is set free.
 */
enum after
execution_question_reclaim(struct machine *machine)
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
		execution_tell(
		    e, OUTCOME_STORE_DOWN, PROBLEM_STORE_UNAVAILABLE);
	else if (e->store.verdict == VERDICT_FAILED)
		execution_tell(
		    e, OUTCOME_EXHAUSTED, PROBLEM_ATTEMPTS_EXHAUSTED);
	else if (e->store.verdict == VERDICT_STALE)
		execution_tell(e, OUTCOME_STALE, PROBLEM_STALE_VERSION);
	else if (e->store.verdict == VERDICT_BUSY)
		/* Such a claim too is given back. */
		execution_tell(e, OUTCOME_ENTITY_BUSY, PROBLEM_ENTITY_BUSY);
	else
		execution_tell_fenced(e);
	return execution_to(e, EXECUTION_FINISH, MORE);
}

enum after
execution_question_reclaimed(struct machine *machine)
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
	e->started = false;
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
		struct logline line = execution_log(e, EV_record_broken);
		log_end(&line);
		return execution_to(e, EXECUTION_MARK_UNKNOWN, MORE);
	}
	lease_extend(&e->lease, e->store.op.began_us);
	e->reconciles = false;
	e->reason = REASON_NONE;
	return execution_to(e, EXECUTION_FORWARD, MORE);
}
