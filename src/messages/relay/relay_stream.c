/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/digits.h"
#include "base/error.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "messages/relay/relay_stream.h"
#include "store/call.h"
#include "store/record/redis_keys.h"

enum {
	TOGETHER_MAX = 64, /* shards in a call, but on a cluster */
	READ_MAX = 200,    /* entries: a call holds Redis up for a moment */
	SOON_MS = 20,      /* there was something a moment ago */
	SAVE_MS = 50,      /* something was brought */
	RARELY_MS = 500,   /* there has been nothing for a while */
	FIELDS_MAX = 500,  /* of an entry; ours have about ten */
};

/* Shards that are read together. */
struct relay_group {
	struct relay_stream *stream;
	unsigned first, count;
	unsigned next; /* how far behind the first it begins next time */
	struct store_call *call; /* under way; NULL: none */
	size_t asked;            /* entries, at most, or when it last was */
	int64_t due_ms, wait_ms;
};

/* --- replies --- */

/* Words of a reply, one after the other. */
struct words {
	const struct call_reply *reply;
	size_t at;
	bool odd; /* there was one that no script of ours gives */
};

static struct span
next_word(struct words *words)
{
	words->odd |= words->at >= words->reply->n_extra;
	return call_reply_text(words->reply, words->at++);
}

/* From -1. */
static int64_t
next_number(struct words *words)
{
	struct span word = next_word(words);
	int64_t number = -1;
	words->odd |= !span_eq(word, SPAN("-1")) &&
	    !digits_read(word, INT64_MAX, &number);
	return number;
}

static struct event_id
next_id(struct words *words)
{
	struct event_id id = {0};
	words->odd |= !event_read_entry(next_word(words), &id);
	return id;
}

static void
lose(struct relay_stream *stream, unsigned shard, int64_t count)
{
	char why[80];
	snprintf(why, sizeof why, "trimmed from shard %u before it was read",
	    shard);
	stream->events->lost(
	    stream->arg, EV_relay_lost, (uint64_t)count, why);
}

/*
 * What a stream says of itself: what is gone from its front, and how many it
 * had.  Where it has lost its end, as in a failover, or was deleted, what it
 * has up to its last entry was read before.  Nothing was lost of what was there
 * before anybody wanted it.
 */
static void
compare_with(struct relay_stream *stream, unsigned i, int64_t length,
    int64_t added, const struct event_id *last)
{
	struct relay_shard *shard = &stream->shards[i];
	struct relay_place *at = &shard->at;
	int64_t removed = added - length;
	bool is_new = at->ms == 0 && at->count < 0;
	bool ends_before = last->ms < at->ms ||
	    (last->ms == at->ms && last->number < at->seq);
	shard->added = added;
	if (is_new)
		at->count = removed;
	if (!stream->reads)
		return;
	if (is_new) {
		at->known = true;
		const struct relay_entry nothing = {.shard = i, .place = *at};
		stream->events->took(stream->arg, &nothing);
	} else if (ends_before || added < at->count) {
		if (ends_before) {
			at->ms = last->ms;
			at->seq = last->number;
		}
		at->count = ends_before ? added : -1;
		struct logline line = log_begin(EV_relay_stream_again);
		log_str(&line, "relay", stream->name);
		log_int(&line, "shard", i);
		log_end(&line);
	} else if (at->count >= 0 && removed > at->count) {
		lose(stream, i, removed - at->count);
		at->count = removed;
	}
}

static void
take_entry(struct relay_stream *stream, unsigned shard, struct words *words)
{
	struct event_field fields[FIELDS_MAX];
	struct relay_place *at = &stream->shards[shard].at;
	struct relay_entry entry = {.shard = shard, .fields = fields};
	struct event_id id = next_id(words);
	int64_t count = next_number(words) / 2;
	for (; count > 0 && !words->odd; count--) {
		struct event_field field;
		field.name = next_word(words);
		field.value = next_word(words);
		if (entry.n_fields < FIELDS_MAX)
			fields[entry.n_fields++] = field;
	}
	if (words->odd)
		return;
	at->known = true;
	at->ms = id.ms;
	at->seq = id.number;
	at->count += at->count >= 0;
	entry.place = *at;
	stream->events->took(stream->arg, &entry);
}

