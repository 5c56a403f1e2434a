/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/must.h"
#include "store/node.h"

/*
 * store.wait_replicas: what a step wrote counts only when so many replicas
 * have it.  The answer of such a step is held back, and WAIT, which stands
 * for all that the connection has sent before, says whether it may go on: one
 * WAIT for all steps of a turn of the loop, along with them, and never more
 * than one under way, because the connection answers nothing else meanwhile.
 * Too few replicas: the answer is as good as lost (E_STORE_REFUSED), and the
 * step is given back or done again by whoever it belongs to.
 *
 * It knows nothing of the steps but which of them write what must not be
 * forgotten.  For src/store/ alone; the store's thread.
 */

/* An answer that is held back; a member of who waits for it. */
struct replicas_held {
	struct replicas_held *next;
	struct redisReply *reply; /* a copy */
	/*
	 * The end: with the reply, valid during the call, where enough have
	 * it; or NULL and E_STORE_REFUSED (too few) or E_STORE_DOWN.
	 */
	void (*end)(struct replicas_held *held, const struct redisReply *reply,
	    int error);
};

/* The node has its link, and nothing was sent there. */
void replicas_init(struct node *node);
/* After the node's link was freed. */
void replicas_end(struct node *node);
/* A run of that script was sent to the node. */
void replicas_sent(struct node *node, enum script script);
/*
 * Whether what that script answered so has to wait; then the reply is copied,
 * and held, whose end is set, ends later.
 */
MUST_USE bool replicas_hold(struct node *node, enum script script,
    enum verdict verdict, const struct redisReply *reply,
    struct replicas_held *held);
/* The link is down: what is held is lost. */
void replicas_link_down(struct node *node);
