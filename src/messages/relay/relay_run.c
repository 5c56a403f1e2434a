/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "messages/relay/relay_compare.h"
#include "messages/relay/relay_health.h"
#include "messages/relay/relay_kafka.h"
#include "messages/relay/relay_postgres.h"
#include "messages/relay/relay_run.h"
#include "messages/relay/webhook.h"

enum {
	ANSWERS_MAX = 64,    /* events in a parcel, where they have answers */
	BUDGET_SHARE = 4,    /* a parcel's answers: that part of all memory */
	LOOK_MS = 1000,
	SAVE_MS = 1000,      /* the place, where the target has it too */
	SAVE_SOON_MS = 50,   /* … and where it does not */
};

static const struct relay_target_kind *
kind_of(const struct conf_relay *relay)
{
	static const struct relay_target_kind *const kinds[] = {
#ifdef HAVE_POSTGRES
	    [RELAY_POSTGRES] = &relay_postgres_kind,
#endif
#ifdef HAVE_KAFKA
	    [RELAY_KAFKA] = &relay_kafka_kind,
#endif
	    [RELAY_WEBHOOK] = &webhook_kind,
	    [RELAY_KIND_COUNT_] = NULL,
	};
	return kinds[relay->kind];
}

/* --- parcels --- */

static size_t
events_max(const struct relay_run *run)
{
	int64_t largest = 1;
	const struct conf *conf = run->conf;
	if (!run->relay->answer)
		return kind_of(run->relay)->events;
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_idempotency *policy =
		    conf->routes[i].idempotency;
		if (policy != NULL && policy->max_response_body > largest)
			largest = policy->max_response_body;
	}
	int64_t fit = conf->in_flight_bytes / BUDGET_SHARE / largest;
	return fit < 1 ? 1 : fit > ANSWERS_MAX ? ANSWERS_MAX : (size_t)fit;
}

static bool
may_put(const struct relay_run *run)
{
	return run->reads && !run->draining && !run->fenced &&
	    !pause_stands(&run->pause) && turn_is_held(&run->turn);
}

/* All that the first parcels have brought is done with, in order. */
static void
settle_done(struct relay_run *run)
{
	while (run->first != NULL && run->first->done) {
		struct relay_parcel *p = run->first;
		for (size_t i = 0; i < p->batch.n_marks; i++)
			relay_place_move(&run->place, &p->batch.marks[i]);
		counter_add(&run->meter->events,
		    p->batch.n_events - p->batch.kept);
		run->first = p->next;
		run->on_their_way--;
		relay_parcel_free(&p);
	}
}

static void
on_batch_done(void *owner)
{
	struct relay_parcel *p = owner;
	struct relay_run *run = p->owner;
	p->done = true;
	settle_done(run);
	task_ready(run->worker->loop, &run->settle);
}

static void
on_complete(struct relay_parcel *p)
{
	struct relay_run *run = p->owner;
	op_init(&p->batch.op, run->worker->loop, on_batch_done, p);
	run->target->kind->put(run->target, &p->batch);
}

/*
 * Where nothing is wanted it is only where it stands that moves, and that need
 * not be written down at once.
 */
static bool
is_worth_it(const struct relay_run *run)
{
	const struct relay_parcel *p = run->forming;
	return p->batch.n_events > 0 || (p->batch.n_marks > 0 &&
	    loop_now_ms(run->worker->loop) - run->put_ms >= LOOK_MS);
}

static void
send_parcels(struct relay_run *run)
{
	const struct relay_target_kind *kind = run->target->kind;
	struct relay_parcel **end = &run->first;
	if (run->on_their_way >= kind->batches || !is_worth_it(run))
		return;
	while (*end != NULL)
		end = &(*end)->next;
	*end = run->forming;
	run->on_their_way++;
	run->put_ms = loop_now_ms(run->worker->loop);
	relay_parcel_fetch(run->forming, on_complete);
	run->forming = NULL;
}

static void
form(struct relay_run *run)
{
	if (run->forming != NULL)
		return;
	run->forming = relay_parcel_new(
	    run->worker->store, run->conf, run->worker->loop, run->relay);
	run->forming->owner = run;
}

static size_t
room_of(const struct relay_run *run)
{
	size_t most = events_max(run);
	size_t has = run->forming->batch.n_events;
	return has < most ? most - has : 0;
}

/* --- what the stream says --- */

static void
on_took(void *arg, const struct relay_entry *entry)
{
	struct relay_run *run = arg;
	relay_parcel_add(run->forming, entry);
}

static void
on_began(void *arg, const struct relay_mark *mark)
{
	struct relay_run *run = arg;
	relay_parcel_stand(run->forming, mark);
}

