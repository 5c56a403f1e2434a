/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "messages/broker/streams/streams_private.h"
#include "store/redis/redis_error.h"
#include "store/redis/slots.h"

/* --- where a cluster has the stream --- */

static bool
has_seeds(const struct streams *streams)
{
	return streams->redis->cluster.count > 0;
}

static void
set_home(struct streams *streams, struct redis_address place, bool asking)
{
	redis_address_clear(&streams->home);
	streams->home = place;
	streams->home_number++;
	streams->asking = asking;
}

/* The next server that the configuration names. */
static void
try_seed(struct streams *streams)
{
	const struct strings *seeds = &streams->redis->cluster;
	struct redis_address place;
	for (size_t i = 0; i < seeds->count; i++) {
		const char *seed = seeds->list[streams->seed++ % seeds->count];
		if (redis_address_read(span_str(seed), &place)) {
			set_home(streams, place, false);
			return;
		}
	}
}

static void
move_line(struct streams_line *line)
{
	if (line->went != line->streams->home_number)
		link_move(line->link);
}

/* A link cannot be moved from within a reply. */
static void
on_move(void *arg)
{
	struct streams *streams = arg;
	move_line(&streams->taker);
	move_line(&streams->teller);
}

static bool
follow(struct streams_line *line, struct span error)
{
	struct streams *streams = line->streams;
	struct link_to to = link_where(line->link);
	const struct redis_address asked = {
	    (char *)(uintptr_t)to.host, to.port};
	struct slots_redirect where;
	if (!has_seeds(streams) ||
	    !slots_redirect_read(error, &asked, &where))
		return false;
	/* Of the last move it has not heard yet. */
	if (line->went == streams->home_number)
		set_home(streams, where.address, where.ask);
	else
		redis_address_clear(&where.address);
	task_ready(streams->core.loop, &streams->move);
	return true;
}

/* --- events of the links --- */

static void
on_find(void *arg)
{
	struct streams_line *line = arg;
	struct streams *streams = line->streams;
	line->went = streams->home_number;
	link_found(line->link, streams->home.host, streams->home.port);
}

/*
 * The teller tells whether the broker answers.  The taker is cut by a Redis
 * that becomes a replica, and is up again at once: only where it cannot be had
 * while the teller is up, there is something to say.
 */
static void
on_changed(void *arg, bool up)
{
	struct streams_line *line = arg;
	struct streams *streams = line->streams;
	struct broker_reader *core = &streams->core;
	/* While it is freed there is nobody to tell. */
	if (line->link == NULL)
		return;
	const char *why = link_message(line->link);
	bool refuses = redis_error_is(
	    redis_error_of(span_str(why)), REDIS_REFUSES);
	if (up)
		streams_script_forget(&streams->scripts);
	if (line == &streams->taker && up)
		reader_trouble_end(core, STREAMS_TO_CONNECT, NULL);
	else if (line == &streams->teller && up)
		reader_trouble_back(core);
	else if (line == &streams->teller)
		reader_trouble_away(core, why, refuses);
	if (up)
		line->up(streams);
	else
		line->down(streams);
	reader_changed(core);
}

static void
on_failed(void *arg)
{
	struct streams_line *line = arg;
	struct streams *streams = line->streams;
	/* While it is freed there is nobody to tell. */
	if (line->link == NULL)
		return;
	const char *why = link_message(line->link);
	if (line == &streams->taker && streams_line_is_up(&streams->teller))
		reader_trouble_begin(&streams->core, STREAMS_TO_CONNECT, "",
		    span_str(why));
	if (has_seeds(streams) && line->went == streams->home_number)
		try_seed(streams);
	on_changed(line, false);
}

/* --- life --- */

static void
open_line(struct streams *streams, struct streams_line *line, bool blocks)
{
	const struct address *address = &streams->redis->address;
	bool finds = has_seeds(streams);
	struct link_to to = {.unpulsed = blocks, .master = streams->master};
	if (address->kind == ADDRESS_UNIX)
		to.socket = address->host;
	else
		to.host = address->host, to.port = address->port;
	const struct link_events events = {.find = finds ? on_find : NULL,
	    .changed = on_changed, .failed = on_failed, .unsaid = true,
	    .arg = line};
	line->streams = streams;
	line->link = link_new(
	    streams->core.loop, streams->core.conf, streams->redis, &to,
	    &events);
}

