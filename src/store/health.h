/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/node.h"

/*
 * Whether a Redis, which answers, can be trusted with new claims: each store
 * asks it (INFO) whenever the link to it has come up, before anything else is
 * sent there, and one store of the process every few seconds, on its link
 * like any command.  A fault refuses new claims in the whole process until it
 * is corrected; outcomes are stored all the same.  For src/store/ alone; the
 * store's thread.
 */

/* A new node's. */
void health_init(struct node *node);
/* Before the node's link is freed. */
void health_end(struct node *node);
/* The link came up: until it is known, nothing but INFO is sent. */
void health_link_up(struct node *node);
void health_link_down(struct node *node);
/*
 * It was asked to write and says that it is a replica: where Sentinels know
 * the master, it is left at once.
 */
void health_not_master(struct node *node);

/* From now on this store asks for all of them, every few seconds. */
void health_watch(struct store *store);
/* What the store makes of all its nodes, of which one may be gone. */
void health_sum_up(struct store *store);
/* Why new claims are refused, as this store or the watching one has found. */
enum info_fault health_fault(const struct store *store);
/* We may not ask one of its nodes what it is. */
bool health_is_forbidden(const struct store *store);
