/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/channel.h"
#include "store/redis/redis_address.h"

/*
 * A node is one redis-server as a store knows it: the channels to it, whether
 * it can be trusted, and the calls that wait for it.  It reports what happens
 * to it through a table of events (node_events), so that it knows none of the
 * parts of a store that keep something in it, nor anything of records.  Its
 * store frees it.  For src/store/ alone; the store's thread.
 */

/*
 * The server's own words on its state, which say if it can be trusted with new
 * claims.  Each store sends INFO when the link to a node has come up, before
 * anything else, and then every few seconds, on the same link, sooner while
 * there is a fault.  A fault stops new claims in the whole process until it is
 * gone (store_health.h); outcomes are still stored.
 */
struct health {
	struct link_call call; /* INFO */
	struct timer timer;
	bool asking;    /* INFO is on its way */
	bool forbidden; /* our user may not run INFO */
	bool known;     /* INFO was answered, or forbidden, on this link */
	bool leaves;    /* a replica, while Sentinels know the master */
	unsigned as_replica; /* how often in a row it was a replica */
	enum info_fault fault;
	uint64_t memory_bytes;     /* in use; 0: not known */
	uint64_t memory_max_bytes; /* 0: no limit */
};

/* A connection that only listens (subscriber.h). */
struct subscriber {
	struct link *link; /* NULL: the store does not listen */
	bool subscribed;
	struct timer timer;
	char word[2 * 16 + 2];    /* its own: "@" and hex digits */
	struct link_call publish; /* PUBLISH of the word */
	bool publishing;
	bool said_deaf;   /* the log has it, until its word is heard */
	int64_t heard_us; /* clock_us() when the word last heard was sent */
};

struct node {
	struct store *store;
	const struct node_events *events;
	struct list in_store;
	unsigned number; /* never used again in this store; from 1 */
	char *socket;    /* NULL: TCP, to place */
	struct redis_address place;
	struct channel small; /* makes the node what it is: up, down, hopeful */
	struct channel large; /* made when first needed; ends with the small */
	bool leaving; /* node_free is at work */

	/* Each belongs to the file of its name, until the node is freed: */
	struct health health;
	struct subscriber subscriber;

	/* Of ours, on this server: all, or as topology.h knows. */
	unsigned n_shards;
	unsigned unseen; /* topologies in a row without it */
};

/* The events of a node; none of these functions may free it. */
struct node_events {
	/*
	 * The small channel went down, and its calls have ended; or an attempt
	 * to connect failed.
	 */
	void (*lost)(struct node *node, bool failed);
	/* INFO was answered, or forbidden: calls can be sent (node_is_up). */
	void (*ready)(struct node *node);
	/* Calls that wait in that queue of a channel can be sent now, … */
	void (*start)(struct list *queue);
	/* … or will never be: its link is gone, or could not be made. */
	void (*fail)(struct list *queue);
};

/*
 * Makes a node of the store, which connects by itself: where to names neither
 * host nor socket, to the master that the Sentinels name.  events outlives it.
 */
struct node *node_new(struct store *store, const struct link_to *to,
    const struct node_events *events);
/*
 * Takes it out of the store and frees it.  Calls that wait for it end; those
 * that were sent end as lost.  Not from within done(); nulls the pointer.
 */
void node_free(struct node **node);
/*
 * The channel of calls that carry large values; made here where there is none
 * yet.  The node must be up.
 */
struct channel *node_large_channel(struct node *node);
/* Calls can be sent: the link is up, and INFO was answered. */
bool node_is_up(const struct node *node);
/* Calls cannot be sent yet, but perhaps in a moment; so they may wait. */
bool node_is_hopeful(const struct node *node);
/*
 * The node refused a write because it is a replica: where Sentinels know the
 * master, its link is reset.
 */
void node_not_master(struct node *node);
