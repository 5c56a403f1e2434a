/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "messages/relay/relay_kafka.h"
#include "messages/relay/relay_postgres.h"
#include "messages/relay/relay_run.h"
#include "messages/relay/webhook.h"

enum {
	ANSWERS_MAX = 64,  /* events in a batch, where they have answers */
	BUDGET_SHARE = 4,  /* a batch's answers: that part of all memory */
	LOOK_MS = 1000,
	SAVE_MS = 1000,    /* the position, where the target has it too … */
	SAVE_SOON_MS = 50, /* … and where it does not */
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

/* --- what is told of it --- */

/* A line of the log that names the relay. */
static struct logline
line_of(const struct relay_run *run, enum event event)
{
	struct logline line = log_begin(event);
	log_str(&line, "relay", run->relay->name);
	return line;
}

static void
say(const struct relay_run *run, enum event event)
{
	struct logline line = line_of(run, event);
	log_end(&line);
}

static void
say_lost(void *arg, enum event event, uint64_t count, const char *why)
{
	struct relay_run *run = arg;
	counter_add(&run->meter->lost, count);
	struct logline line = line_of(run, event);
	log_int(&line, "count", (int64_t)count);
	log_str(&line, "error", why);
	log_end(&line);
}

/* How many events are still to be brought; -1: it is not known here. */
static int64_t
lag_of(const struct relay_run *run)
{
	int64_t lag = relay_stream_behind(&run->stream);
	if (lag < 0)
		return lag;
	if (run->batch != NULL)
		lag += (int64_t)run->batch->entries;
	if (run->forming != NULL)
		lag += (int64_t)run->forming->entries;
	if (run->target != NULL)
		lag += (int64_t)run->kind->health(run->target).waiting;
	return lag;
}

/*
 * Why nothing can be brought; NULL: all is well; "": it is only not connected
 * yet.
 */
static const char *
trouble_of(const struct relay_run *run)
{
	if (run->target != NULL) {
		struct relay_target_health health =
		    run->kind->health(run->target);
		if (!health.up)
			return health.message;
	}
	return run->stream.reads && run->stream.trouble[0] != '\0'
	    ? run->stream.trouble
	    : NULL;
}

static void
tell_health(struct relay_run *run)
{
	const char *trouble = trouble_of(run);
	bool runs = run->target != NULL, reads = run->stream.reads;
	bool up = runs && reads && trouble == NULL;
	const char *why = trouble != NULL ? trouble : "";
	bool other = strcmp(run->why, why) != 0;
	int64_t lag = lag_of(run);
	if (other) {
		snprintf(run->why, sizeof run->why, "%s", why);
		relay_meter_say(run->meter, run->why);
	}
	counter_set(&run->meter->runs, runs);
	counter_set(&run->meter->up, up);
	counter_set(&run->meter->lag, lag > 0 ? (uint64_t)lag : 0);
	if (up && !run->up) {
		run->up = true;
		say(run, EV_relay_up);
	} else if (runs && *why != '\0' && (run->up || other)) {
		run->up = false;
		struct logline line = line_of(run, EV_relay_down);
		log_str(&line, "error", why);
		log_end(&line);
	}
}

/* --- batches --- */

static size_t
events_max(const struct relay_run *run)
{
	int64_t largest = 1;
	const struct conf *conf = run->conf;
	if (!run->relay->answer)
		return run->kind->events;
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_idempotency *policy =
		    conf->routes[i].idempotency;
		if (policy != NULL && policy->max_response_body > largest)
			largest = policy->max_response_body;
	}
	int64_t fit = conf->in_flight_bytes / BUDGET_SHARE / largest;
	return fit < 1 ? 1 : fit > ANSWERS_MAX ? ANSWERS_MAX : (size_t)fit;
}

/* All that it has brought is done with. */
static void
on_batch_done(void *owner)
{
	struct relay_batch *batch = owner;
	struct relay_run *run = batch->owner;
	for (size_t i = 0; i < batch->n_positions; i++)
		relay_stream_brought(&run->stream, &batch->positions[i]);
	if (!run->kind->keeps_events)
		counter_add(&run->meter->events, batch->n_events);
	run->batch = NULL;
	relay_batch_free(batch);
	task_ready(run->worker->loop, &run->settle);
}

static void
on_complete(struct relay_batch *batch)
{
	struct relay_run *run = batch->owner;
	op_init(&batch->op, run->worker->loop, on_batch_done, batch);
	run->kind->put(run->target, batch);
}

