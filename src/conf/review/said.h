/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

#include "conf/conf.h"
#include "conf/option.h"

/*
 * What a configuration comes to for a route, and where its file says that:
 * there, or in `defaults`.  Main thread.
 */

/* The option of that name, or "section.name", of `idempotency`. */
const struct option *said_option(const char *path);
/* What it is for an idempotent route; NULL: nothing.  The caller owns it. */
json_t *said_value(const struct conf_route *route, const char *path);
/*
 * The pointer to it in the file: to the route's own, else to that of
 * `defaults`, else to the route's `idempotency`.  The caller frees it.
 */
char *said_pointer(
    const struct conf *conf, const struct conf_route *route, const char *path);
