/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/claimant.h"
#include "gate/key_waiters.h"
#include "gate/machine.h"
#include "gate/observation.h"
#include "http/front/exchange.h"
#include "store/records.h"

/*
 * A request is a client's wait for its answer.  It dies with the client's
 * connection or when the answer is out; an execution that it started does
 * not die with it (gate/execution.h).  The worker's thread only.
 *
 * Circle: access_log, request, response.  The words for its client, and its
 * line in the log, are made of a request.
 */
struct request {
	struct machine machine;
	struct claimant c;
	struct exchange *x;

	struct key_waiter waiter; /* its op also waits for a token's key */
	int64_t keys_until_ms; /* 0: its token has all that verifies it */
	int64_t wait_until_ms; /* 0: it has not been in flight yet */
	bool waited;
	bool busy; /* it waits for its entity, not for its key */

	struct observation *observation; /* of a route that observes; or NULL */
	struct records_op *lookup; /* of the key that is asked about; or NULL */
	bool was_undelivered; /* when that was asked: its outcome was here */

	/* Pass-through; or an execution's, for the rest of a long answer. */
	struct forward forward;
	struct flow up; /* the body, where it is passed on as it comes */

	struct span detail; /* of a problem */
	bool close;
};

/* Makes a request of an exchange and runs it; worker is a struct worker. */
void request_new(void *worker, struct exchange *x);
