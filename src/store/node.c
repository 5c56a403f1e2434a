/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "store/node.h"
#include "store/store_health.h"

static void
on_link_changed(void *arg, bool up)
{
	struct node *node = arg;
	if (up)
		node->events->link_up(node);
	else
		node->events->link_down(node);
}

static void
on_link_failed(void *arg)
{
	struct node *node = arg;
	node->events->link_failed(node);
}

static void
on_link_find(void *arg)
{
	struct node *node = arg;
	master_follower_find(&node->follower, node->link);
}

static void
append_node(struct store *store, struct node *node)
{
	struct node **at = &store->nodes;
	while (*at != NULL)
		at = &(*at)->next;
	*at = node;
	node->store = store;
	node->number = ++store->n_nodes;
}

struct node *
node_new(struct store *store, const struct link_to *to,
    const struct node_events *events)
{
	struct node *node = mem_zero(sizeof *node);
	append_node(store, node);
	node->events = events;
	node->socket = mem_text(to->socket);
	node->place = (struct place){mem_text(to->host), to->port};
	node->queue.end = &node->queue.first;
	bool follows = to->host == NULL && to->socket == NULL;
	const struct link_events of_link = {
	    .changed = on_link_changed, .failed = on_link_failed, .arg = node,
	    .find = follows ? on_link_find : NULL};
	if (follows)
		master_follower_init(&node->follower,
		    store_health_master(store->health), store->loop);
	node->link = link_new(store->loop, store->conf, to, &of_link);
	events->made(node);
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
	n->events->leaving(n);
	master_follower_end(&n->follower);
	link_free(&n->link);
	n->events->left(n);
	free(n->socket);
	place_clear(&n->place);
	free(n);
}

void
node_ready(struct node *node)
{
	node->events->ready(node);
}

struct link_to
node_link_to(const struct node *node)
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
