/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/digits.h"
#include "base/mem.h"
#include "base/rfc3339.h"
#include "operators/probe/events_query.h"
#include "operators/probe/servers.h"

/* Entries that are in memory at once, of all shards, and of one. */
enum { ENTRIES_MAX = 8192, PAGE_LEAST = 10, PAGE_MOST = 1000, FIELDS_MAX = 32 };

struct events_entry {
	struct event_id id;
	json_t *message;
};

/* How far the stream of a shard was read, and what was not given on yet. */
struct events_shard {
	char *name; /* of the stream */
	size_t server;
	struct event_id position; /* of the last entry that was read */
	struct event_id end;      /* of the last that there was at first */
	/* So many entries stand before what comes next; -1: not known. */
	int64_t passed;
	bool looked_at;
	bool has_read; /* position is an entry's */
	bool more;     /* there may be more to read */
	struct events_entry *list;
	size_t count;
	size_t at; /* the next one of list to be given on */
};

struct events_query {
	const struct conf *conf;
	enum events_from from;
	const struct event_id *since;
	bool follow;
	events_query_say *say;
	void *arg;
	size_t page;
	/* One; of a cluster, one for each master that has shards of ours. */
	struct dialled **servers;
	size_t n_servers;
	struct events_shard *shards;
	size_t n_shards;
};

/* --- life --- */

struct events_query *
events_query_new(const struct conf *conf, enum events_from from,
    const struct event_id *since, bool follow, events_query_say *say, void *arg)
{
	struct events_query *query = mem_zero(sizeof *query);
	*query = (struct events_query){.conf = conf,
	    .from = from,
	    .since = since,
	    .follow = follow,
	    .say = say,
	    .arg = arg};
	query->n_shards = (size_t)conf->store.shards;
	query->shards = mem_zero(query->n_shards * sizeof *query->shards);
	for (unsigned i = 0; i < query->n_shards; i++) {
		query->shards[i].position.shard = i;
		query->shards[i].name =
		    mem_printf("%s:{%u}:events", conf->store.prefix, i);
	}
	query->page = ENTRIES_MAX / query->n_shards;
	if (query->page < PAGE_LEAST)
		query->page = PAGE_LEAST;
	if (query->page > PAGE_MOST)
		query->page = PAGE_MOST;
	return query;
}

static void
drop_list(struct events_shard *shard)
{
	while (shard->at < shard->count)
		json_decref(shard->list[shard->at++].message);
	shard->at = shard->count = 0;
}

static void
hang_up_all(struct events_query *query)
{
	for (size_t i = 0; i < query->n_servers; i++)
		dial_free(&query->servers[i]);
	free(query->servers);
	query->servers = NULL;
	query->n_servers = 0;
}

void
events_query_free(struct events_query **query)
{
	struct events_query *q = *query;
	*query = NULL;
	if (q == NULL)
		return;
	hang_up_all(q);
	for (size_t i = 0; i < q->n_shards; i++) {
		drop_list(&q->shards[i]);
		free(q->shards[i].list);
		free(q->shards[i].name);
	}
	free(q->shards);
	free(q);
}

/* --- what a stream says of itself --- */

/* Within a shard's stream. */
static int
compare_entries(const struct event_id *a, const struct event_id *b)
{
	struct event_id of_same = *b;
	of_same.shard = a->shard;
	return event_compare(a, &of_same);
}

/* Takes the words over: some of what was asked for is not there. */
static void
say(struct events_query *query, char *words)
{
	query->say(query->arg, words);
	free(words);
}

/*
 * The first look, by which reading begins where it is to; of EVENTS_SINCE at
 * since, or at the beginning of its millisecond where since is of another
 * shard.
 */
static void
begin_shard(struct events_query *query, struct events_shard *shard,
    const struct dial_stream *info)
{
	int64_t removed = info->added - info->length;
	unsigned number = shard->position.shard;
	char time[RFC3339_MAX];
	shard->looked_at = true;
	shard->end = info->last;
	shard->end.shard = number;
	shard->passed = removed;
	if (query->from == EVENTS_NOW) {
		shard->position = shard->end;
		shard->passed = info->added;
	}
	if (query->from != EVENTS_SINCE)
		return;
	struct event_id start = {.shard = number,
	    .ms = query->since->ms,
	    .number = query->since->shard == number ? query->since->number : 0};
	/* The id before it. */
	shard->position = start;
	if (start.number > 0)
		shard->position.number--;
	else if (start.ms > 0)
		shard->position =
		    (struct event_id){number, start.ms - 1, INT64_MAX};
	if (compare_entries(&start, &info->last) > 0)
		shard->passed = info->added;
	else if (info->length > 0 && compare_entries(&info->first, &start) <= 0)
		shard->passed = -1;
	else if (removed > 0)
		say(query,
		    mem_printf(
			"shard %u: what is older than %s is "
			"trimmed, so events that were asked for may be missing",
			number, rfc3339_write((int64_t)info->first.ms, time)));
}

