/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/node.h"

/*
 * The subscriber of a node: a connection that only listens to the channels on
 * which changes of records are told.  Such a connection can be dead without a
 * sign, so it proves itself once a second: the node's own link publishes a
 * word that the subscriber must hear.  In a cluster each server tells of its
 * own records, and what it tells reaches the others over a bus that may lose
 * it; so each server has a subscriber, and the store is subscribed while all
 * are.  For src/store/ alone; the store's thread.
 */

void subscriber_init(struct node *node);
/* Begins to listen, where the store does and this node does not yet. */
void subscriber_open(struct node *node);
/* The node's link is lost: so is this one, though it may not show. */
void subscriber_link_down(struct node *node);
void subscriber_end(struct node *node);
/* The store's listener is told whether all subscribers that count hear. */
void subscriber_sum_up(struct store *store);
