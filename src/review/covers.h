/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * Which requests one route takes from another that stands behind it.  It knows
 * nothing of keys.  Pure; any thread.
 */

/* Whether every path that fits b fits a, too. */
bool covers_paths_of(const struct conf_route *a, const struct conf_route *b);
/* Whether a is for that method. */
bool covers_method(const struct conf_route *a, const char *method);
/* Whether a is for some method of b. */
bool covers_some_method_of(
    const struct conf_route *a, const struct conf_route *b);
