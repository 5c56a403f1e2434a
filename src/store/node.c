/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/must.h"
#include "store/batch.h"
#include "store/node.h"
#include "store/replicas.h"
#include "store/store_health.h"

enum {
	ASK_MS = 4000,       /* so a fault is found within five seconds */
	ASK_AGAIN_MS = 1000, /* while there is one */
	REPLICA_MAX = 5,     /* then connect anew: see on_health_timer */
};

/* --- what its server says of itself --- */

static void
set_fault(struct node *node, enum info_fault fault)
{
	struct store_health *all = node->store->health;
	enum info_fault before = node->health.fault;
	node->health.fault = fault;
	if (!store_health_count_fault(all, before, fault))
		return;
	/* One line for the process, whichever of its stores found out. */
	enum info_fault now = store_health_fault(all);
	struct logline line =
	    log_begin(now != FAULT_NONE ? EV_store_unsafe : EV_store_safe);
	if (now != FAULT_NONE)
		log_str(&line, "fault", info_fault_messages[now]);
	log_end(&line);
}

static void
on_info(struct link_call *call, const redisReply *reply)
{
	struct node *node = CONTAINER_OF(call, struct node, health.call);
	struct health *h = &node->health;
	struct store *store = node->store;
	h->asking = false;
	if (reply == NULL ||
	    !channel_check_type(&node->small, reply, REDIS_REPLY_STRING))
		return;
	if (reply->type == REDIS_REPLY_STRING) {
		struct span info = span_of(reply->str, reply->len);
		enum info_fault fault = info_fault(store->conf, info);
		if (fault == FAULT_ROLE &&
		    store->conf->store.redis.sentinels.count > 0) {
			node_not_master(node);
			return;
		}
		set_fault(node, fault);
		/* Only a cluster's nodes are told apart by their places. */
		store_health_note_server(store->health,
		    store->topology != NULL ? &node->place : NULL, info);
		h->memory_max_bytes = info_number(info, SPAN("maxmemory"));
		h->memory_bytes = info_number(info, SPAN("used_memory"));
	} else if (redis_error_of_reply(reply) == REDIS_ERROR_NOPERM) {
		/* Logged once, and not asked again on this link. */
		h->forbidden = true;
		set_fault(node, FAULT_NONE);
		store_health_say_forbidden(store->health);
	}
	if (!h->forbidden)
		timer_set(&h->timer,
		    h->fault != FAULT_NONE ? ASK_AGAIN_MS : ASK_MS);
	if (!h->known) {
		h->known = true;
		node->events->ready(node);
	}
}

static void
ask_info(struct node *node)
{
	struct health *h = &node->health;
	const struct span word = SPAN("INFO");
	if (h->asking || h->forbidden || !link_is_up(node->small.link))
		return;
	h->asking = true;
	h->call.done = on_info;
	channel_ask(&node->small, &h->call, &word, 1);
}

/*
 * A master that was demoted keeps its connections open: ours is reset, to
 * connect to whatever server has the address by now.
 */
static void
on_health_timer(void *arg)
{
	struct node *node = arg;
	struct health *h = &node->health;
	h->as_replica = h->fault == FAULT_ROLE ? h->as_replica + 1 : 0;
	if (h->as_replica < REPLICA_MAX && !h->leaves) {
		ask_info(node);
		return;
	}
	h->as_replica = 0;
	if (link_is_up(node->small.link))
		link_reset(node->small.link, "Redis is a replica");
}

/* Others may wait for what has come behind it: the timer resets the link. */
void
node_not_master(struct node *node)
{
	if (node->store->conf->store.redis.sentinels.count == 0)
		return;
	node->health.leaves = true;
	timer_set(&node->health.timer, 0);
}

/* --- channels --- */

static void
open_channel(struct node *node, struct channel *channel,
    const struct link_to *to, const struct link_events *events)
{
	struct store *store = node->store;
	channel->link = link_new(store->loop, store->conf,
	    &store->conf->store.redis, to, events);
	/* After the link's, so it runs before. */
	if (store->conf->store.wait_replicas > 0)
		loop_hook(store->loop, HOOK_FLUSH, &channel->replicas.flush,
		    replicas_on_flush, channel);
}