/*
 * Where nothing is wanted it is only where it stands that moves, and that need
 * not be written down at once.
 */
static void
send_batch(struct relay_run *run)
{
	struct relay_batch *batch = run->forming;
	int64_t now_ms = loop_now_ms(run->worker->loop);
	if (run->batch != NULL || batch == NULL ||
	    (batch->n_events == 0 &&
		(batch->n_positions == 0 || now_ms - run->put_ms < LOOK_MS)))
		return;
	run->batch = batch;
	run->forming = NULL;
	run->put_ms = now_ms;
	relay_batch_complete(batch, on_complete);
}

static void
form(struct relay_run *run)
{
	if (run->forming != NULL)
		return;
	run->forming = relay_batch_new(
	    run->worker->store, run->conf, run->worker->loop, run->relay);
	run->forming->owner = run;
}

static void
end_batches(struct relay_run *run)
{
	relay_batch_free(run->forming);
	relay_batch_free(run->batch);
	run->forming = run->batch = NULL;
}

/* All together, later in a turn in which something has changed. */
static void
settle(void *arg)
{
	struct relay_run *run = arg;
	size_t room = 0, most = events_max(run);
	tell_health(run);
	if (!run->stream.reads)
		return;
	if (!run->draining && !run->fenced && !pause_stands(&run->pause) &&
	    leadership_is_held(&run->leadership)) {
		send_batch(run);
		form(run);
		if (run->forming->n_events < most)
			room = most - run->forming->n_events;
	}
	relay_stream_room(&run->stream, room);
}

static void
settle_soon(void *arg)
{
	struct relay_run *run = arg;
	task_ready(run->worker->loop, &run->settle);
}

/* --- what the stream says --- */

static void
on_took(void *arg, const struct relay_entry *entry)
{
	struct relay_run *run = arg;
	relay_batch_add(run->forming, entry);
}

static void
on_began(void *arg, const struct relay_position *position)
{
	struct relay_run *run = arg;
	relay_batch_stand(run->forming, position);
}

static void
on_entries_lost(void *arg, unsigned shard, uint64_t count)
{
	char why[80];
	snprintf(why, sizeof why, "trimmed from shard %u before it was read",
	    shard);
	say_lost(arg, EV_relay_lost, count, why);
}

static void
on_stream_again(void *arg, unsigned shard)
{
	struct relay_run *run = arg;
	struct logline line = line_of(run, EV_relay_stream_again);
	log_int(&line, "shard", shard);
	log_end(&line);
}

static void
on_fenced(void *arg)
{
	struct relay_run *run = arg;
	run->fenced = true;
	timer_set(&run->look, 0);
}

static void
read_from(struct relay_run *run, const struct relay_position *positions)
{
	end_batches(run);
	form(run);
	relay_stream_read(&run->stream, positions);
	settle_soon(run);
}

/* A target that keeps the position is open already, and will say it. */
static void
on_loaded(void *arg, const struct relay_position *positions)
{
	struct relay_run *run = arg;
	if (!run->kind->keeps_position)
		read_from(run, positions);
}

/* --- what the target says --- */

static void
on_opened(void *arg, const struct relay_position *positions,
    size_t n_positions)
{
	struct relay_run *run = arg;
	unsigned shards = run->stream.n_shards;
	struct relay_position *all = mem_zero(shards * sizeof *all);
	for (unsigned i = 0; i < shards; i++)
		all[i] = (struct relay_position){.shard = i, .count = -1};
	for (size_t i = 0; i < n_positions; i++)
		all[positions[i].shard] = positions[i];
	read_from(run, all);
	free(all);
}

static void
on_brought(void *arg, uint64_t count)
{
	struct relay_run *run = arg;
	counter_add(&run->meter->events, count);
}

static void
on_pause_wanted(void *arg, const char *note)
{
	struct relay_run *run = arg;
	if (op_pending(&run->pausing.op.op) || run->pause.on)
		return;
	pause_begin(&run->pausing, run->worker->store, "relay",
	    run->relay->name, span_str(run->conf->instance), span_str(note));
}

static void
on_paused(void *owner)
{
	struct relay_run *run = owner;
	arena_free(&run->pausing.arena);
	run->pausing.arena = arena_new();
}

/* --- leading --- */

/* A target that has something of its own to bring is told to wait, too. */
static void
hold_target(struct relay_run *run)
{
	if (run->target != NULL && run->kind->hold != NULL)
		run->kind->hold(run->target,
		    run->draining || pause_stands(&run->pause));
}

