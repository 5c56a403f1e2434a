/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/digits.h"
#include "base/mem.h"
#include "messages/relay/relay_place.h"
#include "store/call.h"
#include "store/record/redis_keys.h"

enum {
	TOGETHER_MAX = 64, /* shards in a call, but on a cluster */
	AGAIN_MS = 500,
};

/* Shards that are saved together. */
struct relay_place_call {
	struct relay_place *place;
	unsigned first, count;
	struct store_call *call; /* under way; NULL: none */
	bool loaded;
};

static unsigned
together(const struct store *store)
{
	return store->conf->store.redis.cluster.count > 0 ? 1 : TOGETHER_MAX;
}

/* --- places as text --- */

static void
arg_place(struct store_call *call, const struct relay_mark *mark)
{
	char text[80];
	int len = snprintf(text, sizeof text, "%llu-%llu %lld",
	    (unsigned long long)mark->ms, (unsigned long long)mark->seq,
	    (long long)mark->count);
	resp_arg(&call->args, span_of(text, (size_t)len));
}

/* What is no place is the beginning: nothing is lost by that. */
static struct relay_mark
read_place(unsigned shard, struct span text)
{
	struct relay_mark mark = {.shard = shard, .count = -1};
	int64_t ms, seq, count = -1;
	if (digits_take(&text, INT64_MAX, &ms) == 0 || text.len == 0 ||
	    *text.ptr != '-')
		return mark;
	text = span_from(text, 1);
	if (digits_take(&text, INT64_MAX, &seq) == 0 || text.len == 0 ||
	    *text.ptr != ' ')
		return mark;
	if (!digits_read(span_from(text, 1), INT64_MAX, &count))
		count = -1;
	mark.ms = (uint64_t)ms;
	mark.seq = (uint64_t)seq;
	mark.count = count;
	return mark;
}

/* --- calls --- */

/* Of n shards from first on, with so many arguments of its own. */
static struct store_call *
place_call(struct store *store, unsigned first, unsigned n, size_t n_args)
{
	struct store_call *call = call_new(
	    store, first, SCRIPT_relay_place, 1 + n + n_args);
	resp_number(&call->args, n);
	for (unsigned i = 0; i < n; i++)
		redis_keys_index(
		    &call->args, store->conf, first + i, "relayed");
	return call;
}

static void
take_loaded(struct relay_place_call *part, const struct call_reply *reply)
{
	struct relay_place *place = part->place;
	for (unsigned i = 0; i < part->count; i++)
		place->shards[part->first + i].mark = read_place(
		    part->first + i, resp_text(reply->extra[i]));
	place->loaded += part->count;
	if (place->loaded < place->n_shards)
		return;
	struct relay_mark *marks =
	    mem_zero(place->n_shards * sizeof *marks);
	for (unsigned i = 0; i < place->n_shards; i++)
		marks[i] = place->shards[i].mark;
	place->loading = false;
	place->events.loaded(place->events.arg, marks);
	free(marks);
}

static void
place_loaded(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	struct relay_place_call *part = call->arg;
	(void)error;
	if (part == NULL)
		return;
	part->call = NULL;
	if (!part->place->loading) {
		timer_set(&part->place->timer, part->place->every_ms);
	} else if (how == CALL_ANSWERED && reply->n_extra >= part->count) {
		part->loaded = true;
		take_loaded(part, reply);
	} else if (!timer_is_set(&part->place->timer)) {
		timer_set(&part->place->timer, AGAIN_MS);
	}
}

static void
load_part(struct relay_place_call *part)
{
	struct relay_place *place = part->place;
	if (part->call != NULL || part->loaded)
		return;
	struct store_call *call =
	    place_call(place->store, part->first, part->count, 2);
	resp_arg(&call->args, SPAN("get"));
	resp_arg(&call->args, span_str(place->name));
	part->call = call;
	call->done = place_loaded;
	call->arg = part;
	call_start(call);
}

/* --- saving --- */

