/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>

#include "store/health.h"
#include "store/store_health.h"

enum {
	ASK_MS = 4000,       /* so a fault is found within five seconds */
	ASK_AGAIN_MS = 1000, /* while there is one */
	REPLICA_MAX = 5,     /* then connect anew: see on_health_timer */
};

/* --- what is found --- */

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
		log_str(&line, "fault", info_fault_message(now));
	log_end(&line);
}

/* By the share of its memory limit that it uses; without a limit, by bytes. */
static bool
is_fuller(const struct health *a, const struct health *b)
{
	double max_a = (double)a->memory_max_bytes;
	double max_b = (double)b->memory_max_bytes;
	if (max_a == 0 || max_b == 0)
		return max_a != max_b ? max_a > 0
				      : a->memory_bytes > b->memory_bytes;
	return (double)a->memory_bytes / max_a >
	    (double)b->memory_bytes / max_b;
}

/*
 * Takes in what a node says of itself; false: it is not to be used.  Of memory,
 * the fullest node is reported: it will be the first to refuse claims.
 */
static bool
take_info(struct node *node, struct span info)
{
	struct store *store = node->store;
	struct health *health = &node->health;
	enum info_fault fault = info_fault(store->conf, info);
	if (fault == FAULT_ROLE && conf_has_sentinels(store->conf)) {
		health_not_master(node);
		return false;
	}
	set_fault(node, fault);
	/* Only a cluster's nodes are told apart by their places. */
	store_health_note_server(store->health,
	    store->topology != NULL ? &node->place : NULL, info);
	health->memory_max_bytes = info_number(info, SPAN("maxmemory"));
	health->memory_bytes = info_number(info, SPAN("used_memory"));
	const struct health *fullest = health;
	struct node *other;
	LIST_EACH(other, &store->nodes, in_store)
		if (other->health.known && is_fuller(&other->health, fullest))
			fullest = &other->health;
	store_health_set_memory(store->health, fullest->memory_bytes,
	    fullest->memory_max_bytes);
	return true;
}

/* --- asking --- */

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
		if (!take_info(node, span_of(reply->str, reply->len)))
			return;
	} else if (redis_error_of_reply(reply) == REDIS_ERROR_NOPERM) {
		/* Logged once, and not asked again on this link. */
		h->forbidden = true;
		set_fault(node, FAULT_NONE);
		store_health_say_forbidden(store->health);
	}
	if (!h->forbidden && (store->watches || h->fault != FAULT_NONE))
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
health_not_master(struct node *node)
{
	if (!conf_has_sentinels(node->store->conf))
		return;
	node->health.leaves = true;
	timer_set(&node->health.timer, 0);
}

void
health_watch(struct store *store)
{
	struct node *node;
	store->watches = true;
	LIST_EACH(node, &store->nodes, in_store)
		ask_info(node);
}

/* --- its node --- */

void
health_init(struct node *node)
{
	timer_init(
	    &node->health.timer, node->store->loop, on_health_timer, node);
}

void
health_end(struct node *node)
{
	struct health *h = &node->health;
	timer_clear(&h->timer);
	(void)store_health_count_fault(
	    node->store->health, h->fault, FAULT_NONE);
	h->fault = FAULT_NONE;
}

void
health_link_up(struct node *node)
{
	node->health.known = node->health.forbidden = false;
	ask_info(node);
}

void
health_link_down(struct node *node)
{
	node->health.known = node->health.leaves = false;
	timer_clear(&node->health.timer);
}
