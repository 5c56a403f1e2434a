/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/review/warning_private.h"

/* The part of warnings_find() about `idempotency` of a route. */
void warnings_policy_find(const struct looked_at *at);
