/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>

#include "base/test_build.h"
#include "store/record/key_id.h"

/* A field's name is the same in any case of its letters (RFC 9110, 5.1). */
static void
digest_name(struct digest *digest, struct span name)
{
	char lower[256];
	size_t len = name.len < sizeof lower ? name.len : sizeof lower;
	for (size_t i = 0; i < len; i++)
		lower[i] = (char)tolower((unsigned char)name.ptr[i]);
	digest_part(digest, span_of(lower, len));
}

void
key_id_scope(struct digest *digest, const struct conf_scopes *scopes,
    const struct span *values)
{
	for (size_t i = 0; i < scopes->count; i++) {
		const struct conf_scope *scope = &scopes->list[i];
		/* Words for a kind have a colon, which no header's name has. */
		switch (scope->kind) {
		case SCOPE_HEADER:
			digest_name(digest, span_str(scope->header));
			break;
		case SCOPE_BASIC:
			digest_part(digest, SPAN(":basic user"));
			break;
		case SCOPE_PATH:
			digest_part(digest, SPAN(":path"));
			digest_part(digest, span_str(scope->path));
			break;
		case SCOPE_CERTIFICATE:
			digest_part(digest,
			    scope->certificate == CERTIFICATE_SUBJECT
				? SPAN(":certificate subject")
				: SPAN(":certificate fingerprint"));
			break;
		case SCOPE_JWT:
			digest_part(digest, SPAN(":jwt"));
			digest_part(digest, span_str(scope->jwt));
			break;
		}
		digest_part(digest, values[i]);
	}
}

void
key_id_make(const struct conf *conf, struct span namespace,
    const struct conf_scopes *scope, const struct span *values,
    struct span key, struct key_id *ret_id)
{
	struct digest digest;
	digest_begin(&digest, SPAN("key"), span_str(conf->store.secret));
	digest_part(&digest, namespace);
	if (INVARIANT(scope_in_name))
		key_id_scope(&digest, scope, values);
	digest_part(&digest, key);
	digest_end(&digest, ret_id->bytes);
}
