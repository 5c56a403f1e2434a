/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "base/random.h"
#include "base/test_build.h"
#include "store/call.h"
#include "store/claim.h"
#include "store/identity.h"
#include "store/record/script.h"
#include "store/redis/managed.h"
#include "store/store.h"
#include "store/subscriber.h"
#include "store/topology.h"

/*
 * The parts of a store, and who holds whom.  A store has nodes, one for each
 * redis-server; in a cluster its topology makes them, and knows which shards
 * each has.  A node has the channels to its server, asks it if it may be given
 * claims, and keeps what the subscriber needs of it (what do others change?),
 * which it does not know: it reports what happens to it through node_events, as
 * the topology does by topology_events.  A channel has a link, the batches that
 * leave on it, and the replies that wait for replicas.
 *
 * An operation (somebody waits) has calls (each one run of one script); a call
 * finds its node, waits for it, leaves on one of its channels, and follows its
 * slot to another node.  A claim that has to be given back becomes a revoke.
 * Claims, outcomes, records, sweep and renewals are made of operations and
 * calls.
 */

bool
store_op_broken(const struct store_op *op)
{
	return op->verdict == VERDICT_BROKEN && op->state != STATE_COMPLETED &&
	    INVARIANT(broken_kept);
}

/* --- events of its nodes and its topology --- */

static void
on_node_ready(struct node *node)
{
	if (topology_node_of(node->store, IDENTITY_SHARD) == node)
		identity_ask(node->store);
	call_start_queue(&node->small.queue);
	claim_release_due(node->store);
	topology_node_up(node);
}

static const struct node_events node_events = {
    .lost = topology_node_lost,
    .ready = on_node_ready,
    .start = call_start_queue,
    .fail = call_fail_queue,
};

static void
on_topology_known(struct store *store)
{
	if (!origin_has_id(&store->identity.origin))
		identity_ask(store);
	call_start_queue(&store->unplaced);
	claim_release_due(store);
}

static const struct topology_events topology_events = {
    .owns = subscriber_open,
    .changed = subscriber_sum_up,
    .known = on_topology_known,
    .fail = call_fail_queue,
};

/* --- life --- */

static void
on_again_timer(void *arg)
{
	struct store *store = arg;
	call_start_queue(&store->again);
}

struct store *
store_new(struct loop *loop, const struct conf *conf, struct budget *budget,
    struct store_health *health, struct histogram *took)
{
	struct store *store = mem_zero(sizeof *store);
	store->loop = loop;
	store->conf = conf_ref(conf);
	script_names(&store->names);
	redis_keys_names_init(&store->shard_names, conf);
	if (conf->store.functions)
		store->library = script_library_new();
	answer_codec_init(&store->codec, &store->conf->store, budget);
	for (size_t i = 0; i < conf->n_routes; i++)
		if (conf->routes[i].idempotency != NULL)
			(void)call_outlive(store, conf->routes[i].idempotency);
	list_init(&store->nodes);
	list_init(&store->hearings);
	list_init(&store->unplaced);
	list_init(&store->again);
	timer_init(&store->again_timer, loop, on_again_timer, store);
	random_bytes(&store->next_run, sizeof store->next_run);
	origin_place(conf, store->identity.origin.place);
	timer_init(&store->identity.timer, loop, identity_ask, store);
	list_init(&store->claim_revokes);
	timer_init(
	    &store->claim_revoke_timer, loop, claim_release_due, store);
	store->health = health;
	store->took = took;
	store->topology =
	    topology_new(store, &topology_events, &node_events);
	if (store->topology != NULL)
		return store;

	/* The Redis that conf names; with Sentinels, no address. */
	const struct address *redis = &conf->store.redis.address;
	char *socket = NULL;
	if (conf->store.redis.managed)
		socket = managed_socket(conf);
	else if (redis->kind == ADDRESS_UNIX)
		socket = mem_str(span_str(redis->host));
	const struct link_to to = {.socket = socket,
	    .host = socket ? NULL : redis->host,
	    .port = redis->port,
	    .master = store_health_master(health)};
	struct node *node = node_new(store, &to, &node_events);
	node->n_shards = (unsigned)conf->store.shards;
	free(socket);
	return store;
}

void
store_free(struct store **store)
{
	struct store *s = *store;
	*store = NULL;
	if (s == NULL)
		return;
	s->listens = false; /* no events while it is being freed */
	struct topology *topology = s->topology;
	struct node *node;
	/* A call that ends with its node may ask for the others. */
	if (topology != NULL)
		topology->known = false;
	for (unsigned i = 0; topology != NULL && i < topology->n_shards; i++)
		topology->nodes[i] = NULL;
	LIST_EACH(node, &s->nodes, in_store)
		node_free(&node);
	call_fail_queue(&s->unplaced);
	call_fail_queue(&s->again);
	timer_clear(&s->again_timer);
	topology_free(&s->topology);
	timer_clear(&s->identity.timer);
	timer_clear(&s->sweep);
	claim_end(s);
	redis_keys_names_free(&s->shard_names);
	script_library_free(&s->library);
	answer_codec_end(&s->codec);
	conf_unref(&s->conf);
	free(s);
}

/* --- settings and questions --- */

void
store_listen(struct store *store, const struct store_listener *listener)
{
	struct node *node;
	must(!store->listens);
	store->listens = true;
	store->listener = *listener;
	LIST_EACH(node, &store->nodes, in_store)
		if (node->n_shards > 0)
			subscriber_open(node);
}

int64_t
store_heard_us(const struct store *store)
{
	int64_t least_us = INT64_MAX;
	const struct node *node;
	if (!store->subscribed)
		return 0;
	LIST_EACH(node, &store->nodes, in_store)
		if (node->n_shards > 0 && node->subscriber.heard_us < least_us)
			least_us = node->subscriber.heard_us;
	return least_us;
}

int64_t
store_latest_ms(const struct store *store)
{
	int64_t now_us = clock_us(), latest_ms = 0;
	const struct node *node;
	LIST_EACH(node, &store->nodes, in_store) {
		int64_t ms = redis_clock_latest_ms(
		    link_clock(node->small.link), now_us);
		latest_ms = ms > latest_ms ? ms : latest_ms;
	}
	return latest_ms;
}

const struct identity *
store_identity(const struct store *store)
{
	return &store->identity;
}

bool
store_is_up(const struct store *store)
{
	return store->topology != NULL
	    ? topology_is_up(store->topology)
	    : node_is_up(LIST_FIRST(&store->nodes, struct node, in_store));
}

unsigned
store_unsettled(const struct store *store)
{
	return store->n_claims + store->n_claim_revokes;
}

void
store_hurry(struct store *store)
{
	store->hurries = true;
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

/* The fullest node will be the first to refuse claims. */
bool
store_memory(const struct store *store, uint64_t *ret_bytes,
    uint64_t *ret_max_bytes)
{
	const struct health *fullest = NULL;
	const struct node *node;
	if (!store_is_up(store))
		return false;
	LIST_EACH(node, &store->nodes, in_store) {
		const struct health *health = &node->health;
		if (health->forbidden)
			return false;
		if (health->known &&
		    (fullest == NULL || is_fuller(health, fullest)))
			fullest = health;
	}
	if (fullest == NULL || fullest->memory_bytes == 0)
		return false;
	*ret_bytes = fullest->memory_bytes;
	*ret_max_bytes = fullest->memory_max_bytes;
	return true;
}
