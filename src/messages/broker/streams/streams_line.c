/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hex.h"
#include "base/mem.h"
#include "base/must.h"
#include "base/test_build.h"
#include "conf/address.h"
#include "messages/broker/streams/streams_private.h"
#include "store/redis/redis_error.h"
#include "store/redis/slots.h"

/* --- where a cluster has the stream --- */

/* The next server that the configuration names. */
static void
try_seed(struct streams *streams)
{
	const struct strings *seeds = &streams->redis->cluster;
	char *host;
	uint16_t port;
	address_split(
	    seeds->list[streams->seed++ % seeds->count], &host, &port);
	streams->asking = false;
	master_set(streams->master, host, port);
	free(host);
}

static bool
follow(struct streams_line *line, struct span error)
{
	struct streams *streams = line->streams;
	struct link_to to = link_where(line->link);
	const struct redis_address asked = {
	    (char *)(uintptr_t)to.host, to.port};
	struct slots_redirect where;
	if (streams->redis->cluster.count == 0 ||
	    !slots_redirect_read(error, &asked, &where))
		return false;
	/* Else it has not heard yet of the last move. */
	if (!link_is_behind(line->link)) {
		streams->asking = where.ask;
		master_set(
		    streams->master, where.address.host, where.address.port);
	}
	redis_address_clear(&where.address);
	master_tell(streams->master);
	return true;
}

/* --- events of the links --- */

/*
 * The teller tells whether the broker answers.  The taker is cut by a Redis
 * that becomes a replica, and is up again at once: only where it cannot be had
 * while the teller is up, there is something to say.  It begins with the first
 * step then; what was read and not handed over comes again with the first pass,
 * in its order with what else is pending.
 */
static void
on_changed(void *arg, enum link_change change)
{
	struct streams_line *line = arg;
	struct streams *streams = line->streams;
	struct broker_reader *core = &streams->core;
	bool up = change == LINK_CAME_UP, failed = change == LINK_FAILED;
	/* While it is freed there is nobody to tell. */
	if (line->link == NULL)
		return;
	const char *why = link_message(line->link);
	if (failed && line == &streams->taker &&
	    streams_line_is_up(&streams->teller))
		reader_trouble_begin(
		    core, STREAMS_TO_CONNECT, "", span_str(why));
	if (failed && streams->redis->cluster.count > 0 &&
	    !link_is_behind(line->link))
		try_seed(streams);
	if (up)
		memset(streams->known, 0, sizeof streams->known);
	if (line == &streams->taker) {
		streams->take.step = STREAMS_GROUP;
		if (up) {
			reader_trouble_end(core, STREAMS_TO_CONNECT, NULL);
			timer_clear(&core->pause);
		} else {
			reader_flight_forget_queue(core);
		}
	} else if (up) {
		reader_trouble_back(core);
	} else {
		reader_trouble_away(core, why,
		    redis_error_is(
			redis_error_of(span_str(why)), REDIS_REFUSES));
		/* Until an attempt to connect has failed it may be a moment. */
		if (!link_is_hopeful(line->link))
			reader_finish_unreachable(core);
	}
	reader_changed(core);
}

/* --- life --- */

static void
open_line(struct streams *streams, struct streams_line *line, bool blocks)
{
	const struct address *address = &streams->redis->address;
	struct link_to to = {.unpulsed = blocks, .master = streams->master};
	if (address->kind == ADDRESS_UNIX)
		to.socket = address->host;
	else
		to.host = address->host, to.port = address->port;
	const struct link_events events = {.changed = on_changed, .arg = line};
	line->streams = streams;
	line->link = link_new(
	    streams->core.loop, streams->core.conf, streams->redis, &to,
	    &events);
}

/* In src/store/record/lua/scripts.c, which make generates. */
#define EACH(SCRIPT)                                                          \
	SCRIPT(GROUP, stream_group)                                           \
	SCRIPT(ORIGIN, stream_origin)                                         \
	SCRIPT(TAKE, stream_take)                                             \
	SCRIPT(CLAIM, stream_claim)                                           \
	SCRIPT(BEAT, stream_beat)                                             \
	SCRIPT(PUT, stream_put)                                               \
	SCRIPT(MARK, stream_mark)                                             \
	SCRIPT(COPIES, stream_copies)
