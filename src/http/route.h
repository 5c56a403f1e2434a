/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * Which route serves a request: the first in the order of the file whose
 * methods and path fit.  Pure; any thread.
 */

/* The path is in its one spelling (http/path.h); NULL: no route. */
const struct conf_route *route_find(
    const struct conf *conf, struct span method, struct span spelling);