/* Returns how many entries came. */
static size_t
take_shard(struct relay_stream *stream, unsigned i, struct words *words)
{
	struct relay_shard *shard = &stream->shards[i];
	struct relay_place *at = &shard->at;
	struct relay_place stood = relay_target_read_place(next_word(words));
	int64_t length = next_number(words), added = next_number(words);
	size_t taken = 0;
	if (length < 0 && !words->odd) {
		struct span why = next_word(words);
		next_number(words);
		snprintf(stream->trouble, sizeof stream->trouble,
		    "the stream of shard %u cannot be read: %.*s", i,
		    SPAN_FMT(why));
		return 0;
	}
	struct event_id last = next_id(words);
	int64_t count = next_number(words);
	if (words->odd)
		return 0;
	if (!shard->heard) {
		shard->heard = true;
		shard->at = shard->saved = stood;
		shard->moved = stream->reads;
	} else if (stream->reads && !stood.known) {
		/* A gateway that knows of no such relay has forgotten it. */
		shard->moved = true;
	}
	compare_with(stream, i, length, added, &last);
	for (; count > 0 && !words->odd; count--, taken++)
		take_entry(stream, i, words);
	/* At its end: what was deleted in between is missing in the count. */
	if (stream->reads && at->ms == last.ms && at->seq == last.number) {
		if (at->count >= 0 && at->count < added)
			lose(stream, i, added - at->count);
		at->count = added;
	}
	return taken;
}

/*
 * Each shard is the first one that is asked now and then.  One that is missing
 * at the end was not asked.
 */
static size_t
take_all(struct relay_group *group, const struct call_reply *reply)
{
	struct relay_stream *stream = group->stream;
	struct words words = {.reply = reply};
	size_t taken = 0;
	stream->trouble[0] = '\0';
	for (unsigned i = 0; i < group->count && words.at < reply->n_extra;
	     i++)
		taken += take_shard(stream,
		    group->first + (group->next + i) % group->count, &words);
	if (words.odd)
		snprintf(stream->trouble, sizeof stream->trouble,
		    "Redis answers what no Redis would answer.");
	return taken;
}

/* --- asking --- */

static unsigned
together(const struct store *store)
{
	return store->conf->store.redis.cluster.count > 0 ? 1 : TOGETHER_MAX;
}

/* Of n shards from first on, with so many arguments behind the act. */
static struct store_call *
relay_call(struct store *store, unsigned first, unsigned n, const char *act,
    size_t n_more)
{
	struct store_call *call = call_new(
	    store, first, SCRIPT_relay, 1 + 2 * (size_t)n + 1 + n_more);
	resp_number(&call->args, 2 * (int64_t)n);
	for (unsigned i = 0; i < n; i++) {
		redis_keys_index(
		    &call->args, store->conf, first + i, "events");
		redis_keys_index(
		    &call->args, store->conf, first + i, "relayed");
	}
	resp_arg(&call->args, span_str(act));
	return call;
}

static void
set_timer(struct relay_stream *stream)
{
	int64_t due_ms = INT64_MAX;
	for (unsigned i = 0; i < stream->n_groups; i++)
		if (stream->groups[i].call == NULL &&
		    stream->groups[i].due_ms < due_ms)
			due_ms = stream->groups[i].due_ms;
	if (due_ms < INT64_MAX)
		timer_set_at(&stream->timer, due_ms);
}

static bool
has_moved(const struct relay_group *group)
{
	const struct relay_shard *shards =
	    group->stream->shards + group->first;
	for (unsigned i = 0; i < group->count; i++)
		if (shards[i].moved)
			return true;
	return false;
}

