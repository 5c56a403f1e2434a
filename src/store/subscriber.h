/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/node.h"

/*
 * The subscriber of a node: a connection that only listens to the channels on
 * which changes of records are published.  Such a connection can be dead
 * without a sign, so it proves itself once a second: the node's own link
 * publishes a word that the subscriber must hear.  In a cluster each server
 * publishes changes of its own records, and the bus that carries them to the
 * others may lose some; so each server has a subscriber, and the store is
 * subscribed only while all are.  It knows nothing of caches.  For src/store/
 * alone; the store's thread.
 */

/* For a new node; it does not listen yet. */
void subscriber_init(struct node *node);
/* Begins to listen, if the store does and this node does not yet. */
void subscriber_open(struct node *node);
/* The node's link is lost: resets this one, which may not have noticed. */
void subscriber_link_down(struct node *node);
/* Before the node's link is freed. */
void subscriber_end(struct node *node);
/*
 * Tells the store's listener where it changes whether all subscribers of nodes
 * that count hear.
 */
void subscriber_sum_up(struct store *store);
