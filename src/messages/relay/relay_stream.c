/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/digits.h"
#include "base/error.h"
#include "base/loop/loop.h"
#include "base/mem.h"
#include "messages/relay/relay_stream.h"
#include "store/call.h"
#include "store/record/redis_keys.h"

enum {
	TOGETHER_MAX = 64,  /* shards in a call, but on a cluster */
	READ_MAX = 200,     /* entries: a call holds Redis up for a moment */
	SOON_MS = 20,       /* there was something a moment ago */
	RARELY_MS = 500,    /* there has been nothing for a while */
	WORDS_MAX = 1000,   /* of an entry; ours have a dozen or two */
};

/* Shards that are read together. */
struct relay_group {
	struct relay_stream *stream; /* NULL: it was stopped */
	unsigned first, count;
	unsigned turn; /* how far behind the first it begins next time */
	struct store_call *call; /* under way; NULL: none */
	size_t asked;            /* entries, at most */
	int64_t due_ms, wait_ms;
};

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
	if (span_eq(word, SPAN("-1"))) {
		*ret_number = -1;
		return true;
	}
	return digits_read(word, INT64_MAX, ret_number);
}

/* "MS-SEQ" */
static bool
read_id(struct span id, uint64_t *ret_ms, uint64_t *ret_seq)
{
	int64_t ms, seq;
	if (digits_take(&id, INT64_MAX, &ms) == 0 || id.len == 0 ||
	    *id.ptr != '-' || !digits_read(span_from(id, 1), INT64_MAX, &seq))
		return false;
	*ret_ms = (uint64_t)ms;
	*ret_seq = (uint64_t)seq;
	return true;
}

static bool
is_before(uint64_t ms, uint64_t seq, const struct relay_mark *mark)
{
	return ms < mark->ms || (ms == mark->ms && seq < mark->seq);
}

/* --- what a stream says of itself --- */

/*
 * The stream has lost its end, as in a failover, or was deleted: what it has up
 * to that entry was read before.
 */
static void
begin_again(struct relay_stream *stream, struct relay_shard *shard,
    uint64_t ms, uint64_t seq, int64_t count)
{
	shard->mark.ms = ms;
	shard->mark.seq = seq;
	shard->mark.count = count;
	stream->events.again(stream->events.arg, shard->mark.shard);
}

/* Nothing was lost of what was there before anybody wanted it. */
static void
begin_with(struct relay_stream *stream, struct relay_shard *shard,
    int64_t removed)
{
	shard->mark.count = removed;
	stream->events.began(stream->events.arg, &shard->mark);
}

/* What is gone from its front, and how many it had. */
static void
compare_with(struct relay_stream *stream, struct relay_shard *shard,
    int64_t length, int64_t added, uint64_t ms, uint64_t seq)
{
	int64_t removed = added - length;
	shard->added = added;
	if (is_before(ms, seq, &shard->mark))
		begin_again(stream, shard, ms, seq, added);
	else if (shard->mark.count < 0 && shard->mark.ms == 0)
		begin_with(stream, shard, removed);
	else if (added < shard->mark.count)
		begin_again(
		    stream, shard, shard->mark.ms, shard->mark.seq, -1);
	if (shard->mark.count < 0 || removed <= shard->mark.count)
		return;
	uint64_t lost = (uint64_t)(removed - shard->mark.count);
	shard->mark.count = removed;
	stream->events.lost(stream->events.arg, shard->mark.shard, lost);
}

/* All of it was read: what was deleted in between is missing in the count. */
static void
compare_at_end(struct relay_stream *stream, struct relay_shard *shard,
    int64_t added)
{
	if (shard->mark.count >= 0 && shard->mark.count < added)
		stream->events.lost(stream->events.arg, shard->mark.shard,
		    (uint64_t)(added - shard->mark.count));
	shard->mark.count = added;
}

/* --- reading a reply --- */

static bool
take_entry(struct relay_stream *stream, struct relay_shard *shard,
    struct words *words)
{
	struct span list[WORDS_MAX], id;
	struct relay_entry entry = {.words = list};
	int64_t count;
	uint64_t ms, seq;
	if (!next_word(words, &id) || !read_id(id, &ms, &seq) ||
	    !next_number(words, &count) || count < 0)
		return false;
	for (int64_t i = 0; i < count; i++) {
		struct span word;
		if (!next_word(words, &word))
			return false;
		if (i < WORDS_MAX)
			list[entry.n_words++] = word;
	}
	shard->mark.ms = ms;
	shard->mark.seq = seq;
	if (shard->mark.count >= 0)
		shard->mark.count++;
	entry.mark = shard->mark;
	stream->events.took(stream->events.arg, &entry);
	return true;
}

static void
say_odd(struct relay_stream *stream, const struct relay_shard *shard,
    struct span words)
{
	snprintf(stream->trouble, sizeof stream->trouble,
	    "the stream of shard %u cannot be read: %.*s", shard->mark.shard,
	    SPAN_FMT(words));
}

