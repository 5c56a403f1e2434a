/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/ascii.h"
#include "base/error.h"
#include "base/json.h"
#include "conf/source_asks.h"
#include "gate/key/key.h"
#include "gate/key/variables.h"
#include "gate/response.h"
#include "http/head/header_value.h"
#include "messages/source/message_text.h"
#include "messages/source/shape.h"

/* Beside the fields that the source names. */
enum { FIELDS_ADDED = 8 };

struct shape {
	const struct conf_source *source;
	const struct broker_message *message;
	struct claimant *c;
	struct arena *scratch; /* what is read of the payload lies there */
	struct span body;
	struct span *detail;
};

static enum shape_verdict
misshapen(struct shape *s, enum shape_verdict verdict, struct span detail)
{
	/* Of one that stands, and is tried on, they end with the request. */
	*s->detail = verdict == SHAPE_OWN_SCOPE
	    ? detail : arena_dup(s->message->arena, detail);
	return verdict;
}

/* --- path and fields --- */

/* A control character is nobody's name, and ends a log's line elsewhere. */
static bool
value_in_message(
    void *arg, const struct template_piece *piece, struct span *ret_value)
{
	struct shape *s = arg;
	return message_text_value(s->message, s->body, s->scratch, piece,
		   ret_value) &&
	    !ascii_has_controls(*ret_value);
}

/* All fields but the key's, with room for that. */
static enum shape_verdict
make_fields(struct shape *s, struct fields *ret_fields)
{
	const struct conf_source *source = s->source;
	struct fields fields = {arena_alloc(s->c->arena,
		(source->request.n_headers + FIELDS_ADDED) *
		    sizeof(struct field)), 0};
	bool typed = false;
	for (size_t i = 0; i < source->request.n_headers; i++) {
		const struct conf_header *h =
		    &source->request.headers[i];
		struct span value = span_str(h->secret);
		if (h->secret == NULL &&
		    !message_text_fill(s->c->arena, &h->value,
			value_in_message, s, &value))
			return misshapen(s, SHAPE_MALFORMED,
			    arena_printf(s->c->arena,
				"%s has a variable without a usable value",
				h->name));
		typed |= span_ieq(span_str(h->name), SPAN("Content-Type"));
		fields.list[fields.count++] =
		    (struct field){span_str(h->name), value};
	}
	const struct field *own =
	    message_text_field(s->message, SPAN("content-type"));
	struct span type = source->request.content_type != NULL
	    ? span_str(source->request.content_type)
	    : own != NULL ? own->value : SPAN("");
	if (!typed)
		fields.list[fields.count++] = (struct field){
		    SPAN("Content-Type"),
		    type.len > 0 ? type : SPAN("application/json")};
	if (source->request.cloudevents)
		message_text_cloudevent(
		    source, s->message, s->c->arena, &fields);
	*ret_fields = fields;
	return SHAPE_GOOD;
}

/* --- its key --- */

/*
 * Where no field has it.  An event is its source and id (CloudEvents 1.0,
 * section 3.1.1), each with its length, so that no two pairs blur; else it is
 * its webhook-id; or where it stands, in words that no other message of any
 * broker has.
 */
static struct span
own_key(const struct conf_source *source, const struct broker_message *m,
    struct arena *arena)
{
	const struct field *from = message_text_field(m, SPAN("ce-source"));
	const struct field *id = message_text_field(m, SPAN("ce-id"));
	const struct field *hook = message_text_field(m, SPAN("webhook-id"));
	const char *place =
	    source->stream != NULL ? source->stream : source->table;
	bool named = source->key != SOURCE_KEY_POSITION;
	if (named && from != NULL && id != NULL && from->value.len > 0 &&
	    id->value.len > 0)
		return arena_printf(arena, "%zu:%.*s/%zu:%.*s",
		    from->value.len,
		    SPAN_FMT(message_text_encode(arena, from->value)),
		    id->value.len,
		    SPAN_FMT(message_text_encode(arena, id->value)));
	if (named && hook != NULL && hook->value.len > 0)
		return hook->value;
	/* Kafka's has its topic in it. */
	if (m->part.ptr != NULL)
		return arena_printf(arena, "%s/%.*s", source->broker->name,
		    SPAN_FMT(message_text_encode(arena, m->position)));
	return arena_printf(arena, "%s/%.*s/%.*s", source->broker->name,
	    SPAN_FMT(message_text_encode(arena, span_str(place))),
	    SPAN_FMT(message_text_encode(arena, m->position)));
}

