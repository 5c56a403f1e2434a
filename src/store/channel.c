/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>

#include "base/hex.h"
#include "base/test_build.h"
#include "store/channel.h"
#include "store/record/script.h"

enum { QUIET_MS = 1000 };

/* --- runs of scripts --- */

void
channel_begin(struct channel *channel, struct channel_run *run, size_t n_args,
    struct resp *command)
{
	struct store *store = channel->store;
	const struct function_library *library = store->library;
	const uint64_t number = store->next_run++;
	hex_encode((const uint8_t *)&number, sizeof number, run->name);
	resp_begin(command, 2 + n_args + 1);
	if (library != NULL) {
		resp_arg(command, SPAN("FCALL"));
		resp_arg(command,
		    span_str(run->reads ? library->readers[run->script]
					: library->functions[run->script]));
	} else if (run->whole) {
		resp_arg(command, SPAN("EVAL"));
		resp_arg(command, script_text(run->script));
	} else {
		resp_arg(command, SPAN("EVALSHA"));
		resp_arg(command,
		    span_of(store->names.sha[run->script], SHA1_HEX));
	}
}

void
channel_send(
    struct channel *channel, struct channel_run *run, struct resp *command)
{
	resp_arg(command, span_of(run->name, CHANNEL_NAME_CHARS));
	link_send(channel->link, &run->link, command);
}

bool
channel_is_own(struct channel *channel, const struct channel_run *run,
    bool read, struct span name)
{
	if (!read)
		link_distrust(channel->link, "a reply of an unexpected form");
	else if (!span_eq(name, span_str(run->name)) && INVARIANT(own_reply))
		link_distrust(channel->link, "a reply to another call");
	else
		return true;
	return false;
}

static void
on_loaded(struct link_call *call, const redisReply *reply)
{
	struct channel *channel =
	    CONTAINER_OF(call, struct channel, loader.call);
	struct channel_loader *loader = &channel->loader;
	loader->under_way = loader->failed = false;
	channel_check_type(channel, reply, REDIS_REPLY_STRING);
	if (reply == NULL || reply->type != REDIS_REPLY_ERROR ||
	    redis_error_of_reply(reply) == REDIS_ERROR_LIBRARY_EXISTS)
		return;
	loader->failed = true;
	channel_log_refused(
	    channel, EV_store_refused, "function load", reply->str);
}

/*
 * A library is loaded on the same connection, so that it is there for whatever
 * is sent behind it, and once for all runs that found it missing.  It is not
 * replaced: its name is a hash, so one of that name is this very text.
 */
bool
channel_brings_script(
    struct channel *channel, struct channel_run *run, enum redis_error error)
{
	const struct function_library *library = channel->store->library;
	struct channel_loader *loader = &channel->loader;
	if (run->whole ||
	    error != (library != NULL ? REDIS_ERROR_NO_FUNCTION
				      : REDIS_ERROR_NOSCRIPT))
		return false;
	run->whole = true;
	if (library == NULL || loader->under_way)
		return true;
	const struct span words[] = {
	    SPAN("FUNCTION"), SPAN("LOAD"), span_str(library->text)};
	loader->under_way = true;
	loader->call.done = on_loaded;
	channel_ask(channel, &loader->call, words, 3);
	return true;
}

/* --- other commands --- */

void
channel_ask(struct channel *channel, struct link_call *call,
    const struct span *words, size_t count)
{
	struct resp command = {0};
	resp_begin(&command, count);
	for (size_t i = 0; i < count; i++)
		resp_arg(&command, words[i]);
	link_send(channel->link, call, &command);
	resp_clear(&command);
}

bool
channel_check_type(struct channel *channel, const redisReply *reply, int type)
{
	if (reply == NULL || reply->type == type ||
	    reply->type == REDIS_REPLY_ERROR)
		return true;
	link_distrust(channel->link, "a reply to another command");
	return false;
}

void
channel_log_refused(struct channel *channel, enum event event,
    const char *what, const char *error)
{
	struct store *store = channel->store;
	char kind[sizeof store->refused];
	snprintf(
	    kind, sizeof kind, "%.*s", (int)strcspn(error, " "), error);
	int64_t now_ms = clock_us() / 1000;
	if (strcmp(kind, store->refused) == 0 &&
	    now_ms - store->refused_ms < QUIET_MS)
		return;
	memcpy(store->refused, kind, sizeof kind);
	store->refused_ms = now_ms;
	struct logline line = log_begin(event);
	log_str(&line, "operation", what);
	log_str(&line, "error", error);
	log_end(&line);
}
