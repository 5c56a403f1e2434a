/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "base/must.h"
#include "base/span.h"
#include "conf/conf.h"
#include "gate/key/content.h"
#include "http/head/request_target.h"

/*
 * A template's variables (base/template.h) take their values from a request:
 * from its key, segments of its path, members of its body, and the values that
 * name its tenant.  Nothing here knows what the text is for.  Pure; what is
 * made lies in the request's arena.
 */
struct variables {
	struct arena *arena;
	const struct conf_route *route;
	const struct request_target *target;
	const struct content *body;
	struct span key; /* as the upstream knows it */
	const struct span *scope; /* its values; NULL: none were found */
	size_t scope_count;
};

/*
 * Makes the text of a template, each value percent-encoded as a segment of a
 * path is (RFC 3986, section 3.3).  False where a value is missing, empty, "."
 * or "..", or is no string, number or boolean, or where a segment becomes "."
 * or "..", also for who decodes slashes before the segments.
 */
MUST_USE bool variables_fill(const struct variables *v,
    const struct template *t, struct span *ret_text);

/*
 * Makes the text of a template with each value as it is.  False where one is
 * missing or empty, or where the text is no value of a header field.
 */
MUST_USE bool variables_fill_field(const struct variables *v,
    const struct template *t, struct span *ret_text);

/* Finds the value of a variable; false: it has none. */
typedef bool variables_value(
    void *arg, const struct template_piece *piece, struct span *ret_value);
/* Does what variables_fill does, with values that the caller finds. */
MUST_USE bool variables_fill_path(struct arena *arena,
    const struct template *t, variables_value *value, void *arg,
    struct span *ret_text);

/*
 * Hashes the values of the template's variables, the key left out; the bytes
 * lie in the request's arena.  Empty where it has no others.
 */
struct span variables_digest(
    const struct variables *v, const struct template *t);

/*
 * Makes the request's label as its policy wants it: the values, one after the
 * other, without those that are missing or are no strings, numbers or booleans.
 * Empty where there is none.
 */
struct span variables_label(
    const struct variables *v, const struct conf_idempotency *policy);

/*
 * True of a namespace that the policy may make.  *ret_entity is then the
 * value of the variable that names the entity, where it has that.
 */
MUST_USE bool variables_fit_namespace(struct arena *arena,
    const struct conf_idempotency *policy, struct span namespace,
    struct span *ret_entity);
