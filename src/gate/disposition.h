/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/field.h"
#include "conf/conf.h"

/*
 * An answer's disposition (enum disposition) is what becomes of its key's
 * record.  The upstream's own word decides, the value of its field
 * Idempotency-Outcome, or else the status, whose meaning the route knows.  A
 * word that is none of store, release, forget and unknown counts as none; of an
 * answer with two words nobody knows what it says.  Pure; any thread.
 */

/*
 * by_status: an enum disposition, such as policy->outcomes[status].  A 301, 307
 * or 308 is forgotten only where it says where to go (Location): the client
 * follows, with the same key.
 */
enum disposition disposition_of_answer(
    const struct fields *fields, int status, uint8_t by_status);
/*
 * Of an answer that releases the key: the upstream has refused the request
 * before it began to work on it, by its own word or by its status.  Others say
 * it of requests that were sent, too: a balancer answers 503 when the upstream
 * behind it has died.
 */
bool disposition_is_refusal(const struct fields *fields, int status);
/* The same of an API that was asked about an earlier attempt (reconcile). */
enum disposition disposition_of_reconcile(const struct conf_reconcile *rules,
    int status, const struct fields *fields);
