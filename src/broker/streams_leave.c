/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/mem.h"
#include "broker/streams.h"
#include "broker/streams_private.h"

/*
 * A reader that was closed lives on until Redis has what it gives back, and no
 * longer than the broker's timeout.  A read that blocks is ended first, so that
 * nothing is taken for nobody; what it brings all the same is given back too.
 */
static _Thread_local struct streams *leaving;

/* --- the end --- */

static void
free_streams(struct streams *streams)
{
	streams_line_close(streams);
	streams_take_end(streams);
	streams_finish_end(streams);
	streams_beat_end(streams);
	streams_look_end(streams);
	task_cancel(&streams->work);
	timer_clear(&streams->end);
	streams_hand_clear(&streams->hand);
	free(streams->instance);
	conf_unref(&streams->conf);
	free(streams);
}

static void
on_leave_end(void *arg)
{
	struct streams *streams = arg;
	struct streams **at = &leaving;
	while (*at != streams)
		at = &(*at)->next;
	*at = streams->next;
	free_streams(streams);
}

/* A link cannot be freed from within a reply. */
static void
end_soon(struct streams *streams)
{
	timer_set(&streams->end, 0);
}

/* --- giving back --- */

static void
return_all(struct streams *streams)
{
	struct streams_held *held;
	while ((held = streams_hand_next(&streams->hand, NULL)) != NULL) {
		if (!held->foreign)
			streams_beat_return(streams, held->id);
		streams_hand_remove(&streams->hand, &held);
	}
	streams_beat_flush(streams);
}

void
streams_leave_paid(struct streams *streams)
{
	if (streams->owed > 0)
		streams->owed--;
	if (streams->owed == 0 && streams->take.awaited == 0)
		end_soon(streams);
}

/* 0: it did not block yet, as its read was still on its way. */
static void
on_unblocked(struct link_call *call, const redisReply *reply)
{
	struct streams *streams =
	    CONTAINER_OF(call, struct streams, take.id);
	if (reply != NULL && reply->type == REDIS_REPLY_ERROR)
		link_reset(streams->taker.link, "closed");
	else if (reply != NULL && reply->type == REDIS_REPLY_INTEGER &&
	    reply->integer == 0)
		timer_set(&streams->again, STREAMS_AGAIN_MS);
	streams_leave_paid(streams);
}

/* By the other line, as this one waits. */
static void
unblock(struct streams *streams)
{
	struct resp command = {0};
	resp_begin(&command, 3);
	resp_arg(&command, SPAN("CLIENT"));
	resp_arg(&command, SPAN("UNBLOCK"));
	resp_number(&command, streams->take.client);
	streams->take.id.done = on_unblocked;
	streams->owed++;
	streams_line_send(&streams->teller, &streams->take.id, &command);
	resp_clear(&command);
}

static void
on_unblock_again(void *arg)
{
	struct streams *streams = arg;
	if (streams->take.awaited > 0 &&
	    streams_line_is_up(&streams->teller))
		unblock(streams);
}

/* What comes of the step that is under way is given back when it has come. */
static void
on_leaving_work(void *arg)
{
	struct streams *streams = arg;
	return_all(streams);
	if (streams->owed == 0 && streams->take.awaited == 0)
		end_soon(streams);
}

void
streams_leave_begin(struct streams *streams)
{
	struct streams_take *take = &streams->take;
	bool tells = streams_line_is_up(&streams->teller);
	streams->leaving = true;
	streams->next = leaving;
	leaving = streams;
	streams_finish_end(streams);
	streams_letters_end(streams);
	timer_clear(&streams->beat);
	timer_clear(&streams->look);
	timer_clear(&take->claim);
	task_cancel(&streams->work);
	task_init(&streams->work, on_leaving_work, streams);
	task_ready(streams->loop, &streams->work);
	timer_init(&streams->end, streams->loop, on_leave_end, streams);
	timer_set(&streams->end, streams->redis->timeout_ms);
	timer_init(&streams->again, streams->loop, on_unblock_again, streams);
	if (take->awaited == 0)
		return;
	if (tells && take->client > 0)
		unblock(streams);
	else if (take->blocking)
		link_reset(streams->taker.link, "closed");
}

/* --- for a drain --- */

size_t
streams_leave_count(const struct loop *loop)
{
	size_t count = 0;
	for (struct streams *s = leaving; s != NULL; s = s->next)
		count += s->loop == loop;
	return count;
}

void
streams_leave_abandon(struct loop *loop)
{
	struct streams **at = &leaving;
	while (*at != NULL) {
		struct streams *streams = *at;
		if (streams->loop != loop) {
			at = &streams->next;
			continue;
		}
		*at = streams->next;
		free_streams(streams);
	}
}
