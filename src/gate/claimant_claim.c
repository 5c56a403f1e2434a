/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/container.h"
#include "base/test_build.h"
#include "gate/claimant_claim.h"
#include "gate/execution.h"
#include "gate/key/fingerprint.h"
#include "gate/message.h"
#include "gate/worker.h"
#include "store/record/label.h"
#include "store/record/provenance.h"

/* So long after a change an answer of before it may come from memory. */
#define SILENCE_US (2000 * 1000)

void
claimant_claim_fingerprint(struct claimant *c)
{
	const struct request_target *target = &c->head.target;
	const struct variables variables = claimant_variables(c);
	struct fingerprinted what = {
	    .method = c->method,
	    .path = target->path,
	    .query = target->query,
	    .has_query = target->has_query,
	    .fields = &c->head.fields,
	    .body = variables.body,
	};
	if (c->claim.entity != NULL) {
		what.entity = span_of(
		    (const char *)c->entity.name, sizeof c->entity.name);
		what.version = c->entity.version;
	}
	fingerprint_make(c->policy, span_str(c->store_conf->store.secret),
	    &what, c->claim.fingerprint);
}

/*
 * What the upstream would be asked about an attempt, and whom: of the request
 * that it was.  A hash, in hex.
 */
static struct span
question_of(struct claimant *c)
{
	const struct variables variables = claimant_variables(c);
	struct span of_path =
	    variables_digest(&variables, &c->policy->reconcile.path);
	bool names_host = c->route->upstream->host == HOST_PRESERVE;
	struct digest digest;
	uint8_t hash[DIGEST_BYTES];
	char *hex = arena_alloc(c->arena, DIGEST_HEX + 1);
	digest_begin(&digest, SPAN("question"),
	    span_str(c->store_conf->store.secret));
	digest_part(&digest, of_path);
	digest_part(&digest, names_host ? c->head.authority : SPAN(""));
	digest_end(&digest, hash);
	hex_encode(hash, sizeof hash, hex);
	return span_of(hex, DIGEST_HEX);
}

/* Where a record of this request comes from. */
static struct span
provenance_of(struct claimant *c)
{
	const struct provenance provenance = {
	    .route = span_str(c->route->name),
	    .method = c->method,
	    .path = c->head.target.path,
	    .instance = span_str(c->store_conf->instance),
	    .label = label_write(
		c->arena, &c->store_conf->store, &c->key_id, c->label),
	    .request_id = c->id,
	};
	return provenance_write(c->arena, &provenance);
}

void
claimant_claim_prepare(struct claimant *c, bool waits)
{
	const struct variables variables = claimant_variables(c);
	c->label = provenance_cut(c->arena,
	    variables_label(&variables, c->policy), LABEL_MAX_BYTES);
	c->claim = (struct claim){
	    .key_id = c->key_id,
	    .policy = c->policy,
	    .max_attempts = c->policy->max_attempts,
	    .entity = conf_has_entity(c->policy) ? &c->entity : NULL,
	    .waits = waits,
	};
	owner_new(&c->claim.owner);
	if (c->policy->on_unknown == UNKNOWN_RECONCILE &&
	    INVARIANT(same_question))
		c->claim.question = question_of(c);
	claimant_claim_fingerprint(c);
}

/*
 * Of another body with this key Redis decides; and of all keys, where the
 * subscriber has been silent: an operator may have deleted the record.
 */
bool
claimant_claim_find_kept(struct claimant *c)
{
	struct worker *w = c->worker;
	if (clock_us() - store_heard_us(w->store) > SILENCE_US &&
	    INVARIANT(cache_fresh))
		return false;
	const struct cached *kept =
	    cache_find(w->cache, &c->key_id, store_latest_ms(w->store));
	if (kept == NULL ||
	    (memcmp(kept->fingerprint, c->claim.fingerprint,
		 sizeof kept->fingerprint) != 0 &&
		INVARIANT(cached_request)))
		return false;
	c->claim_op.verdict = VERDICT_COMPLETED;
	c->answer = answer_ref(kept->answer);
	c->attempt = kept->attempt;
	return true;
}

bool
claimant_claim_is_withheld(const struct claimant *c)
{
	return journaled_awaits(
	    c->worker->store, c->worker->waiting, &c->claim);
}

static void
claim(struct claimant *c, bool withheld)
{
	c->claim.withheld = withheld;
	c->claim.provenance = provenance_of(c);
	c->mark = cache_asking(c->worker->cache, &c->key_id);
	store_claim(c->worker->store, &c->claim_op, &c->claim);
}

void
claimant_claim(struct claimant *c)
{
	claim(c, claimant_claim_is_withheld(c));
}

void
claimant_claim_look(struct claimant *c)
{
	claim(c, true);
}

void
claimant_claim_take_answer(struct claimant *c)
{
	c->answer = c->claim_op.answer;
	c->claim_op.answer = NULL;
	c->attempt = c->claim_op.attempt;
	if (c->claim_op.brief)
		return;
	struct cached cached = {
	    .answer = c->answer,
	    .attempt = c->attempt,
	    .until_ms = c->claim_op.until_ms,
	};
	memcpy(cached.fingerprint, c->claim.fingerprint,
	    sizeof cached.fingerprint);
	cache_put(c->worker->cache, &c->key_id, c->mark, &cached);
}

/* --- what comes of it --- */

/* The claimant ends; its execution goes on by itself. */
static void
leave_execution(struct op *join, int error)
{
	struct claimant *c = CONTAINER_OF(join, struct claimant, join);
	(void)error;
	execution_leave(c->execution);
	c->execution = NULL;
}

void
claimant_claim_start(struct claimant *c)
{
	bool ask = c->claim_op.verdict == VERDICT_RECONCILE;
	c->attempt = c->claim_op.attempt;
	/* If it is to be executed after all, that is an attempt more. */
	message_make(c, c->attempt + ask);
	struct message question = {0};
	bool can_ask = !ask || message_question(c, &question);
	const struct execution_start start = {
	    .worker = c->worker,
	    .generation = c->generation,
	    .route = c->route,
	    .arena = c->arena,
	    .claimant = c,
	    .attempt = c->attempt,
	    .tries = c->claim_op.tries,
	    .created_ms = c->claim_op.created_ms,
	    .claimed_us = c->claim_op.op.began_us,
	    .claim = c->claim,
	    .ask = ask,
	    .can_ask = can_ask,
	    .counts = c->counts,
	    .reason = c->claim_op.reason,
	    .question = question,
	    .message = c->message,
	    .body = c->body,
	    .request_id = c->id,
	    .first_id = span_str(c->claim_op.first_id),
	    .label = c->label,
	};
	op_start_untimed(&c->join, leave_execution);
	c->execution = execution_new(&start);
	machine_run(&c->execution->machine);
}
