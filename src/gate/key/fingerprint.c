/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "gate/key/fingerprint.h"
#include "gate/key/key.h"

/* --- the parts --- */

/* Clients that follow a redirect to the other spelling send the same thing. */
static struct span
without_last_slash(struct span path)
{
	bool ends = path.len > 1 && path.ptr[path.len - 1] == '/';
	return span_of(path.ptr, path.len - ends);
}

/*
 * The method, or else the path, and behind it what override fields
 * (tbl/request_fields.h) that reach the upstream say instead, each line.
 */
static void
digest_asked(struct digest *digest, const struct fingerprinted *request,
    bool method)
{
	struct span part = method ? SPAN("method") : SPAN("path");
	digest_part(digest, part);
	digest_part(digest,
	    method ? request->method : without_last_slash(request->path));
	for (size_t i = 0; request->overrides && i < request->fields->count;
	     i++) {
		const struct field *f = &request->fields->list[i];
		struct span name = f->name;
		if (field_kind_met(name) != FIELD_OVERRIDE ||
		    !INVARIANT(overrides_count))
			continue;
		bool of_method =
		    field_names_meet(name, SPAN("X-HTTP-Method-Override")) ||
		    field_names_meet(name, SPAN("X-HTTP-Method")) ||
		    field_names_meet(name, SPAN("X-Method-Override"));
		if (of_method != method)
			continue;
		digest_part(digest, part);
		digest_part(digest,
		    method ? f->value : without_last_slash(f->value));
	}
}

/* A name counts as it is spelled: another spelling is another parameter. */
static bool
is_ignored(const struct strings *names, struct span parameter)
{
	const char *sign = parameter.len > 0
	    ? memchr(parameter.ptr, '=', parameter.len)
	    : NULL;
	struct span name = sign != NULL
	    ? span_of(parameter.ptr, (size_t)(sign - parameter.ptr))
	    : parameter;
	for (size_t i = 0; i < names->count; i++)
		if (span_eq(span_str(names->list[i]), name))
			return true;
	return false;
}

/*
 * The parameters that count, in their order.  Where some do not, a lone "?"
 * makes no difference either.
 */
static void
digest_query(struct digest *digest, const struct conf_idempotency *policy,
    const struct fingerprinted *request)
{
	const struct strings *ignored = &policy->fingerprint_ignore_query;
	struct span rest = request->query, parameter;
	if (ignored->count == 0) {
		if (!request->has_query)
			return;
		digest_part(digest, SPAN("query"));
		digest_part(digest, request->query);
		return;
	}
	digest_part(digest, SPAN("rest of the query"));
	while (rest.len > 0) {
		const char *end = memchr(rest.ptr, '&', rest.len);
		size_t len = end != NULL ? (size_t)(end - rest.ptr) : rest.len;
		parameter = span_of(rest.ptr, len);
		rest = span_from(rest, end != NULL ? len + 1 : len);
		if (is_ignored(ignored, parameter))
			continue;
		digest_part(digest, SPAN("parameter"));
		digest_part(digest, parameter);
	}
}

/* Every line of a header counts, in their order; none is not an empty one. */
static void
digest_headers(struct digest *digest, const struct conf_idempotency *policy,
    const struct fields *fields)
{
	for (size_t i = 0; i < policy->fingerprint_headers.count; i++) {
		struct span name =
		    span_str(policy->fingerprint_headers.list[i]);
		const struct field *f;
		size_t at = 0;
		digest_part(digest, SPAN("header"));
		digest_part(digest, name);
		while ((f = fields_next(fields, name, &at)) != NULL) {
			digest_part(digest, SPAN("value"));
			digest_part(digest, f->value);
		}
	}
}

static void
digest_body(struct digest *digest, const struct conf_idempotency *policy,
    const struct content *body)
{
	const struct json_pointers *only = &policy->fingerprint_only;
	const struct json *json = NULL;
	/* A body that is read as JSON takes many times its size. */
	struct arena *scratch = NULL;
	if (policy->fingerprint_json) {
		scratch = arena_new();
		json = content_json(scratch, body);
	}
	if (json && json_is_form(json))
		digest_part(digest, SPAN("form"));
	if (json && body->decoded)
		digest_part(digest, SPAN("gzip"));
	if (json && only->count > 0) {
		/* One that is missing is not null. */
		digest_part(digest, SPAN("members"));
		for (size_t i = 0; i < only->count; i++)
			key_digest_member(digest, &only->list[i],
			    json_at_all(json, &only->list[i]));
	} else if (json) {
		digest_part(digest, SPAN("json"));
		json_digest(json, &policy->fingerprint_ignore, digest);
	} else {
		content_digest(body, digest);
	}
	arena_free(&scratch);
}

