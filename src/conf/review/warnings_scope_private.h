/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/complaints.h"
#include "conf/conf.h"

/* What a scope does not tell apart, or tells apart too well; main thread. */

/* Adds a warning for each, of a route with idempotency. */
void warnings_scope_find(const struct conf *conf,
    const struct conf_route *route, struct complaints *complaints);
