/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>

#include "base/container.h"
#include "broker/streams_private.h"
#include "broker/streams_script.h"
#include "loop/log.h"

/*
 * Where a new group begins: a reader's first as the configuration says; a later
 * one behind what this reader knows to be finished, so that whatever is in hand
 * comes again (streams_entry knows it), and nothing is left out that came
 * meanwhile, or that was pending for another reader, which may be gone.
 */
static void
put_start(const struct streams *streams, struct resp *command)
{
	char text[STREAMS_ID_MAX];
	struct streams_id first, last;
	if (!streams->take.was_ready) {
		resp_arg(command, streams->source->start_latest
			? SPAN("$")
			: SPAN("0-0"));
		return;
	}
	struct streams_id id = streams->take.newest;
	if (streams_hand_ends(&streams->hand, &first, &last) &&
	    streams_id_cmp(first, id) <= 0)
		id = streams_hand_id_before(first);
	if (streams->take.has_floor &&
	    streams_id_cmp(streams->take.floor, id) < 0)
		id = streams->take.floor;
	resp_arg(command, span_of(text, streams_hand_put_id(id, text)));
}

static void
log_made(const struct streams *streams, int64_t how)
{
	bool first = !streams->take.was_ready;
	if (how == STREAMS_GROUP_THERE)
		return;
	struct logline line = log_begin(first
		? EV_source_group_made
		: EV_source_group_made_again);
	log_str(&line, "source", streams->source->name);
	log_str(&line, "stream", streams->source->stream);
	log_str(&line, "group", streams->source->group);
	log_bool(&line, "stream_was_missing", how == STREAMS_GROUP_MADE_STREAM);
	log_end(&line);
}

/*
 * What is in hand comes again from a group that was made again.  A source that
 * began with the latest never goes back behind where its group was first seen:
 * what lies there was not meant for it.
 */
static void
go_on(struct streams *streams, int64_t how, struct streams_id behind)
{
	struct streams_take *take = &streams->take;
	log_made(streams, how);
	if (!take->was_ready && streams->source->start_latest)
		take->newest = behind;
	take->was_ready = true;
	take->cursor = take->passed = (struct streams_id){0, 0};
	if (take->remaking && streams->hand.count > 0) {
		streams->standing = STREAMS_AGAIN;
		return;
	}
	take->remaking = false;
	streams->standing = STREAMS_OWN;
	streams_finish_flush(streams);
}

static bool
read_made(
    const redisReply *reply, int64_t *ret_how, struct streams_id *ret_behind)
{
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
	    reply->element[0]->type != REDIS_REPLY_INTEGER)
		return false;
	*ret_how = reply->element[0]->integer;
	return streams_hand_read_id(resp_text(reply->element[1]), ret_behind);
}

static void
on_group(struct link_call *call, const redisReply *reply)
{
	struct streams *streams =
	    CONTAINER_OF(call, struct streams, take.group);
	struct streams_id behind;
	int64_t how;
	streams->take.awaited--;
	if (reply == NULL)
		return;
	if (reply->type == REDIS_REPLY_ERROR) {
		streams_read_refused(streams, reply);
	} else if (read_made(reply, &how, &behind)) {
		go_on(streams, how, behind);
	} else {
		link_distrust(
		    streams->taker.link, "a reply to another command");
	}
	streams_changed(streams);
	streams_kick(streams);
}

void
streams_group_make(struct streams *streams)
{
	struct resp command = {0};
	streams_line_script(streams, streams_script_group, 2, &command);
	put_start(streams, &command);
	resp_arg(&command, streams->take.remaking ? SPAN("1") : SPAN("0"));
	streams->take.group.done = on_group;
	streams->take.awaited++;
	streams_line_send(&streams->taker, &streams->take.group, &command);
	resp_clear(&command);
}

void
streams_group_vanished(struct streams *streams)
{
	streams->take.remaking = true;
	streams->standing = STREAMS_GROUP;
	streams_changed(streams);
	streams_kick(streams);
}
