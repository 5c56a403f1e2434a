/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/container.h"
#include "base/test_build.h"
#include "gate/claimant.h"
#include "gate/execution.h"
#include "gate/key/entity.h"
#include "gate/key/fingerprint.h"
#include "gate/message.h"
#include "gate/replay_json.h"
#include "gate/trust.h"
#include "gate/worker_state.h"
#include "http/front/route.h"
#include "store/claim.h"
#include "store/outcome.h"
#include "store/record/label.h"
#include "store/record/provenance.h"

/* An answer may come from memory so long after its record was changed. */
enum { UNHEARD_US = 2000 * 1000 };

void
claimant_init(struct claimant *c, struct worker *worker, struct arena *arena,
    struct machine *owner)
{
	c->worker = worker;
	c->store_conf = worker->conf;
	c->generation = generation_ref(worker->generation);
	c->conf = c->generation->conf;
	c->arena = arena;
	c->problem = PROBLEM_COUNT_;
	c->store_us = c->upstream_us = -1;
	op_init(&c->claim_op.op, worker->loop, machine_run, owner);
	op_init(&c->join, worker->loop, machine_run, owner);
}

void
claimant_clear(struct claimant *c)
{
	op_cancel(&c->claim_op.op);
	op_cancel(&c->join);
	body_clear(&c->decoded);
	answer_unref(&c->claim_op.answer);
	answer_unref(&c->answer);
	generation_unref(&c->generation);
}

/* --- whose key it is --- */

bool
claimant_find_route(struct claimant *c)
{
	c->route = route_find_own(c->conf, c->method, &c->head.target);
	if (c->route == NULL &&
	    !route_find(c->conf, c->method, &c->head.target, &c->route))
		return false;
	c->policy = c->route && !c->route->observes ? c->route->idempotency
						    : NULL;
	return true;
}

enum key_verdict
claimant_find_key(struct claimant *c)
{
	enum key_verdict verdict =
	    key_find(c->arena, c->policy, &c->head.fields, &c->key);
	c->derived = verdict == KEY_MISSING &&
	    (c->policy->derive_from_body || c->policy->derive_from.count > 0);
	return verdict;
}

enum scope_verdict
claimant_find_scope(struct claimant *c, struct token_refusal *ret_refusal)
{
	const struct scope_request request = {
	    .arena = c->arena,
	    .fields = &c->head.fields,
	    .route = c->route,
	    .target = &c->head.target,
	    .certificate = &c->certificate,
	    .now_ms = clock_wall_ms(),
	    .ret_refusal = ret_refusal,
	};
	c->scope = arena_alloc(
	    c->arena, (c->policy->scope.count + 1) * sizeof *c->scope);
	return scope_find(c->policy, &request, c->scope);
}

int
claimant_read_content(struct claimant *c)
{
	const struct conf_idempotency *policy = c->policy;
	bool has_pointers = (c->derived && policy->derive_from.count > 0) ||
	    policy->entity.pointers.count > 0 || policy->newer_only.count > 0 ||
	    policy->labels.count > 0 || policy->fingerprint_only.count > 0 ||
	    policy->fingerprint_ignore.count > 0 ||
	    template_has(&policy->reconcile.path, 1 << TEMPLATE_JSON);
	body_clear(&c->decoded);
	c->decoded = (struct body){.budget = c->body->budget};
	int error = content_read(&c->content, &c->head.fields,
	    body_span(c->body), (size_t)policy->max_request_body,
	    c->body->budget != NULL ? &c->decoded : NULL);
	return error == E_MALFORMED && !has_pointers ? 0 : error;
}

/* What its route's templates take the values of variables from. */
static struct variables
variables_of(const struct claimant *c)
{
	return (struct variables){
	    .arena = c->arena,
	    .route = c->route,
	    .target = &c->head.target,
	    .body = &c->content,
	    .key = c->key.sent,
	    .scope = c->scope,
	    .scope_count = c->scope != NULL ? c->policy->scope.count : 0,
	};
}

/* Names the record by namespace, scope and key. */
static enum problem
name_by_scope(struct claimant *c, struct span *ret_detail)
{
	const struct template *template = &c->policy->namespace;
	struct span namespace = span_str(template->text);
	const struct variables variables = variables_of(c);
	must(c->scope != NULL);
	if (template_has(template, 1 << TEMPLATE_PATH) &&
	    !variables_fill(&variables, template, &namespace)) {
		*ret_detail = SPAN("A segment of the path that names what the "
				   "key belongs to is empty or only dots.");
		return PROBLEM_BAD_REQUEST;
	}
	key_id_make(c->store_conf, namespace, &c->policy->scope, c->scope,
	    c->key.bytes, &c->key_id);
	hex_encode(c->key_id.bytes, DIGEST_BYTES, c->key_hex);
	return PROBLEM_COUNT_;
}

enum problem
claimant_name(struct claimant *c, struct span *ret_detail)
{
	enum problem problem = name_by_scope(c, ret_detail);
	if (problem != PROBLEM_COUNT_ || !conf_has_entity(c->policy))
		return problem;
	const struct variables variables = variables_of(c);
	*ret_detail =
	    entity_find(c->store_conf, &variables, c->scope, &c->entity);
	if (ret_detail->len > 0)
		return PROBLEM_BAD_REQUEST;
	if (c->store_conf->store.redis.cluster.count == 0)
		return PROBLEM_COUNT_;
	if (!c->derived && c->policy->entity.path == NULL) {
		*ret_detail = SPAN("The key of this request is made of its "
				   "body; it must not bring one of its own.");
		return PROBLEM_KEY_INVALID;
	}
	/* Record and entity have to share a shard. */
	entity_share_shard(&c->entity, &c->key_id);
	hex_encode(c->key_id.bytes, DIGEST_BYTES, c->key_hex);
	return PROBLEM_COUNT_;
}

