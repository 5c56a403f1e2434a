/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "store/call.h"
#include "store/health.h"
#include "store/replicas.h"
#include "store/topology.h"

static void
on_changed(void *arg, bool up)
{
	struct node *node = arg;
	if (up) {
		health_link_up(node);
		return;
	}
	health_link_down(node);
	replicas_link_down(node);
	subscriber_link_down(&node->subscriber);
	if (node->store->topology != NULL && !node->leaving)
		topology_node_down(node);
}

static void
on_failed(void *arg)
{
	struct node *node = arg;
	call_fail_queue(&node->queue);
	if (node->store->topology != NULL && !node->leaving)
		topology_node_failed(node);
}

static void
on_find(void *arg)
{
	struct node *node = arg;
	master_follower_find(&node->follower, node->link);
}

struct node *
node_new(struct store *store, const struct link_to *to)
{
	struct node *node = mem_zero(sizeof *node);
	struct node **at = &store->nodes;
	while (*at != NULL)
		at = &(*at)->next;
	*at = node;
	node->store = store;
	node->number = ++store->n_nodes;
	node->socket = mem_text(to->socket);
	node->place = (struct place){mem_text(to->host), to->port};
	node->queue.end = &node->queue.first;
	health_init(node);
	subscriber_init(&node->subscriber, node);
	bool follows = to->host == NULL && to->socket == NULL;
	const struct link_events events = {
	    .changed = on_changed, .failed = on_failed, .arg = node,
	    .find = follows ? on_find : NULL};
	if (follows)
		master_follower_init(&node->follower,
		    store_health_master(store->health), store->loop);
	node->link = link_new(store->loop, store->conf, to, &events);
	replicas_init(node);
	return node;
}

void
node_free(struct node **node)
{
	struct node *n = *node;
	*node = NULL;
	struct node **at = &n->store->nodes;
	while (*at != n)
		at = &(*at)->next;
	*at = n->next;
	n->leaving = true;
	subscriber_end(&n->subscriber);
	health_end(n);
	master_follower_end(&n->follower);
	link_free(&n->link);
	replicas_end(n);
	call_fail_queue(&n->queue);
	free(n->socket);
	place_clear(&n->place);
	free(n);
}

struct link_to
node_place(const struct node *node)
{
	return (struct link_to){.socket = node->socket,
	    .host = node->place.host,
	    .port = node->place.port};
}

bool
node_counts(const struct node *node)
{
	return node->store->topology == NULL || node->n_shards > 0;
}

bool
node_is_up(const struct node *node)
{
	return link_is_up(node->link) && node->health.known;
}

bool
node_is_hopeful(const struct node *node)
{
	return link_is_up(node->link) ? !node->health.known
				      : link_is_hopeful(node->link);
}
