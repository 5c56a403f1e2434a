/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/digits.h"
#include "base/mem.h"
#include "base/must.h"
#include "base/rfc3339.h"
#include "operators/probe/cluster_query.h"
#include "operators/probe/dial.h"
#include "operators/probe/dial_redis.h"
#include "operators/probe/events_query.h"
#include "store/record/redis_keys.h"

/* Entries that are in memory at once, of all shards, and of one. */
enum { ENTRIES_MAX = 8192, PAGE_LEAST = 10, PAGE_MOST = 1000 };

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
	size_t n_shards;
	struct events_query_shard {
		struct events_shard of;
		size_t server;
	} *shards;
};

struct events_query *
events_query_new(const struct conf *conf, enum events_from from,
    const struct event_id *since, bool follow, events_query_say *say,
    void *arg)
{
	struct events_query *query = mem_zero(sizeof *query);
	*query = (struct events_query){.conf = conf, .from = from,
	    .since = since, .follow = follow, .say = say, .arg = arg};
	query->n_shards = (size_t)conf->store.shards;
	query->shards = mem_zero(query->n_shards * sizeof *query->shards);
	for (size_t i = 0; i < query->n_shards; i++)
		query->shards[i].of.position.shard = (unsigned)i;
	query->page = ENTRIES_MAX / query->n_shards;
	if (query->page < PAGE_LEAST)
		query->page = PAGE_LEAST;
	if (query->page > PAGE_MOST)
		query->page = PAGE_MOST;
	return query;
}

static void
hang_up_all(struct events_query *query)
{
	for (size_t i = 0; i < query->n_servers; i++)
		if (query->servers[i] != NULL)
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
	for (size_t i = 0; i < q->n_shards; i++)
		events_shard_clear(&q->shards[i].of);
	free(q->shards);
	free(q);
}

/* --- commands --- */

static void
send_command(struct dialled *redis, struct resp *command)
{
	dial_append(redis, command);
	resp_clear(command);
}

static void
send_info(struct events_query *query, size_t shard)
{
	struct resp command = {0};
	resp_begin(&command, 3);
	resp_arg(&command, SPAN("XINFO"));
	resp_arg(&command, SPAN("STREAM"));
	redis_keys_index(&command, query->conf, (unsigned)shard, "events");
	send_command(query->servers[query->shards[shard].server], &command);
}

static void
put_position(struct resp *command, const struct event_id *id)
{
	char text[EVENT_ID_MAX];
	int len = snprintf(text, sizeof text, "%llu-%llu",
	    (unsigned long long)id->ms, (unsigned long long)id->number);
	resp_arg(command, span_of(text, (size_t)len));
}

/* Of so many shards from that one on; block: until one has an entry. */
static void
send_read(struct events_query *query, size_t from, size_t count, bool block)
{
	struct resp command = {0};
	resp_begin(&command, 4 + (block ? 2 : 0) + 2 * count);
	resp_arg(&command, SPAN("XREAD"));
	resp_arg(&command, SPAN("COUNT"));
	resp_number(&command, (int64_t)query->page);
	if (block) {
		resp_arg(&command, SPAN("BLOCK"));
		resp_number(&command, EVENTS_QUERY_BLOCK_MS);
	}
	resp_arg(&command, SPAN("STREAMS"));
	for (size_t i = from; i < from + count; i++)
		redis_keys_index(
		    &command, query->conf, (unsigned)i, "events");
	for (size_t i = from; i < from + count; i++)
		put_position(&command, &query->shards[i].of.position);
	send_command(query->servers[query->shards[from].server], &command);
}

/* --- connections --- */

static bool
select_db(const struct conf_redis *at, struct dialled *redis,
    char **ret_message)
{
	char db[DIGITS_MAX + 1] = "";
	const char *words[] = {"SELECT", db};
	if (at->db == 0 || at->managed)
		return true;
	digits_put(db, at->db);
	redisReply *reply =
	    dial_accept(redis, dial_ask(redis, 2, words), ret_message);
	freeReplyObject(reply);
	return reply != NULL;
}

/* Keeps a connection that was made; NULL: the message says why not. */
static bool
add_server(
    struct events_query *query, struct dialled *redis, char **ret_message)
{
	const struct conf_redis *at = &query->conf->store.redis;
	if (redis == NULL)
		return false;
	query->servers = mem_grow(query->servers,
	    (query->n_servers + 1) * sizeof *query->servers);
	query->servers[query->n_servers++] = redis;
	return dial_log_in(at, redis, ret_message) &&
	    select_db(at, redis, ret_message);
}