/* On a cluster the namespace, and so the path, names the entity too. */
enum problem
claimant_name_record(struct claimant *c, struct span *ret_detail)
{
	struct span entity;
	const char *name = c->policy->entity.path;
	enum problem problem = name_by_scope(c, ret_detail);
	if (problem != PROBLEM_COUNT_ || name == NULL ||
	    c->store_conf->store.redis.cluster.count == 0)
		return problem;
	must(route_variable(c->arena, c->route, &c->head.target,
	    span_str(name), &entity));
	entity_name_by_path(
	    c->store_conf, c->policy, c->scope, entity, c->entity.name);
	entity_share_shard(&c->entity, &c->key_id);
	hex_encode(c->key_id.bytes, DIGEST_BYTES, c->key_hex);
	return PROBLEM_COUNT_;
}

/* --- the claim --- */

void
claimant_fingerprint(struct claimant *c)
{
	const struct request_target *target = &c->head.target;
	struct fingerprinted what = {
	    .method = c->method,
	    .path = target->path,
	    .query = target->query,
	    .has_query = target->has_query,
	    .fields = &c->head.fields,
	    .overrides = c->route->upstream->trust_overrides,
	    .body = &c->content,
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
 * A hash, in hex, of the query that would ask the upstream what became of an
 * attempt of this request, and of the host that it would ask.
 */
static struct span
hash_query(struct claimant *c, const struct variables *variables)
{
	const struct conf_reconcile *asked = &c->policy->reconcile;
	bool names_host = c->route->upstream->host == HOST_PRESERVE;
	struct digest digest;
	uint8_t hash[DIGEST_BYTES];
	char *hex = arena_alloc(c->arena, DIGEST_HEX + 1);
	digest_begin(&digest, SPAN("question"),
	    span_str(c->store_conf->store.secret));
	digest_part(&digest, variables_digest(variables, &asked->path));
	digest_part(&digest, names_host ? c->head.authority : SPAN(""));
	for (size_t i = 0; i < asked->n_headers; i++)
		digest_part(&digest,
		    variables_digest(variables, &asked->headers[i].value));
	digest_end(&digest, hash);
	hex_encode(hash, sizeof hash, hex);
	return span_of(hex, DIGEST_HEX);
}

void
claimant_prepare(struct claimant *c, bool waits)
{
	const struct variables variables = variables_of(c);
	c->label = provenance_cut(c->arena,
	    variables_label(&variables, c->policy), LABEL_MAX_BYTES);
	c->claim = (struct claim){
	    .key_id = c->key_id,
	    .policy = c->policy,
	    .max_attempts = c->policy->max_attempts,
	    .entity = conf_has_entity(c->policy) ? &c->entity : NULL,
	    .waits = waits,
	};
	if (c->policy->replay_json.count > 0 && c->own == NULL)
		c->own = replay_json_take(c->arena, c->policy, &c->content);
	if (c->policy->reconcile.path.text != NULL && INVARIANT(same_query))
		c->claim.query_hash = hash_query(c, &variables);
	if (c->policy->reconcile.n_headers > 0)
		c->claim.question = message_question(c, &variables);
	claimant_fingerprint(c);
}

/*
 * Of another body with this key Redis decides; and of all keys, where the
 * subscriber has been silent: an operator may have deleted the record.
 */
bool
claimant_find_cached(struct claimant *c)
{
	struct worker *w = c->worker;
	if (clock_us() - store_heard_us(w->store) > UNHEARD_US &&
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
claimant_is_withheld(const struct claimant *c)
{
	return outcome_is_awaited(
	    c->worker->store, c->worker->awaited, &c->claim);
}

void
claimant_claim(struct claimant *c, bool executes)
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
	c->claim.has_outcome = claimant_is_withheld(c);
	c->claim.withheld = !executes;
	c->claim.provenance = provenance_write(c->arena, &provenance);
	claim_own(&c->claim);
	c->mark = cache_asking(c->worker->cache, &c->key_id);
	claim_start(c->worker->store, &c->claim_op, &c->claim);
}

void
claimant_take_answer(struct claimant *c)
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

/* The claimant ends; its execution goes on by itself. */
static void
leave_execution(struct op *join, int error)
{
	struct claimant *c = CONTAINER_OF(join, struct claimant, join);
	(void)error;
	c->execution->claimant = NULL;
	c->execution = NULL;
}

void
claimant_start(struct claimant *c)
{
	bool reconciles = c->claim_op.verdict == VERDICT_RECONCILE;
	const struct variables variables = variables_of(c);
	c->attempt = c->claim_op.attempt;
	/* If it is to be executed after all, that is an attempt more. */
	message_make(c, c->attempt + reconciles);
	op_start(&c->join, OP_UNTIMED, leave_execution);
	c->execution = execution_new(&(struct execution_terms){
	    .worker = c->worker,
	    .generation = c->generation,
	    .route = c->route,
	    .arena = c->arena,
	    .claimant = c,
	    .claim = &c->claim,
	    .claimed = &c->claim_op,
	    .message = &c->message,
	    .body = c->body,
	    .query = reconciles ? message_reconcile(c, &variables) : NULL,
	    .by = SPAN("request"),
	    .request_id = c->id,
	    .label = c->label,
	    .counts = c->counts,
	});
	/* What the body says is in the key, the claim and the question. */
	body_clear(&c->decoded);
	c->content = content_of(SPAN(""));
	machine_run(&c->execution->machine);
}
