/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/mem.h"
#include "operators/probe/cluster_query.h"
#include "operators/probe/dial.h"
#include "store/redis/resp.h"

static redisReply *
ask_cluster(struct dialled *redis, const char *what, char **ret_message)
{
	const char *words[] = {"CLUSTER", what};
	return dial_accept(redis, dial_ask(redis, 2, words), ret_message);
}

/* By CLUSTER SHARDS, or SLOTS of a server that does not know that. */
static bool
read_slots(struct dialled *redis, bool tls, struct cluster_masters *masters,
    char **ret_message)
{
	bool read = false;
	redisReply *reply = ask_cluster(redis, "SHARDS", ret_message);
	if (reply != NULL)
		read = slots_read(
		    reply, true, &masters->seed, tls, masters->slots);
	freeReplyObject(reply);
	if (reply != NULL || dial_is_broken(redis)) {
		if (!read && reply != NULL)
			*ret_message = mem_str(
			    SPAN("the slots of the cluster cannot be read"));
		return read;
	}
	char *message = NULL;
	reply = ask_cluster(redis, "SLOTS", &message);
	free(message); /* the error of the first says more */
	if (reply != NULL)
		read = slots_read(
		    reply, false, &masters->seed, tls, masters->slots);
	freeReplyObject(reply);
	if (read) {
		free(*ret_message);
		*ret_message = NULL;
	}
	return read;
}

/* Whether the cluster serves; true where our user may not ask. */
static bool
read_state(struct dialled *redis)
{
	char *message = NULL;
	redisReply *reply = ask_cluster(redis, "INFO", &message);
	bool serves = reply == NULL ||
	    slots_serve(resp_text(reply));
	freeReplyObject(reply);
	free(message);
	return serves;
}

static void
add(struct cluster_masters *masters, size_t index, unsigned shard)
{
	struct redis_address place = masters->slots->addresses[index];
	for (size_t i = 0; i < masters->count; i++)
		if (masters->list[i].place.host == place.host)
			return;
	masters->list = mem_grow(
	    masters->list, (masters->count + 1) * sizeof *masters->list);
	masters->list[masters->count++] = (struct cluster_master){place, shard};
}

static bool
read_masters(const struct conf *conf, struct dialled *redis,
    struct cluster_masters *masters, char **ret_message)
{
	if (!dial_log_in(&conf->store.redis, redis, ret_message) ||
	    !read_slots(redis, conf->store.redis.tls.on, masters,
		ret_message))
		return false;
	for (unsigned i = 0; i < (unsigned)conf->store.shards; i++) {
		uint16_t owner = masters->slots->owner[slots_of_shard(i)];
		if (owner != 0)
			add(masters, owner - 1U, i);
	}
	if (masters->count == 0)
		*ret_message = mem_str(
		    SPAN("no server of the cluster has our slots"));
	masters->serve = read_state(redis);
	return masters->count > 0;
}

bool
cluster_query(const struct conf *conf, struct cluster_masters *ret_seen,
    char **ret_message)
{
	const struct strings *seeds = &conf->store.redis.cluster;
	bool told = false;
	*ret_message = NULL;
	for (size_t i = 0; i < seeds->count && !told; i++) {
		struct cluster_masters masters = {0};
		free(*ret_message);
		*ret_message = NULL;
		if (!redis_address_read(
			span_str(seeds->list[i]), &masters.seed))
			continue;
		masters.slots = mem_zero(sizeof *masters.slots);
		struct dialled *redis = dial_tcp(&conf->store.redis,
		    masters.seed.host, masters.seed.port, ret_message);
		told = redis != NULL &&
		    read_masters(conf, redis, &masters, ret_message);
		if (redis != NULL)
			dial_free(&redis);
		if (told)
			*ret_seen = masters;
		else
			cluster_query_clear(&masters);
	}
	if (!told && *ret_message == NULL)
		*ret_message = mem_str(
		    SPAN("no entry of store.cluster names a server"));
	return told;
}

void
cluster_query_clear(struct cluster_masters *masters)
{
	if (masters->slots != NULL)
		slots_clear(masters->slots);
	free(masters->slots);
	free(masters->list);
	redis_address_clear(&masters->seed);
	*masters = (struct cluster_masters){0};
}
