/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * Which requests one route takes from another, of the same configuration or of
 * another one.  It knows nothing of keys.  Pure; any thread.
 */

/* Whether every path that fits b fits a, too. */
bool covers_paths_of(const struct conf_route *a, const struct conf_route *b);
/*
 * Whether requests of that method which `a` serves in one configuration would
 * be served by `b` in another: those that no route before them takes away.
 */
bool covers_same(const struct conf *one, const struct conf_route *a,
    const struct conf *other, const struct conf_route *b, const char *method);