#define DECLARE(name, file) extern const char script_##file[];
EACH(DECLARE)
#undef DECLARE

static struct span
text_of(enum streams_script script)
{
	switch (script) {
#define TEXT(name, file)                                                      \
	case STREAMS_SCRIPT_##name:                                           \
		return span_str(SCRIPT_IN_TRIAL(#file, script_##file));
		EACH(TEXT)
#undef TEXT
	case STREAMS_SCRIPT_COUNT_:
		break;
	}
	must(false);
	return SPAN("");
}

void
streams_line_open(struct streams *streams)
{
	uint8_t hash[SHA1_BYTES];
	for (int i = 0; i < STREAMS_SCRIPT_COUNT_; i++) {
		sha1(text_of((enum streams_script)i), hash);
		hex_encode(hash, sizeof hash, streams->sha[i]);
	}
	bool cluster = streams->redis->cluster.count > 0;
	if (cluster || streams->redis->sentinels.count > 0)
		streams->master = master_new();
	if (streams->redis->sentinels.count > 0)
		streams->sentinels = sentinel_monitor_new(streams->core.loop,
		    streams->core.conf, streams->redis, streams->master);
	if (cluster)
		try_seed(streams);
	open_line(streams, &streams->taker, true);
	open_line(streams, &streams->teller, false);
}

bool
streams_line_is_up(const struct streams_line *line)
{
	return line->link != NULL && link_is_up(line->link);
}

/* --- sending --- */

static void
on_asking(struct link_call *call, const redisReply *reply)
{
	(void)reply;
	free(call);
}

void
streams_line_send(struct streams_line *line, struct link_call *call,
    const struct resp *command)
{
	if (line->streams->asking) {
		struct link_call *asking = mem_zero(sizeof *asking);
		struct resp ask = {0};
		resp_begin(&ask, 1);
		resp_arg(&ask, SPAN("ASKING"));
		asking->done = on_asking;
		link_send(line->link, asking, &ask);
		resp_clear(&ask);
	}
	link_send(line->link, call, command);
}

/* Redis knows a script by its SHA-1 once it has had its text. */
void
streams_line_script_of(struct streams *streams, enum streams_script script,
    struct span key, struct span other_key, size_t n_args,
    struct resp *ret_command)
{
	bool two = other_key.ptr != NULL;
	bool known = streams->known[script];
	resp_begin(ret_command, 4 + two + n_args);
	resp_arg(ret_command, known ? SPAN("EVALSHA") : SPAN("EVAL"));
	resp_arg(ret_command,
	    known ? span_str(streams->sha[script]) : text_of(script));
	resp_number(ret_command, 1 + two);
	resp_arg(ret_command, key);
	if (two)
		resp_arg(ret_command, other_key);
	streams->known[script] = true;
}

void
streams_line_script(struct streams *streams, enum streams_script script,
    size_t n_more, struct resp *ret_command)
{
	streams_line_script_of(streams, script, streams->key,
	    span_of(NULL, 0), 1 + n_more, ret_command);
	resp_arg(ret_command, streams->group);
}

void
streams_line_id(struct resp *command, struct streams_id id)
{
	char text[STREAMS_ID_BYTES];
	resp_arg(command, streams_entry_id_text(id, text));
}

/* --- what cannot be, or is not allowed --- */

void
streams_line_distrust(struct streams_line *line)
{
	link_distrust(line->link, "a reply to another command");
}

bool
streams_line_passes(struct streams_line *line, const redisReply *reply)
{
	struct span words = span_of(reply->str, reply->len);
	enum redis_error error = redis_error_of(words);
	/* Redis cuts what waits when it becomes a replica: that passes. */
	bool passes = redis_error_is(error, REDIS_MOVES) ||
	    error == REDIS_ERROR_BUSY || error == REDIS_ERROR_TRYAGAIN ||
	    span_starts(words, SPAN("UNBLOCKED "));
	if (error == REDIS_ERROR_NOSCRIPT) {
		memset(line->streams->known, 0, sizeof line->streams->known);
		return true;
	}
	if (span_starts(words, SPAN("NOGROUP "))) {
		line->streams->take.step = STREAMS_GROUP;
		reader_changed(&line->streams->core);
		return true;
	}
	return follow(line, words) || passes;
}