static void
close_channel(struct node *node, struct channel *channel)
{
	if (channel->link == NULL)
		return;
	link_free(&channel->link);
	batch_end(channel);
	must(list_empty(&channel->replicas.delayed));
	if (node->store->conf->store.wait_replicas > 0)
		loop_unhook(&channel->replicas.flush);
	node->events->fail(&channel->queue);
}

static void
on_large_changed(void *arg, enum link_change change)
{
	struct node *node = arg;
	struct channel *channel = &node->large;
	if (change == LINK_CAME_UP) {
		channel->said_down = false;
		node->events->start(&channel->queue);
		return;
	}
	if (change == LINK_WENT_DOWN) {
		replicas_link_down(channel);
		return;
	}
	/* While it is closed, what waits for it is close_channel's to end. */
	if (channel->link == NULL)
		return;
	if (!channel->said_down)
		log_event_str(EV_store_large_down, "error",
		    link_message(channel->link));
	channel->said_down = true;
	node->events->fail(&channel->queue);
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
	const struct link_events events = {
	    .changed = on_large_changed, .arg = node};
	open_channel(node, channel, &to, &events);
	return channel;
}

static void
on_small_changed(void *arg, enum link_change change)
{
	struct node *node = arg;
	struct health *h = &node->health;
	if (change == LINK_FAILED) {
		node->events->fail(&node->small.queue);
		node->events->lost(node, true);
		return;
	}
	h->known = false;
	if (change == LINK_CAME_UP) {
		h->forbidden = false;
		ask_info(node);
		return;
	}
	h->leaves = false;
	timer_clear(&h->timer);
	replicas_link_down(&node->small);
	/* The link of its subscriber may not have noticed. */
	if (node->subscriber.link != NULL)
		link_reset(node->subscriber.link, "Redis cannot be reached");
	node->events->lost(node, false);
	close_channel(node, &node->large);
}

/* All servers but those of a cluster are the one Redis. */
static bool
on_small_tells(void *arg, const char *message)
{
	const struct node *node = arg;
	const struct store *store = node->store;
	bool cluster = store->conf->store.redis.cluster.count > 0;
	const struct redis_address *place = cluster ? &node->place : NULL;
	return store_health_tell(store->health, place, message);
}

/* --- life --- */

struct node *
node_new(struct store *store, const struct link_to *to,
    const struct node_events *events)
{
	struct node *node = mem_zero(sizeof *node), *other;
	list_add_last(&store->nodes, &node->in_store);
	node->store = store;
	node->number = ++store->n_nodes;
	node->events = events;
	node->socket = mem_text(to->socket);
	node->place = (struct redis_address){mem_text(to->host), to->port};
	struct channel *const channels[] = {&node->small, &node->large};
	for (size_t i = 0; i < 2; i++) {
		channels[i]->store = store;
		list_init(&channels[i]->queue);
		list_init(&channels[i]->replicas.delayed);
	}
	const struct link_events of_link = {.changed = on_small_changed,
	    .tells = on_small_tells, .arg = node};
	open_channel(node, &node->small, to, &of_link);
	/*
	 * A cluster's new master: whether its clock is ahead of the one before
	 * is seen with its first answer.
	 */
	struct redis_clock *clock = link_clock(node->small.link);
	LIST_EACH(other, &store->nodes, in_store)
		if (!clock->known && link_clock(other->small.link)->known)
			*clock = *link_clock(other->small.link);
	timer_init(
	    &node->health.timer, store->loop, on_health_timer, node);
	return node;
}

void
node_free(struct node **node)
{
	struct node *n = *node;
	*node = NULL;
	list_remove(&n->in_store);
	n->leaving = true;
	timer_clear(&n->subscriber.timer);
	link_free(&n->subscriber.link);
	timer_clear(&n->health.timer);
	(void)store_health_count_fault(
	    n->store->health, n->health.fault, FAULT_NONE);
	n->health.fault = FAULT_NONE;
	close_channel(n, &n->large);
	close_channel(n, &n->small);
	free(n->socket);
	redis_address_clear(&n->place);
	free(n);
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
