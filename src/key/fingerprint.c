/* SPDX-License-Identifier: BSD-2-Clause */
#include "key/fingerprint.h"

#include "base/json.h"
#include "base/test_build.h"

static void digest_field(
    struct digest *digest, const struct fields *fields, struct span name);
static void digest_entity(struct digest *digest,
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
	if ((include & FINGERPRINT_QUERY) && request->has_query &&
	    INVARIANT(fingerprint_query)) {
		digest_part(&digest, SPAN("query"));
		digest_part(&digest, request->query);
	}
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
	    policy->fingerprint_ignore.count == 0;
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
	if (json) {
		digest_part(digest, SPAN("json"));
		json_digest(json, &policy->fingerprint_ignore, digest);
	} else {
		digest_part(digest, SPAN("body"));
		digest_part(digest, body);
	}
	arena_free(&scratch);
}
