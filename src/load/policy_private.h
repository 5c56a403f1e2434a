/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "load/loader_private.h"

/*
 * Members of a route's idempotency that no other object has (types of
 * conf/types.h).  Main thread, but for the function that clears.
 */

/* fingerprint.include: a list of parts. */
void policy_parse_parts(struct loader *l, const struct given *given);
/*
 * Lays the entries over what the table has already: a status beats its class,
 * and because the built-in entries, those of `defaults` and the route's own
 * come one after the other, each beats those before.
 */
void policy_parse_outcomes(struct loader *l, const struct given *given);