static void
on_replied(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	struct relay_group *group = call->arg;
	if (group == NULL)
		return;
	struct relay_stream *stream = group->stream;
	size_t taken = 0;
	group->call = NULL;
	stream->asked -= group->asked;
	if (how != CALL_ANSWERED) {
		/* What was to be saved is sent again. */
		for (unsigned i = 0; i < group->count; i++) {
			struct relay_shard *shard =
			    &stream->shards[group->first + i];
			shard->moved = shard->heard && stream->reads;
		}
		snprintf(stream->trouble, sizeof stream->trouble,
		    "the store: %s", error_message(error));
	} else if (reply->verdict == VERDICT_FENCED) {
		stream->events->fenced(stream->arg);
		return;
	} else {
		taken = take_all(group, reply);
	}
	group->next++;
	group->wait_ms = taken > 0 ? SOON_MS
	    : group->wait_ms > RARELY_MS / 2 ? RARELY_MS
					     : group->wait_ms * 2;
	int64_t wait_ms = group->wait_ms;
	if (taken > 0 && taken == group->asked)
		wait_ms = 0; /* there is more */
	else if (has_moved(group) && wait_ms > SAVE_MS)
		wait_ms = SAVE_MS;
	group->due_ms = loop_now_ms(stream->timer.loop) + wait_ms;
	set_timer(stream);
	stream->events->settled(stream->arg);
}

/*
 * Asks for what follows in these shards, and saves where the relay stands: what
 * has moved; the same again changes nothing.
 */
static struct store_call *
read_call(struct relay_group *group)
{
	struct relay_stream *stream = group->stream;
	struct store_call *call = relay_call(stream->store, group->first,
	    group->count, "read", 4 + 2 * group->count);
	resp_arg(&call->args, span_str(stream->name));
	resp_number(&call->args, stream->term);
	resp_number(&call->args, (int64_t)group->asked);
	resp_number(&call->args, group->next % group->count);
	for (unsigned i = 0; i < group->count; i++) {
		struct relay_shard *shard = &stream->shards[group->first + i];
		char text[RELAY_PLACE_BYTES] = "";
		if (shard->heard)
			snprintf(text, sizeof text, "%" PRIu64 "-%" PRIu64,
			    shard->at.ms, shard->at.seq);
		resp_arg(&call->args, span_str(text));
		text[0] = '\0';
		if (shard->moved)
			relay_target_write_place(&shard->saved, text);
		resp_arg(&call->args, span_str(text));
		shard->moved = false;
	}
	return call;
}

/* Beside what may be on its way already. */
static size_t
room_of(const struct relay_stream *stream)
{
	size_t room = stream->reads ? stream->events->room(stream->arg) : 0;
	return room > stream->asked ? room - stream->asked : 0;
}

/* Each group is the first one of all now and then. */
static void
groups_are_due(void *arg)
{
	struct relay_stream *stream = arg;
	int64_t now_ms = loop_now_ms(stream->timer.loop);
	unsigned first = stream->next++;
	for (unsigned i = 0; i < stream->n_groups; i++) {
		struct relay_group *group =
		    &stream->groups[(first + i) % stream->n_groups];
		if (group->call != NULL || group->due_ms > now_ms)
			continue;
		size_t room = room_of(stream);
		group->due_ms = INT64_MAX;
		group->asked = room < READ_MAX ? room : READ_MAX;
		stream->asked += group->asked;
		group->call = read_call(group);
		group->call->done = on_replied;
		group->call->arg = group;
		call_start(group->call);
	}
	set_timer(stream);
}

void
relay_stream_wake(struct relay_stream *stream)
{
	if (room_of(stream) == 0)
		return;
	/* Those that were given none may have more. */
	for (unsigned i = 0; i < stream->n_groups; i++) {
		struct relay_group *group = &stream->groups[i];
		if (group->call == NULL && group->asked == 0) {
			group->due_ms = 0;
			group->wait_ms = SOON_MS;
		}
	}
	set_timer(stream);
}

/* --- life --- */

