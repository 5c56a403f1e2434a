/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/loop/log.h"
#include "base/mem.h"
#include "messages/broker/streams_private.h"
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
	task_ready(streams->loop, &streams->move);
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

/* A broker that is away and comes back without our user is other news. */
static void
say_up(struct streams *streams, bool up)
{
	static const enum event events[] = {
	    [STREAMS_SAID_UP] = EV_source_broker_up,
	    [STREAMS_SAID_DOWN] = EV_source_broker_down,
	    [STREAMS_SAID_REFUSED] = EV_source_refused};
	/* While its links are freed there is no message either. */
	if (streams->leaving)
		return;
	const char *why = link_message(streams->teller.link);
	unsigned said = STREAMS_SAID_UP;
	if (!up)
		said = redis_error_is(
			   redis_error_of(span_str(why)), REDIS_REFUSES)
		    ? STREAMS_SAID_REFUSED
		    : STREAMS_SAID_DOWN;
	bool news = up ? streams->said != STREAMS_SAID_UP
		       : streams->said < said;
	if (!news)
		return;
	streams->said = said;
	struct logline line = log_begin(events[said]);
	log_str(&line, "source", streams->source->name);
	if (!up)
		log_str(&line, "error", why);
	log_end(&line);
}

static void
on_changed(void *arg, bool up)
{
	struct streams_line *line = arg;
	struct streams *streams = line->streams;
	/* While the links are made, or freed, there is nobody to tell. */
	if (line == &streams->teller)
		say_up(streams, up);
	if (up)
		line->up(streams);
	else
		line->down(streams);
	streams_changed(streams);
}

static void
on_failed(void *arg)
{
	struct streams_line *line = arg;
	struct streams *streams = line->streams;
	if (line == &streams->teller)
		say_up(streams, false);
	if (has_seeds(streams) && line->went == streams->home_number)
		try_seed(streams);
	line->down(streams);
	streams_changed(streams);
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
	    streams->loop, streams->conf, streams->redis, &to, &events);
}

void
streams_line_open(struct streams *streams)
{
	task_init(&streams->move, on_move, streams);
	if (streams->redis->sentinels.count > 0) {
		streams->master = master_new();
		streams->sentinels = sentinel_monitor_new(streams->loop,
		    streams->conf, streams->redis, streams->master);
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
streams_line_script(const struct streams *streams, const char *text,
    size_t n_more, struct resp *ret_command)
{
	resp_begin(ret_command, 5 + n_more);
	resp_arg(ret_command, SPAN("EVAL"));
	resp_arg(ret_command, span_str(text));
	resp_arg(ret_command, SPAN("1"));
	resp_arg(ret_command, streams->key);
	resp_arg(ret_command, streams->group);
}

/* --- errors --- */

static bool
passes(enum redis_error error)
{
	return redis_error_is(error, REDIS_MOVES) ||
	    error == REDIS_ERROR_BUSY || error == REDIS_ERROR_TRYAGAIN;
}

enum streams_error
streams_line_error(struct streams_line *line, const redisReply *reply)
{
	struct span words = span_of(reply->str, reply->len);
	if (span_starts(words, SPAN("NOGROUP "))) {
		streams_group_vanished(line->streams);
		return STREAMS_NO_GROUP;
	}
	/* The stream was deleted; or moved, or its server is a replica now. */
	if (span_starts(words, SPAN("UNBLOCKED "))) {
		streams_group_ask(line->streams);
		return STREAMS_NO_GROUP;
	}
	if (follow(line, words))
		return STREAMS_LATER;
	return passes(redis_error_of(words)) ? STREAMS_LATER : STREAMS_REFUSED;
}
