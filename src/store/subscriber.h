/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/loop.h"
#include "redis/link.h"
#include "redis/master.h"

/*
 * The ear of a node: a connection that only listens to the channels on which
 * changes of records are told.  Such a connection can be dead without a sign,
 * so the ear proves itself once a second: the node's own link publishes a
 * word that the ear must hear.  In a cluster each server tells of its own
 * records, and what it tells reaches the others over a bus that may lose it;
 * so there is an ear at each of them, and the store hears while all do.  A
 * part of struct node, for the files of src/store/ alone.
 */
struct node;
struct store;

struct subscriber {
	struct node *node;
	struct link *link; /* NULL: nobody listens */
	struct master_follower
	    follower; /* of Sentinels' master, where they know it */
	bool hears;
	struct timer timer;
	char word[2 * 16 + 2];    /* "@" and hex digits, its own */
	struct link_call publish; /* of the word */
	bool publishing;
	int64_t proven_us; /* clock_us() when the word was heard last */
};

void subscriber_init(struct subscriber *subscriber, struct node *node);
/* Begins to listen, where the store does and this ear not yet. */
void subscriber_open(struct subscriber *subscriber);
/* The node's link is lost: so is the ear's, though it may not show. */
void subscriber_link_down(struct subscriber *subscriber);
void subscriber_end(struct subscriber *subscriber);
/* The store's listener is told whether all that count hear. */
void subscriber_sum_up(struct store *store);
