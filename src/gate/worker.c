/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/arena.h"
#include "base/container.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "gate/execution.h"
#include "gate/request.h"
#include "gate/trust.h"
#include "gate/witness.h"
#include "gate/worker.h"
#include "store/claim.h"
#include "store/leases.h"
#include "store/redis/resp.h"

/* After drain_timeout: how long Redis may still take outcomes. */
enum { LAST_OUTCOMES_MS = 1000 };

static void on_drain_timeout(void *arg);

static void
on_record_changed(void *arg, const struct key_id *key_id)
{
	struct worker *w = arg;
	cache_drop(w->cache, key_id);
	key_waiters_wake(&w->waiters, key_id);
}

static void
on_subscribed(void *arg, bool subscribed)
{
	struct worker *w = arg;
	cache_subscribed(w->cache, subscribed);
}

struct worker *
worker_new(const struct conf *conf, struct budget *budget,
    struct places *places, struct store_health *health,
    struct journal_awaited *awaited, unsigned index,
    const struct worker_socket *sockets, size_t n_sockets,
    struct journal *journal, const struct worker_part_kind *const *kinds)
{
	struct worker *w = mem_zero(sizeof *w);
	list_init(&w->requests.list);
	list_init(&w->executions.list);
	w->conf = conf_ref(conf);
	w->budget = budget;
	w->places = places;
	w->awaited = awaited;
	w->index = index;
	w->loop = loop_new();
	meter_init(&w->meter);
	must(pthread_mutex_init(&w->duplicates.lock, NULL) == 0);
	timer_init(&w->drain, w->loop, on_drain_timeout, w);
	/* Hooks run last come first: the log is flushed behind all others. */
	log_attach(&w->log, w->loop);
	w->store =
	    store_new(w->loop, conf, budget, health, w->meter.store);
	w->cache = cache_new((size_t)(conf->cache_size / conf->workers),
	    &w->meter.cache_bytes, &w->meter.cache_hits);
	w->waiters.waiting = &w->meter.waiting;
	const struct store_listener listener = {on_record_changed,
	    conf->cache_size > 0 ? on_subscribed : NULL, w};
	store_listen(w->store, &listener);
	if (index == 0)
		leases_sweep(w->store, awaited);
	const struct journal_replay_home home = {w->loop, conf, w->store,
	    budget, awaited, &w->waiters, &w->meter};
	journal_replay_init(&w->journal_replay, &home, journal, index == 0);
	w->generation = generation_new(w->loop, conf, budget, &w->meter);
	w->trusts = trust_new(w);
	w->witnesses = witness_new(w);
	lease_init(&w->leases, w->loop, w->store);
	w->front = front_new(w->loop, conf, budget, places,
	    &w->meter.no_route->outcomes[OUTCOME_OVERLOADED], request_new, w);
	for (size_t i = 0; i < n_sockets; i++)
		front_listen(w->front, sockets[i].fd, sockets[i].entry,
		    sockets[i].kept);
	/* A part of each kind that it needs. */
	struct worker_part **end = &w->parts;
	for (; kinds != NULL && *kinds != NULL; kinds++) {
		*end = (*kinds)->begin(w);
		if (*end != NULL)
			end = &(*end)->next;
	}
	return w;
}

/* --- draining --- */

/*
 * Nothing is in flight any more, nothing waits to be stored, and no client is
 * about to ask for something.  Claims that Redis cannot be given back now are
 * the next process's.
 */
static bool
on_drained(void *arg)
{
	struct worker *w = arg;
	if (w->requests.count > 0 ||
	    (w->executions.count > 0 && INVARIANT(drain_waits)))
		return false;
	for (const struct worker_part *p = w->parts; p != NULL; p = p->next)
		if (!p->kind->is_idle(p))
			return false;
	bool up = store_is_up(w->store);
	if (store_unsettled(w->store) > 0 && (!up || w->over))
		claim_save_revokes(w->store, &w->journal_replay.writer);
	if (store_unsettled(w->store) == 0 &&
	    (w->over || front_is_quiet(w->front)) &&
	    (journal_replay_is_done(&w->journal_replay) || !up))
		loop_stop(w->loop);
	return false;
}

static void
on_drain(void *arg)
{
	struct worker *w = arg;
	if (w->draining)
		return;
	w->draining = true;
	front_drain(w->front);
	for (struct worker_part *p = w->parts; p != NULL; p = p->next)
		p->kind->drain(p);
	timer_set(&w->drain, w->generation->conf->drain_timeout_ms);
	loop_hook(w->loop, HOOK_FLUSH, &w->drained, on_drained, w);
}

