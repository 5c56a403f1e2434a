/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/mem.h"
#include "conf/address.h"
#include "operators/probe/servers.h"
#include "store/redis/managed.h"

/* --- Sentinels --- */

static const redisReply *
ask_sentinel(struct dialled *sentinel, enum sentinel_question question,
    const char *master, char **ret_message)
{
	struct resp command = {0};
	sentinel_protocol_ask(&command, question, master);
	return dial_accept(
	    sentinel, dial_send(sentinel, &command), ret_message);
}

static void
look_at_sentinel(const struct conf_redis *at, struct dialled *sentinel,
    struct sentinel_answer *seen)
{
	const redisReply *reply =
	    ask_sentinel(sentinel, SENTINEL_EPOCH, at->master, &seen->message);
	if (reply == NULL)
		return;
	bool read = sentinel_protocol_read_epoch(reply, &seen->named.epoch);
	reply = ask_sentinel(
	    sentinel, SENTINEL_ADDRESS, at->master, &seen->message);
	if (reply != NULL &&
	    !(read && sentinel_protocol_read_address(
			  reply, seen->named.host, &seen->named.port)))
		seen->message =
		    mem_text("its answer about the master cannot be read");
}

struct sentinel_answer *
servers_sentinels(const struct conf *conf, const struct conf_redis *at,
    struct sentinel_named *ret_named)
{
	const struct sentinel_named nothing = {.host = ""};
	size_t count = at->sentinels.count;
	struct sentinel_answer *all = mem_zero(count * sizeof *all);
	struct sentinel_named *said = mem_zero(count * sizeof *said);
	for (size_t i = 0; i < count; i++) {
		char *host;
		uint16_t port;
		address_split(at->sentinels.list[i], &host, &port);
		struct dialled *sentinel = dial_to(conf, at,
		    (struct link_to){
			.host = host, .port = port, .sentinel = true},
		    &all[i].message);
		if (sentinel != NULL)
			look_at_sentinel(at, sentinel, &all[i]);
		if (all[i].message == NULL)
			said[i] = all[i].named;
		dial_free(&sentinel);
		free(host);
	}
	const struct sentinel_named *best =
	    sentinel_protocol_choose(said, count, &nothing);
	*ret_named = best != NULL ? *best : nothing;
	free(said);
	return all;
}

void
servers_free_sentinels(
    const struct conf_redis *at, struct sentinel_answer **seen)
{
	for (size_t i = 0; *seen && i < at->sentinels.count; i++)
		free((*seen)[i].message);
	free(*seen);
	*seen = NULL;
}

/* --- the one server --- */

struct dialled *
servers_dial(
    const struct conf *conf, const struct conf_redis *at, char **ret_message)
{
	const struct address *address = &at->address;
	struct dialled *redis = NULL;
	struct sentinel_named named;
	if (at->managed) {
		char *path = managed_socket(conf);
		redis = dial_to(
		    conf, at, (struct link_to){.socket = path}, ret_message);
		free(path);
		return redis;
	}
	if (address->text != NULL && address->kind == ADDRESS_UNIX)
		return dial_to(conf, at,
		    (struct link_to){.socket = address->host}, ret_message);
	if (at->sentinels.count == 0)
		return DIAL_TCP(
		    conf, at, address->host, address->port, ret_message);
	struct sentinel_answer *seen = servers_sentinels(conf, at, &named);
	if (named.host[0] != '\0')
		redis = DIAL_TCP(conf, at, named.host, named.port, ret_message);
	else
		*ret_message =
		    mem_printf("no Sentinel names a master \"%s\"", at->master);
	servers_free_sentinels(at, &seen);
	return redis;
}

/* --- clusters --- */

static bool
read_masters(const struct conf *conf, struct dialled *redis,
    struct cluster_masters *masters, char **ret_message)
{
	const redisReply *reply = dial_accept(
	    redis, DIAL_ASK(redis, "CLUSTER", "SHARDS"), ret_message);
	if (reply == NULL)
		return false;
	if (!slots_read(reply, &masters->seed, conf->store.redis.tls.on,
		masters->slots)) {
		*ret_message =
		    mem_text("the slots of the cluster cannot be read");
		return false;
	}
	for (unsigned i = 0; i < (unsigned)conf->store.shards; i++) {
		uint16_t owner = masters->slots->owner[slots_of_shard(i)];
		if (owner == 0)
			continue;
		struct redis_address place =
		    masters->slots->addresses[owner - 1];
		size_t at = 0;
		while (at < masters->count &&
		    masters->list[at].place.host != place.host)
			at++;
		if (at < masters->count)
			continue;
		masters->list = mem_grow(
		    masters->list, (at + 1) * sizeof *masters->list);
		masters->list[masters->count++] =
		    (struct cluster_master){place, i};
	}
	if (masters->count == 0)
		*ret_message =
		    mem_text("no server of the cluster has our slots");
	/* Where our user may not ask, it is believed to serve. */
	reply = DIAL_ASK(redis, "CLUSTER", "INFO");
	masters->serve = reply == NULL || reply->type == REDIS_REPLY_ERROR ||
			 slots_serve(resp_text(reply));
	return masters->count > 0;
}

bool
servers_cluster(const struct conf *conf, struct cluster_masters *ret_masters,
    char **ret_message)
{
	const struct conf_redis *at = &conf->store.redis;
	*ret_message = NULL;
	for (size_t i = 0; i < at->cluster.count; i++) {
		struct cluster_masters masters = {0};
		address_split(at->cluster.list[i], &masters.seed.host,
		    &masters.seed.port);
		free(*ret_message);
		*ret_message = NULL;
		masters.slots = mem_zero(sizeof *masters.slots);
		struct dialled *redis = DIAL_TCP(conf, at, masters.seed.host,
		    masters.seed.port, ret_message);
		bool told = redis != NULL &&
			    read_masters(conf, redis, &masters, ret_message);
		dial_free(&redis);
		if (told) {
			*ret_masters = masters;
			return true;
		}
		servers_free_cluster(&masters);
	}
	if (*ret_message == NULL)
		*ret_message =
		    mem_text("no entry of store.cluster names a server");
	return false;
}

size_t
servers_master_of(const struct cluster_masters *masters, unsigned shard)
{
	uint16_t owner = masters->slots->owner[slots_of_shard(shard)];
	size_t i = 0;
	while (i < masters->count &&
	       (owner == 0 || !redis_address_eq(&masters->list[i].place,
				  &masters->slots->addresses[owner - 1])))
		i++;
	return i;
}

void
servers_free_cluster(struct cluster_masters *masters)
{
	if (masters->slots != NULL)
		slots_clear(masters->slots);
	free(masters->slots);
	free(masters->list);
	redis_address_clear(&masters->seed);
	*masters = (struct cluster_masters){0};
}