static void
on_saved(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	struct relay_place_call *part = call->arg;
	(void)error;
	if (part == NULL)
		return;
	struct relay_place *place = part->place;
	part->call = NULL;
	if (how == CALL_ANSWERED && reply->verdict == VERDICT_FENCED) {
		place->events.fenced(place->events.arg);
		return;
	}
	for (unsigned i = 0; i < part->count && how != CALL_ANSWERED; i++)
		if (place->shards[part->first + i].mark.ms > 0)
			place->shards[part->first + i].moved = true;
	if (!timer_is_set(&place->timer))
		timer_set(&place->timer, place->every_ms);
}

static bool
has_moved(const struct relay_place_call *part)
{
	for (unsigned i = 0; i < part->count; i++)
		if (part->place->shards[part->first + i].moved)
			return true;
	return false;
}

/* All of the part: that is one call, and the same again changes nothing. */
static struct store_call *
save_call(struct relay_place_call *part)
{
	struct relay_place *place = part->place;
	struct store_call *call = place_call(
	    place->store, part->first, part->count, 3 + part->count);
	resp_arg(&call->args, SPAN("put"));
	resp_arg(&call->args, span_str(place->name));
	resp_number(&call->args, place->turn);
	for (unsigned i = 0; i < part->count; i++) {
		arg_place(call, &place->shards[part->first + i].mark);
		place->shards[part->first + i].moved = false;
	}
	call->done = on_saved;
	return call;
}

static void
places_are_due(void *arg)
{
	struct relay_place *place = arg;
	for (unsigned i = 0; i < place->n_calls; i++) {
		struct relay_place_call *part = &place->calls[i];
		if (place->loading) {
			load_part(part);
		} else if (part->call == NULL && has_moved(part)) {
			part->call = save_call(part);
			part->call->arg = part;
			call_start(part->call);
		}
	}
}

void
relay_place_move(struct relay_place *place, const struct relay_mark *mark)
{
	place->shards[mark->shard].mark = *mark;
	place->shards[mark->shard].moved = true;
	if (!timer_is_set(&place->timer))
		timer_set(&place->timer, place->every_ms);
}

void
relay_place_load(struct relay_place *place)
{
	place->loading = true;
	timer_set(&place->timer, 0);
}

void
relay_place_known(struct relay_place *place)
{
	place->loading = false;
}

/* --- life --- */

void
relay_place_start(struct relay_place *place, struct store *store,
    struct loop *loop, const char *name, int64_t turn, int64_t every_ms,
    const struct relay_place_events *events)
{
	unsigned each = together(store);
	*place = (struct relay_place){.store = store, .events = *events,
	    .name = name, .turn = turn, .every_ms = every_ms,
	    .n_shards = (unsigned)store->conf->store.shards};
	place->shards = mem_zero(place->n_shards * sizeof *place->shards);
	for (unsigned i = 0; i < place->n_shards; i++)
		place->shards[i].mark =
		    (struct relay_mark){.shard = i, .count = -1};
	place->n_calls = (place->n_shards + each - 1) / each;
	place->calls = mem_zero(place->n_calls * sizeof *place->calls);
	for (unsigned i = 0; i < place->n_calls; i++) {
		unsigned left = place->n_shards - i * each;
		place->calls[i] = (struct relay_place_call){.place = place,
		    .first = i * each, .count = left < each ? left : each};
	}
	timer_init(&place->timer, loop, places_are_due, place);
}

void
relay_place_stop(struct relay_place *place)
{
	if (place->store == NULL)
		return;
	timer_clear(&place->timer);
	for (unsigned i = 0; i < place->n_calls; i++) {
		struct relay_place_call *part = &place->calls[i];
		if (part->call != NULL)
			part->call->arg = NULL;
		if (place->loading || !has_moved(part))
			continue;
		call_start(save_call(part));
	}
	free(place->shards);
	free(place->calls);
	*place = (struct relay_place){0};
}

void
relay_place_keep(struct store *store, const struct conf *conf)
{
	unsigned shards = (unsigned)store->conf->store.shards;
	unsigned each = together(store);
	for (unsigned first = 0; first < shards; first += each) {
		unsigned n = shards - first < each ? shards - first : each;
		struct store_call *call =
		    place_call(store, first, n, 1 + conf->n_relays);
		resp_arg(&call->args, SPAN("keep"));
		for (size_t i = 0; i < conf->n_relays; i++)
			resp_arg(&call->args, span_str(conf->relays[i].name));
		call_start(call);
	}
}
