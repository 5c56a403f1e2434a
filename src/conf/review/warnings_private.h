/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/review/warning_private.h"

/* The parts of warnings_find() about a route, and about its `idempotency`. */
void warnings_route_find(const struct looked_at *at);
void warnings_policy_find(const struct looked_at *at);