/*
 * How many fields have a key, where the source names it, or an HTTP client
 * would have sent it; the first of them is the key's.
 */
static size_t
find_keys(const struct conf_source *source, const struct broker_message *m,
    const struct claimant *c, const struct field **ret_first)
{
	const struct strings *names = &c->policy->headers;
	bool own = source->key == SOURCE_KEY_HEADER;
	const char *usual = own ? source->key_header : "Idempotency-Key";
	size_t count = 0;
	for (size_t i = 0; i < m->fields.count; i++) {
		const struct field *f = &m->fields.list[i];
		bool is_key = field_names_meet(f->name, span_str(usual));
		for (size_t k = 0; k < names->count && !own && !is_key; k++)
			is_key = field_names_meet(
			    f->name, span_str(names->list[k]));
		if (is_key && count++ == 0)
			*ret_first = f;
	}
	return count;
}

/* As a quoted string (RFC 8941, section 3.3.3) where it has to be one. */
static struct span
as_value(const struct claimant *c, struct span key)
{
	bool bare = key.len > 0 && c->policy->key_format != KEY_QUOTED;
	for (size_t i = 0; i < key.len && bare; i++)
		bare = key.ptr[i] > 0x20 && key.ptr[i] < 0x7f &&
		    strchr(",\";", key.ptr[i]) == NULL;
	if (bare)
		return key;
	char *out = arena_alloc(c->arena, 2 * key.len + 3);
	size_t len = 0;
	out[len++] = '"';
	for (size_t i = 0; i < key.len; i++) {
		if (key.ptr[i] == '"' || key.ptr[i] == '\\')
			out[len++] = '\\';
		out[len++] = key.ptr[i];
	}
	out[len++] = '"';
	return span_of(out, len);
}

static enum key_verdict
make_key(const struct conf_source *source, const struct broker_message *m,
    struct claimant *c)
{
	struct conf_idempotency policy = *c->policy;
	struct fields *fields = &c->head.fields;
	const struct field *f = NULL;
	if (source->key == SOURCE_KEY_POINTERS) {
		/* As the route's derive_key would make it. */
		policy.derive_from_body = false;
		policy.derive_from = source->key_pointers;
		c->derived = true;
		return key_derive(c->arena, &policy, &c->content, &c->key);
	}
	if (source->key != SOURCE_KEY_POSITION &&
	    find_keys(source, m, c, &f) > 1) {
		c->key.message = "More than one field has an idempotency key.";
		return KEY_INVALID;
	}
	if (f == NULL && source->key == SOURCE_KEY_HEADER)
		return KEY_MISSING;
	struct span value = f != NULL
	    ? f->value
	    : as_value(c, own_key(source, m, c->arena));
	/* Where it stands nobody has chosen, and it becomes longer. */
	if (f == NULL)
		policy.min_length = 1;
	if (!field_is_value(value)) {
		c->key.message = "The idempotency key has control characters.";
		return KEY_INVALID;
	}
	fields->list[fields->count++] = (struct field){
	    span_str(c->policy->headers.list[0]), value};
	return key_find(c->arena, &policy, fields, &c->key);
}

/* --- what the gateway asks of every request --- */

/* What head_check refuses, as the problem that a client would be given. */
static enum shape_verdict
refuse_problem(struct shape *s, enum problem problem)
{
	return misshapen(
	    s, SHAPE_MALFORMED, span_str(problem_lines[problem].type));
}

static enum shape_verdict
check_head(struct shape *s, struct span target, const struct fields *fields)
{
	/* As HTTP/1.0 it needs no Host: the upstream's own name is sent. */
	const struct head_as_sent head = {
	    .method = span_str(s->source->request.method),
	    .target = target,
	    .version = SPAN("HTTP/1.0"),
	    .fields = *fields,
	    .message = "",
	};
	struct claimant *c = s->c;
	/* What it is as HTTP/1.1, from the method to the empty line. */
	size_t bytes = head.method.len + target.len +
	    sizeof "  HTTP/1.1\r\n\r\n" - 1;
	for (size_t i = 0; i < fields->count; i++)
		bytes += fields->list[i].name.len + fields->list[i].value.len +
		    sizeof ": \r\n" - 1;
	if (bytes > (size_t)c->store_conf->max_request_headers)
		return refuse_problem(s, PROBLEM_HEADERS_TOO_LARGE);
	enum head_verdict verdict = head_check(c->arena, &head, &c->head);
	if (verdict != HEAD_CHECK_OK)
		return refuse_problem(s, response_to_head_check(verdict));
	c->head.version_1_0 = false;
	/* With room for the key. */
	struct fields *checked = &c->head.fields;
	struct field *list = arena_alloc(
	    c->arena, (checked->count + FIELDS_ADDED) * sizeof *list);
	memcpy(list, checked->list, checked->count * sizeof *list);
	checked->list = list;
	return SHAPE_GOOD;
}

