/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdint.h>
#include <stdio.h>

#include "base/container.h"
#include "base/loop/log.h"
#include "messages/broker/streams_private.h"
#include "messages/broker/streams_script.h"

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

static bool
is_new_stream(int64_t how)
{
	return how == STREAMS_GROUP_MADE_STREAM ||
	    how == STREAMS_GROUP_MADE_NEW || how == STREAMS_GROUP_NEW;
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
	log_bool(&line, "stream_is_new", is_new_stream(how));
	log_end(&line);
}

/*
 * Ids of the stream that is gone may be those of others now: nothing that it
 * had may be finished any more.
 */
static void
forget_stream(struct streams *streams)
{
	struct streams_take *take = &streams->take;
	struct streams_held *held;
	uintptr_t old = streams->age++;
	take->newest = (struct streams_id){0, 0};
	take->has_floor = false;
	take->n_finished = 0;
	take->found = 0;
	streams_look_forget(streams);
	while ((held = streams_hand_next(&streams->hand, NULL)) != NULL) {
		struct streams_id id = held->id;
		bool ours = !held->foreign && !held->unsure;
		streams_hand_remove(&streams->hand, &held);
		if (ours)
			streams_lost(streams, BROKER_DELETED, 1, &id);
	}
	streams->events.recalled(streams->events.arg, (void *)old);
}

/* It was unread as this reader knew last; whoever made the group counts it. */
static void
tell_unread(struct streams *streams, int64_t how)
{
	int64_t unread = streams->take.unread;
	if (how != STREAMS_GROUP_NEW && unread > 0)
		streams_lost(streams, BROKER_TRIMMED_UNREAD, (uint64_t)unread,
		    NULL);
}

static void
take_history(struct streams_take *take, struct span history)
{
	bool same = span_eq(history, span_str(take->history));
	if (same || history.len >= sizeof take->history)
		return;
	snprintf(take->history, sizeof take->history, "%.*s", (int)history.len,
	    history.ptr);
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
	if (take->was_ready && is_new_stream(how)) {
		tell_unread(streams, how);
		forget_stream(streams);
	}
	streams_look_drop_again(streams);
	if (how != STREAMS_GROUP_THERE)
		take->unread = 0;
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
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 3 ||
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
		take_history(
		    &streams->take, resp_text(reply->element[2]));
		streams->take.mark[0] = '\0';
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
	streams_line_script(streams, streams_script_group, 4, &command);
	put_start(streams, &command);
	resp_arg(&command, streams->take.remaking ? SPAN("1") : SPAN("0"));
	resp_arg(&command, span_str(streams->take.mark));
	resp_arg(&command, span_str(streams->take.history));
	streams->take.group.done = on_group;
	streams->take.awaited++;
	streams_line_send(&streams->taker, &streams->take.group, &command);
	resp_clear(&command);
}

void
streams_group_ask(struct streams *streams)
{
	streams->standing = STREAMS_GROUP;
	streams_kick(streams);
}

void
streams_group_vanished(struct streams *streams)
{
	streams->take.remaking = true;
	streams->standing = STREAMS_GROUP;
	streams_changed(streams);
	streams_kick(streams);
}
