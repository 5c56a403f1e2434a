/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/digest.h"
#include "gate/claimant.h"
#include "gate/message.h"
#include "http/head/proxy_headers.h"

/* So much of an answer's head fits beside a request's head (front.c). */
enum { ANSWER_HEAD_BYTES = 16 * 1024 };
/* A longer question does not rest in a record, and is not asked alone. */
enum { QUESTION_BYTES = 4096 };

static struct proxy_request
head_of(const struct claimant *c, const struct fields *fields, uint32_t attempt)
{
	const struct conf_idempotency *policy =
	    c->route->idempotency ? c->route->idempotency : c->conf->defaults;
	return (struct proxy_request){
	    .fields = fields,
	    .version_1_0 = c->head.version_1_0,
	    .tls = c->tls,
	    .client = c->client,
	    .authority = c->head.authority,
	    .request_id = c->id,
	    .forwarded = c->route->upstream->forwarded,
	    .trust_overrides = c->route->upstream->trust_overrides,
	    .policy = policy,
	    .identity = c->policy != NULL,
	    .attempt_header = span_str(policy->attempt_header),
	    .attempt = attempt,
	    .key_id = span_str(c->key_hex),
	};
}

void
message_make(struct claimant *c, uint32_t attempt)
{
	const struct conf_idempotency *policy = c->route->idempotency;
	struct proxy_request head = head_of(c, &c->head.fields, attempt);
	struct span method = c->method;
	if (policy != NULL && policy->headers.count > 0)
		head.key_header = span_str(policy->headers.list[0]);
	/* The upstream may be told a key that the gateway derived. */
	if (c->derived && policy->send_derived)
		head.key = c->key.sent;
	if (head.key.len > 0 && policy->key_format == KEY_QUOTED)
		head.key =
		    arena_printf(c->arena, "\"%.*s\"", SPAN_FMT(head.key));
	c->message = (struct message){
	    .method = method,
	    .target = c->head.target.origin_form,
	    .authority = c->head.authority,
	    .fields = proxy_headers_for_upstream(c->arena, &head),
	    .body = body_span(c->body),
	    /* These methods have a body by nature, if an empty one. */
	    .has_body = c->has_body || c->head.has_length ||
		span_eq(method, SPAN("POST")) ||
		span_eq(method, SPAN("PUT")) ||
		span_eq(method, SPAN("PATCH")),
	};
}

/* fields has room for one more. */
static const struct message *
make_query(struct claimant *c, struct span target, struct span authority,
    struct fields *fields)
{
	struct message *query = arena_alloc(c->arena, sizeof *query);
	const struct proxy_request head = head_of(c, fields, 0);
	/* What a cache has is of another day. */
	fields_add(fields, SPAN("Cache-Control"), SPAN("no-cache"));
	*query = (struct message){
	    .method = SPAN("GET"),
	    .target = target,
	    .authority = authority,
	    .fields = proxy_headers_for_upstream(c->arena, &head),
	};
	return query;
}

const struct message *
message_reconcile(struct claimant *c, const struct variables *variables)
{
	const struct fields *in = &c->head.fields;
	const struct conf_scopes *scopes = &c->policy->scope;
	struct span target;
	const struct template *path = &c->policy->reconcile.path;
	if (c->policy->reconcile.n_headers > 0)
		return message_of_question(
		    c, message_question(c, variables));
	if (path->text == NULL || !variables_fill(variables, path, &target))
		return NULL;
	struct fields scope = fields_new(c->arena, in->count + 1);
	for (size_t i = 0; i < in->count; i++) {
		struct span name = in->list[i].name;
		bool of_scope = false;
		for (size_t k = 0; k < scopes->count && !of_scope; k++) {
			const char *header = scopes_header(&scopes->list[k]);
			of_scope =
			    header != NULL && span_ieq(span_str(header), name);
		}
		if (of_scope)
			scope.list[scope.count++] = in->list[i];
	}
	return make_query(c, target, c->head.authority, &scope);
}

