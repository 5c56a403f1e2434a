/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/node.h"

/*
 * Who has each shard's records, where the store is a Redis Cluster: asked of
 * any node that answers, again every few seconds and whenever something shows
 * that it has changed.  It makes the store's nodes, and frees those that are
 * nobody's any more; what changes it reports through a table of events, and
 * knows nothing of calls.  Without a cluster a store has none.  For
 * src/store/ alone; the store's thread.
 */
struct topology {
	struct store *store;
	const struct topology_events *events;
	const struct node_events *node_events;
	unsigned n_shards;
	uint16_t *slots;     /* of each shard */
	struct node **nodes; /* who has each shard; NULL: nobody known */
	bool known;          /* it was told once */
	bool vain;           /* a node answered, and could not tell */
	bool serves;         /* the cluster says that it does */
	bool doubted;        /* it may have changed since it was told */
	int64_t doubted_us;
	bool said_down;      /* the log has it */
	unsigned n_changed;  /* shards that moved, and the log has not */
	int64_t told_us;     /* when it was told last */

	/* All servers that the cluster has named, for when none answers. */
	struct place *places;
	size_t n_places;

	struct timer timer;
	struct topology_question *question; /* NULL: nobody is being asked */
	struct node *asked; /* the last one that was */
	int64_t asked_us;
};

/* Who is told. */
struct topology_events {
	/* A node has its first shard, or another one. */
	void (*owns)(struct node *node);
	/* Shards have moved, or a node has left: nodes count otherwise now. */
	void (*changed)(struct store *store);
	/* All shards were told anew. */
	void (*known)(struct store *store);
	/* Nobody can tell who has any shard. */
	void (*unknown)(struct store *store);
};

/* NULL without a cluster; else its seeds are the store's first nodes. */
struct topology *topology_new(struct store *store,
    const struct topology_events *events,
    const struct node_events *node_events);
/* After the store's nodes; nulls the pointer, accepts NULL. */
void topology_free(struct topology **topology);
/* Who has the records of that shard, in a cluster or not; NULL: nobody known.
 */
static inline struct node *
topology_node_of(const struct store *store, unsigned shard)
{
	return store->topology == NULL ? store->nodes
				       : store->topology->nodes[shard];
}
/* It is too early to say that nobody has a shard. */
bool topology_is_hopeful(const struct topology *topology);
/* It is known, and somebody who has a shard is up. */
bool topology_is_up(const struct topology *topology);
/* The same of a store with and without one: Redis answers. */
bool topology_store_is_up(const struct store *store);

/* What a node has to tell: */
void topology_node_up(struct node *node);
void topology_node_down(struct node *node);
void topology_node_failed(struct node *node);

/* The server at that place; it is a node of the store's from now on. */
struct node *topology_node_at(
    struct topology *topology, const struct place *place);
/* A slot has a new owner, said the old one. */
void topology_moved(
    struct topology *topology, unsigned slot, struct node *node);
/* Something shows that it may have changed: it is asked for soon. */
void topology_doubt(struct topology *topology);
