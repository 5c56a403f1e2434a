/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/loop/log.h"
#include "base/mem.h"
#include "conf/address.h"
#include "store/redis/slots.h"
#include "store/store_health.h"
#include "store/topology.h"

enum {
	ASK_MS = 10 * 1000,
	ASK_AGAIN_MS = 1000, /* while something is missing */
	SOON_MS = 100,
	TELL_EVERY_US = 1000 * 1000,
	/* A node is freed after so many topologies without it. */
	UNSEEN_MAX = 2,
};

/* The question to one node: two commands, sent together. */
struct topology_question {
	struct link_call state; /* CLUSTER INFO */
	struct link_call slots; /* CLUSTER SHARDS */
	struct topology *topology;
	struct node *node;
	bool serves;
};

/* --- how things stand --- */

static bool
any_hopeful(const struct topology *topology)
{
	const struct node *node;
	LIST_EACH(node, &topology->store->nodes, in_store)
		if (link_is_up(node->small.link) || node_is_hopeful(node))
			return true;
	return false;
}

bool
topology_is_hopeful(const struct topology *topology)
{
	return !topology->known && !topology->vain && any_hopeful(topology);
}

bool
topology_is_up(const struct topology *topology)
{
	const struct node *node;
	LIST_EACH(node, &topology->store->nodes, in_store)
		if (topology->known && node->n_shards > 0 && node_is_up(node))
			return true;
	return false;
}

/* Nothing is missing: each shard has a node that is up. */
static bool
is_settled(const struct topology *topology)
{
	if (!topology->known || !topology->serves || topology->doubted)
		return false;
	for (unsigned i = 0; i < topology->n_shards; i++)
		if (topology->nodes[i] == NULL ||
		    !node_is_up(topology->nodes[i]))
			return false;
	return true;
}

/* That it is down, for the reason in message; or up (NULL). */
static void
say(struct topology *topology, const char *message)
{
	bool down = message != NULL;
	if (topology->said_down == down)
		return;
	topology->said_down = down;
	if (!store_health_tell(topology->store->health, NULL, message))
		return;
	struct logline line = log_begin(down ? EV_store_down : EV_store_up);
	if (down)
		log_str(&line, "error", message);
	log_end(&line);
}

/* --- a new topology --- */

struct node *
topology_node_at(struct topology *topology, const struct redis_address *place)
{
	struct node *node;
	LIST_EACH(node, &topology->store->nodes, in_store)
		if (redis_address_eq(&node->place, place)) {
			node->unseen = 0;
			return node;
		}
	const struct link_to to = {.host = place->host, .port = place->port};
	return node_new(topology->store, &to, topology->node_events);
}

static bool
set_owner(struct topology *topology, unsigned shard, struct node *node)
{
	struct node *before = topology->nodes[shard];
	if (before == node)
		return false;
	if (before != NULL)
		before->n_shards--;
	topology->nodes[shard] = node;
	if (node != NULL) {
		node->n_shards++;
		topology->events->owns(node);
	}
	return true;
}

/*
 * One store of the process logs what all of them see, once a second at most:
 * between two servers that name each other, each redirect is a change.
 */
static void
log_changed(struct topology *topology, unsigned changed)
{
	int64_t now_us = clock_us();
	if (!topology->known || !topology->store->sweeps)
		return;
	topology->n_changed += changed;
	if (topology->n_changed == 0 ||
	    now_us - topology->told_us < TELL_EVERY_US)
		return;
	struct logline line = log_begin(EV_cluster_changed);
	log_int(&line, "shards", topology->n_changed);
	log_end(&line);
	topology->told_us = now_us;
	topology->n_changed = 0;
}