/* Each part has its name before it, so that none passes for another. */
void
fingerprint_make(const struct conf_idempotency *policy, struct span secret,
    const struct fingerprinted *request, uint8_t ret_fingerprint[DIGEST_BYTES])
{
	unsigned include = policy->fingerprint_include;
	unsigned all = FINGERPRINT_PATH | FINGERPRINT_BODY;
	bool covered = (include & all) == all &&
	    policy->fingerprint_ignore.count == 0 &&
	    policy->fingerprint_only.count == 0;
	struct digest digest;
	digest_begin(&digest, SPAN("fingerprint"), secret);
	if ((include & FINGERPRINT_METHOD) && INVARIANT(fingerprint_method))
		digest_asked(&digest, request, true);
	if ((include & FINGERPRINT_PATH) && INVARIANT(fingerprint_path))
		digest_asked(&digest, request, false);
	if ((include & FINGERPRINT_QUERY) && INVARIANT(fingerprint_query))
		digest_query(&digest, policy, request);
	digest_headers(&digest, policy, request->fields);
	if ((include & FINGERPRINT_BODY) && INVARIANT(fingerprint_body))
		digest_body(&digest, policy, request->body);
	/*
	 * All requests with a key must change the same thing in the same
	 * version, whatever the route includes.  Where the rest says so anyway,
	 * because path and body count with all their members, it is left out:
	 * then an entity that is configured later changes no fingerprint.
	 */
	if (request->entity.len > 0 && !covered && INVARIANT(same_entity)) {
		digest_part(&digest, SPAN("entity"));
		digest_part(&digest, request->entity);
		digest_part(&digest, request->version);
	}
	digest_end(&digest, ret_fingerprint);
}

/* --- in words --- */

/* The parts come one after the other, and only the last knows that it is. */
struct sentence {
	FILE *out;
	size_t parts, left;
};

static void
put_part(struct sentence *s, const char *kind, const char *name)
{
	if (s->parts > 0)
		fputs(s->left == 1 ? " and " : ", ", s->out);
	s->parts++;
	s->left--;
	fputs(kind, s->out);
	fputs(name, s->out);
}

static void
put_pointers(FILE *out, const char *words, const struct json_pointers *pointers)
{
	for (size_t i = 0; i < pointers->count; i++) {
		const struct json_pointer *pointer = &pointers->list[i];
		fputs(i > 0 ? ", " : words, out);
		for (size_t k = 0; k < pointer->count; k++)
			json_pointer_write(out, pointer->segments[k]);
	}
	if (pointers->count > 0)
		putc(')', out);
}

char *
fingerprint_words(const struct conf_idempotency *policy)
{
	unsigned include = policy->fingerprint_include;
	const struct strings *headers = &policy->fingerprint_headers;
	const struct strings *ignored = &policy->fingerprint_ignore_query;
	char *text = NULL;
	struct sentence s = {mem_stream(&text), 0, headers->count};
	for (unsigned left = include; left != 0; left &= left - 1)
		s.left++;
	s.left += conf_has_entity(policy);
	if (include & FINGERPRINT_METHOD)
		put_part(&s, "method", "");
	if (include & FINGERPRINT_PATH)
		put_part(&s, "path", "");
	if (include & FINGERPRINT_QUERY) {
		put_part(&s, "query", "");
		for (size_t i = 0; i < ignored->count; i++)
			fprintf(s.out, "%s%s", i == 0 ? " (all but " : ", ",
			    ignored->list[i]);
		fputs(ignored->count > 0 ? ")" : "", s.out);
	}
	if (include & FINGERPRINT_BODY) {
		put_part(&s, "body", "");
		if (policy->fingerprint_only.count > 0)
			put_pointers(s.out, " (of JSON only ",
			    &policy->fingerprint_only);
		else
			put_pointers(s.out, " (of JSON all but ",
			    &policy->fingerprint_ignore);
	}
	for (size_t i = 0; i < headers->count; i++)
		put_part(&s, "header ", headers->list[i]);
	if (conf_has_entity(policy))
		put_part(&s, "what it changes", "");
	must(fclose(s.out) == 0);
	return text;
}
