/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/container.h"
#include "base/mem.h"
#include "messages/broker/broker_clients.h"
#include "messages/relay/relays.h"

static bool on_turn(void *arg);

static struct relays *
relays_part(struct worker_part *part)
{
	return CONTAINER_OF(part, struct relays, part);
}

/* The same one for as long as it has that name, however many there are. */
static bool
is_of_worker(const struct worker *w, const struct conf_relay *relay)
{
	uint8_t hash[DIGEST_BYTES];
	struct digest digest;
	digest_begin(&digest, SPAN("relay"), SPAN(""));
	digest_part(&digest, span_str(relay->name));
	digest_end(&digest, hash);
	return (hash[0] | (unsigned)hash[1] << 8) % w->conf->workers ==
	    w->index;
}

static struct relay_run *
run_named(struct relay_run *first, const char *name)
{
	for (; first != NULL; first = first->next)
		if (!strcmp(first->relay->name, name))
			return first;
	return NULL;
}

static void
begin_relay(struct relays *all, const struct conf *conf,
    const struct conf_relay *relay)
{
	struct relay_meter *meter =
	    relay_meter_of(&all->meters, relay->name);
	struct relay_run *r =
	    relay_run_new(all->worker, conf, relay, meter);
	r->next = all->first;
	all->first = r;
}

/*
 * Where claims are refused for the sake of relays, one that is gone must not be
 * waited for.  One worker says so.
 */
static void
forget_others(const struct relays *all)
{
	const struct worker *w = all->worker;
	if (w->index == 0 && w->conf->store.events_refuse &&
	    w->conf->store.events_maxlen > 0)
		relay_place_keep(w->store, w->generation->conf);
}

/* Those that are configured and not here, as far as they have drained. */
static void
begin_missing(struct relays *all)
{
	const struct conf *conf = all->worker->generation->conf;
	for (size_t i = 0; i < conf->n_relays; i++) {
		const struct conf_relay *relay = &conf->relays[i];
		if (is_of_worker(all->worker, relay) &&
		    run_named(all->first, relay->name) == NULL &&
		    run_named(all->leaving, relay->name) == NULL)
			begin_relay(all, conf, relay);
	}
}

static void
hook(struct relays *all)
{
	if (all->hooked)
		return;
	all->hooked = true;
	loop_hook(all->worker->loop, HOOK_FLUSH, &all->hook, on_turn, all);
}

static void
unhook(struct relays *all)
{
	if (all->hooked)
		loop_unhook(&all->hook);
	all->hooked = false;
}

/* What has drained is gone, and what takes its place begins. */
static bool
on_turn(void *arg)
{
	struct relays *all = arg;
	struct relay_run **at = &all->leaving;
	while (*at != NULL) {
		struct relay_run *r = *at;
		if (!relay_run_is_drained(r)) {
			at = &r->next;
			continue;
		}
		*at = r->next;
		relay_run_free(&r);
	}
	if (!all->draining)
		begin_missing(all);
	if (all->leaving == NULL)
		unhook(all);
	return false;
}

/* Takes it off the list of those that go on, and drains it. */
static void
leave(struct relays *all, struct relay_run **at)
{
	struct relay_run *r = *at;
	*at = r->next;
	r->next = all->leaving;
	all->leaving = r;
	relay_run_drain(r);
	hook(all);
}

/* --- what the worker says --- */

static struct worker_part *
relays_begin(struct worker *worker)
{
	struct relays *all = mem_zero(sizeof *all);
	all->part.kind = &relays_kind;
	all->worker = worker;
	forget_others(all);
	begin_missing(all);
	return &all->part;
}

static bool
is_unchanged(const struct conf_relay *a, const struct conf_relay *b)
{
	return b != NULL && !memcmp(a->digest, b->digest, sizeof a->digest);
}

static const struct conf_relay *
configured(const struct conf *conf, const char *name)
{
	for (size_t i = 0; i < conf->n_relays; i++)
		if (!strcmp(conf->relays[i].name, name))
			return &conf->relays[i];
	return NULL;
}

static void
relays_reload(struct worker_part *part, struct generation *generation)
{
	struct relays *all = relays_part(part);
	struct relay_run **at = &all->first;
	if (all->draining)
		return;
	while (*at != NULL) {
		const struct conf_relay *relay = (*at)->relay;
		if (is_unchanged(relay,
			configured(generation->conf, relay->name)))
			at = &(*at)->next;
		else
			leave(all, at);
	}
	forget_others(all);
	begin_missing(all);
}

static void
relays_drain(struct worker_part *part)
{
	struct relays *all = relays_part(part);
	all->draining = true;
	while (all->first != NULL)
		leave(all, &all->first);
}

/* What is still on its way is put again, by whoever runs the relay next. */
static void
end_leaving(struct relays *all)
{
	while (all->leaving != NULL) {
		struct relay_run *r = all->leaving;
		all->leaving = r->next;
		relay_run_free(&r);
	}
}

static void
relays_over(struct worker_part *part)
{
	end_leaving(relays_part(part));
}

static bool
relays_are_idle(const struct worker_part *part)
{
	const struct relays *all = (const struct relays *)part;
	return all->first == NULL && all->leaving == NULL &&
	    broker_clients_leaving(all->worker->loop) == 0;
}

static void
relays_end(struct worker_part *part)
{
	struct relays *all = relays_part(part);
	relays_drain(part);
	end_leaving(all);
	unhook(all);
	broker_clients_abandon(all->worker->loop);
}

static void
relays_free(struct worker_part *part)
{
	struct relays *all = relays_part(part);
	relay_meter_clear(&all->meters);
	free(all);
}

const struct worker_part_kind relays_kind = {
    .name = "relays",
    .begin = relays_begin,
    .reload = relays_reload,
    .drain = relays_drain,
    .over = relays_over,
    .is_idle = relays_are_idle,
    .end = relays_end,
    .free = relays_free,
};

struct relays *
relays_of(const struct worker *worker)
{
	struct worker_part *part = worker->parts;
	for (; part != NULL; part = part->next)
		if (part->kind == &relays_kind)
			return relays_part(part);
	return NULL;
}
