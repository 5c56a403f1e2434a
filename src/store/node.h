/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/redis/info.h"
#include "store/redis/link.h"
#include "store/redis/master.h"
#include "store/redis/redis_address.h"
#include "store/store_parts.h"

/*
 * A node is one redis-server as a store knows it: the lines to it, whether it
 * can be trusted, and the calls that wait for it.  It reports what happens to
 * it through a table of events (node_events), so that it knows none of the
 * parts of a store that keep something in it, nor anything of records.  Its
 * store frees it.  For src/store/ alone; the store's thread.
 */

/* What the server says of itself (health.h). */
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
	struct replicas_held *held; /* calls whose reply is held back */
	bool wanted;    /* a step was sent, and no WAIT after it */
	bool under_way;
	bool few;       /* the last WAIT counted too few */
};

/* What is to leave at the end of this turn (joint.h). */
enum { JOINT_KINDS = 2 };
struct joints {
	struct joint *open[JOINT_KINDS]; /* claims, and answers */
	struct hook flush;
	bool hooked;
	struct resp command; /* its room is used again and again */
	int64_t refused_us; /* clock_us() when Redis last refused one; 0 */
};

/*
 * One connection to the server that calls go by, and what is kept for it alone:
 * a library is loaded, and WAIT counts, for what the same connection sent.
 */
struct line {
	struct node *node;
	struct link *link;       /* of the large line: NULL until needed */
	struct call_queue queue; /* until calls can be sent */
	bool is_late;   /* a call on it has timed out (operation.c) */
	bool said_down; /* the log has it that the large one is down */
	/* Each belongs to the file of its name: */
	struct function_loader loader;
	struct replicas replicas;
	struct joints joints;
};

/*
 * What is that long, an answer that is stored or fetched, travels on the node's
 * large line: it may take longer than a claim may wait.  brief() of
 * lua/brief.lua holds back as much from the small one.
 */
enum { LINE_LARGE_BYTES = 64 * 1024 };

/* A connection that only listens (subscriber.h). */
struct subscriber {
	struct link *link; /* NULL: the store does not listen */
	struct master_follower follower; /* where Sentinels know the master */
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
	struct node *next; /* in the store's list */
	unsigned number; /* never used again in this store; from 1 */
	char *socket;    /* NULL: TCP, to place */
	struct redis_address place;
	struct line small; /* makes the node what it is: up, down, hopeful */
	struct line large; /* made when first needed; ends with the small */
	struct master_follower follower; /* where Sentinels know the master */
	bool leaving; /* node_free is at work */

	/* Each belongs to the file of its name: */
	struct health health;
	struct subscriber subscriber;

	/* In a cluster (topology.h): */
	unsigned n_shards; /* of ours, on this server */
	unsigned unseen;   /* topologies in a row without it */
};

/* What a node reports; none of these functions may free it. */
struct node_events {
	/* It was made, and has its small line. */
	void (*made)(struct node *node);
	/* The small line came up; nothing was sent on it yet. */
	void (*link_up)(struct node *node);
	/* The small line went down; its calls have ended. */
	void (*link_down)(struct node *node);
	/* An attempt to connect failed; calls may be waiting for it. */
	void (*link_failed)(struct node *node);
	/* INFO was answered: calls can be sent (node_is_up). */
	void (*ready)(struct node *node);
	/* It is being freed; its lines are still there. */
	void (*leaving)(struct node *node);
	/* A line has its link, or has it no more: its calls have ended. */
	void (*line_made)(struct line *line);
	void (*line_left)(struct line *line);
	/* The large line came up, or went down, or could not be made. */
	void (*large_up)(struct line *line);
	void (*large_down)(struct line *line);
	void (*large_failed)(struct line *line);
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
/* For health.c: INFO was answered, or is forbidden. */
void node_ready(struct node *node);
/* Where its server is; the strings are the node's. */
struct link_to node_link_to(const struct node *node);
/*
 * The line that calls go by which carry large values; made here where there is
 * none yet.  The node must be up.
 */
struct line *node_large_line(struct node *node);
/*
 * Whether a reply on that line is of the type that its command has, or an
 * error, or NULL; else it belongs to another, and the line is cut.
 */
bool node_check_type(
    struct line *line, const struct redisReply *reply, int type);
/* Whether it has records of ours: without a cluster, always. */
bool node_counts(const struct node *node);
/* Whether calls can be sent: the link is up, and INFO was answered. */
bool node_is_up(const struct node *node);
/* Calls cannot be sent yet, but perhaps in a moment; so they may wait. */
bool node_is_hopeful(const struct node *node);
