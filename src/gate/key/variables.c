/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/digest.h"
#include "base/digits.h"
#include "base/field.h"
#include "base/json.h"
#include "base/percent.h"
#include "base/template.h"
#include "base/test_build.h"
#include "conf/token/token.h"
#include "gate/key/variables.h"
#include "http/front/route.h"

/* A request's variables, and the arena for what is read of its body. */
struct asking {
	const struct variables *v;
	struct arena *scratch;
};

static bool
value_of(void *arg, const struct template_piece *piece, struct span *ret_value)
{
	const struct asking *asked = arg;
	const struct variables *v = asked->v;
	if (piece->kind == TEMPLATE_KEY) {
		*ret_value = v->key;
		return true;
	}
	if (piece->kind == TEMPLATE_PATH)
		return route_variable(v->arena, v->route, v->target,
		    piece->text, ret_value);
	if (piece->kind == TEMPLATE_SCOPE) {
		const struct conf_idempotency *policy = v->route->idempotency;
		int64_t at;
		if (policy == NULL ||
		    !digits_read(piece->text, INT32_MAX, &at) ||
		    (size_t)at >= v->scope_count ||
		    (size_t)at >= policy->scope.count)
			return false;
		/* Of a token, without what tells its issuers apart. */
		*ret_value = v->scope[at];
		return policy->scope.list[at].kind != SCOPE_JWT ||
		    token_value_text(*ret_value, ret_value);
	}
	if (piece->kind != TEMPLATE_JSON)
		return false;
	const struct json *json = content_json(asked->scratch, v->body);
	if (json != NULL)
		json = json_at(json, &piece->pointer);
	return json != NULL && json_scalar(v->arena, json, ret_value);
}

/*
 * Two values, or a value and its neighbours, may come to dots, too; and so they
 * may for who decodes slashes first.
 */
static bool
has_dots_segment(struct span text)
{
	struct span path = text;
	size_t from = 0;
	(void)span_next(&text, '?', &path);
	for (size_t at = 0; at < path.len; at++) {
		struct span rest = span_from(path, at);
		bool encoded = span_starts(rest, SPAN("%2F")) ||
		    span_starts(rest, SPAN("%5C"));
		if (!encoded && path.ptr[at] != '/')
			continue;
		if (span_is_dots(span_of(path.ptr + from, at - from)))
			return true;
		from = at + (encoded ? 3 : 1);
	}
	return span_is_dots(span_from(path, from));
}

bool
variables_fill_path(struct arena *arena, const struct template *t,
    variables_value *value, void *arg, struct span *ret_text)
{
	struct span text = SPAN("");
	for (size_t i = 0; i < t->count; i++) {
		struct span part = t->pieces[i].text;
		if (t->pieces[i].kind != TEMPLATE_TEXT) {
			if (!value(arg, &t->pieces[i], &part) ||
			    part.len == 0 ||
			    (span_is_dots(part) && INVARIANT(dotless_value)))
				return false;
			part = percent_encode(arena, part, PERCENT_UNRESERVED);
		}
		text = arena_printf(
		    arena, "%.*s%.*s", SPAN_FMT(text), SPAN_FMT(part));
	}
	*ret_text = text;
	return !has_dots_segment(text) || !INVARIANT(dotless_value);
}

bool
variables_fill(const struct variables *v, const struct template *t,
    struct span *ret_text)
{
	/* A body that is read as JSON takes many times its size. */
	struct asking asked = {v, arena_new()};
	bool filled =
	    variables_fill_path(v->arena, t, value_of, &asked, ret_text);
	arena_free(&asked.scratch);
	return filled;
}

bool
variables_fill_field(const struct variables *v, const struct template *t,
    struct span *ret_text)
{
	struct span text = SPAN("");
	struct asking asked = {v, arena_new()};
	bool filled = true;
	for (size_t i = 0; i < t->count && filled; i++) {
		struct span part = t->pieces[i].text;
		/* A blank at its end is not seen, and another tenant's name. */
		if (t->pieces[i].kind != TEMPLATE_TEXT)
			filled = value_of(&asked, &t->pieces[i], &part) &&
			    part.len > 0 && span_trim(part).len == part.len;
		text = arena_printf(v->arena, "%.*s%.*s", SPAN_FMT(text),
		    SPAN_FMT(part));
	}
	arena_free(&asked.scratch);
	*ret_text = text;
	return filled && field_is_value(text);
}

struct span
variables_digest(const struct variables *v, const struct template *t)
{
	if (!template_has(t, 1 << TEMPLATE_PATH | 1 << TEMPLATE_JSON))
		return SPAN("");
	struct digest digest;
	uint8_t *hash = arena_alloc(v->arena, DIGEST_BYTES);
	/* A body that is read as JSON takes many times its size. */
	struct asking asked = {v, arena_new()};
	digest_begin(&digest, SPAN("variables"), SPAN(""));
	for (size_t i = 0; i < t->count; i++) {
		const struct template_piece *piece = &t->pieces[i];
		struct span value = SPAN("");
		if (piece->kind != TEMPLATE_PATH &&
		    piece->kind != TEMPLATE_JSON)
			continue;
		bool found = value_of(&asked, piece, &value);
		digest_part(&digest, found ? SPAN("value") : SPAN("none"));
		digest_part(&digest, value);
	}
	digest_end(&digest, hash);
	arena_free(&asked.scratch);
	return span_of((const char *)hash, DIGEST_BYTES);
}

/* --- labels --- */

/* Controls, which would be in the way of people, are blanks. */
static struct span
append_value(struct arena *arena, struct span label, struct span value)
{
	size_t len = label.len + (label.len > 0);
	char *text = arena_alloc(arena, len + value.len);
	memcpy(text, label.ptr, label.len);
	if (label.len > 0)
		text[label.len] = ' ';
	for (size_t i = 0; i < value.len; i++) {
		char c = value.ptr[i];
		bool control = (unsigned char)c < ' ' || c == 0x7f;
		text[len + i] = control ? ' ' : c;
	}
	return span_of(text, len + value.len);
}

struct span
variables_label(
    const struct variables *v, const struct conf_idempotency *policy)
{
	struct span label = SPAN(""), value;
	if (policy->label_key)
		return v->key;
	if (policy->labels.count == 0)
		return label;
	/* A body that is read as JSON takes many times its size. */
	struct arena *scratch = arena_new();
	const struct json *json = content_json(scratch, v->body);
	for (size_t i = 0; i < policy->labels.count && json != NULL; i++) {
		const struct json *at = json_at(json, &policy->labels.list[i]);
		if (at != NULL && json_scalar(scratch, at, &value))
			label = append_value(v->arena, label, value);
	}
	arena_free(&scratch);
	return label;
}

bool
variables_fit_namespace(struct arena *arena,
    const struct conf_idempotency *policy, struct span namespace,
    struct span *ret_entity)
{
	const struct template *t = &policy->namespace;
	struct span *values =
	    arena_alloc(arena, (t->count + 1) * sizeof *values);
	*ret_entity = SPAN("");
	if (!template_match(t, namespace, values))
		return false;
	for (size_t i = 0; i < t->count; i++)
		if (t->pieces[i].kind == TEMPLATE_PATH &&
		    policy->entity.path != NULL &&
		    span_eq(t->pieces[i].text, span_str(policy->entity.path)))
			*ret_entity = percent_decode(arena, values[i], false);
	return true;
}
