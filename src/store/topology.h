/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/node.h"

/*
 * Who has each shard's records, where the store is a Redis Cluster: asked of
 * any node that answers, again every few seconds and whenever something shows
 * that it has changed.  It makes the store's nodes, and frees those that are
 * nobody's any more.  Without a cluster a store has none.  For src/store/
 * alone; the store's thread.
 */
struct topology {
	struct store *store;
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

	struct call_queue queue; /* calls that wait for the first map */
	struct call_queue again; /* that are tried again in a moment */
	struct timer again_timer;
	struct timer timer;
	struct question *question; /* NULL: nobody is being asked */
	struct node *asked;        /* the last one that was */
	int64_t asked_us;
};

/* NULL without a cluster; else its seeds are the store's first nodes. */
struct topology *topology_new(struct store *store);
/* After the store's nodes; nulls the pointer, accepts NULL. */
void topology_free(struct topology **topology);
/* Who has the shard; NULL: nobody known. */
static inline struct node *
topology_node(const struct topology *topology, unsigned shard)
{
	return topology->nodes[shard];
}
/* It is too early to say that nobody has a shard. */
bool topology_is_hopeful(const struct topology *topology);
/* It is known, and somebody who has a shard is up. */
bool topology_is_up(const struct topology *topology);

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
/* Something shows that the map may have changed: it is asked for soon. */
void topology_doubt(struct topology *topology);
