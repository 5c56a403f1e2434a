/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "base/loop/log.h"
#include "base/test_build.h"
#include "gate/execution_private.h"
#include "gate/execution_result.h"
#include "gate/worker.h"

/*
 * The store's side of an execution: its outcome goes to Redis before anybody
 * hears of it.  What Redis does not take goes to the journal, and what that
 * does not take either is tried again for as long as the process lives.
 */

enum {
	PAUSE_FIRST_MS = 50,
	PAUSE_MAX_MS = 1000,
};

/* --- storing the outcome --- */

/* Where the record's answer cannot be had, Redis has answered all the same. */
static bool
has_answered(const struct store_op *op)
{
	return op->op.error == 0 ||
	    (store_op_answered(op) && INVARIANT(fenced_unread));
}

/*
 * What each step with a result does first: true where Redis has none of it, or
 * has a record that is damaged.
 */
static bool
not_taken(struct execution *e, unsigned again)
{
	int error = e->store.op.error;
	e->store_us += e->store.op.took_us;
	if (has_answered(&e->store)) {
		if (!store_op_broken(&e->store))
			return false;
		error = E_MALFORMED;
	}
	if (!INVARIANT(outcome_taken))
		return false;
	if (e->tries++ == 0) {
		struct logline line = log_begin(EV_settle_late);
		execution_log(e, &line);
		log_str(&line, "step", e->machine.kind->steps[again].name);
		log_str(&line, "error", error_message(error));
		log_end(&line);
	}
	e->settling = again;
	return true;
}

enum after
execution_store_complete(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	e->mark = cache_asking(e->worker->cache, &e->held.key_id);
	store_complete(e->worker->store, &e->store, &e->held, e->answer);
	return execution_to(e, EXECUTION_COMPLETED, WAIT);
}

/* Retries may get it without asking Redis (gate/cache.h). */
static void
keep_in_memory(struct execution *e)
{
	struct cached cached = {
	    .answer = e->answer,
	    .attempt = e->held.attempt,
	    .until_ms = e->store.now_ms + e->held.policy->retention_ms,
	};
	memcpy(cached.fingerprint, e->claim.fingerprint,
	    sizeof cached.fingerprint);
	cache_put(e->worker->cache, &e->held.key_id, e->mark, &cached);
}

/* From then on nothing is given away that Redis has not taken. */
static bool
is_after_lease(const struct execution *e)
{
	return clock_us() >= e->lease.until_us && INVARIANT(late_held_back);
}

/*
 * Redis does not have the outcome, and somebody else may decide: another
 * execution, where the policy allows it or Redis has no record to hold the key
 * with; after the lease, anybody.
 */
static bool
others_may_decide(const struct execution *e)
{
	if (is_after_lease(e))
		return true;
	return (e->store.gone || e->held.policy->on_unknown != UNKNOWN_HOLD) &&
	    INVARIANT(undecided_held_back);
}

/* Where others may decide, the answer is not handed out. */
static void
complete_later(struct execution *e, bool taken)
{
	if (taken && !others_may_decide(e))
		execution_result_answer(e, OUTCOME_EXECUTED);
	else
		execution_result_problem(
		    e, OUTCOME_STORE_DOWN, PROBLEM_OUTCOME_NOT_STORED);
}

/*
 * The attempt after this one is under way.  Should nothing be sent of it, this
 * answer is the truth: the journal offers it until that is known.
 */
static enum after
complete_before(struct execution *e)
{
	execution_result_fenced(e);
	e->settling = EXECUTION_COMPLETE;
	e->tries++;
	return execution_to(e, EXECUTION_JOURNAL, MORE);
}

/* The answer is in Redis before the client sees it. */
enum after
execution_store_completed(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	if (not_taken(e, EXECUTION_COMPLETE))
		return execution_to(e, EXECUTION_JOURNAL, MORE);
	if (e->store.verdict == VERDICT_FENCED && e->store.before)
		return complete_before(e);
	if (e->store.verdict != VERDICT_DONE && INVARIANT(fenced_answer)) {
		execution_result_fenced(e);
	} else {
		keep_in_memory(e);
		e->stored = true;
		execution_result_answer(
		    e, e->asked ? OUTCOME_REPLAYED : OUTCOME_EXECUTED);
	}
	return execution_to(e, EXECUTION_FINISH, MORE);
}

static void
log_not_sent(const struct execution *e)
{
	struct logline line = log_begin(EV_not_sent);
	const struct conf_target *target = forward_tried(&e->forward);
	execution_log(e, &line);
	if (target != NULL)
		log_str(&line, "target", target->url);
	if (e->forward.op.error != 0)
		log_str(&line, "error", error_message(e->forward.op.error));
	log_end(&line);
}

enum after
execution_store_release(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	if (e->tries == 0 && !e->sent)
		log_not_sent(e);
	store_release(
	    e->worker->store, &e->store, &e->held, e->sent, e->forget);
	return execution_to(e, EXECUTION_RELEASED, WAIT);
}

/*
 * The client gets its answer whether or not Redis knows of it: nothing was
 * executed, or the upstream itself says so.
 */
