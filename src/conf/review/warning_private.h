/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/complaints.h"
#include "conf/conf.h"

/* One warning among the complaints of a configuration.  Main thread. */

/*
 * What is looked at: a file, and one of its routes, which has idempotency where
 * that is what the warning is about.
 */
struct looked_at {
	const struct conf *conf;
	const struct conf_route *route;
	struct complaints *complaints;
};

/* About what a pointer leads to, which is taken over. */
#define warning_add(complaints, pointer, ...) \
	(complaints_add(complaints, pointer, __VA_ARGS__)->warning = true)
/* About a member of the route, by its path. */
#define warning_at(at, path, ...)                                          \
	warning_add((at)->complaints,                                      \
	    mem_printf("/routes/%u/%s", (at)->route->index, path), __VA_ARGS__)
/*
 * The pointer to a member of `idempotency`, by its path: the route's own, else
 * that of `defaults`, else the route's `idempotency`; the caller owns it.
 */
char *warning_place(const struct looked_at *at, const char *path);
/* About such a member. */
#define warning_of(at, path, ...) \
	warning_add((at)->complaints, warning_place(at, path), __VA_ARGS__)
/* Whether the route itself says that member. */
bool warning_is_own(const struct looked_at *at, const char *path);
