/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/complaints.h"
#include "conf/conf.h"

/*
 * Warnings of requests that do not come to where the file seems to lead them:
 * methods and paths of a route, and routes behind it.  Main thread.
 */

/* Adds those of one route. */
void warnings_routes_find(const struct conf *conf,
    const struct conf_route *route, struct complaints *complaints);