/* Takes the places of the slots, too. */
static void
install(struct topology *topology, struct slots *slots, int64_t asked_us)
{
	struct store *store = topology->store;
	unsigned changed = 0;
	struct node *node;
	for (unsigned i = 0; i < topology->n_shards; i++) {
		uint16_t owner = slots->owner[topology->slots[i]];
		node = owner == 0
		    ? NULL
		    : topology_node_at(topology, &slots->addresses[owner - 1]);
		changed += set_owner(topology, i, node);
	}
	LIST_EACH(node, &store->nodes, in_store)
		node->unseen = node->n_shards > 0 ? 0 : node->unseen + 1;
	log_changed(topology, changed);
	for (size_t i = 0; i < topology->n_places; i++)
		redis_address_clear(&topology->places[i]);
	free(topology->places);
	topology->places = slots->addresses;
	topology->n_places = slots->count;
	slots->addresses = NULL;
	slots->count = 0;
	topology->known = true;
	topology->doubted =
	    topology->doubted && topology->doubted_us >= asked_us;
	topology->events->changed(store);
	topology->events->known(store);
	if (topology_is_up(topology))
		say(topology, NULL);
}

/* --- asking --- */

/* The answer was useless. */
static void
in_vain(struct topology *topology, const char *message)
{
	topology->doubted = true;
	topology->doubted_us = clock_us();
	if (topology->known)
		return;
	topology->vain = true;
	say(topology, message);
	topology->events->fail(&topology->store->unplaced);
}

/*
 * A node that sees no majority may be the one that is cut off: its answer is
 * taken only where there is no topology yet.
 */
static void
on_told(struct topology_question *question, const redisReply *reply)
{
	struct topology *topology = question->topology;
	const struct redis_address *asked = &question->node->place;
	struct slots *slots = mem_zero(sizeof *slots);
	bool tls = topology->store->conf->store.redis.tls.on;
	bool read = slots_read(reply, asked, tls, slots);
	bool before = topology->serves, owned = false;
	for (unsigned i = 0; read && i < topology->n_shards; i++)
		owned |= slots->owner[topology->slots[i]] != 0;
	topology->serves = question->serves;
	/* One store of the process logs that, too. */
	if (topology->serves != before && topology->known &&
	    topology->store->sweeps)
		log_event(before ? EV_cluster_down : EV_cluster_serves);
	if (!read)
		in_vain(topology, "the slots of the cluster cannot be read");
	else if (!owned)
		in_vain(topology, "no server of the cluster has our slots");
	else if (question->serves || !topology->known)
		install(topology, slots, question->slots.sent_us);
	slots_clear(slots);
	free(slots);
}

static void
on_slots(struct link_call *call, const redisReply *reply)
{
	struct topology_question *question =
	    CONTAINER_OF(call, struct topology_question, slots);
	struct topology *topology = question->topology;
	if (topology->question == question)
		topology->question = NULL;
	if (reply != NULL && reply->type == REDIS_REPLY_ERROR)
		in_vain(topology, reply->str);
	else if (reply != NULL)
		on_told(question, reply);
	free(question);
	if (is_settled(topology))
		timer_set(&topology->timer, ASK_MS);
}

static void
on_state(struct link_call *call, const redisReply *reply)
{
	struct topology_question *question =
	    CONTAINER_OF(call, struct topology_question, state);
	question->serves = reply == NULL ||
	    reply->type != REDIS_REPLY_STRING ||
	    slots_serve(span_of(reply->str, reply->len));
}

/* The next node that is up, in turn: a single one might be cut off. */
static struct node *
next_to_ask(const struct topology *topology)
{
	struct node *first = NULL, *node;
	bool behind = false;
	LIST_EACH(node, &topology->store->nodes, in_store) {
		if (behind && node_is_up(node))
			return node;
		if (first == NULL && node_is_up(node))
			first = node;
		behind = behind || node == topology->asked;
	}
	return first;
}

/* No node answers: makes nodes of all servers that may know. */
static void
seek(struct topology *topology)
{
	const struct strings *seeds =
	    &topology->store->conf->store.redis.cluster;
	struct redis_address place;
	for (size_t i = 0; i < topology->n_places; i++)
		topology_node_at(topology, &topology->places[i]);
	for (size_t i = 0; i < seeds->count; i++) {
		address_split(seeds->list[i], &place.host, &place.port);
		topology_node_at(topology, &place);
		redis_address_clear(&place);
	}
}

