/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/must.h"
#include "store/node.h"
#include "store/store_health.h"

/* --- lines --- */

static void
begin_line(struct node *node, struct line *line)
{
	line->node = node;
	line->queue.end = &line->queue.first;
}

static void
open_line(struct line *line, const struct link_to *to,
    const struct link_events *events)
{
	struct store *store = line->node->store;
	line->link = link_new(store->loop, store->conf,
	    &store->conf->store.redis, to, events);
	line->node->events->line_made(line);
}

static void
close_line(struct line *line)
{
	if (line->link == NULL)
		return;
	link_free(&line->link);
	line->node->events->line_left(line);
}

/* --- the large line --- */

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
	/* While it is closed, what waits for it is close_line's to end. */
	if (node->large.link != NULL)
		node->events->large_failed(&node->large);
}

/* It leads to the very server that the small one leads to. */
struct line *
node_large_line(struct node *node)
{
	struct line *line = &node->large;
	if (line->link != NULL)
		return line;
	must(node_is_up(node));
	struct link_to to = link_where(node->small.link);
	to.large = true;
	const struct link_events events = {.changed = on_large_changed,
	    .failed = on_large_failed, .unsaid = true, .arg = node};
	open_line(line, &to, &events);
	return line;
}

/* --- the small line --- */

static void
on_link_changed(void *arg, bool up)
{
	struct node *node = arg;
	if (up) {
		node->events->link_up(node);
		return;
	}
	node->events->link_down(node);
	close_line(&node->large);
}

static void
on_link_failed(void *arg)
{
	struct node *node = arg;
	node->events->link_failed(node);
}

/* All servers but those of a cluster are the one Redis. */
static bool
on_link_tells(void *arg, const char *message)
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
on_link_find(void *arg)
{
	struct node *node = arg;
	master_follower_find(&node->follower, node->small.link);
}

/* --- life --- */

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
	node->place = (struct redis_address){mem_text(to->host), to->port};
	begin_line(node, &node->small);
	begin_line(node, &node->large);
	bool follows = to->host == NULL && to->socket == NULL;
	const struct link_events of_link = {
	    .changed = on_link_changed, .failed = on_link_failed, .arg = node,
	    .tells = on_link_tells,
	    .find = follows ? on_link_find : NULL};
	if (follows)
		master_follower_init(&node->follower,
		    store_health_master(store->health), store->loop);
	open_line(&node->small, to, &of_link);
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
	close_line(&n->large);
	close_line(&n->small);
	free(n->socket);
	redis_address_clear(&n->place);
	free(n);
}

bool
node_check_type(struct line *line, const redisReply *reply, int type)
{
	if (reply == NULL || reply->type == type ||
	    reply->type == REDIS_REPLY_ERROR)
		return true;
	link_distrust(line->link, "a reply to another command");
	return false;
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
	return link_is_up(node->small.link) && node->health.known;
}

bool
node_is_hopeful(const struct node *node)
{
	return link_is_up(node->small.link) ? !node->health.known
				      : link_is_hopeful(node->small.link);
}
