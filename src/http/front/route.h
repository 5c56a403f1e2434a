/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"
#include "http/head/request_target.h"

/*
 * Which route serves a request: the first in the order of the file whose
 * methods and path fit; and what the variables of its path stand for.  Pure;
 * any thread.
 */

/*
 * A path fits if its one spelling does, or if it does to a server that takes
 * "%2F" for no slash: "/charges/a%2Fb/refund" fits "/charges/{id}/refund".
 * *ret_route NULL: no route.
 *
 * False of a path of two readings: two routes serve it, depending on what
 * "%2F" is taken for, one of which is idempotent; or one does that is, and its
 * variables depend on that.  The upstream, which gets the bytes of the client,
 * might take the other one: that is to be answered 400.
 */
MUST_USE bool route_find(const struct conf *conf, struct span method,
    const struct request_target *target, const struct conf_route **ret_route);

/*
 * The route's own path (status_path, policy_path) that a target is, so that the
 * gateway itself answers; NULL: none, or another route comes first.  A key in
 * it may have a slash, as "%2F": nobody else reads that path.
 */
MUST_USE const struct conf_route *route_find_own(const struct conf *conf,
    struct span method, const struct request_target *target);

/*
 * What the variable of that name ("*": the whole path) stands for in a target
 * that the route serves, decoded; from the arena or of the target.  False: the
 * route has no such variable.
 */
MUST_USE bool route_variable(struct arena *arena,
    const struct conf_route *route, const struct request_target *target,
    struct span name, struct span *ret_value);
