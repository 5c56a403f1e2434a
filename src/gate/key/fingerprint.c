/* SPDX-License-Identifier: BSD-2-Clause */
#include "gate/key/fingerprint.h"

#include "base/json.h"
#include "base/test_build.h"

static void digest_field(
    struct digest *digest, const struct fields *fields, struct span name);
static void digest_entity(struct digest *digest,
    const struct conf_idempotency *policy,
    const struct fingerprinted *request);
static void digest_query(struct digest *digest,
    const struct conf_idempotency *policy,
    const struct fingerprinted *request);
static void digest_body(struct digest *digest,
    const struct conf_idempotency *policy, struct span body);

/* Each part has its name before it, so that none passes for another. */
void
fingerprint_make(const struct conf_idempotency *policy, struct span secret,
    const struct fingerprinted *request, uint8_t ret_fingerprint[DIGEST_BYTES])
{
	unsigned include = policy->fingerprint_include;
	struct digest digest;

	digest_begin(&digest, SPAN("fingerprint"), secret);
	if ((include & FINGERPRINT_METHOD) && INVARIANT(fingerprint_method)) {
		digest_part(&digest, SPAN("method"));
		digest_part(&digest, request->method);
	}
	if ((include & FINGERPRINT_PATH) && INVARIANT(fingerprint_path)) {
		digest_part(&digest, SPAN("path"));
		digest_part(&digest, request->path);
	}
	if ((include & FINGERPRINT_QUERY) && INVARIANT(fingerprint_query))
		digest_query(&digest, policy, request);
	for (size_t i = 0; i < policy->fingerprint_headers.count; i++)
		digest_field(&digest, request->fields,
		    span_str(policy->fingerprint_headers.list[i]));
	if ((include & FINGERPRINT_BODY) && INVARIANT(fingerprint_body))
		digest_body(&digest, policy, request->body);
	digest_entity(&digest, policy, request);
	digest_end(&digest, ret_fingerprint);
}

/* Whether two bodies of one fingerprint have the same members, all of them. */
static bool
covers_members(const struct conf_idempotency *policy)
{
	unsigned all = FINGERPRINT_PATH | FINGERPRINT_BODY;
	return (policy->fingerprint_include & all) == all &&
	    policy->fingerprint_ignore.count == 0 &&
	    policy->fingerprint_only.count == 0;
}

/*
 * What is changed, in which version, is the same for all requests with a key,
 * whatever the route includes.  Where the rest says so anyway it is left out:
 * then an entity that is configured later changes no fingerprint.
 */
static void
digest_entity(struct digest *digest, const struct conf_idempotency *policy,
    const struct fingerprinted *request)
{
	if (request->entity.len == 0 || covers_members(policy) ||
	    !INVARIANT(same_entity))
		return;
	digest_part(digest, SPAN("entity"));
	digest_part(digest, request->entity);
	digest_part(digest, request->version);
}

/* Every line counts, in their order; no line is not an empty one. */
static void
digest_field(
    struct digest *digest, const struct fields *fields, struct span name)
{
	const struct field *f;
	size_t at = 0;

	digest_part(digest, SPAN("header"));
	digest_part(digest, name);
	while ((f = fields_next(fields, name, &at)) != NULL) {
		digest_part(digest, SPAN("value"));
		digest_part(digest, f->value);
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

/* What is left of a query, in its order, whether or not it has a "?". */
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

/* Each member with its pointer; one that is missing is not null. */
static void
digest_only(struct digest *digest, const struct pointers *only,
    const struct json *json)
{
	digest_part(digest, SPAN("members"));
	for (size_t i = 0; i < only->count; i++) {
		const struct pointer *pointer = &only->list[i];
		const struct json *value = json_at(json, pointer);
		digest_part(digest, SPAN("/"));
		for (size_t s = 0; s < pointer->count; s++) {
			digest_part(digest, SPAN("s"));
			digest_part(digest, pointer->segments[s]);
		}
		digest_part(digest, value != NULL ? SPAN("=") : SPAN("-"));
		if (value != NULL)
			json_digest(value, NULL, digest);
	}
}

static void
digest_body(struct digest *digest, const struct conf_idempotency *policy,
    struct span body)
{
	const struct json *json = NULL;
	/* What is read of a body is many times its size. */
	struct arena *scratch = NULL;

	if (policy->fingerprint_json) {
		scratch = arena_new();
		json = json_read(scratch, body);
	}
	if (json && policy->fingerprint_only.count > 0) {
		digest_only(digest, &policy->fingerprint_only, json);
	} else if (json) {
		digest_part(digest, SPAN("json"));
		json_digest(json, &policy->fingerprint_ignore, digest);
	} else {
		digest_part(digest, SPAN("body"));
		digest_part(digest, body);
	}
	arena_free(&scratch);
}
