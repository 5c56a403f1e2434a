/* SPDX-License-Identifier: BSD-2-Clause */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/digits.h"
#include "base/hex.h"
#include "base/mem.h"
#include "gate/worker.h"
#include "messages/broker/kafka/kafka_ledger.h"
#include "messages/broker/postgres/postgres_ledger.h"
#include "messages/relay/relay_stream.h"
#include "messages/relay/relays.h"
#include "messages/relay/webhook.h"
#include "messages/shared/leadership.h"
#include "messages/shared/pause.h"
#include "store/record/answer_json.h"
#include "store/records.h"

enum {
	FIRST_ROOM = 64, /* of events */
	AGAIN_MS = 500, /* Redis did not say whether there is an answer */
	ANSWERS_MAX = 64, /* events in a batch, where they have answers */
	BUDGET_SHARE = 4, /* a batch's answers: that part of all memory */
	LOOK_MS = 1000,
	LATER_MS = 1000, /* an event is told that soon after its change */
	DRAIN_MS = 5000, /* for what is on its way to the target */
};

/*
 * A batch as it is made: those entries that the relay wants become events, as
 * JSON, and completions get the answers that belong to them.
 */
struct relay_bundle {
	struct relay_run *run;
	struct relay_batch batch; /* as a target gets it */
	size_t entries;     /* that it has, also those that are not wanted */
	bool moves;         /* it has places */
	size_t events_size; /* there is room for so many */
	/* Events whose answers are wanted. */
	struct relay_wanted {
		struct relay_bundle *bundle;
		size_t event;
		int64_t attempt, status, ms; /* when, by Redis' clock */
		struct records_op look;
		struct timer again;
	} *wanted;
	size_t n_wanted, wanted_size;
	size_t missing; /* so many of them were not looked for yet */
};

/*
 * A relay as it runs: while this gateway leads it, and nobody has paused it, it
 * reads events and puts them, in batches, to its target, and remembers where it
 * stands.  It knows nothing of what the target is.  One worker has it; that
 * worker's thread only.
 */
struct relay_run {
	struct part_member member;
	struct worker *worker;
	const struct conf *conf; /* a reference: relay is of it */
	const struct conf_relay *relay;
	const struct relay_target_kind *kind;
	size_t most; /* events in a batch, about */
	struct relay_meter *meter;
	struct leadership leadership;
	struct pause pause;
	/* While it leads: */
	struct relay_target *target; /* NULL: it is not open */
	struct relay_stream stream;
	struct relay_bundle *forming;
	struct relay_bundle *batch; /* on its way; NULL: none */
	bool is_put;                /* the target has it */
	int64_t put_ms;             /* when the last one went */

	bool fenced; /* it is to give its leadership back */
	int64_t drained_ms; /* no longer than until then */
	bool up; /* as the log has heard */
	struct pause_op pausing; /* the target's wish */
	struct timer look;
	struct task settle;
};

/* By enum relay_kind; the loader takes none that is not there. */
static const struct relay_target_kind *const kinds[RELAY_KIND_COUNT_] = {
#ifdef HAVE_POSTGRES
    [RELAY_POSTGRES] = &postgres_ledger_kind,
#endif
#ifdef HAVE_KAFKA
    [RELAY_KAFKA] = &kafka_ledger_kind,
#endif
    [RELAY_WEBHOOK] = &webhook_kind,
};

/* --- what is told of it --- */

/* error NULL: none. */
static void
say(const struct relay_run *run, enum event event, const char *error)
{
	struct logline line = log_begin(event);
	log_str(&line, "relay", run->relay->name);
	if (error != NULL)
		log_str(&line, "error", error);
	log_end(&line);
}

static void
on_lost(void *arg, enum event event, uint64_t count, const char *why)
{
	struct relay_run *run = arg;
	counter_add(&run->meter->lost, count);
	struct logline line = log_begin(event);
	log_str(&line, "relay", run->relay->name);
	log_int(&line, "count", (int64_t)count);
	log_str(&line, "error", why);
	log_end(&line);
}

