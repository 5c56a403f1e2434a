/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/node.h"

/*
 * The subscriber of a node: a connection that only listens to the channels on
 * which changes of records are published.  Such a connection can be dead
 * without a sign, so it proves itself once a second: the node's own link
 * publishes a word that the subscriber must hear, with the time when it was
 * sent, which says how far the subscriber has heard.  In a cluster each server
 * publishes changes of its own records, and the bus that carries them to the
 * others may lose some; so each server has a subscriber, and the store is
 * subscribed only while all are.  It also hears the notices of what gateways
 * share (lua/publish.lua).  It knows nothing of caches, nor of what is shared.
 * For src/store/; the store's thread.
 */

/* Begins to listen, if the store does and this node does not yet. */
void subscriber_open(struct node *node);
/*
 * Tells the store's listener where it changes whether all subscribers of nodes
 * that have shards of ours hear.
 */
void subscriber_sum_up(struct store *store);

/*
 * Hears notices; a member of whoever does, who removes it from its list before
 * it is gone.
 */
struct subscriber_hearing {
	struct list in_store;
	/*
	 * A notice, without the exclamation mark before it; empty: some may
	 * have been missed.  It may end no hearing but its own.
	 */
	void (*heard)(void *arg, struct span notice);
	void *arg;
};
/* From now on, where the store listens (store_listen). */
void subscriber_hear(
    struct store *store, struct subscriber_hearing *hearing);
