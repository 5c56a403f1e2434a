/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/template.h"
#include "conf/load/loader_private.h"

/* Paths: of routes, and those that requests of ours go to.  Main thread. */

/*
 * Says that the path of a route has no variable of that name, and what may
 * have been meant; the caller frees it.
 */
char *path_no_variable(const struct conf_route *route, struct span name);

/*
 * What is wrong with a path where the gateway itself answers for a route, which
 * then gets what it has of that route; once all is read.
 */
void path_finish_own(struct loader *l, const struct json_place *at,
    const struct conf_route *route, struct conf_route *own,
    enum route_kind kind);

/* --- texts with variables --- */

/* Those that the texts of a message may have. */
enum {
	MESSAGE_VARIABLES = 1 << TEMPLATE_JSON | 1 << TEMPLATE_HEADER |
	    1 << TEMPLATE_KEY | 1 << TEMPLATE_ENTITY | 1 << TEMPLATE_TYPE |
	    1 << TEMPLATE_ID,
	/* And those of the question what became of a request. */
	QUESTION_VARIABLES = 1 << TEMPLATE_KEY | 1 << TEMPLATE_PATH |
	    1 << TEMPLATE_JSON | 1 << TEMPLATE_SCOPE,
};

/* A text with variables of these kinds; false after complaining. */
bool path_read_template(struct loader *l, const struct json_place *at,
    const char *text, unsigned kinds, struct template *ret_template);
/*
 * Whether something stands between any two variables that no value has, so that
 * no two lists of values make one text: those of a path are percent-encoded.
 */
bool path_is_parted(const struct template *t, const char *parts);
