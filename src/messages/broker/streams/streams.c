/* SPDX-License-Identifier: BSD-2-Clause */
#include "messages/broker/streams/streams.h"
#include "messages/broker/streams/streams_private.h"

static void
open_streams(struct broker_reader *core)
{
	struct streams *streams = streams_of(core);
	streams->redis = &core->source->broker->redis;
	streams->key = span_str(core->source->stream);
	streams->group = span_str(core->source->group);
	core->timeout_ms = streams->redis->timeout_ms;
	core->leave_ms = streams->redis->timeout_ms;
	core->reachable = true;
	streams_script_init(&streams->scripts);
	streams_take_init(streams);
	timer_init(
	    &streams->beat, core->loop, streams_beat_on_timer, streams);
	streams_beat_on_timer(streams);
	streams->taker.up = streams_take_up;
	streams->taker.down = streams_take_down;
	streams_line_open(streams);
}

static void
free_streams(struct broker_reader *core)
{
	struct streams *streams = streams_of(core);
	streams_line_close(streams);
	streams_take_end(streams);
	timer_clear(&streams->beat);
}

/*
 * What a step under way brings is given back as well: nobody else would have it
 * before it has been idle for twice the lease.
 */
static bool
leave(struct broker_reader *core)
{
	struct streams *streams = streams_of(core);
	struct flight *f;
	streams_beat_all(streams, true);
	LIST_EACH(f, &core->in_flight, of_reader)
		reader_flight_forget(core, f);
	return streams->owed == 0 &&
	    (!streams->take.awaited || streams->take.waits);
}

static void
read_health(const struct broker_reader *core, struct broker_health *ret_health)
{
	const struct streams *streams = streams_of(core);
	ret_health->up = streams_line_is_up(&streams->taker) &&
	    streams_line_is_up(&streams->teller) &&
	    streams->take.step >= STREAMS_PASS &&
	    !reader_trouble_is(core, STREAMS_TO_TAKE, NULL);
	ret_health->lag = streams->take.unread;
}

const struct driver streams_driver = {
    .reader_bytes = sizeof(struct streams),
    .flight_bytes = sizeof(struct streams_flight),
    .finishing_bytes = sizeof(struct streams_finishing),
    .open = open_streams,
    .leave = leave,
    .free = free_streams,
    .take = streams_take_go,
    .finish = streams_finish_send_all,
    .impossible = streams_finish_impossible,
    .more_ms = streams_finish_more_ms,
    .give_back = streams_beat_return,
    .look_again = streams_take_look_again,
    .copies = streams_copies_ask,
    .health = read_health,
};