static void
on_teller_up(struct streams *streams)
{
	reader_finish_reachable(&streams->core, true);
}

/* Until an attempt to connect has failed it may be a moment. */
static void
on_teller_down(struct streams *streams)
{
	if (!link_is_hopeful(streams->teller.link))
		reader_finish_reachable(&streams->core, false);
}

void
streams_line_open(struct streams *streams)
{
	streams->teller.up = on_teller_up;
	streams->teller.down = on_teller_down;
	task_init(&streams->move, on_move, streams);
	if (streams->redis->sentinels.count > 0) {
		streams->master = master_new();
		streams->sentinels = sentinel_monitor_new(streams->core.loop,
		    streams->core.conf, streams->redis, streams->master);
	}
	if (has_seeds(streams))
		try_seed(streams);
	open_line(streams, &streams->taker, true);
	open_line(streams, &streams->teller, false);
}

void
streams_line_close(struct streams *streams)
{
	task_cancel(&streams->move);
	link_free(&streams->taker.link);
	link_free(&streams->teller.link);
	sentinel_monitor_free(&streams->sentinels);
	master_free(&streams->master);
	redis_address_clear(&streams->home);
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

static void
send_asking(struct streams_line *line)
{
	struct link_call *call = mem_zero(sizeof *call);
	struct resp command = {0};
	resp_begin(&command, 1);
	resp_arg(&command, SPAN("ASKING"));
	call->done = on_asking;
	link_send(line->link, call, &command);
	resp_clear(&command);
}

void
streams_line_send(struct streams_line *line, struct link_call *call,
    const struct resp *command)
{
	if (line->streams->asking)
		send_asking(line);
	link_send(line->link, call, command);
}

void
streams_line_script(struct streams *streams, enum streams_script script,
    size_t n_more, struct resp *ret_command)
{
	streams_script_begin(&streams->scripts, script, streams->key,
	    span_of(NULL, 0), 1 + n_more, ret_command);
	resp_arg(ret_command, streams->group);
}

void
streams_line_id(struct resp *command, struct streams_id id)
{
	struct streams_id_text text;
	streams_entry_id_write(id, &text);
	resp_arg(command, text.span);
}

/* --- what cannot be, or is not allowed --- */

void
streams_line_distrust(struct streams_line *line)
{
	link_distrust(line->link, "a reply to another command");
}

/* The slot of a key is that of what stands between its first braces. */
static struct span
tag_of(struct span key)
{
	const char *open = memchr(key.ptr, '{', key.len);
	if (open == NULL)
		return key;
	struct span rest = span_from(key, (size_t)(open + 1 - key.ptr));
	const char *close = memchr(rest.ptr, '}', rest.len);
	return close == NULL || close == rest.ptr
	    ? key
	    : span_of(rest.ptr, (size_t)(close - rest.ptr));
}

bool
streams_line_is_apart(const struct streams *streams, const char *key)
{
	return streams->redis->cluster.count > 0 &&
	    slots_of_tag(tag_of(span_str(key))) !=
	    slots_of_tag(tag_of(streams->key));
}

enum streams_error
streams_line_error(struct streams_line *line, const redisReply *reply)
{
	struct span words = span_of(reply->str, reply->len);
	enum redis_error error = redis_error_of(words);
	/* Redis cuts what waits when it becomes a replica: that passes. */
	bool passes = redis_error_is(error, REDIS_MOVES) ||
	    error == REDIS_ERROR_BUSY || error == REDIS_ERROR_TRYAGAIN ||
	    span_starts(words, SPAN("UNBLOCKED "));
	if (error == REDIS_ERROR_NOSCRIPT) {
		streams_script_forget(&line->streams->scripts);
		return STREAMS_LATER;
	}
	if (span_starts(words, SPAN("NOGROUP "))) {
		line->streams->take.step = STREAMS_GROUP;
		reader_changed(&line->streams->core);
		return STREAMS_LATER;
	}
	return follow(line, words) || passes ? STREAMS_LATER : STREAMS_REFUSED;
}
