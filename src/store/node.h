/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "redis/info.h"
#include "redis/link.h"
#include "redis/master.h"
#include "redis/place.h"
#include "store/store_parts.h"

/*
 * One redis-server as a store knows it: the link to it, whether it can be
 * trusted, and the calls that wait for it.  What befalls it, it reports
 * through a table of events (node_events), so that it knows none of the parts
 * that keep something in it, nothing of records, nor which of them are that
 * server's.  For src/store/ alone; the store's thread.
 */

/* What is known of a server besides that it answers (health.h). */
struct health {
	struct link_call call; /* INFO */
	struct timer timer;
	bool asking;    /* INFO is under way */
	bool forbidden; /* on this link */
	bool known;     /* it was answered on this link */
	bool leaves;    /* it is a replica, and the master elsewhere */
	unsigned as_replica; /* so often in a row it said that it is one */
	enum info_fault fault;
	uint64_t memory_bytes;     /* that it uses; 0: not known */
	uint64_t memory_max_bytes; /* 0: it has no limit */
};

/* FUNCTION LOAD (function_loader.h). */
struct function_loader {
	struct link_call call;
	bool under_way;
	bool failed;
};

/* WAIT (replicas.h). */
struct replicas {
	struct link_call call;
	struct hook flush;
	struct replicas_held *held; /* answered, and not yet ended */
	bool wanted;    /* something was sent that no WAIT stands behind */
	bool under_way;
	bool few;       /* the last one counted too few */
};

/* The connection that only listens (subscriber.h). */
struct subscriber {
	struct link *link; /* NULL: nobody listens */
	struct master_follower follower; /* where Sentinels know the master */
	bool subscribed;
	struct timer timer;
	char word[2 * 16 + 2];    /* "@" and hex digits, its own */
	struct link_call publish; /* of the word */
	bool publishing;
	int64_t proven_us; /* clock_us() when the word was heard last */
};

struct node {
	struct store *store;
	const struct node_events *events;
	struct node *next; /* of the store's */
	unsigned number; /* it is the only one of the store's with that */
	char *socket;    /* NULL: TCP, at that place */
	struct place place;
	struct link *link;
	struct master_follower follower; /* where Sentinels know the master */
	struct call_queue queue; /* for the link, and for INFO on it */
	bool is_late; /* an operation's calls to it are (operation.c) */
	bool leaving; /* it is being freed */

	/* Each belongs to the file of its name: */
	struct health health;
	struct function_loader loader;
	struct replicas replicas;
	struct subscriber subscriber;

	/* In a cluster (topology.h): */
	unsigned n_shards; /* that it has */
	unsigned unseen;   /* topologies in a row that did not name it */
	struct link_call asking;
};

/* Who is told of a node; none of these may free it. */
struct node_events {
	/* It is there, and its link was made. */
	void (*made)(struct node *node);
	/* The link went up; nothing was sent on it. */
	void (*link_up)(struct node *node);
	/* The link went down; its calls have ended. */
	void (*link_down)(struct node *node);
	/* The link could not be made; calls may wait for it. */
	void (*link_failed)(struct node *node);
	/* It has said what it is: calls can be sent (node_is_up). */
	void (*ready)(struct node *node);
	/* It leaves: before its link is freed, and behind that. */
	void (*leaving)(struct node *node);
	void (*left)(struct node *node);
};

/*
 * One more of the store's; connects by itself, where to says nothing to the
 * master that the Sentinels name.  The table outlives it.
 */
struct node *node_new(struct store *store, const struct link_to *to,
    const struct node_events *events);
/*
 * It is the store's no longer: calls that wait for it end, those that were
 * sent as lost.  Not from within done(); nulls the pointer.
 */
void node_free(struct node **node);
/* INFO was answered, or may not be asked: node_events has it. */
void node_ready(struct node *node);
/* Where it is; what that points to is the node's. */
struct link_to node_link_to(const struct node *node);
/* It has records of ours: without a cluster, always. */
bool node_counts(const struct node *node);
/* Calls can be sent: it answers, and has said what it is. */
bool node_is_up(const struct node *node);
/* They cannot, and it is too early to say that it is down. */
bool node_is_hopeful(const struct node *node);
