/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>

#include "base/span.h"
#include "http/front/problem.h"

/*
 * A request to the admin interface comes from an operator, or from a page that
 * he looks at.  What it says of itself is judged here, where nothing is
 * answered.  Main thread.
 */
struct admin_request;

/*
 * True where it has a token, which is wiped, or needs none.  By the token it is
 * known who asks, and whether that one may only look.
 */
bool admin_auth_has_token(struct admin_request *a);
/* True of GET and HEAD. */
bool admin_auth_reads_only(const struct admin_request *a);
/*
 * True where a page of another site may have had a browser send this: it is to
 * be refused with that problem and detail.  Host decides where no token is set,
 * and of a request that changes something Origin, Sec-Fetch-Site and
 * Content-Type; whoever sends none of these is no browser.
 */
bool admin_auth_is_suspect(const struct admin_request *a,
    enum problem *ret_problem, struct span *ret_detail);
