/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * What an operator says that happened, as the answer that every retry is to
 * get.  It knows neither the record's state nor Redis.  Main thread; the
 * request owns the answer.
 */
struct admin_request;

/* That of the record's route; where the route is gone, the defaults. */
const struct conf_idempotency *admin_outcome_policy(
    const struct admin_request *a);
/* Makes a->given of a->outcome: 0, E_TOO_LARGE or E_NO_MEMORY. */
int admin_outcome_make(
    struct admin_request *a, const struct conf_idempotency *policy);
