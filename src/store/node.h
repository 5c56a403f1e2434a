/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "redis/info.h"
#include "redis/link.h"
#include "redis/master.h"
#include "redis/slots.h"
#include "store/subscriber.h"

/*
 * One redis-server as a store knows it: the link to it, whether it can be
 * trusted, and the calls that wait for it.  It knows nothing of records, nor
 * which of them are that server's.  For src/store/ alone; the store's thread.
 */
struct store;
struct store_call;
struct store_health;

/* Calls that wait, in order. */
struct call_queue {
	struct store_call *first;
	struct store_call **end; /* where the next one goes */
};

/* What is known of a server besides that it answers (health.h). */
struct health {
	struct link_call call; /* INFO; first: on_info finds us by it */
	struct node *node;
	struct timer timer;
	bool asking;    /* INFO is under way */
	bool forbidden; /* on this link */
	bool known;     /* it was answered on this link */
	bool leaves;    /* it is a replica, and the master elsewhere */
	unsigned as_replica; /* so often in a row it said that it is one */
	enum store_fault fault;
	uint64_t memory_bytes;     /* that it uses; 0: not known */
	uint64_t memory_max_bytes; /* 0: it has no limit */
};

/* FUNCTION LOAD (loader.h). */
struct function_loader {
	struct link_call call; /* first: its reply finds us by it */
	struct node *node;
	bool under_way;
	bool failed;
};

/* WAIT (replicas.h). */
struct replicas {
	struct link_call call; /* first: its reply finds us by it */
	struct node *node;
	struct hook flush;
	struct store_call *held; /* answered, and not yet ended */
	bool wanted;    /* something was sent that no WAIT stands behind */
	bool under_way;
	bool few;       /* the last one counted too few */
};

struct node {
	struct store *store;
	struct node *next; /* of the store's */
	unsigned number; /* it is the only one of the store's with that */
	char *socket;    /* NULL: TCP, at that place */
	struct place place;
	struct link *link;
	struct master_follower
	    follower; /* of Sentinels' master, where they know it */
	struct health health;
	struct function_loader loader;
	struct replicas replicas;
	struct subscriber subscriber;
	bool is_late; /* an operation's calls to it are (verbs.c) */
	bool leaving; /* it is being freed */
	struct call_queue queue; /* for the link, and for INFO on it */

	/* In a cluster (map.h): */
	unsigned n_shards; /* that it has */
	unsigned unseen;   /* maps in a row that did not name it */
	struct link_call asking;
};

/*
 * One more of the store's; connects by itself, where to says nothing to the
 * master that the Sentinels name.
 */
struct node *node_new(struct store *store, const struct link_to *to);
/*
 * It is the store's no longer: calls that wait for it end, those that were
 * sent as lost.  Not from within done(); nulls the pointer.
 */
void node_free(struct node **node);
/* Where it is; what that points to is the node's. */
struct link_to node_place(const struct node *node);
/* It has records of ours: without a cluster, always. */
bool node_counts(const struct node *node);
/* Calls can be sent: it answers, and has said what it is. */
bool node_is_up(const struct node *node);
/* They cannot, and it is too early to say that it is down. */
bool node_is_hopeful(const struct node *node);