struct relay_said
relays_said(struct relay_meter *meter)
{
	must(pthread_mutex_lock(&meter->lock) == 0);
	struct relay_said said = meter->said;
	must(pthread_mutex_unlock(&meter->lock) == 0);
	return said;
}

/* Whether it is up, why not ("": it is only not connected yet), and its lag. */
static void
tell_health(struct relay_run *run)
{
	const struct relay_stream *stream = &run->stream;
	const struct relay_target *target = run->target;
	struct relay_meter *meter = run->meter;
	bool runs = target != NULL;
	int64_t lag = relay_stream_behind(stream);
	const char *why = stream->reads ? stream->trouble : "";
	if (runs && !target->up)
		why = target->message;
	if (lag >= 0) {
		lag += runs ? (int64_t)target->waiting : 0;
		lag += run->batch != NULL ? (int64_t)run->batch->entries : 0;
		lag +=
		    run->forming != NULL ? (int64_t)run->forming->entries : 0;
	}
	bool up = runs && stream->reads && target->up && *why == '\0';
	bool other = strcmp(meter->said.why, why) != 0;
	if (other) {
		must(pthread_mutex_lock(&meter->lock) == 0);
		snprintf(meter->said.why, sizeof meter->said.why, "%s", why);
		must(pthread_mutex_unlock(&meter->lock) == 0);
	}
	counter_set(&meter->runs, runs);
	counter_set(&meter->up, up);
	counter_set(&meter->lag, lag > 0 ? (uint64_t)lag : 0);
	if (up && !run->up) {
		run->up = true;
		say(run, EV_relay_up, NULL);
	} else if (runs && *why != '\0' && (run->up || other)) {
		run->up = false;
		say(run, EV_relay_down, why);
	}
}

/* --- batches --- */

static void
form(struct relay_run *run)
{
	struct relay_bundle *b = mem_zero(sizeof *b);
	size_t n_shards = (size_t)run->worker->conf->store.shards;
	b->run = run;
	b->batch.arena = arena_new();
	b->batch.places = arena_alloc(
	    b->batch.arena, n_shards * sizeof *b->batch.places);
	run->forming = b;
}

/* What is on its way is given up; nulls the pointer, accepts NULL. */
static void
free_bundle(struct relay_bundle **bundle)
{
	struct relay_bundle *b = *bundle;
	*bundle = NULL;
	if (b == NULL)
		return;
	for (size_t i = 0; i < b->n_wanted; i++) {
		struct relay_wanted *wanted = &b->wanted[i];
		timer_clear(&wanted->again);
		op_cancel(&wanted->look.op.op);
		answer_unref(&wanted->look.op.answer);
	}
	free(b->wanted);
	free(b->batch.events);
	arena_free(&b->batch.arena);
	free(b);
}

static bool
wants(const struct conf_relay *relay, struct span to, struct span route)
{
	static const char *const names[] = {
#define RELAY_STATE(name) #name,
#include "tbl/relay_states.h"
#undef RELAY_STATE
	};
	bool state = false, any = relay->routes.count == 0;
	for (size_t i = 0; i < RELAY_STATE_COUNT_; i++)
		if (span_eq(to, span_str(names[i])))
			state = (relay->states & 1u << i) != 0;
	for (size_t i = 0; i < relay->routes.count; i++)
		any = any || span_eq(route, span_str(relay->routes.list[i]));
	return state && any;
}

/* A field of an entry; 0 where it does not say. */
static int64_t
number_of(const struct relay_entry *entry, const char *name)
{
	int64_t number;
	bool is_one = digits_read(
	    event_value(entry->fields, entry->n_fields, name), INT32_MAX,
	    &number);
	return is_one ? number : 0;
}