/* A later look: what was trimmed, or lost, before it was read. */
static void
compare_look(struct events_query *query, struct events_shard *shard,
    const struct dial_stream *info)
{
	int64_t removed = info->added - info->length;
	int64_t passed = shard->passed;
	int order = compare_entries(&shard->position, &info->last);
	if (order >= 0)
		shard->passed = info->added;
	else if (passed >= 0 && removed > passed)
		shard->passed = removed;
	if (order > 0 && shard->has_read) {
		shard->position.ms = info->last.ms;
		shard->position.number = info->last.number;
		say(query,
		    mem_printf(
			"shard %u: Redis no longer has the last "
			"events that were shown; it was restored, emptied or "
			"replaced by a copy that was behind",
			shard->position.shard));
	} else if (passed >= 0 && shard->passed > passed) {
		say(query, mem_printf("shard %u: %lld events were trimmed "
				      "before they could be read; a greater "
				      "store.events.maxlen keeps more",
			       shard->position.shard,
			       (long long)(shard->passed - passed)));
	}
}

static bool
look_at_shard(
    struct events_query *query, struct events_shard *shard, char **ret_message)
{
	struct dialled *redis = query->servers[shard->server];
	const redisReply *reply =
	    DIAL_ASK(redis, "XINFO", "STREAM", shard->name);
	struct dial_stream info;
	if (!dial_read_stream(reply, &info)) {
		if (dial_accept(redis, reply, ret_message) != NULL)
			*ret_message = mem_text(
			    "its reply to XINFO STREAM makes no sense");
		return false;
	}
	if (shard->looked_at)
		compare_look(query, shard, &info);
	else
		begin_shard(query, shard, &info);
	return true;
}

/* --- its entries --- */

static bool
read_entry(const struct conf_store *conf, const redisReply *entry,
    struct events_entry *event)
{
	struct event_field fields[FIELDS_MAX];
	size_t count = 0;
	if (!dial_is(entry, REDIS_REPLY_ARRAY) || entry->elements != 2 ||
	    !event_read_entry(resp_text(entry->element[0]), &event->id) ||
	    !dial_is(entry->element[1], REDIS_REPLY_ARRAY))
		return false;
	const redisReply *words = entry->element[1];
	for (size_t i = 0; i + 1 < words->elements && count < FIELDS_MAX;
	     i += 2)
		fields[count++] =
		    (struct event_field){resp_text(words->element[i]),
			resp_text(words->element[i + 1])};
	struct arena *arena = arena_new();
	struct span text = event_message(
	    arena, conf, &event->id, fields, count, SPAN("}"));
	event->message =
	    json_loadb(text.ptr, text.len, JSON_ALLOW_NUL, NULL);
	must(event->message != NULL);
	arena_free(&arena);
	return true;
}

/* The entries of a shard of which all were given on; false: they are none. */
static bool
take_entries(struct events_query *query, struct events_shard *shard,
    const redisReply *entries)
{
	drop_list(shard);
	if (!dial_is(entries, REDIS_REPLY_ARRAY))
		return false;
	shard->more = entries->elements >= query->page;
	shard->list = mem_grow(
	    shard->list, (entries->elements + 1) * sizeof *shard->list);
	for (size_t i = 0; i < entries->elements; i++) {
		struct events_entry *event = &shard->list[i];
		event->id = shard->position;
		if (!read_entry(
			&query->conf->store, entries->element[i], event))
			return false;
		shard->count++;
		shard->position = event->id;
		shard->has_read = true;
		shard->passed += shard->passed >= 0;
	}
	if (query->follow)
		return true;
	/* No more than there was at first. */
	if (compare_entries(&shard->position, &shard->end) >= 0)
		shard->more = false;
	while (
	    shard->count > 0 &&
	    compare_entries(&shard->list[shard->count - 1].id, &shard->end) > 0)
		json_decref(shard->list[--shard->count].message);
	return true;
}

