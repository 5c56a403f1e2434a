/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/digits.h"
#include "base/error.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "gate/claimant.h"
#include "gate/disposition.h"
#include "gate/observation.h"
#include "gate/worker_state.h"
#include "store/call.h"
#include "store/record/redis_keys.h"

enum { ID_BYTES = 128 };

/* It lives until Redis has told, and its request has ended. */
struct observation {
	struct worker *worker;
	struct series *series; /* the worker's, as long as it lives */
	struct key_id key_id;
	struct owner owner;
	bool retries; /* an unknown outcome is executed again */
	struct duplicate one;
	bool told;
	bool ours; /* no other request came before */
	bool ended;
	/* The end of the request, and how long that is remembered. */
	char letter; /* C: it has an answer; U: unknown; R: nothing */
	int status;  /* of the answer; 0 */
	int64_t keep_ms;
};

_Static_assert((int)OBSERVED_COUNT_ <= (int)METER_OBSERVED,
    "too many of tbl/observed.h");

/* --- judged by the request --- */

/* Judges by the request alone; EXECUTED: it depends on what came before. */
static enum observed
judge_key(struct claimant *c, bool whole)
{
	static const enum observed without_scope[] = {
	    [SCOPE_MISSING] = OBSERVED_SCOPE_MISSING,
	    [SCOPE_REPEATED] = OBSERVED_BAD_REQUEST,
	    [SCOPE_MALFORMED] = OBSERVED_SCOPE_MISSING,
	    [SCOPE_UNVERIFIED] = OBSERVED_NOTHING,
	    [SCOPE_INVALID] = OBSERVED_TOKEN_INVALID,
	};
	enum observed none =
	    c->policy->required ? OBSERVED_KEY_MISSING : OBSERVED_PASSED;
	struct span detail;
	struct token_refusal refusal = {.words = NULL};
	enum key_verdict key = claimant_find_key(c);
	if (key == KEY_INVALID)
		return OBSERVED_KEY_INVALID;
	if (key == KEY_MISSING && !c->derived)
		return none;
	enum scope_verdict scope = claimant_find_scope(c, &refusal);
	if (scope == SCOPE_MISSING && c->policy->scope_missing_forward)
		return OBSERVED_PASSED;
	if (scope != SCOPE_FOUND)
		return without_scope[scope];
	if (c->head.length > c->policy->max_request_body)
		return OBSERVED_TOO_LARGE;
	if (!whole)
		return OBSERVED_NOTHING;
	int error = claimant_read_content(c);
	if (error != 0)
		return error == E_NO_MEMORY ? OBSERVED_NOTHING
					    : OBSERVED_TOO_LARGE;
	if (c->derived &&
	    key_derive(c->arena, c->policy, &c->content, &c->key) !=
		KEY_FOUND)
		return none;
	return claimant_name_record(c, &detail) == PROBLEM_COUNT_
	    ? OBSERVED_EXECUTED
	    : OBSERVED_BAD_REQUEST;
}

/* --- judged by Redis --- */

static struct store_call *
observe_call(const struct observation *o, const char *act, size_t n_args)
{
	struct store *store = o->worker->store;
	unsigned shard = redis_keys_shard(store->conf, &o->key_id);
	struct store_call *call =
	    call_new(store, shard, SCRIPT_observe, n_args + 4);
	call->key_id = o->key_id;
	resp_number(&call->args, 1);
	redis_keys_index_of(
	    &call->args, store->conf, shard, "o:", o->one.key_id);
	resp_arg(&call->args, span_str(act));
	call_arg_token(call, o->owner.bytes);
	return call;
}

/* Ends it, once Redis has told and the request has ended. */
static void
finish(struct observation *o)
{
	if (!o->told || !o->ended)
		return;
	if (o->ours) {
		char status[16];
		struct store_call *call = observe_call(o, "end", 3);
		snprintf(status, sizeof status, "%03d", o->status);
		resp_arg(&call->args, span_of(&o->letter, 1));
		resp_arg(&call->args, span_str(status));
		resp_number(&call->args, o->keep_ms);
		/* If it fails, the next request is told less. */
		call_start(call);
	}
	free(o);
}

static int64_t
number_at(const struct call_reply *reply, size_t i, int64_t most)
{
	int64_t number;
	return i < reply->n_extra &&
		digits_read(resp_text(reply->extra[i]), most, &number)
	    ? number
	    : 0;
}

