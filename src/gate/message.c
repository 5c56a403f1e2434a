/* SPDX-License-Identifier: BSD-2-Clause */
#include "gate/message.h"
#include "gate/request.h"
#include "gate/variables.h"
#include "http/header.h"

/* So much of an answer's head fits beside a request's head (front.c). */
enum { ANSWER_HEAD_BYTES = 16 * 1024 };

static struct header_request
head_of(const struct request *r, const struct fields *fields, uint32_t attempt)
{
	const struct conf_idempotency *policy =
	    r->route->idempotency ? r->route->idempotency : r->conf->defaults;
	return (struct header_request){
	    .fields = fields,
	    .version_1_0 = r->head.version_1_0,
	    .tls = r->x->tls,
	    .client = r->x->client,
	    .authority = r->head.authority,
	    .request_id = r->id,
	    .forwarded = r->route->upstream->forwarded,
	    .trust_overrides = r->route->upstream->trust_overrides,
	    .policy = policy,
	    .attempt_header = span_str(policy->attempt_header),
	    .attempt = attempt,
	};
}

/*
 * The key that the gateway derived and the upstream is told, as its field's
 * value; empty: none.
 */
static struct span
derived_key(const struct request *r)
{
	const struct conf_idempotency *policy = r->route->idempotency;
	if (!r->derived || r->key.sent.len == 0 || !policy->send_derived)
		return SPAN("");
	return policy->key_format == KEY_QUOTED
	    ? arena_printf(r->arena, "\"%.*s\"", SPAN_FMT(r->key.sent))
	    : r->key.sent;
}

void
message_make(struct request *r, uint32_t attempt)
{
	struct header_request head = head_of(r, &r->head.fields, attempt);
	head.key_header = span_str(r->route->idempotency
		? r->route->idempotency->headers.list[0]
		: "");
	head.key = derived_key(r);
	struct span method = r->x->head.method;
	r->message = (struct message){
	    .method = method,
	    .target = r->head.target.origin_form,
	    .authority = r->head.authority,
	    .fields = header_for_upstream(r->arena, &head),
	    .body = body_span(&r->x->body),
	    /* These methods have a body by nature, if an empty one. */
	    .has_body = r->x->has_body || r->head.has_length ||
		span_eq(method, SPAN("POST")) ||
		span_eq(method, SPAN("PUT")) ||
		span_eq(method, SPAN("PATCH")),
	};
	if (!r->x->has_body || r->x->body_ended)
		return;
	r->message.source = &r->up;
	r->message.length = r->head.chunked ? -1 : r->head.length;
}

static struct fields
scope_fields(const struct request *r)
{
	const struct fields *in = &r->head.fields;
	struct fields out = {
	    arena_alloc(r->arena, (in->count + 1) * sizeof(struct field)), 0};
	for (size_t i = 0; i < in->count; i++)
		for (size_t k = 0; k < r->policy->scope.count; k++)
			if (span_ieq(in->list[i].name,
				span_str(r->policy->scope.list[k])))
				out.list[out.count++] = in->list[i];
	return out;
}

bool
message_question(struct request *r, struct message *ret_message)
{
	struct span target;
	if (!variables_fill(r, &r->policy->reconcile.path, &target))
		return false;
	struct fields scope = scope_fields(r);
	const struct header_request head = head_of(r, &scope, 0);
	*ret_message = (struct message){
	    .method = SPAN("GET"),
	    .target = target,
	    .authority = r->head.authority,
	    .fields = header_for_upstream(r->arena, &head),
	};
	return true;
}

struct forward_limits
message_limits(const struct conf_route *route,
    const struct conf_idempotency *policy)
{
	return (struct forward_limits){
	    .max_head = ANSWER_HEAD_BYTES,
	    .streams = policy == NULL,
	    .max_body =
		policy ? (size_t)policy->max_response_body : SIZE_MAX,
	    .close_delimited =
		policy == NULL || route->upstream->close_delimited,
	    .reuse = route->upstream->reuse == REUSE_SAFE,
	};
}
