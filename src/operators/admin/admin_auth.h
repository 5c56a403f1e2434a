/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>

#include "base/span.h"
#include "http/front/problem.h"

/*
 * Who asks the admin interface: an operator, or a page that he looks at.  It
 * judges what a request says of itself, and answers nothing.  Main thread.
 */
struct admin_request;

/* It has the token, which is wiped, or none is needed. */
bool admin_auth_has_token(const struct admin_request *a);
/* GET or HEAD. */
bool admin_auth_reads_only(const struct admin_request *a);
/*
 * A page of another site may have had a browser send this: refuse it with
 * that problem and detail.  Which names (Host) may be used where no token is
 * set, and what a request that changes something must say (Origin,
 * Sec-Fetch-Site, Content-Type); whoever says nothing of these is no browser.
 */
bool admin_auth_is_suspect(const struct admin_request *a,
    enum problem *ret_problem, struct span *ret_detail);
