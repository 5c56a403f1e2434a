/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/node.h"

/*
 * Finds out if a Redis that answers can be trusted with new claims.  Each store
 * sends INFO when the link to a node has come up, before anything else; one
 * store of the process (health_watch) also every few seconds, on the same link.
 * A fault stops new claims in the whole process until it is gone; outcomes are
 * still stored.  It knows no calls.  For src/store/ alone; the store's thread.
 */

/* For a new node. */
void health_init(struct node *node);
/* Before the node's link is freed. */
void health_end(struct node *node);
/* The link came up: sends INFO, and reports ready when it is answered. */
void health_link_up(struct node *node);
void health_link_down(struct node *node);
/*
 * The node refused a write because it is a replica: where Sentinels know the
 * master, its link is reset.
 */
void health_not_master(struct node *node);

/* From now on this store asks every few seconds, for all stores. */
void health_watch(struct store *store);
