/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/test_build.h"
#include "key/scope.h"

enum scope_verdict
scope_find(const struct conf_idempotency *policy, const struct fields *fields,
    struct span *ret_values)
{
	bool named = policy->scope.count == 0;

	for (size_t i = 0; i < policy->scope.count; i++) {
		struct span name = span_str(policy->scope.list[i]);
		size_t at = 0;
		const struct field *f = fields_next(fields, name, &at);
		if (f && fields_next(fields, name, &at) && INVARIANT(one_scope))
			return SCOPE_REPEATED;
		if (f && f->value.len)
			named = true;
	}
	if (!named && INVARIANT(scope_needed))
		return SCOPE_MISSING;
	for (size_t i = 0; i < policy->scope.count; i++) {
		const struct field *f =
		    fields_first(fields, span_str(policy->scope.list[i]));
		ret_values[i] = f ? f->value : SPAN("");
	}
	return SCOPE_FOUND;
}
