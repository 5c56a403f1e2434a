/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/field.h"
#include "base/must.h"
#include "conf/conf.h"

/*
 * The scope that a key is valid in: the values of those fields that tell one
 * client of the upstream from another.  Pure; any thread.
 */
enum scope_verdict {
	SCOPE_FOUND,
	SCOPE_MISSING,  /* none of the fields has a value */
	SCOPE_REPEATED, /* one of them stands there twice */
};

/*
 * The values of the scope's fields, in the policy's order, an absent one
 * empty; ret_values has policy->scope.count places.
 */
MUST_USE enum scope_verdict scope_find(const struct conf_idempotency *policy,
    const struct fields *fields, struct span *ret_values);