/* Adds an entry; of one that the relay does not want, only where it stands. */
static void
on_took(void *arg, const struct relay_entry *entry)
{
	struct relay_run *run = arg;
	struct relay_bundle *b = run->forming;
	struct relay_batch *batch = &b->batch;
	const struct event_id id = {
	    entry->shard, entry->place.ms, entry->place.seq};
	struct span to = event_value(entry->fields, entry->n_fields, "to");
	struct span from =
	    event_value(entry->fields, entry->n_fields, "route");
	batch->places[entry->shard] = entry->place;
	b->moves = true;
	b->entries += entry->n_fields > 0;
	if (!wants(run->relay, to, provenance_read(from).route))
		return;
	if (batch->n_events == b->events_size) {
		b->events_size = 2 * b->events_size + FIRST_ROOM;
		batch->events = mem_grow(
		    batch->events, b->events_size * sizeof *batch->events);
	}
	char text[EVENT_ID_MAX];
	batch->events[batch->n_events++] = (struct relay_event){
	    .id = arena_dup(
		batch->arena, span_of(text, event_write(&id, text))),
	    .key_id = arena_dup(batch->arena,
		event_value(entry->fields, entry->n_fields, "id")),
	    .text = event_message(batch->arena, &run->conf->store, &id,
		entry->fields, entry->n_fields, SPAN(",\"answer\":null}")),
	};
	if (!run->relay->answer || !span_eq(to, SPAN("COMPLETED")))
		return;
	if (b->n_wanted == b->wanted_size) {
		b->wanted_size = 2 * b->wanted_size + FIRST_ROOM;
		b->wanted =
		    mem_grow(b->wanted, b->wanted_size * sizeof *b->wanted);
	}
	b->wanted[b->n_wanted++] = (struct relay_wanted){.bundle = b,
	    .event = batch->n_events - 1,
	    .attempt = number_of(entry, "attempt"),
	    .status = number_of(entry, "status"),
	    .ms = (int64_t)entry->place.ms};
}

/* --- their answers --- */

/* The text of an event, with that answer in place of its null. */
static struct span
with_answer(struct arena *arena, struct span text, const struct answer *answer)
{
	json_t *object = json_pack("{s:i}", "status", answer->status);
	answer_json_set(object, answer);
	char *json = json_dumps(object, JSON_COMPACT);
	must(json != NULL);
	text.len -= strlen("null}");
	size_t len = text.len + strlen(json) + 1;
	char *whole = arena_alloc(arena, len);
	*span_put(span_put(whole, text), span_str(json)) = '}';
	free(json);
	json_decref(object);
	return span_of(whole, len);
}

/* The batch has all answers that are still kept. */
static void
put(struct relay_run *run)
{
	run->is_put = true;
	run->kind->put(run->target, &run->batch->batch);
}

/*
 * The answer belongs to the event, unless the record has gone on since: another
 * attempt has another answer, and so has the same one of a later record of its
 * key, which was deleted or forgotten meanwhile.  The event goes with it, and
 * without it where that is too large, be it for all memory.  Where that is
 * short now, or Redis away, it is asked for again.
 */
static void
on_looked(void *owner)
{
	struct relay_wanted *wanted = owner;
	struct relay_bundle *b = wanted->bundle;
	struct records_op *look = &wanted->look;
	struct relay_event *event = &b->batch.events[wanted->event];
	if (look->op.op.error != 0 && !look->op.beyond) {
		answer_unref(&look->op.answer);
		timer_set(&wanted->again, AGAIN_MS);
		return;
	}
	if (look->op.verdict == VERDICT_DONE && look->op.answer != NULL &&
	    look->record.state == STATE_COMPLETED &&
	    look->record.attempt == wanted->attempt &&
	    look->record.changed_ms <= wanted->ms + LATER_MS &&
	    (wanted->status == 0 ||
		look->op.answer->status == wanted->status) &&
	    !look->op.answer->not_kept) {
		event->bare = event->text;
		event->text = with_answer(
		    b->batch.arena, event->bare, look->op.answer);
	}
	answer_unref(&look->op.answer);
	if (--b->missing == 0)
		put(b->run);
}

static void
look_for(void *arg)
{
	struct relay_wanted *wanted = arg;
	struct relay_bundle *b = wanted->bundle;
	struct worker *w = b->run->worker;
	struct key_id key_id = {{0}};
	/* What is no key has no record either. */
	(void)hex_decode(b->batch.events[wanted->event].key_id, key_id.bytes,
	    DIGEST_BYTES);
	wanted->look = (struct records_op){.arena = b->batch.arena};
	op_init(&wanted->look.op.op, w->loop, on_looked, wanted);
	records_show(w->store, &wanted->look, &key_id, RECORDS_WHOLE);
}

