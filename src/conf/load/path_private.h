/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/template.h"
#include "conf/load/loader_private.h"

/* Which variables the texts of a reconcile, a namespace and a message have. */
enum {
	RECONCILE_VARIABLES = 1 << TEMPLATE_KEY | 1 << TEMPLATE_PATH |
	    1 << TEMPLATE_JSON,
	NAMESPACE_VARIABLES = 1 << TEMPLATE_BARE,
	MESSAGE_VARIABLES = 1 << TEMPLATE_JSON | 1 << TEMPLATE_HEADER |
	    1 << TEMPLATE_KEY | 1 << TEMPLATE_ENTITY | 1 << TEMPLATE_TYPE |
	    1 << TEMPLATE_ID,
};

/* Paths: of routes, and those that requests of ours go to.  Main thread. */

/*
 * What is wrong with a path with an optional query, as it stands in a
 * request's target; NULL: nothing.
 */
const char *path_wrong_target(const char *text);

/* The same as a value (a type of conf/types.h). */
void path_parse_target(struct loader *l, const struct given *given);

/* The path of a route, taken apart (a type of conf/types.h). */
void path_parse(struct loader *l, const struct given *given);
void path_clear(void *base, void *field);

/*
 * Says that the path of a route has no variable of that name, and what may
 * have been meant; the caller frees it.
 */
char *path_no_variable(const struct conf_route *route, struct span name);

/*
 * A path where the gateway itself answers for a route (a type of conf/types.h);
 * and, once all is read, what is wrong with all of them, which then get what
 * they have of their routes.
 */
void path_parse_own(struct loader *l, const struct given *given);
void path_clear_own(void *base, void *field);
void path_finish_own(struct loader *l);

/* A text with the variables of a message, as template_read reads one. */
MUST_USE const char *path_read_message(
    const char *text, struct template *ret_template);

/*
 * Texts with variables (types of conf/types.h): the path to ask the upstream
 * at, that of a message's request, and a namespace.
 */
void path_parse_reconcile(struct loader *l, const struct given *given);
void path_parse_message(struct loader *l, const struct given *given);
void path_parse_namespace(struct loader *l, const struct given *given);
void path_clear_template(void *base, void *field);
