/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "base/must.h"
#include "base/span.h"
#include "conf/conf.h"
#include "http/head/request_target.h"

/*
 * What the variables of a template (base/template.h) stand for in a request:
 * its key, segments of its path, members of its body.  It knows nothing of
 * what the text is for.  Pure; what it makes lies in the request's arena.
 */
struct variables {
	struct arena *arena;
	const struct conf_route *route;
	const struct request_target *target;
	struct span body;
	struct span key; /* as the upstream knows it */
};

/*
 * The text of a template, each value percent-encoded as a segment of a path is
 * (RFC 3986, section 3.3).  False where a value is missing, empty, "." or "..",
 * or is no string, number or boolean, or where a segment becomes "." or "..".
 */
MUST_USE bool variables_fill(const struct variables *v,
    const struct template *t, struct span *ret_text);

/* What a variable stands for, by whoever knows; false: nothing. */
typedef bool variables_value(
    void *arg, const struct template_piece *piece, struct span *ret_value);
/* The same as variables_fill, of values that somebody else knows. */
MUST_USE bool variables_fill_path(struct arena *arena,
    const struct template *t, variables_value *value, void *arg,
    struct span *ret_text);

/*
 * A hash of what the template's variables stand for, the key left out, whose
 * bytes lie in the request's arena; empty where it has no others.
 */
struct span variables_digest(
    const struct variables *v, const struct template *t);

/*
 * What the policy's label says of the request: the values, one after the other;
 * those that are missing, or are no strings, numbers or booleans, are left out.
 * Empty where there is none.
 */
struct span variables_label(
    const struct variables *v, const struct conf_idempotency *policy);

/*
 * Whether a namespace is one that the policy may make.  *ret_entity is then the
 * value of the variable that names the entity, where it has that.
 */
MUST_USE bool variables_fit_namespace(struct arena *arena,
    const struct conf_idempotency *policy, struct span namespace,
    struct span *ret_entity);