/* --- what goes on --- */

static bool
may_put(const struct relay_run *run)
{
	return !run->member.draining && !run->fenced &&
	    !pause_stands(&run->pause) && leadership_is_held(&run->leadership);
}

/* All together, later in a turn in which something has changed. */
static void
settle(void *arg)
{
	struct relay_run *run = arg;
	int64_t now_ms = loop_now_ms(run->worker->loop);
	tell_health(run);
	if (!run->stream.reads || !may_put(run))
		return;
	/*
	 * Where nothing is wanted it is only where it stands that moves, and
	 * that need not be written down at once.
	 */
	if (run->batch == NULL &&
	    (run->forming->batch.n_events > 0 ||
		(run->forming->moves && now_ms - run->put_ms >= LOOK_MS))) {
		struct relay_bundle *b = run->batch = run->forming;
		run->is_put = false;
		run->put_ms = now_ms;
		form(run);
		b->missing = b->n_wanted;
		for (size_t i = 0; i < b->n_wanted; i++) {
			struct relay_wanted *wanted = &b->wanted[i];
			timer_init(&wanted->again, run->worker->loop,
			    look_for, wanted);
			look_for(wanted);
		}
		if (b->n_wanted == 0)
			put(run);
	}
	relay_stream_wake(&run->stream);
}

static void
settle_soon(void *arg)
{
	struct relay_run *run = arg;
	task_ready(run->worker->loop, &run->settle);
}

/* --- what the stream says --- */

static size_t
on_room(void *arg)
{
	const struct relay_run *run = arg;
	size_t formed = run->forming->batch.n_events;
	return may_put(run) && formed < run->most ? run->most - formed : 0;
}

static void
on_fenced(void *arg)
{
	struct relay_run *run = arg;
	run->fenced = true;
	timer_set(&run->look, 0);
}

static const struct relay_stream_events stream_events = {
    .room = on_room,
    .took = on_took,
    .lost = on_lost,
    .settled = settle_soon,
    .fenced = on_fenced,
};

/* --- what the target says --- */

/* All that it has brought is done with. */
static void
on_done(void *arg)
{
	struct relay_run *run = arg;
	relay_stream_brought(&run->stream, run->batch->batch.places);
	if (run->kind->keeps_place)
		counter_add(&run->meter->events, run->batch->batch.n_events);
	free_bundle(&run->batch);
	settle_soon(run);
}

/* Whether the target stands where it must, with the batch or without it. */
static bool
stands_there(const struct relay_run *run, const struct relay_place *places,
    bool with_batch)
{
	for (unsigned i = 0; i < run->stream.n_shards; i++) {
		const struct relay_place *at = &run->stream.shards[i].saved;
		if (with_batch && run->batch->batch.places[i].known)
			at = &run->batch->batch.places[i];
		if (at->ms != places[i].ms || at->seq != places[i].seq)
			return false;
	}
	return run->stream.reads;
}

/*
 * A batch whose end was not heard is there, or is put again.  Where the target
 * stands elsewhere, as after a failover of its own, all is read from there.
 */
static void
on_opened(void *arg, const struct relay_place *places)
{
	struct relay_run *run = arg;
	bool is_put = run->batch != NULL && run->is_put;
	if (is_put && stands_there(run, places, true)) {
		on_done(run);
	} else if (stands_there(run, places, false)) {
		if (is_put)
			put(run);
	} else {
		free_bundle(&run->batch);
		free_bundle(&run->forming);
		form(run);
		relay_stream_read(&run->stream, places);
	}
	settle_soon(run);
}

static void
on_pause_wanted(void *arg, const char *note)
{
	struct relay_run *run = arg;
	if (run->pausing.op.op.state == OP_PENDING || run->pause.on)
		return;
	run->pausing.arena = arena_new();
	pause_say(&run->pausing, run->worker->store, "relay",
	    run->relay->name, "pause", span_str(run->conf->instance),
	    span_str(note));
}