/* Which store it is stands beside the position: it must be known. */
static void
begin(struct relay_run *run)
{
	struct worker *w = run->worker;
	/* Claims may be refused for what Redis has not heard of yet. */
	bool soon =
	    !run->kind->keeps_position || w->conf->store.events_refuse;
	int64_t term = leadership_term(&run->leadership);
	const struct relay_stream_events stream_events = {
	    .loaded = on_loaded, .took = on_took, .began = on_began,
	    .lost = on_entries_lost, .again = on_stream_again,
	    .settled = settle_soon, .fenced = on_fenced, .arg = run};
	const struct relay_target_events events = {.opened = on_opened,
	    .changed = settle_soon, .fenced = on_fenced,
	    .pause = on_pause_wanted, .lost = say_lost, .brought = on_brought,
	    .arg = run};
	const struct relay_target_start start = {
	    w, run->conf, run->relay, term, &run->leadership, &events};
	if (run->target != NULL || term == 0 || run->draining ||
	    !origin_has_id(store_origin(w->store)))
		return;
	relay_stream_start(&run->stream, w->store, w->loop, run->relay->name,
	    term, soon ? SAVE_SOON_MS : SAVE_MS, &stream_events);
	run->target = run->kind->open(&start);
	hold_target(run);
}

static void
end(struct relay_run *run)
{
	run->up = false;
	end_batches(run);
	if (run->target != NULL)
		run->kind->close(run->target);
	run->target = NULL;
	relay_stream_stop(&run->stream);
	counter_set(&run->meter->runs, 0);
}

static void
on_gained(void *arg)
{
	struct relay_run *run = arg;
	say(run, EV_relay_begins);
	begin(run);
}

static void
on_leadership_lost(void *arg)
{
	struct relay_run *run = arg;
	end(run);
	say(run, EV_relay_ends);
}

static void
lead(struct relay_run *run)
{
	const struct leadership_events events = {
	    on_gained, on_leadership_lost, run};
	leadership_start(&run->leadership, run->worker->store,
	    run->worker->loop, "relay", run->relay->name, &events);
}

/* One that is fenced begins anew: its next term is a later one. */
static void
look(void *arg)
{
	struct relay_run *run = arg;
	timer_set(&run->look, LOOK_MS);
	if (run->fenced && !run->draining) {
		run->fenced = false;
		say(run, EV_relay_fenced);
		end(run);
		leadership_stop(&run->leadership);
		lead(run);
	}
	begin(run);
	settle_soon(run);
}

static void
on_pause_changed(void *arg)
{
	struct relay_run *run = arg;
	const struct pause *pause = &run->pause;
	if (pause->on)
		relay_meter_pause(
		    run->meter, pause->since_ms, pause->who, pause->note);
	else
		relay_meter_pause(run->meter, 0, "", "");
	if (pause->on || counter_read(&run->meter->runs) > 0) {
		struct logline line = line_of(
		    run, pause->on ? EV_relay_paused : EV_relay_resumed);
		if (pause->on)
			log_str(&line, "who", pause->who);
		if (pause->on && pause->note[0] != '\0')
			log_str(&line, "note", pause->note);
		log_end(&line);
	}
	hold_target(run);
	settle_soon(run);
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
	run->kind = kind_of(relay);
	run->meter = meter;
	task_init(&run->settle, settle, run);
	timer_init(&run->look, worker->loop, look, run);
	op_init(&run->pausing.op.op, worker->loop, on_paused, run);
	run->pausing.arena = arena_new();
	pause_start(&run->pause, worker->store, worker->loop, "relay",
	    relay->name, on_pause_changed, run);
	lead(run);
	timer_set(&run->look, LOOK_MS);
	return run;
}

void
relay_run_drain(struct relay_run *run)
{
	run->draining = true;
	hold_target(run);
	settle_soon(run);
}

bool
relay_run_is_drained(const struct relay_run *run)
{
	if (run->target != NULL && run->kind->is_idle != NULL)
		return run->kind->is_idle(run->target);
	return run->batch == NULL;
}

void
relay_run_free(struct relay_run *run)
{
	list_remove(&run->item);
	op_cancel(&run->pausing.op.op);
	arena_free(&run->pausing.arena);
	end(run);
	pause_stop(&run->pause);
	leadership_stop(&run->leadership);
	relay_meter_say(run->meter, "");
	relay_meter_pause(run->meter, 0, "", "");
	timer_clear(&run->look);
	task_cancel(&run->settle);
	conf_unref(&run->conf);
	free(run);
}