/* All are asked at once; what is on its way is not heard any more. */
static void
begin(struct relay_stream *stream)
{
	unsigned each = together(stream->store);
	stream->asked = 0;
	for (unsigned i = 0; i < stream->n_groups; i++) {
		struct relay_group *group = &stream->groups[i];
		unsigned left = stream->n_shards - i * each;
		if (group->call != NULL)
			group->call->arg = NULL;
		*group = (struct relay_group){.stream = stream,
		    .first = i * each, .count = left < each ? left : each,
		    .wait_ms = SOON_MS};
	}
	timer_set(&stream->timer, 0);
}

void
relay_stream_start(struct relay_stream *stream, struct store *store,
    struct loop *loop, const char *name, int64_t term, bool reads,
    const struct relay_stream_events *events, void *arg)
{
	unsigned each = together(store);
	*stream = (struct relay_stream){.store = store, .events = events,
	    .arg = arg, .name = name, .term = term, .reads = reads,
	    .n_shards = (unsigned)store->conf->store.shards};
	stream->shards = mem_zero(stream->n_shards * sizeof *stream->shards);
	stream->n_groups = (stream->n_shards + each - 1) / each;
	stream->groups = mem_zero(stream->n_groups * sizeof *stream->groups);
	timer_init(&stream->timer, loop, groups_are_due, stream);
	begin(stream);
}

void
relay_stream_stop(struct relay_stream *stream)
{
	if (stream->store == NULL)
		return;
	timer_clear(&stream->timer);
	for (unsigned i = 0; i < stream->n_groups; i++) {
		struct relay_group *group = &stream->groups[i];
		if (group->call != NULL)
			group->call->arg = NULL;
		group->asked = 0;
		if (has_moved(group))
			call_start(read_call(group));
	}
	free(stream->groups);
	free(stream->shards);
	*stream = (struct relay_stream){0};
}

void
relay_stream_read(
    struct relay_stream *stream, const struct relay_place *places)
{
	stream->reads = true;
	begin(stream);
	/* Who trims knows from now on that there is this relay. */
	for (unsigned i = 0; i < stream->n_shards; i++) {
		struct relay_shard *shard = &stream->shards[i];
		shard->heard = shard->moved = true;
		shard->at = places[i];
		if (!places[i].known)
			shard->at.count = -1;
		shard->saved = shard->at;
	}
}

void
relay_stream_brought(
    struct relay_stream *stream, const struct relay_place *places)
{
	int64_t due_ms = loop_now_ms(stream->timer.loop) + SAVE_MS;
	unsigned each = together(stream->store);
	for (unsigned i = 0; i < stream->n_shards; i++) {
		struct relay_group *group = &stream->groups[i / each];
		if (!places[i].known)
			continue;
		stream->shards[i].saved = places[i];
		stream->shards[i].moved = true;
		if (group->call == NULL && group->due_ms > due_ms)
			group->due_ms = due_ms;
	}
	set_timer(stream);
}

int64_t
relay_stream_behind(const struct relay_stream *stream)
{
	int64_t behind = 0;
	if (stream->store == NULL)
		return -1;
	for (unsigned i = 0; i < stream->n_shards; i++) {
		const struct relay_shard *shard = &stream->shards[i];
		if (!shard->heard)
			return -1;
		if (shard->at.count >= 0 && shard->added > shard->at.count)
			behind += shard->added - shard->at.count;
	}
	return behind;
}

void
relay_stream_forget(struct store *store, const struct conf *conf)
{
	const struct conf_store *of = &store->conf->store;
	unsigned shards = (unsigned)of->shards, each = together(store);
	if (!of->events_refuse || of->events_maxlen <= 0)
		return;
	for (unsigned first = 0; first < shards; first += each) {
		unsigned n = shards - first < each ? shards - first : each;
		struct store_call *call =
		    relay_call(store, first, n, "forget", conf->n_relays);
		for (size_t i = 0; i < conf->n_relays; i++)
			resp_arg(&call->args, span_str(conf->relays[i].name));
		call_start(call);
	}
}
