/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/review/warning_private.h"

/* The part of warnings_find() about what a route serves. */
void warnings_route_find(const struct conf *conf,
    const struct conf_route *route, struct complaints *complaints);