void
worker_post_drain(struct worker *w)
{
	loop_post(w->loop, on_drain, w);
}

/* Executions are cut, and then Redis has a while to take the last outcomes. */
static void
on_drain_timeout(void *arg)
{
	struct worker *w = arg;
	if (w->over) {
		loop_stop(w->loop);
		return;
	}
	w->over = true;
	store_hurry(w->store);
	key_waiters_wake(&w->waiters, NULL);
	for (struct worker_part *p = w->parts; p != NULL; p = p->next)
		if (p->kind->over != NULL)
			p->kind->over(p);
	struct machine *m;
	LIST_EACH(m, &w->executions.list, item)
		execution_cut(CONTAINER_OF(m, struct execution, machine));
	timer_set(&w->drain,
	    w->conf->store.redis.timeout_ms + LAST_OUTCOMES_MS);
}

/* --- errands of other threads --- */

struct errand {
	struct worker *worker;
	const struct conf *conf; /* to be adopted; or NULL */
	struct loop *caller;     /* of the thread that done() runs on */
	void (*done)(void *arg);
	void *arg;
};

static void
on_errand(void *arg)
{
	struct errand *errand = arg;
	struct worker *w = errand->worker;
	if (errand->conf != NULL && w->generation != NULL) {
		generation_unref(&w->generation);
		w->generation = generation_new(
		    w->loop, errand->conf, w->budget, &w->meter);
		front_reload(w->front, errand->conf);
		trust_reload(w->trusts);
		witness_reload(w->witnesses);
		for (struct worker_part *p = w->parts; p; p = p->next)
			p->kind->reload(p, w->generation);
	}
	conf_unref(&errand->conf);
	loop_post(errand->caller, errand->done, errand->arg);
	free(errand);
}

void
worker_post_errand(struct worker *w, const struct conf *conf,
    struct loop *caller, void (*done)(void *arg), void *arg)
{
	const struct errand errand = {
	    w, conf != NULL ? conf_ref(conf) : NULL, caller, done, arg};
	loop_post(w->loop, on_errand, mem_copy(&errand, sizeof errand));
}

/* --- the end --- */

/* They could not end by themselves; the outcomes of executions are lost. */
static void
end_machines(struct machines *all, bool lost)
{
	struct machine *m;
	LIST_EACH(m, &all->list, item) {
		if (lost) {
			struct logline line = execution_log(
			    CONTAINER_OF(m, struct execution, machine),
			    EV_settle_lost);
			log_end(&line);
		}
		machine_end(m);
	}
}

void
worker_run(struct worker *w)
{
	loop_run(w->loop);
	timer_clear(&w->drain);
	/* Requests and parts first: they let go of their executions. */
	end_machines(&w->requests, false);
	for (struct worker_part *p = w->parts; p != NULL; p = p->next)
		p->kind->end(p);
	end_machines(&w->executions, true);
	lease_clear(&w->leases);
	journal_replay_end(&w->journal_replay);
	/* Closes all connections, with clients too: others drain longer. */
	front_free(&w->front);
	witness_free(&w->witnesses);
	trust_stop(w->trusts);
	generation_unref(&w->generation);
	store_free(&w->store);
	arena_trim();
	resp_trim();
	log_flush_last();
}

bool
worker_owns(const struct worker *w, const char *kind, const char *name)
{
	uint8_t hash[DIGEST_BYTES];
	struct digest digest;
	digest_begin(&digest, span_str(kind), SPAN(""));
	digest_part(&digest, span_str(name));
	digest_end(&digest, hash);
	return (hash[0] | (unsigned)hash[1] << 8) % w->conf->workers ==
	    w->index;
}

void
worker_free(struct worker **worker)
{
	struct worker *w = *worker;
	*worker = NULL;
	if (w == NULL)
		return;
	while (w->parts != NULL) {
		struct worker_part *part = w->parts;
		w->parts = part->next;
		part->kind->free(part);
	}
	log_detach(&w->log);
	if (w->draining)
		loop_unhook(&w->drained);
	loop_free(&w->loop);
	cache_free(&w->cache);
	hash_free(&w->waiters.listening);
	trust_free(&w->trusts);
	meter_clear(&w->meter);
	must(pthread_mutex_destroy(&w->duplicates.lock) == 0);
	conf_unref(&w->conf);
	free(w);
}
