/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/redirect.h"
#include "store/redis/redis_error.h"
#include "store/redis/slots.h"
#include "store/topology.h"

/* Another node has the slot, or is taking it over. */
static struct redirect
to_other_node(struct node *node, struct span error)
{
	struct topology *topology = node->store->topology;
	struct slots_redirect where;
	if (!slots_redirect_read(error, &node->place, &where))
		return (struct redirect){.what = REDIRECT_NONE};
	struct node *other = topology_node_at(topology, &where.address);
	redis_address_clear(&where.address);
	if (!where.ask)
		topology_moved(topology, where.slot, other);
	return (struct redirect){REDIRECT_TO, other, where.ask};
}

struct redirect
redirect_of(struct node *node, struct span error)
{
	enum redis_error kind = redis_error_of(error);
	if (kind == REDIS_ERROR_MOVED || kind == REDIS_ERROR_ASK)
		return to_other_node(node, error);
	/*
	 * The slot is being moved, and some of the keys are here and some
	 * there: no node can run it until they are together again.
	 */
	if (kind == REDIS_ERROR_TRYAGAIN)
		return (struct redirect){.what = REDIRECT_AGAIN};
	if (redis_error_shows_move(kind))
		topology_doubt(node->store->topology);
	return (struct redirect){.what = REDIRECT_NONE};
}