/* Which of the masters has the shard; their count: none. */
static size_t
master_of(const struct cluster_masters *masters, unsigned shard)
{
	uint16_t owner = masters->slots->owner[slots_of_shard(shard)];
	size_t i = 0;
	while (i < masters->count &&
	    (owner == 0 ||
		!redis_address_eq(&masters->list[i].place,
		    &masters->slots->addresses[owner - 1])))
		i++;
	return i;
}

static bool
connect_masters(struct events_query *query,
    const struct cluster_masters *masters, char **ret_message)
{
	for (size_t i = 0; i < query->n_shards; i++) {
		size_t master = master_of(masters, (unsigned)i);
		if (master == masters->count) {
			*ret_message = mem_printf(
			    "no server of the cluster has shard %zu", i);
			return false;
		}
		query->shards[i].server = master;
	}
	for (size_t i = 0; i < masters->count; i++) {
		const struct redis_address *place = &masters->list[i].place;
		if (!add_server(query,
			dial_tcp(&query->conf->store.redis, place->host,
			    place->port, ret_message), ret_message))
			return false;
	}
	return true;
}

static bool
connect_cluster(struct events_query *query, char **ret_message)
{
	struct cluster_masters masters;
	if (!cluster_query(query->conf, &masters, ret_message))
		return false;
	bool ok = connect_masters(query, &masters, ret_message);
	cluster_query_clear(&masters);
	return ok;
}

static bool
is_cluster(const struct events_query *query)
{
	return query->conf->store.redis.cluster.count > 0;
}

/* --- reading --- */

static void
say_seen(struct events_query *query, size_t shard, enum events_seen seen,
    int64_t lost)
{
	char *words = NULL;
	char time[RFC3339_MAX];
	if (seen == EVENTS_GAP)
		words = mem_printf("shard %zu: what is older than %s is "
		    "trimmed, so events that were asked for may be missing",
		    shard,
		    rfc3339_write(
			(int64_t)query->shards[shard].of.first_ms, time));
	else if (seen == EVENTS_LOST)
		words = mem_printf("shard %zu: %lld events were trimmed "
		    "before they could be read; a greater "
		    "store.events.maxlen keeps more", shard,
		    (long long)lost);
	else if (seen == EVENTS_REWOUND)
		words = mem_printf("shard %zu: Redis no longer has the last "
		    "events that were shown; it was restored, emptied or "
		    "replaced by a copy that was behind", shard);
	if (words != NULL)
		query->say(query->arg, words);
	free(words);
}

static bool
take_look(struct events_query *query, size_t shard, char **ret_message)
{
	struct dialled *redis = query->servers[query->shards[shard].server];
	int64_t lost = 0;
	redisReply *reply = dial_reply(redis);
	enum events_seen seen = events_shard_look(&query->shards[shard].of,
	    reply, query->from, query->since, &lost);
	if (seen == EVENTS_NO_STREAM) {
		reply = dial_accept(redis, reply, ret_message);
		if (reply != NULL)
			*ret_message = mem_str(
			    SPAN("its reply to XINFO STREAM makes no sense"));
		freeReplyObject(reply);
		return false;
	}
	freeReplyObject(reply);
	say_seen(query, shard, seen, lost);
	return true;
}

/* Once with each connection, of all shards; their positions may change. */
static bool
look_at_shards(struct events_query *query, char **ret_message)
{
	for (size_t i = 0; i < query->n_shards; i++)
		send_info(query, i);
	for (size_t i = 0; i < query->n_shards; i++) {
		if (!take_look(query, i, ret_message))
			return false;
		query->shards[i].of.more = true;
	}
	return true;
}

bool
events_query_connect(struct events_query *query, char **ret_message)
{
	hang_up_all(query);
	bool ok = is_cluster(query)
	    ? connect_cluster(query, ret_message)
	    : add_server(query, dial_redis(query->conf, ret_message),
		  ret_message);
	return ok && look_at_shards(query, ret_message);
}

