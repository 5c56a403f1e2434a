/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

#include "conf/conf.h"
#include "http/front/problem.h"

/*
 * A route can tell its policy to clients (policy_path): which header has the
 * key and how long it may be, what counts as the same request, what a status of
 * the API means, how long an answer is kept, and which statuses the gateway
 * itself answers with.  Nothing here knows a request.  Pure; any thread; the
 * caller owns what is returned.
 */
json_t *policy_document(const struct conf_route *route);
/* Returns the status of a problem's answer under this policy. */
int policy_status(const struct conf_idempotency *policy, enum problem problem);
/*
 * The problem of an answer that was not kept: none is, it was too large, or
 * (status 0) nobody knows it.
 */
enum problem policy_not_kept(
    const struct conf_idempotency *policy, int status);