/* --- a question that rests in the record --- */

/*
 * A hash, in hex, of what the configuration asks with: the values in a question
 * are of those places.  A secret may be another one by now.
 */
static struct span
hash_words(struct arena *arena, const struct conf_reconcile *asked)
{
	struct digest digest;
	uint8_t hash[DIGEST_BYTES];
	char *hex = arena_alloc(arena, DIGEST_HEX + 1);
	digest_begin(&digest, SPAN("words"), SPAN(""));
	digest_part(&digest, span_str(asked->path.text));
	for (size_t i = 0; i < asked->n_headers; i++) {
		digest_part(&digest, span_str(asked->headers[i].name));
		digest_part(&digest, span_str(asked->headers[i].value.text));
	}
	digest_end(&digest, hash);
	hex_encode(hash, sizeof hash, hex);
	return span_of(hex, DIGEST_HEX);
}

/*
 * A question's lines are the hash of its words, its target, and "NAME: VALUE"
 * of each header that was filled in, and of Host where the upstream is told the
 * client's.
 */
struct span
message_question(struct claimant *c, const struct variables *variables)
{
	const struct conf_reconcile *asked = &c->policy->reconcile;
	struct span text, value;
	if (asked->path.text == NULL ||
	    !variables_fill(variables, &asked->path, &text))
		return SPAN("");
	text = arena_printf(c->arena, "%.*s\n%.*s",
	    SPAN_FMT(hash_words(c->arena, asked)), SPAN_FMT(text));
	for (size_t i = 0; i < asked->n_headers; i++) {
		const struct conf_header *header = &asked->headers[i];
		if (!template_has(&header->value, ~(1u << TEMPLATE_TEXT)))
			continue;
		if (!variables_fill_field(variables, &header->value, &value))
			return SPAN("");
		text = arena_printf(c->arena, "%.*s\n%s: %.*s",
		    SPAN_FMT(text), header->name, SPAN_FMT(value));
	}
	if (c->route->upstream->host == HOST_PRESERVE)
		text = arena_printf(c->arena, "%.*s\nHost: %.*s",
		    SPAN_FMT(text), SPAN_FMT(c->head.authority));
	return text.len <= QUESTION_BYTES ? text : SPAN("");
}

/* The value of a header that was filled in; false: none was. */
static bool
filled_in(struct span lines, const char *name, struct span *ret_value)
{
	struct span line, named;
	while (lines.len > 0 && span_next(&lines, '\n', &line)) {
		if (!span_cut(&line, ':', &named) ||
		    !span_ieq(named, span_str(name)) || line.len < 1)
			continue;
		*ret_value = span_from(line, 1);
		return true;
	}
	return false;
}

const struct message *
message_of_question(struct claimant *c, struct span question)
{
	const struct conf_reconcile *asked = &c->policy->reconcile;
	struct span words, target, authority = SPAN(""), lines = question;
	struct fields fields = fields_new(c->arena, asked->n_headers + 1);
	/* Without headers of our own it would be nobody who asks. */
	if (question.len == 0 || asked->n_headers == 0 ||
	    !span_next(&lines, '\n', &words) ||
	    !span_eq(words, hash_words(c->arena, asked)) ||
	    !span_next(&lines, '\n', &target))
		return NULL;
	if (c->route->upstream->host == HOST_PRESERVE &&
	    !filled_in(lines, "Host", &authority))
		return NULL;
	for (size_t i = 0; i < asked->n_headers; i++) {
		const struct conf_header *header = &asked->headers[i];
		struct field *field = &fields.list[fields.count++];
		field->name = span_str(header->name);
		if (header->secret != NULL)
			field->value = span_str(header->secret);
		else if (!template_has(
			     &header->value, ~(1u << TEMPLATE_TEXT)))
			field->value = span_str(header->value.text);
		else if (!filled_in(lines, header->name, &field->value))
			return NULL;
	}
	return make_query(c, target, authority, &fields);
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