/* Returns how many entries came, or -1: it is malformed. */
static int64_t
take_shard(struct relay_stream *stream, struct relay_shard *shard,
    struct words *words)
{
	int64_t length, added, count;
	uint64_t ms, seq;
	struct span last;
	if (!next_number(words, &length) || !next_number(words, &added) ||
	    !next_word(words, &last) || !next_number(words, &count))
		return -1;
	if (length < 0) {
		say_odd(stream, shard, last);
		return 0;
	}
	if (!read_id(last, &ms, &seq))
		return -1;
	compare_with(stream, shard, length, added, ms, seq);
	for (int64_t i = 0; i < count; i++)
		if (!take_entry(stream, shard, words))
			return -1;
	if (shard->mark.ms == ms && shard->mark.seq == seq)
		compare_at_end(stream, shard, added);
	return count;
}

/* Each shard is the first one that is asked now and then. */
static unsigned
shard_at(const struct relay_group *group, unsigned i)
{
	return group->first + (group->turn + i) % group->count;
}

/* A shard that is missing at the end was not asked. */
static int64_t
read_all(struct relay_group *group, const struct call_reply *reply)
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

/* --- asking --- */

static void
wait_for(struct relay_group *group, size_t taken)
{
	int64_t wait_ms = group->wait_ms * 2;
	if (taken > 0)
		wait_ms = SOON_MS;
	group->wait_ms = wait_ms > RARELY_MS ? RARELY_MS : wait_ms;
	group->due_ms = loop_now_ms(group->stream->timer.loop) +
	    (taken > 0 && taken == group->asked ? 0 : group->wait_ms);
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

static void
on_read(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	struct relay_group *group = call->arg;
	if (group == NULL)
		return;
	struct relay_stream *stream = group->stream;
	int64_t taken = 0;
	group->call = NULL;
	stream->reads = how == CALL_ANSWERED;
	if (stream->reads)
		taken = read_all(group, reply);
	else
		snprintf(stream->trouble, sizeof stream->trouble,
		    "the store: %s", error_message(error));
	stream->room += group->asked - (size_t)taken;
	group->turn++;
	wait_for(group, (size_t)taken);
	set_timer(stream);
	stream->events.settled(stream->events.arg);
}

static void
arg_mark(struct store_call *call, const struct relay_mark *mark)
{
	char text[48];
	int len = snprintf(text, sizeof text, "%llu-%llu",
	    (unsigned long long)mark->ms, (unsigned long long)mark->seq);
	resp_arg(&call->args, span_of(text, (size_t)len));
}

static void
ask_group(struct relay_group *group)
{
	struct relay_stream *stream = group->stream;
	struct store *store = stream->store;
	struct store_call *call = call_new(
	    store, group->first, SCRIPT_relay_read, 2 + 2 * group->count);
	group->asked = stream->room < READ_MAX ? stream->room : READ_MAX;
	stream->room -= group->asked;
	resp_number(&call->args, group->count);
	for (unsigned i = 0; i < group->count; i++)
		redis_keys_index(&call->args, store->conf,
		    shard_at(group, i), "events");
	resp_number(&call->args, (int64_t)group->asked);
	for (unsigned i = 0; i < group->count; i++)
		arg_mark(call, &stream->shards[shard_at(group, i)].mark);
	group->call = call;
	call->done = on_read;
	call->arg = group;
	call_start(call);
}

/* Each group is the first one of all now and then. */
static void
groups_are_due(void *arg)
{
	struct relay_stream *stream = arg;
	int64_t now_ms = loop_now_ms(stream->timer.loop);
	unsigned first = stream->turn++;
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

static void
make_groups(struct relay_stream *stream)
{
	bool cluster = stream->store->conf->store.redis.cluster.count > 0;
	unsigned each = cluster ? 1 : TOGETHER_MAX;
	stream->n_groups = (stream->n_shards + each - 1) / each;
	stream->groups =
	    mem_zero(stream->n_groups * sizeof *stream->groups);
	for (unsigned i = 0; i < stream->n_groups; i++) {
		unsigned left = stream->n_shards - i * each;
		stream->groups[i] = (struct relay_group){.stream = stream,
		    .first = i * each, .count = left < each ? left : each,
		    .wait_ms = SOON_MS};
	}
}

void
relay_stream_start(struct relay_stream *stream, struct store *store,
    struct loop *loop, const struct relay_mark *marks,
    const struct relay_stream_events *events)
{
	*stream = (struct relay_stream){.store = store, .events = *events,
	    .n_shards = (unsigned)store->conf->store.shards};
	stream->shards =
	    mem_zero(stream->n_shards * sizeof *stream->shards);
	for (unsigned i = 0; i < stream->n_shards; i++)
		stream->shards[i].mark = marks[i];
	make_groups(stream);
	timer_init(&stream->timer, loop, groups_are_due, stream);
	timer_set(&stream->timer, 0);
}

void
relay_stream_stop(struct relay_stream *stream)
{
	if (stream->store == NULL)
		return;
	timer_clear(&stream->timer);
	for (unsigned i = 0; i < stream->n_groups; i++)
		if (stream->groups[i].call != NULL)
			stream->groups[i].call->arg = NULL;
	free(stream->groups);
	free(stream->shards);
	*stream = (struct relay_stream){0};
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
