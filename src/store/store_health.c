/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/list.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "base/must.h"
#include "store/redis/master.h"
#include "store/store_health.h"

enum {
	RUN_ID_CHARS = 40,
	RUN_IDS = 8,
	REASONS = 4, /* of one outage, and the log hears no more of it */
};

/*
 * A place and its servers.  An empty one stands for the only Redis, or, where
 * that is a cluster, for all of it.
 */
struct server {
	struct list in_health;
	struct redis_address place;
	/* The last that were met there, so that each is logged once. */
	char run_ids[RUN_IDS][RUN_ID_CHARS + 1];
	unsigned n_run_ids; /* ever */
	bool durable;       /* the last one has an append-only file */
	/* An outage, of which the log hears once: */
	unsigned missing;       /* stores that have lost it; 0: there is none */
	char *reasons[REASONS]; /* that the log has of it */
	unsigned n_reasons;
};

struct store_health {
	atomic_int fault; /* the first of which n_faulty is not 0 */
	atomic_bool said_forbidden;
	pthread_mutex_t mutex; /* of all that follows */
	/* Nodes of all stores by their fault; those without do not count. */
	unsigned n_faulty[FAULT_COUNT_];
	struct list servers; /* the latest that was met, or lost, first */
	struct master *master; /* has a mutex of its own */
};

struct store_health *
store_health_new(void)
{
	struct store_health *health = mem_zero(sizeof *health);
	must(pthread_mutex_init(&health->mutex, NULL) == 0);
	list_init(&health->servers);
	health->master = master_new();
	return health;
}

void
store_health_free(struct store_health **health)
{
	struct store_health *h = *health;
	struct server *server;
	*health = NULL;
	if (h == NULL)
		return;
	pthread_mutex_destroy(&h->mutex);
	master_free(&h->master);
	LIST_EACH(server, &h->servers, in_health) {
		while (server->n_reasons > 0)
			free(server->reasons[--server->n_reasons]);
		redis_address_clear(&server->place);
		free(server);
	}
	free(h);
}

struct master *
store_health_master(struct store_health *health)
{
	return health->master;
}

/* --- faults --- */

bool
store_health_count_fault(struct store_health *health, enum info_fault before,
    enum info_fault fault)
{
	int first = FAULT_NONE + 1;
	pthread_mutex_lock(&health->mutex);
	if (before != FAULT_NONE)
		health->n_faulty[before]--;
	if (fault != FAULT_NONE)
		health->n_faulty[fault]++;
	while (first < FAULT_COUNT_ && health->n_faulty[first] == 0)
		first++;
	if (first == FAULT_COUNT_)
		first = FAULT_NONE;
	bool changed = atomic_exchange(&health->fault, first) != first;
	pthread_mutex_unlock(&health->mutex);
	return changed;
}

enum info_fault
store_health_fault(const struct store_health *health)
{
	return (enum info_fault)atomic_load_explicit(
	    &health->fault, memory_order_relaxed);
}

void
store_health_say_forbidden(struct store_health *health)
{
	if (!atomic_exchange(&health->said_forbidden, true))
		log_event(EV_store_unexamined);
}

/* --- servers --- */

static struct server *
server_at(struct store_health *health, const struct redis_address *place)
{
	char nowhere[] = "";
	struct redis_address here = {.host = nowhere};
	if (place != NULL)
		here = *place;
	struct server *server;
	LIST_EACH(server, &health->servers, in_health)
		if (redis_address_eq(&server->place, &here))
			return server;
	server = mem_zero(sizeof *server);
	server->place.host = mem_str(span_str(here.host));
	server->place.port = here.port;
	list_add_first(&health->servers, &server->in_health);
	return server;
}

void
store_health_note_server(struct store_health *health,
    const struct redis_address *place, struct span info)
{
	struct span run_id = info_value(info, SPAN("run_id"));
	bool durable =
	    !span_eq(info_value(info, SPAN("aof_enabled")), SPAN("0"));
	if (run_id.len == 0 || run_id.len > RUN_ID_CHARS)
		return;
	pthread_mutex_lock(&health->mutex);
	struct server *server = server_at(health, place);
	bool first = server->n_run_ids == 0, met = false;
	for (unsigned i = 0; i < RUN_IDS; i++)
		met = met || span_eq(run_id, span_str(server->run_ids[i]));
	if (!met) {
		char *to = server->run_ids[server->n_run_ids++ % RUN_IDS];
		memcpy(to, run_id.ptr, run_id.len);
		to[run_id.len] = '\0';
	}
	bool another = !met && !first;
	bool forgetful = !first && server->durable && !durable;
	server->durable = durable;
	pthread_mutex_unlock(&health->mutex);
	if (another) {
		struct logline line = log_begin(EV_store_replaced);
		log_span(&line, "run_id", run_id);
		log_word(
		    &line, "append_only_file", durable ? "true" : "false");
		log_end(&line);
	}
	if (forgetful)
		log_event(EV_store_volatile);
}

/* --- outages --- */

bool
store_health_tell(struct store_health *health,
    const struct redis_address *place, const char *reason)
{
	pthread_mutex_lock(&health->mutex);
	struct server *server = server_at(health, place);
	if (reason != NULL && server->missing++ == 0) {
		list_remove(&server->in_health);
		list_add_first(&health->servers, &server->in_health);
	}
	bool news = reason != NULL ? server->n_reasons < REASONS
				   : --server->missing == 0;
	while (reason == NULL && news && server->n_reasons > 0)
		free(server->reasons[--server->n_reasons]);
	for (unsigned i = 0; reason != NULL && i < server->n_reasons; i++)
		news = news && strcmp(server->reasons[i], reason) != 0;
	if (reason != NULL && news)
		server->reasons[server->n_reasons++] = mem_text(reason);
	pthread_mutex_unlock(&health->mutex);
	return news;
}

char *
store_health_reason(struct store_health *health)
{
	char *reason = NULL;
	const struct server *server;
	pthread_mutex_lock(&health->mutex);
	LIST_EACH(server, &health->servers, in_health)
		if (reason == NULL && server->n_reasons > 0)
			reason =
			    mem_text(server->reasons[server->n_reasons - 1]);
	pthread_mutex_unlock(&health->mutex);
	return reason;
}
