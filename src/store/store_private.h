/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <zstd.h>

#include "record/script.h"
#include "store/store.h"
#include "store/topology.h"

/*
 * The inside of a store, for the files of src/store/ alone.
 */
struct claim_revoke;
struct library;
struct store_health;

struct store {
	struct loop *loop;
	const struct conf *conf;
	struct budget *budget;
	struct node *nodes; /* without a cluster, exactly one */
	unsigned n_nodes;   /* that there ever were */
	struct topology *topology;    /* NULL without a cluster */
	bool listens; /* to what others change */
	bool hears;   /* and hears all of it */
	struct store_listener listener;
	struct histogram *took; /* of each script; NULL: nobody asks */
	struct script_names names;
	struct library *library; /* NULL: scripts are run by their text */
	ZSTD_CCtx *compress; /* NULL: store.compression is none */
	ZSTD_DCtx *decompress;
	/* No record lives longer, ms: how long the indexes are kept. */
	int64_t longest_ms;

	/* Claims to be given back. */
	struct claim_revoke *claim_revokes;
	unsigned n_claim_revokes;
	struct timer claim_revoke_timer;

	/* The sweeper, where this store has one. */
	struct timer sweep;
	unsigned sweep_shard; /* the next to be looked at */

	/* What the stores of the process have found out together. */
	struct store_health *health;
	bool watches; /* and this one asks again for all of them */
	enum store_fault fault; /* of any of its nodes */

	/* What Redis refused last, so that the log has it once a second. */
	char refused[24];
	int64_t refused_ms;
	int64_t few_ms; /* when it last had too few replicas; 0: never */
};

/* Who has the records of that shard; NULL: nobody known. */
static inline struct node *
store_node(const struct store *store, unsigned shard)
{
	return store->topology == NULL ? store->nodes
				  : topology_node(store->topology, shard);
}
