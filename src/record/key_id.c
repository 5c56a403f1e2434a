/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>

#include "base/test_build.h"
#include "record/key_id.h"

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
key_id_scope(struct digest *digest, const struct strings *scope,
    const struct span *values)
{
	for (size_t i = 0; i < scope->count; i++) {
		digest_name(digest, span_str(scope->list[i]));
		digest_part(digest, values[i]);
	}
}

void
key_id_make(const struct conf *conf, struct span namespace,
    const struct strings *scope, const struct span *values, struct span key,
    struct key_id *ret_id)
{
	struct digest digest;
	digest_begin(&digest, SPAN("key"), span_str(conf->store.secret));
	digest_part(&digest, namespace);
	if (INVARIANT(scope_in_name))
		key_id_scope(&digest, scope, values);
	digest_part(&digest, key);
	digest_end(&digest, ret_id->bytes);
}
