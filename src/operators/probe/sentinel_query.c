/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/mem.h"
#include "conf/address.h"
#include "operators/probe/dial.h"
#include "operators/probe/sentinel_query.h"

/* The reply to a question; NULL with a message. */
static redisReply *
ask_one(struct dialled *sentinel, enum sentinel_question question,
    const char *master, char **ret_message)
{
	struct resp command = {0};
	sentinel_protocol_ask(&command, question, master);
	dial_append(sentinel, &command);
	resp_clear(&command);
	return dial_accept(sentinel, dial_reply(sentinel), ret_message);
}

static void
look_at(const struct conf_redis *at, struct dialled *sentinel,
    struct sentinel_answer *seen)
{
	const char *master = at->master;
	char *message = NULL;
	/* A Sentinel without a password refuses ours, which is no fault. */
	if (!dial_log_in(at, sentinel, &message))
		free(message);
	redisReply *epoch =
	    ask_one(sentinel, SENTINEL_EPOCH, master, &seen->message);
	if (epoch == NULL)
		return;
	redisReply *address =
	    ask_one(sentinel, SENTINEL_ADDRESS, master, &seen->message);
	if (address != NULL &&
	    (!sentinel_protocol_read_epoch(epoch, &seen->named.epoch) ||
		!sentinel_protocol_read_address(
		    address, seen->named.host, &seen->named.port)))
		seen->message =
		    mem_str(SPAN("its answer about the master cannot be read"));
	freeReplyObject(epoch);
	freeReplyObject(address);
}

struct sentinel_answer *
sentinel_query(const struct conf_redis *at)
{
	size_t count = at->sentinels.count;
	struct sentinel_answer *all = mem_zero(count * sizeof *all);
	for (size_t i = 0; i < count; i++) {
		char *host;
		uint16_t port;
		address_split(
		    at->sentinels.list[i], &host, &port);
		struct dialled *sentinel =
		    dial_tcp(at, host, port, &all[i].message);
		if (sentinel != NULL) {
			look_at(at, sentinel, &all[i]);
			dial_free(&sentinel);
		}
		free(host);
	}
	return all;
}

bool
sentinel_query_agrees(const struct conf_redis *at,
    const struct sentinel_answer *seen, struct sentinel_named *ret_named)
{
	size_t count = at->sentinels.count;
	struct sentinel_named *said = mem_zero(count * sizeof *said);
	const struct sentinel_named nothing = {.host = ""};
	for (size_t i = 0; i < count; i++)
		if (seen[i].message == NULL)
			said[i] = seen[i].named;
	const struct sentinel_named *best =
	    sentinel_protocol_choose(said, count, &nothing);
	bool agree = best != NULL;
	if (agree)
		*ret_named = *best;
	free(said);
	return agree;
}

void
sentinel_query_free(const struct conf_redis *at, struct sentinel_answer **seen)
{
	for (size_t i = 0; *seen && i < at->sentinels.count; i++)
		free((*seen)[i].message);
	free(*seen);
	*seen = NULL;
}