/* The reply names the first request with this key. */
static void
note_duplicate(struct observation *o, const struct call_reply *reply)
{
	struct duplicate *one = &o->one;
	if (reply->n_extra > 0)
		snprintf(one->first_request_id, sizeof one->first_request_id,
		    "%.*s", SPAN_FMT(resp_text(reply->extra[0])));
	one->first_ms = number_at(reply, 1, INT64_MAX);
	one->status = (int)number_at(reply, 2, 599);
	duplicates_add(&o->worker->duplicates, one);
	struct logline line = log_begin(EV_observed);
	log_str(&line, "request_id", one->request_id);
	log_str(&line, "route", one->route);
	log_str(&line, "key_id", one->key_id);
	log_str(&line, "would", duplicates_lines[one->would].word);
	log_str(&line, "first_request_id", one->first_request_id);
	log_end(&line);
}

static void
on_told(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	static const enum observed known[VERDICT_COUNT_] = {
	    [VERDICT_IN_FLIGHT] = OBSERVED_IN_FLIGHT,
	    [VERDICT_COMPLETED] = OBSERVED_REPLAYED,
	    [VERDICT_MISMATCH] = OBSERVED_MISMATCH,
	    [VERDICT_UNKNOWN] = OBSERVED_UNKNOWN,
	};
	struct observation *o = call->arg;
	o->one.would = OBSERVED_NOTHING;
	if (how == CALL_ANSWERED && error == 0) {
		o->ours = reply->verdict == VERDICT_OURS;
		o->one.would =
		    reply->verdict == VERDICT_UNKNOWN && o->retries
		    ? OBSERVED_EXECUTED
		    : known[reply->verdict];
	}
	counter_add(&o->series->observed[o->one.would], 1);
	if (duplicates_lines[o->one.would].is_duplicate)
		note_duplicate(o, reply);
	o->told = true;
	finish(o);
}

struct observation *
observation_begin(struct claimant *c, bool whole)
{
	struct worker *w = c->worker;
	const struct conf_idempotency *policy = c->route->idempotency;
	struct series *series =
	    c->generation->metered.routes[c->route->index];
	struct observation *o = NULL;
	c->policy = policy;
	enum observed would = judge_key(c, whole);
	if (would != OBSERVED_EXECUTED) {
		counter_add(&series->observed[would], 1);
	} else {
		o = mem_zero(sizeof *o);
		o->worker = w;
		o->series = series;
		o->key_id = c->key_id;
		o->retries = policy->on_unknown == UNKNOWN_RETRY;
		o->one.at_ms = clock_wall_ms();
		snprintf(o->one.key_id, sizeof o->one.key_id, "%s",
		    c->key_hex);
		snprintf(o->one.route, sizeof o->one.route, "%s",
		    c->route->name);
		snprintf(o->one.request_id, sizeof o->one.request_id, "%.*s",
		    SPAN_FMT(c->id));
		owner_new(&o->owner);
		claimant_fingerprint(c);
		struct store_call *call = observe_call(o, "begin", 4);
		call_arg_token(call, c->claim.fingerprint);
		/* It may take so long, and is remembered for so long. */
		resp_number(&call->args,
		    policy->lease_ms + c->route->upstream->timeout_ms);
		resp_number(&call->args, policy->unknown_retention_ms);
		resp_arg(&call->args,
		    span_of(c->id.ptr,
			c->id.len < ID_BYTES ? c->id.len : ID_BYTES));
		call->done = on_told;
		call->arg = o;
		call_start(call);
	}
	/* The request itself goes on without a key. */
	c->policy = NULL;
	c->derived = false;
	return o;
}

/* --- the end of the request --- */

void
observation_end(struct observation **observation,
    const struct conf_idempotency *policy, const struct forward *forward)
{
	struct observation *o = *observation;
	*observation = NULL;
	o->ended = true;
	o->letter = 'U';
	o->keep_ms = policy->unknown_retention_ms;
	if (forward != NULL && forward->result == FORWARD_NOT_SENT)
		o->letter = 'R';
	if (forward != NULL && forward->result == FORWARD_ANSWERED) {
		enum disposition disposition = disposition_of_answer(
		    &forward->fields, forward->status,
		    policy->outcomes[forward->status]);
		if (disposition == DISPOSITION_STORE) {
			o->letter = 'C';
			o->status = forward->status;
			o->keep_ms = policy->retention_ms;
		} else if (disposition != DISPOSITION_UNKNOWN) {
			o->letter = 'R';
		}
	}
	finish(o);
}