static void
entries_lost(void *arg, unsigned shard, uint64_t count)
{
	char why[80];
	snprintf(why, sizeof why, "trimmed from shard %u before it was read",
	    shard);
	relay_health_lost(arg, count, why);
}

static void
stream_is_new(void *arg, unsigned shard)
{
	struct relay_run *run = arg;
	struct logline line = relay_health_log(run, EV_relay_stream_again);
	log_int(&line, "shard", shard);
	log_end(&line);
}

static void
on_settled(void *arg)
{
	struct relay_run *run = arg;
	task_ready(run->worker->loop, &run->settle);
}

/* --- begin and end of a turn --- */

static void
end_parcels(struct relay_run *run)
{
	relay_parcel_free(&run->forming);
	while (run->first != NULL) {
		struct relay_parcel *p = run->first;
		run->first = p->next;
		relay_parcel_free(&p);
	}
	run->on_their_way = 0;
}

static const struct relay_stream_events stream_events = {
    .took = on_took, .began = on_began, .lost = entries_lost,
    .again = stream_is_new,
    .settled = on_settled};

static void
read_from(struct relay_run *run, const struct relay_mark *marks)
{
	struct relay_stream_events events = stream_events;
	events.arg = run;
	form(run);
	relay_stream_stop(&run->stream);
	run->compares = false;
	relay_stream_start(&run->stream, run->worker->store,
	    run->worker->loop, marks, &events);
	/* Who trims knows from now on that there is this relay. */
	for (unsigned i = 0; i < run->stream.n_shards; i++)
		relay_place_move(&run->place, &marks[i]);
	run->reads = true;
	task_ready(run->worker->loop, &run->settle);
}

static void
on_opened(void *arg, const struct relay_mark *marks, size_t n_marks)
{
	struct relay_run *run = arg;
	unsigned shards = run->place.n_shards;
	struct relay_mark *all = mem_zero(shards * sizeof *all);
	for (unsigned i = 0; i < shards; i++)
		all[i] = (struct relay_mark){.shard = i, .count = -1};
	for (size_t i = 0; i < n_marks; i++)
		all[marks[i].shard] = marks[i];
	relay_place_known(&run->place);
	end_parcels(run);
	read_from(run, all);
	free(all);
}

static void
on_target_changed(void *arg)
{
	on_settled(arg);
}

static void
on_fenced(void *arg)
{
	struct relay_run *run = arg;
	run->fenced = true;
	task_ready(run->worker->loop, &run->settle);
}

static void
on_late(void *arg, uint64_t count)
{
	struct relay_run *run = arg;
	counter_add(&run->meter->events, count);
}

static void
on_target_lost(void *arg, uint64_t count, const char *why)
{
	relay_health_lost(arg, count, why);
}

static void
on_target_pause(void *arg, const char *note)
{
	struct relay_run *run = arg;
	struct worker *w = run->worker;
	if (op_pending(&run->pausing.op.op) || run->pause.on)
		return;
	pause_begin(&run->pausing, w->store, "relay", run->relay->name,
	    span_str(run->conf->instance), span_str(note));
}

/* A target that has something of its own to bring is told to wait, too. */
static void
hold_target(struct relay_run *run)
{
	if (run->target != NULL && run->target->kind->hold != NULL)
		run->target->kind->hold(run->target,
		    run->draining || pause_stands(&run->pause));
}

static void
open_target(struct relay_run *run)
{
	const struct relay_target_events events = {.opened = on_opened,
	    .changed = on_target_changed, .fenced = on_fenced,
	    .pause = on_target_pause, .lost = on_target_lost,
	    .late = on_late, .arg = run};
	const struct relay_target_start start = {run->worker, run->conf,
	    run->relay, turn_number(&run->turn), &run->turn, &events};
	run->target = kind_of(run->relay)->open(&start);
	hold_target(run);
}

static void
places_loaded(void *arg, const struct relay_mark *marks)
{
	struct relay_run *run = arg;
	if (kind_of(run->relay)->keeps_place) {
		relay_compare_begin(run, marks);
		return;
	}
	open_target(run);
	read_from(run, marks);
}

/* Which store it is stands beside the position: it must be known. */
static void
begin_turn(struct relay_run *run)
{
	struct worker *w = run->worker;
	bool keeps = kind_of(run->relay)->keeps_place;
	/* Claims may be refused for what Redis has not heard of yet. */
	bool soon = !keeps || w->conf->store.events_refuse;
	const struct relay_place_events events = {
	    places_loaded, on_fenced, run};
	if (run->place.store != NULL || !turn_is_held(&run->turn) ||
	    run->draining || !origin_has_id(store_origin(w->store)))
		return;
	relay_place_start(&run->place, w->store, w->loop, run->relay->name,
	    turn_number(&run->turn), soon ? SAVE_SOON_MS : SAVE_MS, &events);
	if (keeps)
		open_target(run);
	else
		relay_place_load(&run->place);
}

