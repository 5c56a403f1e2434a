/* SPDX-License-Identifier: BSD-2-Clause */
#include "gate/claimant.h"
#include "gate/generation.h"
#include "gate/key/entity.h"
#include "http/front/route.h"

void
claimant_init(struct claimant *c, const struct claimant_home *home,
    struct arena *arena, struct machine *owner)
{
	c->worker = home->worker;
	c->store_conf = home->store_conf;
	c->generation = generation_ref(home->generation);
	c->conf = c->generation->conf;
	c->arena = arena;
	c->problem = PROBLEM_COUNT_;
	c->store_us = c->upstream_us = -1;
	op_init(&c->claim_op.op, home->loop, machine_run, owner);
	op_init(&c->join, home->loop, machine_run, owner);
}

void
claimant_clear(struct claimant *c)
{
	op_cancel(&c->claim_op.op);
	op_cancel(&c->join);
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

enum key_verdict
claimant_find_asked_key(struct claimant *c)
{
	struct field field = {span_str(c->policy->headers.list[0]), SPAN("")};
	const struct fields fields = {&field, 1};
	must(route_variable(c->arena, c->route, &c->head.target, SPAN("key"),
	    &field.value));
	return key_find(c->arena, c->policy, &fields, &c->key);
}

enum scope_verdict
claimant_find_scope(struct claimant *c, const char **ret_message)
{
	const struct scope_request request = {
	    .arena = c->arena,
	    .fields = &c->head.fields,
	    .route = c->route,
	    .target = &c->head.target,
	    .certificate = &c->certificate,
	    .now_ms = clock_wall_ms(),
	    .ret_message = ret_message,
	};
	c->scope = arena_alloc(
	    c->arena, (c->policy->scope.count + 1) * sizeof *c->scope);
	return scope_find(c->policy, &request, c->scope);
}

enum key_verdict
claimant_derive_key(struct claimant *c)
{
	return c->derived
	    ? key_derive(c->arena, c->policy, body_span(c->body), &c->key)
	    : KEY_FOUND;
}

struct variables
claimant_variables(const struct claimant *c)
{
	return (struct variables){
	    .arena = c->arena,
	    .route = c->route,
	    .target = &c->head.target,
	    .body = body_span(c->body),
	    .key = c->key.sent,
	};
}

/* False: the namespace cannot be made. */
static bool
name_record(struct claimant *c)
{
	struct span namespace = span_str(c->policy->namespace.text);
	const struct variables variables = claimant_variables(c);
	if (template_has(&c->policy->namespace, TEMPLATE_PATH) &&
	    !variables_fill(&variables, &c->policy->namespace, &namespace))
		return false;
	key_id_make(c->store_conf, namespace, &c->policy->scope, c->scope,
	    c->key.bytes, &c->key_id);
	hex_encode(c->key_id.bytes, DIGEST_BYTES, c->key_hex);
	return true;
}

/* What the request changes; on a cluster it must be of the record's shard. */
static enum problem
find_entity(struct claimant *c, struct span *ret_detail)
{
	const struct variables variables = claimant_variables(c);
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
	entity_share_shard(&c->entity, &c->key_id);
	hex_encode(c->key_id.bytes, DIGEST_BYTES, c->key_hex);
	return PROBLEM_COUNT_;
}

/* Names the record where its entity does not matter. */
static enum problem
name_plainly(struct claimant *c, struct span *ret_detail)
{
	must(c->scope != NULL);
	if (name_record(c))
		return PROBLEM_COUNT_;
	*ret_detail = SPAN("A segment of the path that names what the key "
			   "belongs to is empty or only dots.");
	return PROBLEM_BAD_REQUEST;
}

enum problem
claimant_name(struct claimant *c, struct span *ret_detail)
{
	enum problem problem = name_plainly(c, ret_detail);
	return problem == PROBLEM_COUNT_ && conf_has_entity(c->policy)
	    ? find_entity(c, ret_detail)
	    : problem;
}

/* On a cluster the namespace, and so the path, names the entity too. */
enum problem
claimant_name_asked(struct claimant *c, struct span *ret_detail)
{
	struct span entity;
	const char *name = c->policy->entity.path;
	enum problem problem = name_plainly(c, ret_detail);
	if (problem != PROBLEM_COUNT_ || name == NULL ||
	    c->store_conf->store.redis.cluster.count == 0)
		return problem;
	must(route_variable(c->arena, c->route, &c->head.target,
	    span_str(name), &entity));
	entity_name_by_path(
	    c->store_conf, c->policy, c->scope, entity, c->entity.name);
	entity_share_shard(&c->entity, &c->key_id);
	hex_encode(c->key_id.bytes, DIGEST_BYTES, c->key_hex);
	return problem;
}