static void
on_paused(void *owner)
{
	struct relay_run *run = owner;
	arena_free(&run->pausing.arena);
}

static void
on_brought(void *arg)
{
	struct relay_run *run = arg;
	counter_add(&run->meter->events, 1);
}

static const struct relay_target_events target_events = {
    .opened = on_opened,
    .changed = settle_soon,
    .done = on_done,
    .fenced = on_fenced,
    .pause = on_pause_wanted,
    .brought = on_brought,
    .lost = on_lost,
};

/* --- leading --- */

/* A target that has something of its own to bring is told to wait, too. */
static void
hold_target(struct relay_run *run)
{
	if (run->target != NULL && run->kind->hold != NULL)
		run->kind->hold(run->target,
		    run->member.draining || pause_stands(&run->pause));
}

/* Which store it is stands beside the place: it must be known. */
static void
begin(struct relay_run *run)
{
	struct worker *w = run->worker;
	int64_t term = run->leadership.term;
	const struct origin *origin = &store_identity(w->store)->origin;
	char store[DIGEST_HEX + 1];
	if (run->target != NULL || run->member.draining ||
	    !leadership_is_held(&run->leadership) || !origin_has_id(origin))
		return;
	hex_encode(origin->id, DIGEST_BYTES, store);
	const struct relay_target_start start = {
	    .worker = w,
	    .leader = &run->leadership,
	    .loop = w->loop,
	    .conf = run->conf,
	    .relay = run->relay,
	    .store = store,
	    .shards = (unsigned)w->conf->store.shards,
	    .term = term,
	    .events = &target_events,
	    .arg = run,
	};
	form(run);
	relay_stream_start(&run->stream, w->store, w->loop, run->relay->name,
	    term, !run->kind->keeps_place, &stream_events, run);
	run->target = run->kind->open(&start);
	hold_target(run);
}

static void
end(struct relay_run *run)
{
	run->up = false;
	if (run->target != NULL)
		run->kind->close(run->target);
	run->target = NULL;
	relay_stream_stop(&run->stream);
	free_bundle(&run->forming);
	free_bundle(&run->batch);
	counter_set(&run->meter->runs, 0);
}

static void
on_gained(void *arg)
{
	struct relay_run *run = arg;
	say(run, EV_relay_begins, NULL);
	begin(run);
}

