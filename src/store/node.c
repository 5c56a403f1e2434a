/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "base/must.h"
#include "store/node.h"
#include "store/store_health.h"

/* --- channels --- */

static void
begin_channel(struct store *store, struct channel *channel)
{
	channel->store = store;
	list_init(&channel->queue);
	list_init(&channel->replicas.held);
}

static void
open_channel(struct node *node, struct channel *channel,
    const struct link_to *to, const struct link_events *events)
{
	struct store *store = node->store;
	channel->link = link_new(store->loop, store->conf,
	    &store->conf->store.redis, to, events);
	node->events->channel_made(channel);
}

static void
close_channel(struct node *node, struct channel *channel)
{
	if (channel->link == NULL)
		return;
	link_free(&channel->link);
	node->events->channel_left(channel);
}

static void
on_large_changed(void *arg, bool up)
{
	struct node *node = arg;
	if (up)
		node->events->large_up(&node->large);
	else
		node->events->large_down(&node->large);
}

static void
on_large_failed(void *arg)
{
	struct node *node = arg;
	/* While it is closed, what waits for it is close_channel's to end. */
	if (node->large.link != NULL)
		node->events->large_failed(&node->large);
}

/* It leads to the very server that the small one leads to. */
struct channel *
node_large_channel(struct node *node)
{
	struct channel *channel = &node->large;
	if (channel->link != NULL)
		return channel;
	must(node_is_up(node));
	struct link_to to = link_where(node->small.link);
	to.large = true;
	const struct link_events events = {.changed = on_large_changed,
	    .failed = on_large_failed, .unsaid = true, .arg = node};
	open_channel(node, channel, &to, &events);
	return channel;
}

static void
on_small_changed(void *arg, bool up)
{
	struct node *node = arg;
	if (up) {
		node->events->link_up(node);
		return;
	}
	node->events->link_down(node);
	close_channel(node, &node->large);
}

static void
on_small_failed(void *arg)
{
	struct node *node = arg;
	node->events->link_failed(node);
}

/* All servers but those of a cluster are the one Redis. */
static bool
on_small_tells(void *arg, const char *message)
{
	const struct node *node = arg;
	const struct store *store = node->store;
	bool cluster = store->conf->store.redis.cluster.count > 0;
	const struct redis_address *place = cluster ? &node->place : NULL;
	return message != NULL
	    ? store_health_lost(store->health, place, message)
	    : store_health_found(store->health, place);
}

static void
on_small_find(void *arg)
{
	struct node *node = arg;
	master_follower_find(&node->follower, node->small.link);
}

/* --- life --- */

struct node *
node_new(struct store *store, const struct link_to *to,
    const struct node_events *events)
{
	struct node *node = mem_zero(sizeof *node);
	list_add_last(&store->nodes, &node->in_store);
	node->store = store;
	node->number = ++store->n_nodes;
	node->events = events;
	node->socket = mem_text(to->socket);
	node->place = (struct redis_address){mem_text(to->host), to->port};
	begin_channel(store, &node->small);
	begin_channel(store, &node->large);
	bool follows = to->host == NULL && to->socket == NULL;
	const struct link_events of_link = {.changed = on_small_changed,
	    .failed = on_small_failed,
	    .arg = node,
	    .tells = on_small_tells,
	    .find = follows ? on_small_find : NULL};
	if (follows)
		master_follower_init(&node->follower,
		    store_health_master(store->health), store->loop);
	open_channel(node, &node->small, to, &of_link);
	events->made(node);
	return node;
}

void
node_free(struct node **node)
{
	struct node *n = *node;
	*node = NULL;
	list_remove(&n->in_store);
	n->leaving = true;
	n->events->leaving(n);
	master_follower_end(&n->follower);
	close_channel(n, &n->large);
	close_channel(n, &n->small);
	free(n->socket);
	redis_address_clear(&n->place);
	free(n);
}

bool
node_counts(const struct node *node)
{
	return node->store->topology == NULL || node->n_shards > 0;
}

bool
node_is_up(const struct node *node)
{
	return link_is_up(node->small.link) && node->health.known;
}

bool
node_is_hopeful(const struct node *node)
{
	return link_is_up(node->small.link) ? !node->health.known
				      : link_is_hopeful(node->small.link);
}
