/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stddef.h>

#include "gate/machine.h"

/*
 * What a request to the admin interface brings, and the memory that it may
 * take: the interface has a budget of its own, so that operators need nothing
 * of what clients have used up, and a body is looked through before it is
 * parsed, because a few bytes of JSON can make large trees.  Main thread.
 */
struct admin;
struct admin_request;
struct conf;

/* Sets its budget for that configuration. */
void admin_body_budget(struct admin *admin, const struct conf *conf);
/* How long the body of this request may be. */
size_t admin_body_most(const struct admin_request *a);
/*
 * Parses the body into a->in, if there is one.  False: a->answer is made, and
 * *ret_after is what the step returns.
 */
bool admin_body_parse(struct admin_request *a, enum after *ret_after);
/* Gives back what that took. */
void admin_body_end(struct admin_request *a);
