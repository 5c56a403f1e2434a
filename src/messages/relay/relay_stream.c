/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/digits.h"
#include "base/error.h"
#include "base/loop/loop.h"
#include "base/mem.h"
#include "messages/relay/relay_stream.h"
#include "store/call.h"
#include "store/record/event.h"
#include "store/record/redis_keys.h"

enum {
	TOGETHER_MAX = 64, /* shards in a call, but on a cluster */
	READ_MAX = 200,    /* entries: a call holds Redis up for a moment */
	SOON_MS = 20,      /* there was something a moment ago */
	RARELY_MS = 500,   /* there has been nothing for a while */
	WORDS_MAX = 1000,  /* of an entry; ours have a dozen or two */
};

/* Shards that are read together. */
struct relay_group {
	struct relay_stream *stream;
	unsigned first, count;
	unsigned next; /* how far behind the first it begins next time */
	bool loaded;
	struct store_call *call; /* under way; NULL: none */
	size_t asked;            /* entries, at most */
	int64_t due_ms, wait_ms;
};

static unsigned
together(const struct store *store)
{
	return store->conf->store.redis.cluster.count > 0 ? 1 : TOGETHER_MAX;
}

/* --- replies --- */

/* Words of a reply, one after the other. */
struct words {
	const struct call_reply *reply;
	size_t at;
};

static bool
next_word(struct words *words, struct span *ret_word)
{
	if (words->at >= words->reply->n_extra)
		return false;
	*ret_word = resp_text(words->reply->extra[words->at++]);
	return true;
}

static bool
next_number(struct words *words, int64_t *ret_number)
{
	struct span word;
	if (!next_word(words, &word))
		return false;
	*ret_number = -1;
	return span_eq(word, SPAN("-1")) ||
	    digits_read(word, INT64_MAX, ret_number);
}

static bool
next_id(struct words *words, struct relay_position *position)
{
	struct span word;
	struct event_id id = {0};
	if (!next_word(words, &word) || !event_read_entry(word, &id))
		return false;
	position->ms = id.ms;
	position->seq = id.number;
	return true;
}

/* "MS-SEQ COUNT"; what is none is the beginning: nothing is lost by that. */
static struct relay_position
read_position(unsigned shard, struct span text)
{
	struct event_id id = {0};
	struct relay_position position = {.shard = shard, .count = -1};
	struct span word;
	if (span_next(&text, ' ', &word) && event_read_entry(word, &id)) {
		position.ms = id.ms;
		position.seq = id.number;
		if (!digits_read(text, INT64_MAX, &position.count))
			position.count = -1;
	}
	return position;
}

/* --- what a stream says of itself --- */

/*
 * What is gone from its front, and how many it had.  Where it has lost its end,
 * as in a failover, or was deleted, what it has up to its last entry was read
 * before.  Nothing was lost of what was there before anybody wanted it.
 */
static void
compare_with(struct relay_stream *stream, struct relay_shard *shard,
    int64_t length, int64_t added, const struct relay_position *last)
{
	const struct relay_stream_events *events = &stream->events;
	struct relay_position *at = &shard->position;
	int64_t removed = added - length;
	shard->added = added;
	if (!stream->reads)
		return;
	if (last->ms < at->ms || (last->ms == at->ms && last->seq < at->seq)) {
		at->ms = last->ms;
		at->seq = last->seq;
		at->count = added;
		events->again(events->arg, at->shard);
	} else if (at->count < 0 && at->ms == 0) {
		at->count = removed;
		events->began(events->arg, at);
	} else if (added < at->count) {
		at->count = -1;
		events->again(events->arg, at->shard);
	}
	if (at->count < 0 || removed <= at->count)
		return;
	uint64_t lost = (uint64_t)(removed - at->count);
	at->count = removed;
	events->lost(events->arg, at->shard, lost);
}

static bool
take_entry(struct relay_stream *stream, struct relay_shard *shard,
    struct words *words)
{
	struct span list[WORDS_MAX], word;
	struct relay_entry entry = {.words = list};
	struct relay_position *at = &shard->position;
	int64_t count;
	if (!next_id(words, at) || !next_number(words, &count) || count < 0)
		return false;
	for (int64_t i = 0; i < count; i++) {
		if (!next_word(words, &word))
			return false;
		if (i < WORDS_MAX)
			list[entry.n_words++] = word;
	}
	at->count += at->count >= 0;
	entry.position = *at;
	stream->events.took(stream->events.arg, &entry);
	return true;
}

