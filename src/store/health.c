/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/must.h"
#include "redis/master.h"
#include "store/call.h"
#include "store/claim_revoke.h"
#include "store/health.h"
#include "store/topology.h"

enum {
	ASK_MS = 4000,       /* a fault is found within five seconds */
	ASK_AGAIN_MS = 1000, /* while there is one */
	REPLICA_MAX = 5,    /* then another may have the address by now */
	RUN_ID_CHARS = 40,
	RUN_IDS = 8,
};

/* Who was met at one place; for one who is the only one, no place is named. */
struct server {
	struct server *next;
	struct place place;
	/* Of those that were met there, so that the log has each once. */
	char run_ids[RUN_IDS][RUN_ID_CHARS + 1];
	unsigned n_run_ids; /* ever */
	bool durable;       /* the last one has an append-only file */
};

/* What the stores of a process, each of a thread of its own, have found. */
struct store_health {
	atomic_int fault;     /* as the store has it that watches */
	atomic_uint n_faulty; /* nodes that one is seen of, by each store */
	atomic_bool said_forbidden;
	_Atomic uint64_t memory_bytes;     /* of Redis; 0: not known */
	_Atomic uint64_t memory_max_bytes; /* 0: it has no limit */
	pthread_mutex_t mutex; /* of what follows */
	struct server *servers;
	struct master *master; /* has a mutex of its own */
};

struct store_health *
store_health_new(void)
{
	struct store_health *health = mem_zero(sizeof *health);
	must(pthread_mutex_init(&health->mutex, NULL) == 0);
	health->master = master_new();
	return health;
}

void
store_health_free(struct store_health **health)
{
	struct store_health *h = *health;
	*health = NULL;
	if (h == NULL)
		return;
	pthread_mutex_destroy(&h->mutex);
	master_free(&h->master);
	while (h->servers != NULL) {
		struct server *server = h->servers;
		h->servers = server->next;
		place_clear(&server->place);
		free(server);
	}
	free(h);
}

struct master *
store_health_master(struct store_health *health)
{
	return health->master;
}

/* --- what is found --- */

static void
log_fault(enum store_fault fault)
{
	struct logline line = log_begin(
	    fault != FAULT_NONE ? EV_store_unsafe : EV_store_safe);
	if (fault != FAULT_NONE)
		log_str(&line, "fault", info_fault_message(fault));
	log_end(&line);
}

/* The first that one is seen of is told, and the last. */
static void
count_fault(
    struct store *store, enum store_fault before, enum store_fault fault)
{
	struct store_health *common = store->health;
	bool says = true;
	if (before == FAULT_NONE)
		says = atomic_fetch_add(&common->n_faulty, 1) == 0;
	else if (fault == FAULT_NONE)
		says = atomic_fetch_sub(&common->n_faulty, 1) == 1;
	if (says)
		log_fault(fault);
}

void
health_sum_up(struct store *store)
{
	store->fault = FAULT_NONE;
	for (struct node *node = store->nodes; node != NULL; node = node->next)
		if (store->fault == FAULT_NONE)
			store->fault = node->health.fault;
	if (store->watches)
		atomic_store(&store->health->fault, (int)store->fault);
}

static void
set_fault(struct node *node, enum store_fault fault)
{
	enum store_fault before = node->health.fault;
	node->health.fault = fault;
	health_sum_up(node->store);
	if (fault != before)
		count_fault(node->store, before, fault);
}

static struct server *
server_at(struct store_health *common, const struct node *node)
{
	/* A cluster has many; else it is the one, wherever it is. */
	char nowhere[] = "";
	struct place here = {.host = nowhere};
	if (node->store->topology != NULL)
		here = node->place;
	for (struct server *s = common->servers; s != NULL; s = s->next)
		if (place_eq(&s->place, &here))
			return s;
	struct server *server = mem_zero(sizeof *server);
	server->place.host = mem_str(span_str(here.host));
	server->place.port = here.port;
	server->next = common->servers;
	common->servers = server;
	return server;
}

/* False: it was met before. */
static bool
remember(struct server *server, struct span run_id)
{
	for (unsigned i = 0; i < RUN_IDS; i++)
		if (span_eq(run_id, span_str(server->run_ids[i])))
			return false;
	char *to = server->run_ids[server->n_run_ids % RUN_IDS];
	memcpy(to, run_id.ptr, run_id.len);
	to[run_id.len] = '\0';
	server->n_run_ids++;
	return true;
}

/* Another server than the one before, or no longer one that keeps records. */
static void
note_server(const struct node *node, struct span info)
{
	struct store_health *common = node->store->health;
	struct span run_id = info_value(info, SPAN("run_id"));
	bool durable =
	    !span_eq(info_value(info, SPAN("aof_enabled")), SPAN("0"));
	if (run_id.len == 0 || run_id.len > RUN_ID_CHARS)
		return;
	pthread_mutex_lock(&common->mutex);
	struct server *server = server_at(common, node);
	bool first = server->n_run_ids == 0;
	bool another = remember(server, run_id) && !first;
	bool forgetful = !first && server->durable && !durable;
	server->durable = durable;
	pthread_mutex_unlock(&common->mutex);
	if (another) {
		struct logline line = log_begin(EV_store_replaced);
		log_span(&line, "run_id", run_id);
		log_bool(&line, "append_only_file", durable);
		log_end(&line);
	}
	if (forgetful) {
		struct logline line = log_begin(EV_store_volatile);
		log_end(&line);
	}
}