static enum shape_verdict
find_key(struct shape *s)
{
	struct claimant *c = s->c;
	struct span why = SPAN("");
	enum key_verdict verdict = make_key(s->source, s->message, c);
	if (verdict == KEY_FOUND)
		return SHAPE_GOOD;
	if (verdict != KEY_MISSING)
		return misshapen(s, SHAPE_MALFORMED,
		    arena_printf(
			c->arena, "key-invalid: %s", c->key.message));
	if (s->source->key == SOURCE_KEY_HEADER)
		why = arena_printf(c->arena, "it has no field \"%s\"",
		    s->source->key_header);
	else if (s->source->key == SOURCE_KEY_POINTERS)
		why = key_members_wrong(c->arena, "it has no key",
		    &s->source->key_pointers, &c->content);
	return misshapen(s, SHAPE_KEY_MISSING, why);
}

size_t
shape_own_scope(const struct conf_source *source, const struct claimant *c)
{
	const struct conf_scopes *scope = &c->policy->scope;
	struct span value;
	size_t count = 0;
	for (size_t i = 0; i < scope->count; i++) {
		const char *header = scopes_header(&scope->list[i]);
		count += header != NULL &&
		    source_asks_header(source, header, &value);
	}
	return count;
}

/* Where nothing that could name the tenant is a message's, none is to blame. */
static enum shape_verdict
find_scope(struct shape *s)
{
	struct claimant *c = s->c;
	const struct conf_scopes *scope = &c->policy->scope;
	struct token_refusal refusal = {.words = NULL};
	enum scope_verdict found = claimant_find_scope(c, &refusal);
	if (refusal.pending || refusal.old)
		return SHAPE_UNVERIFIED;
	switch (found) {
	case SCOPE_FOUND:
		return SHAPE_GOOD;
	case SCOPE_MISSING:
	case SCOPE_MALFORMED:
		if (shape_own_scope(s->source, c) < scope->count)
			return refuse_problem(s, PROBLEM_SCOPE_MISSING);
		return misshapen(s, SHAPE_OWN_SCOPE,
		    arena_printf(c->arena,
			"The route \"%s\" finds no tenant in the source's own "
			"headers: it wants %.*s", c->route->name,
			SPAN_FMT(scope_wanted(c->arena, scope))));
	case SCOPE_UNVERIFIED:
		return SHAPE_UNVERIFIED;
	case SCOPE_INVALID:
		if (shape_own_scope(s->source, c) > 0)
			return misshapen(s, SHAPE_OWN_SCOPE,
			    arena_printf(c->arena, "The route \"%s\" refuses "
				"the source's own token: %s",
				c->route->name, refusal.words));
		return misshapen(s, SHAPE_MALFORMED,
		    arena_printf(c->arena, "%s: %s",
			problem_lines[PROBLEM_TOKEN_INVALID].type,
			refusal.words));
	case SCOPE_REPEATED:
		break;
	}
	return refuse_problem(s, PROBLEM_BAD_REQUEST);
}

static enum shape_verdict
make_request(struct shape *s)
{
	struct claimant *c = s->c;
	struct span target, detail = SPAN("");
	struct fields fields;
	if (!variables_fill_path(c->arena, &s->source->request.path,
		value_in_message, s, &target))
		return misshapen(s, SHAPE_MALFORMED,
		    SPAN("the path has a variable without a usable value"));
	enum shape_verdict verdict = make_fields(s, &fields);
	if (verdict == SHAPE_GOOD)
		verdict = check_head(s, target, &fields);
	if (verdict != SHAPE_GOOD)
		return verdict;
	if (!claimant_find_route(c))
		return misshapen(s, SHAPE_MALFORMED,
		    arena_printf(c->arena, "%s: the path can be read as two, "
			"by %%2F or the like in a value, and these have "
			"different routes",
			problem_lines[PROBLEM_BAD_REQUEST].type));
	if (c->route == NULL)
		return refuse_problem(s, PROBLEM_NO_ROUTE);
	if (c->policy == NULL)
		return misshapen(s, SHAPE_MALFORMED,
		    SPAN("its path leads to a route without idempotency"));
	if (c->body->len > (size_t)c->policy->max_request_body)
		return misshapen(s, SHAPE_TOO_LARGE, SPAN(""));
	/* It is not decoded, so nothing can be wrong with it. */
	must(claimant_read_content(c) == 0);
	verdict = find_key(s);
	if (verdict == SHAPE_GOOD)
		verdict = find_scope(s);
	if (verdict != SHAPE_GOOD)
		return verdict;
	enum problem problem = claimant_name(c, &detail);
	if (problem == PROBLEM_COUNT_)
		return SHAPE_GOOD;
	return misshapen(s, SHAPE_MALFORMED,
	    arena_printf(c->arena, "%s: %.*s", problem_lines[problem].type,
		SPAN_FMT(detail)));
}

