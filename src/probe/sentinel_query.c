/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/mem.h"
#include "probe/dial.h"
#include "probe/sentinel_query.h"

/* A question's reply; NULL with the words where there is none. */
static redisReply *
ask(redisContext *sentinel, void (*question)(struct resp *, const char *),
    const char *master, char **ret_words)
{
	struct resp command = {0};
	redisReply *reply = NULL;
	question(&command, master);
	if (redisAppendFormattedCommand(
		sentinel, command.bytes, command.len) == REDIS_OK)
		redisGetReply(sentinel, (void **)&reply);
	resp_clear(&command);
	return dial_accept(sentinel, reply, ret_words);
}

static void
look_at(const struct conf *conf, redisContext *sentinel,
    struct sentinel_seen *seen)
{
	const char *master = conf->store.master;
	char *words = NULL;
	/* One without a password refuses ours. */
	if (!dial_log_in(conf, sentinel, &words))
		free(words);
	redisReply *epoch =
	    ask(sentinel, sentinel_ask_epoch, master, &seen->words);
	if (epoch == NULL)
		return;
	redisReply *address =
	    ask(sentinel, sentinel_ask_address, master, &seen->words);
	if (address != NULL &&
	    (!sentinel_read_epoch(epoch, &seen->named.epoch) ||
		!sentinel_read_address(
		    address, seen->named.host, &seen->named.port)))
		seen->words =
		    mem_str(SPAN("what it says of the master cannot be read"));
	freeReplyObject(epoch);
	freeReplyObject(address);
}

struct sentinel_seen *
sentinels_look(const struct conf *conf)
{
	size_t count = conf->store.sentinels.count;
	struct sentinel_seen *all = mem_zero(count * sizeof *all);
	for (size_t i = 0; i < count; i++) {
		char *host;
		uint16_t port;
		host_port_split(conf->store.sentinels.list[i], &host, &port);
		redisContext *sentinel =
		    dial_tcp(conf, host, port, &all[i].words);
		if (sentinel != NULL) {
			look_at(conf, sentinel, &all[i]);
			redisFree(sentinel);
		}
		free(host);
	}
	return all;
}

bool
sentinels_agree(const struct conf *conf, const struct sentinel_seen *seen,
    struct named *ret_named)
{
	size_t count = conf->store.sentinels.count;
	struct named *said = mem_zero(count * sizeof *said);
	const struct named nothing = {.host = ""};
	for (size_t i = 0; i < count; i++)
		if (seen[i].words == NULL)
			said[i] = seen[i].named;
	const struct named *best = named_choose(said, count, &nothing);
	bool agree = best != NULL;
	if (agree)
		*ret_named = *best;
	free(said);
	return agree;
}

void
sentinels_seen_free(const struct conf *conf, struct sentinel_seen **seen)
{
	for (size_t i = 0; *seen && i < conf->store.sentinels.count; i++)
		free((*seen)[i].words);
	free(*seen);
	*seen = NULL;
}
