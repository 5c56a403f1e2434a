/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "messages/broker/streams/streams_private.h"

/*
 * The first steps after each connection.  A group that has vanished, with its
 * stream or without, is made again behind what is known to be finished by all:
 * so whatever was pending comes again, and nothing is left out that came
 * meanwhile.  What was in flight of it is not: it is recalled, and found
 * executed, or under way, when it comes.
 */
enum { CHECKED_MAX = 1000 }; /* of those in flight, in one command */

enum made { THERE, MADE, MADE_STREAM };

/* --- the group vanishes --- */

void
streams_group_vanished(struct streams *streams)
{
	streams->take.vanished = true;
	streams->take.step = STREAMS_GROUP;
	reader_changed(&streams->core);
}

static void
log_made(const struct streams *streams, int64_t how, bool is_new)
{
	const struct conf_source *source = streams->core.source;
	struct logline line = log_begin(streams->take.was_ready
		? EV_source_group_made_again
		: EV_source_group_made);
	log_str(&line, "source", source->name);
	log_str(&line, "stream", source->stream);
	log_str(&line, "group", source->group);
	log_bool(&line, "stream_was_missing", how == MADE_STREAM);
	log_bool(&line, "stream_is_new", is_new);
	log_end(&line);
}

/*
 * Nothing that was in flight may be finished any more.  gone: those of which
 * the stream has nothing.  What was unread as this reader knew last, and is not
 * there any more, is told by whoever made the group.
 */
static void
forget_group(struct streams *streams, bool made, bool is_new,
    const redisReply *gone)
{
	struct streams_take *take = &streams->take;
	if (made && is_new && take->unread > 0)
		reader_flight_lost(&streams->core, BROKER_TRIMMED_UNREAD,
		    (uint64_t)take->unread, SPAN(""), NULL);
	for (size_t i = 0; i < gone->elements; i++)
		reader_flight_lost(&streams->core, BROKER_DELETED, 1,
		    resp_text(gone->element[i]), NULL);
	reader_flight_recall(&streams->core, (void *)streams->age++);
	take->read = take->added = -1;
	take->to_tell = take->unread = 0;
}

/* --- it is made, or found --- */

static bool
read_made(const redisReply *reply, struct streams_id *ret_delivered)
{
	return reply->type == REDIS_REPLY_ARRAY && reply->elements == 4 &&
	    reply->element[0]->type == REDIS_REPLY_INTEGER &&
	    reply->element[1]->type == REDIS_REPLY_INTEGER &&
	    streams_id_read(resp_text(reply->element[2]), ret_delivered) &&
	    reply->element[3]->type == REDIS_REPLY_ARRAY;
}

static void
go_on(struct streams *streams, const redisReply *reply,
    struct streams_id delivered)
{
	struct streams_take *take = &streams->take;
	int64_t how = reply->element[0]->integer;
	bool is_new = reply->element[1]->integer == 1;
	if (how != THERE)
		log_made(streams, how, take->was_ready && is_new);
	if (take->was_ready && (take->vanished || how != THERE))
		forget_group(streams, how != THERE, is_new, reply->element[3]);
	take->vanished = false;
	if (!take->was_ready && streams->core.source->start_latest)
		take->first = delivered;
	if (streams_id_cmp(delivered, take->delivered) > 0)
		take->delivered = delivered;
	take->was_ready = true;
	take->step = STREAMS_ORIGIN;
}

static void
on_made(struct link_call *call, const redisReply *reply)
{
	struct streams *streams =
	    CONTAINER_OF(call, struct streams, take.call);
	struct streams_id delivered;
	if (!streams_take_answered(streams, reply))
		return;
	if (read_made(reply, &delivered))
		go_on(streams, reply, delivered);
	else
		streams_line_distrust(&streams->taker);
}

/*
 * A reader's first begins as the configuration says.  A source that began with
 * the latest never goes back behind where its group was first seen: what stands
 * there was not meant for it.
 */
static void
write_start(const struct streams *streams, struct resp *command)
{
	const struct streams_take *take = &streams->take;
	if (!take->was_ready)
		resp_arg(command, streams->core.source->start_latest
			? SPAN("$")
			: SPAN("0-0"));
	else
		streams_line_id(command,
		    streams_id_cmp(take->floor, take->first) < 0
			? take->first
			: take->floor);
}

void
streams_group_make(struct streams *streams)
{
	const struct streams_take *take = &streams->take;
	struct resp command = {0};
	struct flight *f;
	size_t n = 0;
	LIST_EACH(f, &streams->core.in_flight, of_reader)
		n += n < CHECKED_MAX;
	streams_line_script(streams, STREAMS_SCRIPT_GROUP, 4 + n, &command);
	write_start(streams, &command);
	streams_line_id(&command, take->first);
	if (take->added >= 0)
		resp_number(&command, take->added);
	else
		resp_arg(&command, SPAN(""));
	resp_number(&command, take->vanished);
	LIST_EACH(f, &streams->core.in_flight, of_reader)
		if (n > 0) {
			resp_arg(&command, f->position);
			n--;
		}
	streams_take_send(streams, "group", &command, 0, on_made);
}

/* --- whose copies are there --- */

static void
know_origin(struct streams *streams, struct span store_id)
{
	struct streams_take *take = &streams->take;
	take->step = STREAMS_NEW;
	take->looks = true;
	streams_take_look_again(&streams->core);
	reader_origin(&streams->core, store_id);
	reader_changed(&streams->core);
}

static void
on_origin(struct link_call *call, const redisReply *reply)
{
	struct streams *streams =
	    CONTAINER_OF(call, struct streams, take.call);
	if (!streams_take_answered(streams, reply))
		return;
	if (reply->type == REDIS_REPLY_STRING)
		know_origin(streams, resp_text(reply));
	else
		streams_line_distrust(&streams->taker);
}

void
streams_group_ask_origin(struct streams *streams)
{
	const struct conf_source *source = streams->core.source;
	struct resp command = {0};
	if (source->dead_letters == NULL ||
	    streams_line_is_apart(streams, source->dead_letters)) {
		know_origin(streams, SPAN(""));
		return;
	}
	streams_script_begin(&streams->scripts, STREAMS_SCRIPT_ORIGIN,
	    span_str(source->dead_letters), span_of(NULL, 0), 1, &command);
	resp_arg(&command, span_str(source->name));
	streams_take_send(streams, "origin", &command, 0, on_origin);
}