static void
stop(struct relay_run *run)
{
	run->reads = run->compares = run->up = false;
	end_parcels(run);
	relay_stream_stop(&run->stream);
	if (run->target != NULL)
		run->target->kind->close(run->target);
	run->target = NULL;
	relay_place_stop(&run->place);
	counter_set(&run->meter->runs, 0);
}

static void
on_gained(void *arg)
{
	struct relay_run *run = arg;
	relay_health_say(run, EV_relay_begins);
	begin_turn(run);
}

static void
on_turn_lost(void *arg)
{
	struct relay_run *run = arg;
	stop(run);
	relay_health_say(run, EV_relay_ends);
}

static void
take_turns(struct relay_run *run)
{
	const struct turn_events events = {on_gained, on_turn_lost, run};
	turn_start(&run->turn, run->worker->store, run->worker->loop, "relay",
	    run->relay->name, &events);
}

/* The number of the next turn is a later one. */
static void
give_turn_back(struct relay_run *run)
{
	run->fenced = false;
	relay_health_say(run, EV_relay_fenced);
	stop(run);
	turn_stop(&run->turn);
	take_turns(run);
}

/* --- all together --- */

static void
settle(void *arg)
{
	struct relay_run *run = arg;
	if (run->fenced && !run->draining)
		give_turn_back(run);
	relay_health_look(run);
	if (!run->reads)
		return;
	if (may_put(run)) {
		send_parcels(run);
		form(run);
	}
	relay_stream_room(&run->stream,
	    may_put(run) && run->target != NULL ? room_of(run) : 0);
}

static void
look_again(void *arg)
{
	struct relay_run *run = arg;
	timer_set(&run->look, LOOK_MS);
	if (run->target != NULL && !run->reads && !run->compares &&
	    !run->place.loading)
		relay_place_load(&run->place);
	begin_turn(run);
	task_ready(run->worker->loop, &run->settle);
}

static void
pause_changed(void *arg)
{
	struct relay_run *run = arg;
	enum event event =
	    run->pause.on ? EV_relay_paused : EV_relay_resumed;
	relay_meter_pause(run->meter, run->pause.on ? run->pause.since_ms : 0,
	    run->pause.on ? run->pause.who : "",
	    run->pause.on ? run->pause.note : "");
	if (run->pause.on || counter_read(&run->meter->runs) > 0) {
		struct logline line = relay_health_log(run, event);
		if (run->pause.on)
			log_str(&line, "who", run->pause.who);
		if (run->pause.on && run->pause.note[0] != '\0')
			log_str(&line, "note", run->pause.note);
		log_end(&line);
	}
	hold_target(run);
	task_ready(run->worker->loop, &run->settle);
}

static void
on_paused(void *owner)
{
	struct relay_run *run = owner;
	arena_free(&run->pausing.arena);
	run->pausing.arena = arena_new();
}

/* --- life --- */

struct relay_run *
relay_run_new(struct worker *worker, const struct conf *conf,
    const struct conf_relay *relay, struct relay_meter *meter)
{
	struct relay_run *run = mem_zero(sizeof *run);
	run->worker = worker;
	run->conf = conf_ref(conf);
	run->relay = relay;
	run->meter = meter;
	task_init(&run->settle, settle, run);
	timer_init(&run->look, worker->loop, look_again, run);
	op_init(&run->pausing.op.op, worker->loop, on_paused, run);
	run->pausing.arena = arena_new();
	pause_start(&run->pause, worker->store, worker->loop, "relay",
	    relay->name, pause_changed, run);
	take_turns(run);
	timer_set(&run->look, LOOK_MS);
	return run;
}

void
relay_run_drain(struct relay_run *run)
{
	run->draining = true;
	hold_target(run);
	if (run->reads)
		relay_stream_room(&run->stream, 0);
}

bool
relay_run_is_drained(const struct relay_run *run)
{
	const struct relay_target *target = run->target;
	if (target != NULL && target->kind->is_idle != NULL)
		return target->kind->is_idle(target);
	return run->on_their_way == 0;
}

void
relay_run_free(struct relay_run **run)
{
	struct relay_run *r = *run;
	*run = NULL;
	if (r == NULL)
		return;
	op_cancel(&r->pausing.op.op);
	arena_free(&r->pausing.arena);
	stop(r);
	pause_stop(&r->pause);
	turn_stop(&r->turn);
	relay_meter_say(r->meter, "");
	relay_meter_pause(r->meter, 0, "", "");
	timer_clear(&r->look);
	task_cancel(&r->settle);
	conf_unref(&r->conf);
	free(r);
}
