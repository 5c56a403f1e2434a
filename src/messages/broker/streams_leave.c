/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/mem.h"
#include "messages/broker/streams.h"
#include "messages/broker/streams_private.h"

/*
 * A reader that was closed lives on until Redis has what it gives back, and no
 * longer than the broker's timeout.  A read that blocks is waited for, which is
 * short, and what it brings is given back too: an entry that Redis gives to a
 * connection that was cut waits for twice the lease.  It is never ended by
 * CLIENT UNBLOCK, which ends a whole Redis (7.0) whose writes are paused, as in
 * a planned failover.
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
	streams->leaving = true;
	streams->next = leaving;
	leaving = streams;
	streams_finish_end(streams);
	streams_again_end(streams);
	streams_letters_end(streams);
	streams_look_leave(streams);
	timer_clear(&streams->beat);
	timer_clear(&streams->look);
	timer_clear(&take->claim);
	task_cancel(&streams->work);
	task_init(&streams->work, on_leaving_work, streams);
	task_ready(streams->loop, &streams->work);
	timer_init(&streams->end, streams->loop, on_leave_end, streams);
	timer_set(&streams->end, streams->redis->timeout_ms);
	if (!streams_line_is_up(&streams->teller) && take->awaited > 0 &&
	    take->blocking)
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