enum after
execution_store_released(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	bool late = not_taken(e, EXECUTION_RELEASE);
	if (!late && e->store.verdict == VERDICT_FENCED)
		execution_result_fenced(e);
	else if (!late && e->store.state == STATE_UNKNOWN)
		/* Nothing was sent of this attempt; of one before, it was. */
		execution_result_problem(
		    e, OUTCOME_UNKNOWN, PROBLEM_UNKNOWN_HELD);
	else if (e->answer != NULL && late && is_after_lease(e))
		execution_result_problem(
		    e, OUTCOME_STORE_DOWN, PROBLEM_OUTCOME_NOT_STORED);
	else if (e->answer != NULL)
		execution_result_answer(e, OUTCOME_RELEASED);
	else if (e->sent)
		execution_result_problem(
		    e, OUTCOME_RELEASED, PROBLEM_REFUSAL_NO_MEMORY);
	else if (e->withheld)
		execution_result_problem(
		    e, OUTCOME_STORE_DOWN, PROBLEM_OUTCOME_WAITS);
	else
		execution_result_problem(
		    e, OUTCOME_UNREACHABLE, PROBLEM_UPSTREAM_UNREACHABLE);
	return execution_to(
	    e, late ? EXECUTION_JOURNAL : EXECUTION_FINISH, MORE);
}

/* What was asked of whom; a query is never logged. */
static void
log_sent(struct logline *line, const struct execution *e)
{
	const struct conf_target *target = forward_target(&e->forward);
	struct span path = e->message.target;
	const char *mark = memchr(path.ptr, '?', path.len);
	if (mark != NULL)
		path.len = (size_t)(mark - path.ptr);
	log_span(line, "method", e->message.method);
	log_path(line, path);
	if (target != NULL)
		log_str(line, "target", target->url);
}

static void
log_doubt(const struct execution *e)
{
	enum event event = e->reason == REASON_DRAIN ? EV_drain_timeout
						     : EV_outcome_unknown;
	struct logline line =
	    log_begin(e->asked ? EV_reconcile_failed : event);
	execution_log(e, &line);
	log_sent(&line, e);
	if (e->reason != REASON_NONE)
		log_str(&line, "reason", reason_word(e->reason));
	if (e->asked && e->forward.result == FORWARD_ANSWERED)
		log_int(&line, "status", e->forward.status);
	if (e->forward.op.error != 0)
		log_str(&line, "error", error_message(e->forward.op.error));
	log_end(&line);
}

enum after
execution_store_mark_unknown(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	if (e->tries == 0)
		log_doubt(e);
	store_mark_unknown(e->worker->store, &e->store, &e->held, e->reason);
	return execution_to(e, EXECUTION_MARKED_UNKNOWN, WAIT);
}

enum after
execution_store_marked_unknown(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	bool late = not_taken(e, EXECUTION_MARK_UNKNOWN);
	if (late && is_after_lease(e))
		answer_unref(&e->answer);
	if (!late && e->store.verdict == VERDICT_FENCED)
		execution_result_fenced(e);
	else
		execution_result_unknown(e);
	return execution_to(
	    e, late ? EXECUTION_JOURNAL : EXECUTION_FINISH, MORE);
}

/* --- what Redis has not taken --- */

static struct journaled
not_stored(const struct execution *e)
{
	switch (e->settling) {
	case EXECUTION_COMPLETE:
		return (struct journaled){
		    JOURNAL_COMPLETE, .answer = e->answer};
	case EXECUTION_RELEASE:
		return (struct journaled){JOURNAL_RELEASE, .sent = e->sent,
		    .forget = e->forget};
	default:
		return (struct journaled){JOURNAL_UNKNOWN, .reason = e->reason};
	}
}

/* It goes to disk, and the journal relay delivers it. */
enum after
execution_store_journal(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	const struct journaled what = not_stored(e);
	if (!e->expected)
		journaled_begin(e->worker->store, e->worker->waiting, &e->held,
		    what.kind);
	e->expected = true;
	journal_relay_take(
	    &e->worker->journal_relay, &e->journal, &e->held, &what);
	return execution_to(e, EXECUTION_JOURNALED, WAIT);
}

/* What the disk has not taken either is this execution's to try again. */
enum after
execution_store_journaled(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	bool taken = e->journal.op.error == 0 || !INVARIANT(journal_took_it);
	if (taken)
		e->expected = false; /* until it is delivered */
	if (e->settling == EXECUTION_COMPLETE)
		complete_later(e, taken);
	return execution_to(
	    e, taken ? EXECUTION_FINISH : EXECUTION_PAUSE, MORE);
}

enum after
execution_store_pause(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	int64_t ms = PAUSE_FIRST_MS * (int64_t)e->tries;
	op_start(&e->pause, ms < PAUSE_MAX_MS ? ms : PAUSE_MAX_MS, NULL);
	return execution_to(e, EXECUTION_PAUSED, WAIT);
}

enum after
execution_store_paused(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	answer_unref(&e->store.answer);
	return execution_to(e, (enum execution_step)e->settling, MORE);
}

enum after
execution_store_finish(struct machine *machine)
{
	struct execution *e = execution_of(machine);
	must(e->claimant == NULL);
	if (e->expected)
		journaled_end(e->worker->store, e->worker->waiting, &e->held,
		    not_stored(e).kind);
	waiters_wake(&e->worker->waiters, &e->held.key_id);
	return DONE;
}