/* The shard that an element of a reply is about; their count: none. */
static size_t
shard_of(const struct events_query *query, const redisReply *element)
{
	struct span name = element->type == REDIS_REPLY_ARRAY &&
		element->elements == 2
	    ? resp_text(element->element[0])
	    : SPAN("");
	size_t skip = strlen(query->conf->store.prefix) + 2;
	int64_t shard = 0;
	if (name.len < skip)
		return query->n_shards;
	name = span_from(name, skip);
	(void)digits_take(&name, INT32_MAX, &shard);
	return (size_t)shard < query->n_shards ? (size_t)shard
					       : query->n_shards;
}

/* The streams of a reply to XREAD; one with entries may have more. */
static bool
take_streams(struct events_query *query, const redisReply *reply)
{
	if (reply->type != REDIS_REPLY_ARRAY)
		return reply->type == REDIS_REPLY_NIL;
	for (size_t i = 0; i < reply->elements; i++) {
		const redisReply *stream = reply->element[i];
		size_t shard = shard_of(query, stream);
		if (shard == query->n_shards ||
		    !events_shard_take(&query->shards[shard].of,
			&query->conf->store, stream->element[1],
			query->page))
			return false;
		if (!query->follow)
			events_shard_stop_at_end(&query->shards[shard].of);
	}
	return true;
}

/* Takes the reply to XREAD that comes next. */
static bool
take_read(struct events_query *query, struct dialled *redis,
    char **ret_message)
{
	redisReply *reply =
	    dial_accept(redis, dial_reply(redis), ret_message);
	if (reply == NULL)
		return false;
	bool ok = take_streams(query, reply);
	freeReplyObject(reply);
	if (!ok)
		*ret_message =
		    mem_str(SPAN("its reply to XREAD makes no sense"));
	return ok;
}

static bool
needs_page(const struct events_query_shard *shard)
{
	return shard->of.more && events_shard_first(&shard->of) == NULL;
}

/* A page of each shard of which there may be more, and nothing is left. */
static bool
read_pages(struct events_query *query, char **ret_message)
{
	bool *asked = mem_zero(query->n_shards * sizeof *asked);
	bool ok = true;
	for (size_t i = 0; i < query->n_shards; i++) {
		asked[i] = needs_page(&query->shards[i]);
		if (!asked[i])
			continue;
		send_info(query, i);
		send_read(query, i, 1, false);
	}
	for (size_t i = 0; i < query->n_shards && ok; i++) {
		if (!asked[i])
			continue;
		ok = take_look(query, i, ret_message);
		/* Where there is nothing, the reply names no stream. */
		query->shards[i].of.more = false;
		ok = ok && take_read(query,
			       query->servers[query->shards[i].server],
			       ret_message);
	}
	free(asked);
	return ok;
}

/* The shard with the oldest event; NULL: none has any. */
static struct events_shard *
oldest(struct events_query *query)
{
	struct events_shard *found = NULL;
	for (size_t i = 0; i < query->n_shards; i++) {
		struct events_shard *shard = &query->shards[i].of;
		const struct events_event *event = events_shard_first(shard);
		if (event != NULL && (found == NULL ||
			event_compare(&event->id,
			    &events_shard_first(found)->id) < 0))
			found = shard;
	}
	return found;
}

bool
events_query_next(struct events_query *query, json_t **ret_event,
    char **ret_message)
{
	bool missing = false;
	for (size_t i = 0; i < query->n_shards && !missing; i++)
		missing = needs_page(&query->shards[i]);
	if (missing && !read_pages(query, ret_message))
		return false;
	struct events_shard *shard = oldest(query);
	*ret_event = shard != NULL ? events_shard_pop(shard) : NULL;
	return true;
}

/* --- waiting --- */

bool
events_query_wait(
    struct events_query *query, int *ret_fd, char **ret_message)
{
	*ret_fd = -1;
	if (is_cluster(query))
		return true;
	struct dialled *redis = query->servers[0];
	send_read(query, 0, query->n_shards, true);
	if (!dial_send(redis)) {
		*ret_message = mem_str(span_str(dial_message(redis)));
		return false;
	}
	*ret_fd = dial_fd(redis);
	return true;
}

bool
events_query_waited(struct events_query *query, char **ret_message)
{
	if (!is_cluster(query) &&
	    !take_read(query, query->servers[0], ret_message))
		return false;
	/* What is trimmed is seen before the next page. */
	for (size_t i = 0; i < query->n_shards; i++) {
		struct events_shard *shard = &query->shards[i].of;
		shard->more = is_cluster(query) || shard->more ||
		    events_shard_first(shard) != NULL;
	}
	return true;
}
