/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/answer.h"
#include "base/arena.h"
#include "conf/conf.h"
#include "http/head/request_target.h"

/*
 * Browsers on another origin (the Fetch standard, section 3.2): which answers
 * they may read, and what they may send, where a route has cors.  It knows
 * neither keys nor records, and nobody is let in or kept out by it: only a
 * browser goes by what it says.  Pure; any thread; all lies in the arena.
 */

/*
 * What a browser is told that asks before it sends what is not simple (OPTIONS
 * with Origin and Access-Control-Request-Method): the route's methods, and the
 * fields that it asked for.  The caller has one reference.  NULL: it is no such
 * question, or the route has no cors.
 */
struct answer *cors_preflight(struct arena *arena, const struct conf *conf,
    struct span method, const struct request_target *target,
    const struct fields *fields, const struct conf_route **ret_route);

/* Whether the answers of a route are told to whom; route may be NULL. */
bool cors_applies(const struct conf_route *route);
/* The most fields that cors_put appends. */
enum { CORS_FIELDS_MAX = 4 };
/* Appends who may read an answer to a request with these fields. */
void cors_put(struct arena *arena, const struct conf_idempotency *policy,
    const struct fields *request, struct fields *out);
/*
 * The answer without what it says of that itself, perhaps to another origin;
 * takes the caller's reference, and gives one.
 */
struct answer *cors_strip(struct arena *arena, struct answer *answer);
