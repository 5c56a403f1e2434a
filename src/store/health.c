/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/must.h"
#include "store/call.h"
#include "store/giveback.h"
#include "store/health.h"

enum {
	ASK_MS = 4000,       /* a fault is found within five seconds */
	ASK_AGAIN_MS = 1000, /* while there is one */
	REPLICA_MOST = 5,    /* then another may have the address by now */
	RUN_ID_CHARS = 40,
	RUN_IDS = 8,
};

/* What the stores of a process, each of a thread of its own, have found. */
struct store_health {
	atomic_int fault;     /* as the store has it that watches */
	atomic_uint n_faulty; /* stores that see one themselves */
	atomic_bool said_forbidden;
	_Atomic uint64_t memory_bytes;     /* of Redis; 0: not known */
	_Atomic uint64_t memory_max_bytes; /* 0: it has no limit */
	pthread_mutex_t mutex; /* of what follows */
	/* Of the servers that were met, so that the log has each once. */
	char run_ids[RUN_IDS][RUN_ID_CHARS + 1];
	unsigned n_run_ids; /* ever */
	bool durable;       /* the last one has an append-only file */
};

struct store_health *
store_health_new(void)
{
	struct store_health *health = mem_zero(sizeof *health);
	must(pthread_mutex_init(&health->mutex, NULL) == 0);
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
	free(h);
}

/* --- what is found --- */

static void
log_fault(enum store_fault fault)
{
	struct logline line = log_begin(
	    fault != FAULT_NONE ? EV_store_unsafe : EV_store_safe);
	if (fault != FAULT_NONE)
		log_str(&line, "fault", fault_words(fault));
	log_end(&line);
}

/* The first store that sees a fault says so, and the last that saw one. */
static void
set_fault(struct store *store, enum store_fault fault)
{
	struct health *h = &store->health;
	enum store_fault before = h->fault;
	h->fault = fault;
	if (h->watches)
		atomic_store(&h->common->fault, (int)fault);
	if (fault == before)
		return;
	bool says = true;
	if (before == FAULT_NONE)
		says = atomic_fetch_add(&h->common->n_faulty, 1) == 0;
	else if (fault == FAULT_NONE)
		says = atomic_fetch_sub(&h->common->n_faulty, 1) == 1;
	if (says)
		log_fault(fault);
}

/* False: it was met before. */
static bool
remember(struct store_health *common, struct span run_id)
{
	for (unsigned i = 0; i < RUN_IDS; i++)
		if (span_eq(run_id, span_str(common->run_ids[i])))
			return false;
	char *place = common->run_ids[common->n_run_ids % RUN_IDS];
	memcpy(place, run_id.ptr, run_id.len);
	place[run_id.len] = '\0';
	common->n_run_ids++;
	return true;
}

/* Another server than the one before, or no longer one that keeps records. */
static void
note_server(struct store_health *common, struct span info)
{
	struct span run_id = info_value(info, SPAN("run_id"));
	bool durable =
	    !span_eq(info_value(info, SPAN("aof_enabled")), SPAN("0"));
	if (run_id.len == 0 || run_id.len > RUN_ID_CHARS)
		return;
	pthread_mutex_lock(&common->mutex);
	bool first = common->n_run_ids == 0;
	bool another = remember(common, run_id) && !first;
	bool forgetful = !first && common->durable && !durable;
	common->durable = durable;
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

static void
note_memory(struct store_health *common, struct span info)
{
	atomic_store(&common->memory_max_bytes,
	    info_number(info, SPAN("maxmemory")));
	atomic_store(&common->memory_bytes,
	    info_number(info, SPAN("used_memory")));
}

/* --- asking --- */

/* The user may not ask: said once, and not asked again on this link. */
static void
on_forbidden(struct store *store)
{
	struct health *h = &store->health;
	h->forbidden = true;
	set_fault(store, FAULT_NONE);
	if (atomic_exchange(&h->common->said_forbidden, true))
		return;
	struct logline line = log_begin(EV_store_unexamined);
	log_end(&line);
}

static void
on_info(struct link_call *call, const redisReply *reply)
{
	struct health *h = (struct health *)(void *)call;
	struct store *store = h->store;
	h->asking = false;
	if (reply == NULL)
		return;
	if (reply->type == REDIS_REPLY_STRING) {
		struct span info = span_of(reply->str, reply->len);
		set_fault(store, info_fault(store->conf, info));
		note_server(h->common, info);
		note_memory(h->common, info);
	} else if (reply->type == REDIS_REPLY_ERROR &&
	    span_starts(span_str(reply->str), SPAN("NOPERM "))) {
		on_forbidden(store);
	}
	if (!h->forbidden && (h->watches || h->fault != FAULT_NONE))
		timer_set(&h->timer,
		    h->fault != FAULT_NONE ? ASK_AGAIN_MS : ASK_MS);
	if (!h->known) {
		h->known = true;
		call_flush_queue(store);
		giveback_pump(store);
	}
}

static void
ask(struct store *store)
{
	struct health *h = &store->health;
	if (h->asking || h->forbidden || !link_is_up(store->link))
		return;
	struct resp command = {0};
	resp_begin(&command, 1);
	resp_arg(&command, SPAN("INFO"));
	h->asking = true;
	h->call.done = on_info;
	link_send(store->link, &h->call, &command);
	resp_clear(&command);
}

/* A master that was demoted keeps its connections: ours is made anew, to
 * whom the address leads now. */
static void
on_timer(void *arg)
{
	struct store *store = arg;
	struct health *h = &store->health;
	h->as_replica = h->fault == FAULT_ROLE ? h->as_replica + 1 : 0;
	if (h->as_replica < REPLICA_MOST) {
		ask(store);
		return;
	}
	h->as_replica = 0;
	if (link_is_up(store->link))
		link_reset(store->link, "Redis is a replica");
}

/* --- life --- */

void
health_init(struct store *store, struct store_health *common)
{
	struct health *h = &store->health;
	h->store = store;
	h->common = common;
	timer_init(&h->timer, store->loop, on_timer, store);
}

void
health_end(struct store *store)
{
	struct health *h = &store->health;
	timer_clear(&h->timer);
	if (h->fault != FAULT_NONE)
		atomic_fetch_sub(&h->common->n_faulty, 1);
	h->fault = FAULT_NONE;
}

void
health_watch(struct store *store)
{
	store->health.watches = true;
	ask(store);
}

void
health_link_up(struct store *store)
{
	store->health.known = store->health.forbidden = false;
	ask(store);
}

void
health_link_down(struct store *store)
{
	store->health.known = false;
	timer_clear(&store->health.timer);
}

bool
health_is_known(const struct store *store)
{
	return store->health.known;
}

enum store_fault
health_fault(const struct store *store)
{
	const struct health *h = &store->health;
	if (h->fault != FAULT_NONE)
		return h->fault;
	return (enum store_fault)atomic_load_explicit(
	    &h->common->fault, memory_order_relaxed);
}

const char *
store_fault(const struct store *store)
{
	return fault_words(health_fault(store));
}

bool
store_memory(const struct store *store, uint64_t *ret_bytes,
    uint64_t *ret_max_bytes)
{
	const struct store_health *common = store->health.common;
	uint64_t bytes = atomic_load(&common->memory_bytes);
	if (!store_is_up(store) || store->health.forbidden || bytes == 0)
		return false;
	*ret_bytes = bytes;
	*ret_max_bytes = atomic_load(&common->memory_max_bytes);
	return true;
}
