/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/node.h"

/*
 * The topology says which node has the records of each shard, where the store
 * is a Redis Cluster.  It asks any node that answers, every few seconds and
 * whenever something shows that the topology has changed.  It makes the store's
 * nodes, and frees those that have no shard any more; it reports changes
 * through a table of events, and knows nothing of calls.  Without a cluster a
 * store has none.  For src/store/ alone; the store's thread.
 */
struct topology {
	struct store *store;
	const struct topology_events *events;
	const struct node_events *node_events;
	unsigned n_shards;
	uint16_t *slots;     /* of each shard: its slot */
	struct node **nodes; /* of each shard: who has it; NULL: not known */
	bool known;          /* it was read once */
	bool vain;           /* a node answered, but its answer was useless */
	bool serves;         /* the cluster says that it serves */
	/*
	 * It may have changed since it was read: an answer to a question that
	 * was sent before does not end the doubt.
	 */
	bool doubted;
	int64_t doubted_us;
	bool said_down;      /* the log has it that the store is down */
	unsigned n_changed;  /* shards that moved and are not yet logged */
	int64_t told_us;     /* when a change was last logged */

	/* All servers that the cluster last named, for when none answers. */
	struct redis_address *places;
	size_t n_places;

	struct timer timer;
	struct topology_question *question; /* NULL: none is under way */
	struct node *asked; /* the last node that was asked */
	int64_t asked_us;
};

/* The events of a topology. */
struct topology_events {
	/* A node has a shard that it did not have before. */
	void (*owns)(struct node *node);
	/* Shards have moved, or a node has left. */
	void (*changed)(struct store *store);
	/* The whole topology was read anew. */
	void (*known)(struct store *store);
	/*
	 * No node can say who has which shard, for which the calls in that
	 * queue of the store have waited.
	 */
	void (*fail)(struct list *unplaced);
};

/* NULL without a cluster; else its seeds are the store's first nodes. */
struct topology *topology_new(struct store *store,
    const struct topology_events *events,
    const struct node_events *node_events);
/* After the store's nodes are freed; nulls the pointer, accepts NULL. */
void topology_free(struct topology **topology);
/* The node that has that shard, in a cluster or not; NULL: not known. */
static inline struct node *
topology_node_of(const struct store *store, unsigned shard)
{
	return store->topology == NULL
	    ? LIST_FIRST(&store->nodes, struct node, in_store)
	    : store->topology->nodes[shard];
}
/* The topology is not known yet, but perhaps in a moment. */
bool topology_is_hopeful(const struct topology *topology);
/* It is known, and a node that has a shard is up. */
bool topology_is_up(const struct topology *topology);

/* Events of a node; without a cluster they are none of its business. */
void topology_node_up(struct node *node);
void topology_node_lost(struct node *node, bool failed);

/* The node of the server at that place; made where there is none yet. */
struct node *topology_node_at(
    struct topology *topology, const struct redis_address *place);
/* MOVED: the slot is that node's now. */
void topology_moved(
    struct topology *topology, unsigned slot, struct node *node);
/* Something shows that it may have changed: it will soon be read again. */
void topology_doubt(struct topology *topology);
