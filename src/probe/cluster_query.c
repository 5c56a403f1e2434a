/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/mem.h"
#include "probe/cluster_query.h"
#include "probe/dial.h"

static redisReply *
ask(redisContext *redis, const char *what, char **ret_words)
{
	return dial_accept(
	    redis, redisCommand(redis, "CLUSTER %s", what), ret_words);
}

/* In the words that it knows. */
static bool
read_slots(redisContext *redis, struct cluster_seen *masters, char **ret_words)
{
	bool read = false;
	redisReply *reply = ask(redis, "SHARDS", ret_words);
	if (reply != NULL)
		read = slots_read_shards(
		    reply, &masters->seed, masters->slots);
	freeReplyObject(reply);
	if (reply != NULL || redis->err != 0) {
		if (!read && reply != NULL)
			*ret_words = mem_str(
			    SPAN("the slots of the cluster cannot be read"));
		return read;
	}
	char *words = NULL;
	reply = ask(redis, "SLOTS", &words);
	free(words); /* those of the first say more */
	if (reply != NULL)
		read = slots_read_slots(
		    reply, &masters->seed, masters->slots);
	freeReplyObject(reply);
	if (read) {
		free(*ret_words);
		*ret_words = NULL;
	}
	return read;
}

/* Who may not ask believes it. */
static bool
read_state(redisContext *redis)
{
	char *words = NULL;
	redisReply *reply = ask(redis, "INFO", &words);
	bool serves = reply == NULL ||
	    slots_serve(span_of(reply->str, reply->len));
	freeReplyObject(reply);
	free(words);
	return serves;
}

static void
add(struct cluster_seen *masters, size_t index, unsigned shard)
{
	struct place place = masters->slots->places[index];
	for (size_t i = 0; i < masters->count; i++)
		if (masters->list[i].place.host == place.host)
			return;
	masters->list = mem_grow(
	    masters->list, (masters->count + 1) * sizeof *masters->list);
	masters->list[masters->count++] = (struct cluster_master){place, shard};
}

static bool
read_masters(const struct conf *conf, redisContext *redis,
    struct cluster_seen *masters, char **ret_words)
{
	if (!dial_log_in(conf, redis, ret_words) ||
	    !read_slots(redis, masters, ret_words))
		return false;
	for (unsigned i = 0; i < (unsigned)conf->store.shards; i++) {
		uint16_t owner = masters->slots->owner[slot_of_shard(i)];
		if (owner != 0)
			add(masters, owner - 1U, i);
	}
	if (masters->count == 0)
		*ret_words = mem_str(
		    SPAN("no server of the cluster has our slots"));
	masters->serve = read_state(redis);
	return masters->count > 0;
}

bool
cluster_look(const struct conf *conf, struct cluster_seen *ret_seen,
    char **ret_words)
{
	const struct strings *seeds = &conf->store.cluster;
	bool told = false;
	*ret_words = NULL;
	for (size_t i = 0; i < seeds->count && !told; i++) {
		struct cluster_seen masters = {0};
		free(*ret_words);
		*ret_words = NULL;
		if (!place_read(span_str(seeds->list[i]), &masters.seed))
			continue;
		masters.slots = mem_zero(sizeof *masters.slots);
		redisContext *redis = dial_tcp(conf, masters.seed.host,
		    masters.seed.port, ret_words);
		told = redis != NULL &&
		    read_masters(conf, redis, &masters, ret_words);
		if (redis != NULL)
			redisFree(redis);
		if (told)
			*ret_seen = masters;
		else
			cluster_seen_clear(&masters);
	}
	if (!told && *ret_words == NULL)
		*ret_words = mem_str(SPAN("no seed names a server"));
	return told;
}

void
cluster_seen_clear(struct cluster_seen *masters)
{
	if (masters->slots != NULL)
		slots_clear(masters->slots);
	free(masters->slots);
	free(masters->list);
	place_clear(&masters->seed);
	*masters = (struct cluster_seen){0};
}