/* Returns how many entries came, or -1: it is malformed. */
static int64_t
take_shard(struct relay_stream *stream, struct relay_shard *shard,
    struct words *words)
{
	int64_t length, added, count;
	struct relay_position last;
	struct span word;
	if (!next_number(words, &length) || !next_number(words, &added))
		return -1;
	if (length < 0) {
		if (!next_word(words, &word) || !next_number(words, &count))
			return -1;
		snprintf(stream->trouble, sizeof stream->trouble,
		    "the stream of shard %u cannot be read: %.*s",
		    shard->position.shard, SPAN_FMT(word));
		return 0;
	}
	if (!next_id(words, &last) || !next_number(words, &count))
		return -1;
	compare_with(stream, shard, length, added, &last);
	for (int64_t i = 0; i < count; i++)
		if (!take_entry(stream, shard, words))
			return -1;
	/* At its end: what was deleted in between is missing in the count. */
	struct relay_position *at = &shard->position;
	if (stream->reads && at->ms == last.ms && at->seq == last.seq) {
		if (at->count >= 0 && at->count < added)
			stream->events.lost(stream->events.arg, at->shard,
			    (uint64_t)(added - at->count));
		at->count = added;
	}
	return count;
}

/* Each shard is the first one that is asked now and then. */
static unsigned
shard_at(const struct relay_group *group, unsigned i)
{
	return group->first + (group->next + i) % group->count;
}

/* A shard that is missing at the end was not asked. */
static int64_t
take_all(struct relay_group *group, const struct call_reply *reply)
{
	struct relay_stream *stream = group->stream;
	struct words words = {reply, 0};
	int64_t total = 0;
	stream->trouble[0] = '\0';
	for (unsigned i = 0;
	     i < group->count && words.at < reply->n_extra; i++) {
		int64_t count = take_shard(
		    stream, &stream->shards[shard_at(group, i)], &words);
		if (count < 0) {
			snprintf(stream->trouble, sizeof stream->trouble,
			    "Redis answers what no Redis would answer.");
			return total;
		}
		total += count;
	}
	return total;
}

static void
take_positions(struct relay_group *group, const struct call_reply *reply)
{
	struct relay_stream *stream = group->stream;
	if (stream->reads || reply->n_extra < group->count)
		return;
	for (unsigned i = 0; i < group->count; i++)
		stream->shards[group->first + i].position = read_position(
		    group->first + i, resp_text(reply->extra[i]));
	group->loaded = true;
	if (--stream->loading > 0)
		return;
	struct relay_position *positions =
	    mem_zero(stream->n_shards * sizeof *positions);
	for (unsigned i = 0; i < stream->n_shards; i++)
		positions[i] = stream->shards[i].position;
	stream->events.loaded(stream->events.arg, positions);
	free(positions);
}

/* --- asking --- */

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
	int64_t now_ms = loop_now_ms(stream->timer.loop), taken = 0;
	bool was_loading = !group->loaded;
	group->call = NULL;
	if (how != CALL_ANSWERED) {
		/* What was to be saved is sent again. */
		for (unsigned i = 0; i < group->count; i++)
			stream->shards[group->first + i].moved = stream->reads;
		snprintf(stream->trouble, sizeof stream->trouble,
		    "the store: %s", error_message(error));
	} else if (reply->verdict == VERDICT_FENCED) {
		stream->events.fenced(stream->events.arg);
		return;
	} else if (was_loading) {
		take_positions(group, reply);
	} else {
		taken = take_all(group, reply);
	}
	bool more = taken > 0 && (size_t)taken == group->asked;
	stream->room += group->asked - (size_t)taken;
	group->next++;
	group->wait_ms = taken > 0 ? SOON_MS
	    : group->wait_ms > RARELY_MS / 2 ? RARELY_MS
					     : group->wait_ms * 2;
	int64_t wait_ms = more ? 0 : group->wait_ms;
	if (has_moved(group) && stream->save_ms < wait_ms)
		wait_ms = stream->save_ms;
	group->due_ms = now_ms + wait_ms;
	set_timer(stream);
	stream->events.settled(stream->events.arg);
}

/*
 * Asks for what follows in these shards, and saves where the relay stands: what
 * has moved; the same again changes nothing.
 */
static struct store_call *
read_call(struct relay_group *group, size_t room)
{
	struct relay_stream *stream = group->stream;
	struct store *store = stream->store;
	struct store_call *call = relay_call(
	    store, group->first, group->count, "read", 4 + 2 * group->count);
	resp_arg(&call->args, span_str(stream->name));
	resp_number(&call->args, stream->term);
	resp_number(&call->args, (int64_t)room);
	resp_number(&call->args, group->next % group->count);
	for (unsigned i = 0; i < group->count; i++) {
		struct relay_shard *shard = &stream->shards[group->first + i];
		const struct relay_position *at = &shard->position;
		const struct relay_position *save = &shard->brought;
		char text[80];
		int len = snprintf(text, sizeof text, "%llu-%llu",
		    (unsigned long long)at->ms, (unsigned long long)at->seq);
		resp_arg(&call->args, span_of(text, (size_t)len));
		len = !shard->moved ? 0
				    : snprintf(text, sizeof text,
					  "%llu-%llu %lld",
					  (unsigned long long)save->ms,
					  (unsigned long long)save->seq,
					  (long long)save->count);
		resp_arg(&call->args, span_of(text, (size_t)len));
		shard->moved = false;
	}
	return call;
}