/* By what part of its limit it uses, where it has one. */
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

/* The fullest is the first to refuse claims: it is the one to show. */
static void
note_memory(struct node *node, struct span info)
{
	struct store_health *common = node->store->health;
	const struct health *fullest = &node->health;
	node->health.memory_max_bytes = info_number(info, SPAN("maxmemory"));
	node->health.memory_bytes = info_number(info, SPAN("used_memory"));
	for (struct node *n = node->store->nodes; n != NULL; n = n->next)
		if (n->health.known && is_fuller(&n->health, fullest))
			fullest = &n->health;
	atomic_store(&common->memory_max_bytes, fullest->memory_max_bytes);
	atomic_store(&common->memory_bytes, fullest->memory_bytes);
}

/* --- asking --- */

/* The user may not ask: said once, and not asked again on this link. */
static void
on_forbidden(struct node *node)
{
	node->health.forbidden = true;
	set_fault(node, FAULT_NONE);
	if (atomic_exchange(&node->store->health->said_forbidden, true))
		return;
	struct logline line = log_begin(EV_store_unexamined);
	log_end(&line);
}

/* Not now, within hiredis, but before anything else. */
void
health_not_master(struct node *node)
{
	if (!conf_has_sentinels(node->store->conf))
		return;
	node->health.leaves = true;
	timer_set(&node->health.timer, 0);
}

/* What it says of itself; false: it is none to stay with. */
static bool
take_info(struct node *node, struct span info)
{
	struct store *store = node->store;
	enum store_fault fault = info_fault(store->conf, info);
	if (fault == FAULT_ROLE && conf_has_sentinels(store->conf)) {
		health_not_master(node);
		return false;
	}
	set_fault(node, fault);
	note_server(node, info);
	note_memory(node, info);
	return true;
}

static void
on_info(struct link_call *call, const redisReply *reply)
{
	struct health *h = (struct health *)(void *)call;
	struct node *node = h->node;
	struct store *store = node->store;
	h->asking = false;
	if (reply == NULL)
		return;
	if (reply->type == REDIS_REPLY_STRING) {
		if (!take_info(node, span_of(reply->str, reply->len)))
			return;
	} else if (reply->type == REDIS_REPLY_ERROR &&
	    span_starts(span_str(reply->str), SPAN("NOPERM "))) {
		on_forbidden(node);
	}
	if (!h->forbidden && (store->watches || h->fault != FAULT_NONE))
		timer_set(&h->timer,
		    h->fault != FAULT_NONE ? ASK_AGAIN_MS : ASK_MS);
	if (!h->known) {
		h->known = true;
		call_flush_queue(&node->queue);
		claim_revoke_pump(store);
		if (store->topology != NULL)
			topology_node_up(node);
	}
}

static void
ask(struct node *node)
{
	struct health *h = &node->health;
	if (h->asking || h->forbidden || !link_is_up(node->link))
		return;
	struct resp command = {0};
	resp_begin(&command, 1);
	resp_arg(&command, SPAN("INFO"));
	h->asking = true;
	h->call.done = on_info;
	link_send(node->link, &h->call, &command);
	resp_clear(&command);
}

/* A master that was demoted keeps its connections: ours is made anew, to
 * whom the address leads now. */
static void
on_timer(void *arg)
{
	struct node *node = arg;
	struct health *h = &node->health;
	h->as_replica = h->fault == FAULT_ROLE ? h->as_replica + 1 : 0;
	if (h->as_replica < REPLICA_MAX && !h->leaves) {
		ask(node);
		return;
	}
	h->as_replica = 0;
	if (link_is_up(node->link))
		link_reset(node->link, "Redis is a replica");
}

/* --- life --- */

void
health_init(struct node *node)
{
	node->health.node = node;
	timer_init(&node->health.timer, node->store->loop, on_timer, node);
}

void
health_end(struct node *node)
{
	struct health *h = &node->health;
	timer_clear(&h->timer);
	if (h->fault != FAULT_NONE)
		atomic_fetch_sub(&node->store->health->n_faulty, 1);
	h->fault = FAULT_NONE;
}

void
health_watch(struct store *store)
{
	store->watches = true;
	for (struct node *node = store->nodes; node != NULL; node = node->next)
		ask(node);
}

void
health_link_up(struct node *node)
{
	node->health.known = node->health.forbidden = false;
	ask(node);
}

void
health_link_down(struct node *node)
{
	node->health.known = node->health.leaves = false;
	timer_clear(&node->health.timer);
}

enum store_fault
health_fault(const struct store *store)
{
	if (store->fault != FAULT_NONE)
		return store->fault;
	return (enum store_fault)atomic_load_explicit(
	    &store->health->fault, memory_order_relaxed);
}

const char *
store_fault(const struct store *store)
{
	return info_fault_message(health_fault(store));
}

static bool
any_forbids(const struct store *store)
{
	for (struct node *node = store->nodes; node != NULL; node = node->next)
		if (node->health.forbidden)
			return true;
	return false;
}

bool
store_memory(const struct store *store, uint64_t *ret_bytes,
    uint64_t *ret_max_bytes)
{
	const struct store_health *common = store->health;
	uint64_t bytes = atomic_load(&common->memory_bytes);
	if (!store_is_up(store) || any_forbids(store) || bytes == 0)
		return false;
	*ret_bytes = bytes;
	*ret_max_bytes = atomic_load(&common->memory_max_bytes);
	return true;
}