static void
on_leadership_lost(void *arg)
{
	struct relay_run *run = arg;
	end(run);
	say(run, EV_relay_ends, NULL);
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
	if (run->fenced && !run->member.draining) {
		run->fenced = false;
		say(run, EV_relay_fenced, NULL);
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
	struct relay_meter *meter = run->meter;
	struct relay_said *said = &meter->said;
	must(pthread_mutex_lock(&meter->lock) == 0);
	said->paused_ms = pause->on ? pause->since_ms : 0;
	snprintf(said->who, sizeof said->who, "%s",
	    pause->on ? pause->who : "");
	snprintf(said->note, sizeof said->note, "%s",
	    pause->on ? pause->note : "");
	must(pthread_mutex_unlock(&meter->lock) == 0);
	hold_target(run);
	settle_soon(run);
}

/* --- its life --- */

static bool
read_relay(const struct conf *conf, size_t at, struct part_member *ret_member)
{
	if (at >= conf->n_relays)
		return false;
	const struct conf_relay *relay = &conf->relays[at];
	ret_member->name = relay->name;
	ret_member->digest =
	    span_of((const char *)relay->digest, sizeof relay->digest);
	return true;
}

/* How many events are in a batch: with answers, as memory allows. */
static size_t
events_max(const struct relay_run *run)
{
	const struct conf *conf = run->conf;
	int64_t largest = 1;
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

static struct part_member *
begin_relay(struct members *members, size_t at)
{
	struct relays *all = CONTAINER_OF(members, struct relays, members);
	struct worker *worker = members->worker;
	struct relay_run *run = mem_zero(sizeof *run);
	run->worker = worker;
	run->conf = conf_ref(worker->generation->conf);
	const struct conf_relay *relay = &run->conf->relays[at];
	run->relay = relay;
	run->kind = kinds[relay->kind];
	run->most = events_max(run);
	/* There is a series of that name, or it begins with this one. */
	struct relay_meter *_Atomic *meter = &all->meters;
	while (*meter != NULL && strcmp((*meter)->name, relay->name) != 0)
		meter = &(*meter)->next;
	if (*meter == NULL) {
		struct relay_meter *m = mem_zero(sizeof *m);
		m->name = mem_text(relay->name);
		must(pthread_mutex_init(&m->lock, NULL) == 0);
		*meter = m;
	}
	run->meter = *meter;
	run->settle = (struct task){.run = settle, .arg = run};
	timer_init(&run->look, worker->loop, look, run);
	op_init(&run->pausing.op.op, worker->loop, on_paused, run);
	const struct pause_events pause_events = {
	    EV_relay_paused, EV_relay_resumed, on_pause_changed, run};
	pause_start(&run->pause, worker->store, worker->loop, "relay",
	    relay->name, &pause_events);
	lead(run);
	timer_set(&run->look, LOOK_MS);
	return &run->member;
}

/* Nothing more is put; what is on its way is waited for. */
static void
drain_relay(struct part_member *member)
{
	struct relay_run *run = CONTAINER_OF(member, struct relay_run, member);
	run->drained_ms = loop_now_ms(run->worker->loop) + DRAIN_MS;
	hold_target(run);
	settle_soon(run);
}

static bool
relay_is_drained(struct part_member *member)
{
	const struct relay_run *run =
	    CONTAINER_OF(member, struct relay_run, member);
	/*
	 * A target that is away must not keep its successor from beginning:
	 * what is not brought has not moved the place.
	 */
	if (loop_now_ms(run->worker->loop) >= run->drained_ms)
		return true;
	return run->target != NULL && run->kind->is_idle != NULL
	    ? run->kind->is_idle(run->target)
	    : run->batch == NULL;
}

/* Ends it, and gives its leadership back. */
static void
end_relay(struct part_member *member)
{
	struct relay_run *run = CONTAINER_OF(member, struct relay_run, member);
	op_cancel(&run->pausing.op.op);
	arena_free(&run->pausing.arena);
	end(run);
	pause_stop(&run->pause);
	leadership_stop(&run->leadership);
	must(pthread_mutex_lock(&run->meter->lock) == 0);
	run->meter->said = (struct relay_said){0};
	must(pthread_mutex_unlock(&run->meter->lock) == 0);
	timer_clear(&run->look);
	task_cancel(&run->settle);
	conf_unref(&run->conf);
	free(run);
}

static const struct member_kind kind = {
    .word = "relay",
    .read = read_relay,
    .begin = begin_relay,
    .drain = drain_relay,
    .is_drained = relay_is_drained,
    .end = end_relay,
};

/* --- what the worker says --- */

static struct worker_part *
relays_begin(struct worker *worker)
{
	struct relays *all = mem_zero(sizeof *all);
	all->members.part.kind = &relays_kind;
	if (worker->index == 0)
		relay_stream_forget(worker->store, worker->generation->conf);
	members_begin(&all->members, &kind, worker);
	return &all->members.part;
}

static void
relays_reload(struct worker_part *part, struct generation *generation)
{
	const struct members *all = CONTAINER_OF(part, struct members, part);
	const struct worker *w = all->worker;
	if (!all->draining && w->index == 0)
		relay_stream_forget(w->store, w->generation->conf);
	members_reload(part, generation);
}

static void
relays_free(struct worker_part *part)
{
	struct relays *all = CONTAINER_OF(part, struct relays, members.part);
	for (struct relay_meter *m = all->meters, *next; m != NULL; m = next) {
		next = m->next;
		must(pthread_mutex_destroy(&m->lock) == 0);
		free(m->name);
		free(m);
	}
	free(all);
}

const struct worker_part_kind relays_kind = {
    .begin = relays_begin,
    .reload = relays_reload,
    .drain = members_drain,
    .over = members_over,
    .is_idle = members_are_idle,
    .end = members_end,
    .free = relays_free,
};