static void
ask_group(struct relay_group *group)
{
	struct relay_stream *stream = group->stream;
	group->asked = 0;
	if (!group->loaded) {
		group->call = relay_call(stream->store, group->first,
		    group->count, "load", 1);
		resp_arg(&group->call->args, span_str(stream->name));
	} else {
		group->asked =
		    stream->room < READ_MAX ? stream->room : READ_MAX;
		stream->room -= group->asked;
		group->call = read_call(group, group->asked);
	}
	group->call->done = on_replied;
	group->call->arg = group;
	call_start(group->call);
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
		if (group->call == NULL && group->due_ms <= now_ms) {
			group->due_ms = INT64_MAX;
			ask_group(group);
		}
	}
	set_timer(stream);
}

/* --- life --- */

void
relay_stream_start(struct relay_stream *stream, struct store *store,
    struct loop *loop, const char *name, int64_t term, int64_t save_ms,
    const struct relay_stream_events *events)
{
	unsigned each = together(store);
	*stream = (struct relay_stream){.store = store, .events = *events,
	    .name = name, .term = term, .save_ms = save_ms,
	    .n_shards = (unsigned)store->conf->store.shards};
	stream->shards = mem_zero(stream->n_shards * sizeof *stream->shards);
	for (unsigned i = 0; i < stream->n_shards; i++)
		stream->shards[i].position =
		    (struct relay_position){.shard = i, .count = -1};
	stream->n_groups = (stream->n_shards + each - 1) / each;
	stream->groups = mem_zero(stream->n_groups * sizeof *stream->groups);
	for (unsigned i = 0; i < stream->n_groups; i++) {
		unsigned left = stream->n_shards - i * each;
		stream->groups[i] = (struct relay_group){.stream = stream,
		    .first = i * each, .count = left < each ? left : each,
		    .wait_ms = SOON_MS};
	}
	stream->loading = stream->n_groups;
	timer_init(&stream->timer, loop, groups_are_due, stream);
	timer_set(&stream->timer, 0);
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
		if (has_moved(group))
			call_start(read_call(group, 0));
	}
	free(stream->groups);
	free(stream->shards);
	*stream = (struct relay_stream){0};
}

void
relay_stream_read(
    struct relay_stream *stream, const struct relay_position *positions)
{
	stream->reads = true;
	stream->loading = 0;
	for (unsigned i = 0; i < stream->n_groups; i++) {
		struct relay_group *group = &stream->groups[i];
		if (group->call != NULL)
			group->call->arg = NULL;
		group->call = NULL;
		stream->room += group->asked;
		group->asked = 0;
		group->loaded = true;
		group->wait_ms = SOON_MS;
		group->due_ms = 0;
	}
	/* Who trims knows from now on that there is this relay. */
	for (unsigned i = 0; i < stream->n_shards; i++) {
		stream->shards[i].position = positions[i];
		stream->shards[i].brought = positions[i];
		stream->shards[i].moved = true;
	}
	set_timer(stream);
}

void
relay_stream_room(struct relay_stream *stream, size_t room)
{
	size_t asked = 0;
	bool had_none = stream->room == 0;
	for (unsigned i = 0; i < stream->n_groups; i++)
		if (stream->groups[i].call != NULL)
			asked += stream->groups[i].asked;
	stream->room = room > asked ? room - asked : 0;
	if (!had_none || stream->room == 0)
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

void
relay_stream_brought(
    struct relay_stream *stream, const struct relay_position *position)
{
	struct relay_shard *shard = &stream->shards[position->shard];
	struct relay_group *group =
	    &stream->groups[position->shard / together(stream->store)];
	int64_t due_ms = loop_now_ms(stream->timer.loop) + stream->save_ms;
	shard->brought = *position;
	shard->moved = true;
	if (group->call == NULL && group->due_ms > due_ms) {
		group->due_ms = due_ms;
		set_timer(stream);
	}
}

int64_t
relay_stream_behind(const struct relay_stream *stream)
{
	int64_t behind = 0;
	if (stream->store == NULL || stream->loading > 0)
		return -1;
	for (unsigned i = 0; i < stream->n_shards; i++) {
		const struct relay_shard *shard = &stream->shards[i];
		if (shard->position.count >= 0 &&
		    shard->added > shard->position.count)
			behind += shard->added - shard->position.count;
	}
	return behind;
}

void
relay_stream_forget(struct store *store, const struct conf *conf)
{
	unsigned shards = (unsigned)store->conf->store.shards;
	unsigned each = together(store);
	for (unsigned first = 0; first < shards; first += each) {
		unsigned n = shards - first < each ? shards - first : each;
		struct store_call *call =
		    relay_call(store, first, n, "forget", conf->n_relays);
		for (size_t i = 0; i < conf->n_relays; i++)
			resp_arg(&call->args, span_str(conf->relays[i].name));
		call_start(call);
	}
}