/* Without entries the reply is nil. */
static bool
read_page(
    struct events_query *query, struct events_shard *shard, char **ret_message)
{
	struct dialled *redis = query->servers[shard->server];
	char most[DIGITS_MAX + 1] = "", behind[EVENT_ID_MAX];
	digits_put(most, (int64_t)query->page);
	snprintf(behind, sizeof behind, "%llu-%llu",
	    (unsigned long long)shard->position.ms,
	    (unsigned long long)shard->position.number);
	const redisReply *reply = dial_accept(redis,
	    DIAL_ASK(
		redis, "XREAD", "COUNT", most, "STREAMS", shard->name, behind),
	    ret_message);
	if (reply == NULL)
		return false;
	shard->more = false;
	if (reply->type == REDIS_REPLY_NIL ||
	    (dial_is(reply, REDIS_REPLY_ARRAY) && reply->elements == 1 &&
		dial_is(reply->element[0], REDIS_REPLY_ARRAY) &&
		reply->element[0]->elements == 2 &&
		take_entries(query, shard, reply->element[0]->element[1])))
		return true;
	*ret_message = mem_text("its reply to XREAD makes no sense");
	return false;
}

/* A look at each shard that needs a page, and, with pages, those too. */
static bool
read_shards(struct events_query *query, bool pages, char **ret_message)
{
	for (size_t i = 0; i < query->n_shards; i++) {
		struct events_shard *shard = &query->shards[i];
		bool needs = shard->more && shard->at == shard->count;
		if (needs &&
		    !(look_at_shard(query, shard, ret_message) &&
			(!pages || read_page(query, shard, ret_message))))
			return false;
	}
	return true;
}

bool
events_query_next(
    struct events_query *query, json_t **ret_event, char **ret_message)
{
	struct events_shard *found = NULL;
	if (!read_shards(query, true, ret_message))
		return false;
	for (size_t i = 0; i < query->n_shards; i++) {
		struct events_shard *shard = &query->shards[i];
		if (shard->at < shard->count &&
		    (found == NULL || event_compare(&shard->list[shard->at].id,
					  &found->list[found->at].id) < 0))
			found = shard;
	}
	*ret_event = found != NULL ? found->list[found->at++].message : NULL;
	/* The next time there may be more. */
	for (size_t i = 0; i < query->n_shards; i++)
		query->shards[i].more |= found == NULL && query->follow;
	return true;
}

/* --- connections --- */

/* Keeps a connection that was made; NULL: the message says why not. */
static bool
add_server(
    struct events_query *query, struct dialled *redis, char **ret_message)
{
	const struct conf_redis *at = &query->conf->store.redis;
	if (redis == NULL)
		return false;
	query->servers = mem_grow(
	    query->servers, (query->n_servers + 1) * sizeof *query->servers);
	query->servers[query->n_servers++] = redis;
	return at->db == 0 || dial_select(redis, at, ret_message);
}

static bool
connect_masters(struct events_query *query, char **ret_message)
{
	const struct conf *conf = query->conf;
	struct cluster_masters masters;
	if (!servers_cluster(conf, &masters, ret_message))
		return false;
	bool ok = true;
	for (size_t i = 0; i < query->n_shards && ok; i++) {
		size_t master = servers_master_of(&masters, (unsigned)i);
		query->shards[i].server = master;
		ok = master < masters.count;
		if (!ok)
			*ret_message = mem_printf(
			    "no server of the cluster has shard %zu", i);
	}
	for (size_t i = 0; i < masters.count && ok; i++) {
		const struct redis_address *place = &masters.list[i].place;
		ok = add_server(query,
		    DIAL_TCP(conf, &conf->store.redis, place->host, place->port,
			ret_message),
		    ret_message);
	}
	servers_free_cluster(&masters);
	return ok;
}

bool
events_query_connect(struct events_query *query, char **ret_message)
{
	const struct conf_redis *at = &query->conf->store.redis;
	hang_up_all(query);
	bool ok = at->cluster.count > 0
	    ? connect_masters(query, ret_message)
	    : add_server(query, servers_dial(query->conf, at, ret_message),
		  ret_message);
	for (size_t i = 0; i < query->n_shards; i++)
		query->shards[i].more = true;
	return ok && read_shards(query, false, ret_message);
}