/* Asks a node, though another one, who is silent, may have been asked. */
static void
on_topology_timer(void *arg)
{
	struct topology *topology = arg;
	struct node *node;
	bool up = topology_is_up(topology);
	/* Nodes that no topology has named for a while go, if others answer. */
	LIST_EACH(node, &topology->store->nodes, in_store) {
		if (!up || node->n_shards > 0 || node->unseen < UNSEEN_MAX)
			continue;
		if (topology->asked == node)
			topology->asked = NULL;
		node_free(&node);
		topology->events->changed(topology->store);
	}
	node = next_to_ask(topology);
	if (node == NULL) {
		seek(topology);
	} else {
		const struct span state[] = {SPAN("CLUSTER"), SPAN("INFO")};
		const struct span slots[] = {SPAN("CLUSTER"), SPAN("SHARDS")};
		struct topology_question *question =
		    mem_zero(sizeof *question);
		question->topology = topology;
		question->node = node;
		question->state.done = on_state;
		question->slots.done = on_slots;
		topology->question = question;
		topology->asked = node;
		topology->asked_us = clock_us();
		channel_ask(&node->small, &question->state, state, 2);
		channel_ask(&node->small, &question->slots, slots, 2);
	}
	timer_set(&topology->timer,
	    is_settled(topology) ? ASK_MS : ASK_AGAIN_MS);
}

void
topology_doubt(struct topology *topology)
{
	int64_t now_us = clock_us();
	int64_t wait_ms = SOON_MS - (now_us - topology->asked_us) / 1000;
	topology->doubted = true;
	topology->doubted_us = now_us;
	timer_set_by(&topology->timer,
	    loop_now_ms(topology->store->loop) + wait_ms);
}

void
topology_moved(struct topology *topology, unsigned slot, struct node *node)
{
	unsigned changed = 0;
	for (unsigned i = 0; i < topology->n_shards; i++)
		if (topology->slots[i] == slot)
			changed += set_owner(topology, i, node);
	log_changed(topology, changed);
	topology->events->changed(topology->store);
	topology_doubt(topology);
}

/* --- events of nodes --- */

void
topology_node_up(struct node *node)
{
	struct topology *topology = node->store->topology;
	if (topology == NULL)
		return;
	if (topology_is_up(topology))
		say(topology, NULL);
	if (!topology->known && topology->question == NULL)
		topology_doubt(topology);
}

void
topology_node_lost(struct node *node, bool failed)
{
	struct topology *topology = node->store->topology;
	if (topology == NULL || node->leaving)
		return;
	if (!failed || node->n_shards > 0)
		topology_doubt(topology);
	if (failed ? any_hopeful(topology) : topology_is_up(topology))
		return;
	say(topology, "no server of the cluster answers");
	if (failed)
		topology->events->fail(&topology->store->unplaced);
}

/* --- life --- */

struct topology *
topology_new(struct store *store, const struct topology_events *events,
    const struct node_events *node_events)
{
	if (store->conf->store.redis.cluster.count == 0)
		return NULL;
	struct topology *topology = mem_zero(sizeof *topology);
	topology->store = store;
	topology->events = events;
	topology->node_events = node_events;
	topology->n_shards = (unsigned)store->conf->store.shards;
	topology->slots =
	    mem_zero(topology->n_shards * sizeof *topology->slots);
	topology->nodes = mem_zero(topology->n_shards * sizeof(struct node *));
	topology->serves = true;
	timer_init(&topology->timer, store->loop, on_topology_timer, topology);
	for (unsigned i = 0; i < topology->n_shards; i++)
		topology->slots[i] = (uint16_t)slots_of_shard(i);
	seek(topology);
	return topology;
}

void
topology_free(struct topology **topology)
{
	struct topology *m = *topology;
	*topology = NULL;
	if (m == NULL)
		return;
	timer_clear(&m->timer);
	if (m->said_down)
		(void)store_health_tell(m->store->health, NULL, NULL);
	for (size_t i = 0; i < m->n_places; i++)
		redis_address_clear(&m->places[i]);
	free(m->places);
	free(m->slots);
	free(m->nodes);
	free(m);
}
