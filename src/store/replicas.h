/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/store_private.h"

/*
 * store.wait_replicas: what a step wrote counts only when so many replicas
 * have it.  The answer of such a step is held back, and WAIT, which stands
 * for all that the connection has sent before, says whether it may go on: one
 * WAIT for all steps of a turn of the loop, along with them, and never more
 * than one under way, because the connection answers nothing else meanwhile.
 * Too few replicas: the step ends as lost (CALL_LOST, E_STORE_REFUSED), and
 * is given back or done again by whoever it belongs to.
 *
 * It knows nothing of the steps but which of them write what must not be
 * forgotten.  For src/store/ alone; the store's thread.
 */

/* The node has its link, and nothing was sent there. */
void replicas_init(struct node *node);
/* After the node's link was freed. */
void replicas_end(struct node *node);
/* A call was sent to its node. */
void replicas_sent(const struct store_call *call);
/*
 * Whether a call that was answered so has to wait; then the reply is copied,
 * and the call ends later.
 */
MUST_USE bool replicas_hold(struct store_call *call, enum verdict verdict,
    const struct redisReply *reply);
/* The link is down: what is held is lost. */
void replicas_link_down(struct node *node);