enum shape_verdict
shape_request(const struct conf_source *source,
    const struct broker_message *message, struct claimant *c,
    struct body *body, struct span *ret_detail)
{
	struct shape s = {
	    .source = source,
	    .message = message,
	    .c = c,
	    .body = body_span(body),
	    .detail = ret_detail,
	};
	struct digest digest;
	uint8_t hash[DIGEST_BYTES];
	char hex[DIGEST_HEX + 1];
	c->method = span_str(source->request.method);
	c->body = body;
	c->has_body = true;
	c->client = SPAN("");
	/*
	 * The same on each try and by each gateway, where its record is to tell
	 * later that it was this message which was executed, and nothing was
	 * put for it since.
	 */
	if (message->may_be_put) {
		c->id = header_value_request_id(
		    c->arena, &(struct fields){NULL, 0});
	} else {
		digest_begin(&digest, SPAN("message"), SPAN(""));
		digest_part(&digest, span_str(source->name));
		digest_part(&digest, message->position);
		digest_end(&digest, hash);
		hex_encode(hash, sizeof hash, hex);
		c->id = arena_dup(c->arena, span_str(hex));
	}
	/* What is read of a payload is many times its size. */
	s.scratch = arena_new();
	enum shape_verdict verdict = make_request(&s);
	arena_free(&s.scratch);
	return verdict;
}

/* --- the body --- */

enum shape_verdict
shape_body(const struct conf_source *source,
    const struct broker_message *m, struct body *body, struct span *ret_detail)
{
	const char *name = source->request.body_field;
	const struct field *field =
	    fields_first(&m->fields, name ? span_str(name) : SPAN("body"));
	struct arena *scratch = arena_new();
	struct span bytes = m->payload;
	const char *why = NULL;
	if (!m->has_payload && field != NULL)
		bytes = field->value;
	else if (!m->has_payload && name != NULL)
		why = "it has no field for the body";
	else if (!m->has_payload &&
	    !message_text_json(scratch, &m->fields, &bytes))
		why = "a field is no UTF-8";
	/* Exactly as large: what it may have is counted already. */
	if (why == NULL)
		must(body_append_within(
			 body, bytes.ptr, bytes.len, bytes.len) == 0);
	else
		*ret_detail = span_str(why);
	arena_free(&scratch);
	return why == NULL ? SHAPE_GOOD : SHAPE_MALFORMED;
}

bool
shape_order(const struct conf_source *source,
    const struct broker_message *m, struct span body,
    uint8_t ret_order[DIGEST_BYTES])
{
	const struct field *field;
	struct digest digest;
	bool found = true;
	digest_begin(&digest, SPAN("order"), SPAN(""));
	/* There is no order beyond a partition. */
	if (m->part.ptr != NULL)
		digest_part(&digest, m->part);
	switch (source->order_by) {
	case SOURCE_ORDER_NONE:
	case SOURCE_ORDER_PARTITION:
		break;
	case SOURCE_ORDER_KEY:
		found = m->key.ptr != NULL;
		digest_part(&digest, m->key);
		break;
	case SOURCE_ORDER_ENTITY:
		found = m->entity.ptr != NULL;
		digest_part(&digest, m->entity);
		break;
	case SOURCE_ORDER_POINTERS: {
		struct arena *scratch = arena_new();
		const struct content content = content_of(body);
		found = key_digest_members(
		    scratch, &source->order_pointers, &content, &digest);
		arena_free(&scratch);
		break;
	}
	case SOURCE_ORDER_HEADER:
		field = message_text_field(m, span_str(source->order_header));
		found = field != NULL;
		digest_part(&digest, found ? field->value : SPAN(""));
		break;
	}
	digest_end(&digest, ret_order);
	return found;
}
