/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/error.h"
#include "base/mem.h"
#include "messages/broker/streams/streams.h"
#include "messages/broker/streams/streams_private.h"

/* --- heartbeats, each third of the lease, and their opposite --- */

/*
 * Idle for so long that everybody may take it at once, in ms; Redis takes no
 * time before 1970.
 */
static const int64_t returned_idle_ms = INT64_C(365) * 24 * 3600 * 1000;

struct streams_beat {
	struct link_call call;
	struct streams *streams;
	bool returns;
	bool owed; /* the reader waits for its reply before it ends */
};

/*
 * The reply has those that another reader has now: of these, what was not
 * handed over here is forgotten.
 */
static void
read_foreign(struct streams *streams, const redisReply *reply)
{
	for (size_t i = 0; i < reply->elements; i++) {
		struct flight *f = reader_flight_find(
		    &streams->core, resp_text(reply->element[i]));
		if (f == NULL)
			continue;
		((struct streams_flight *)f)->foreign = true;
		if (f->message != NULL)
			reader_flight_forget(&streams->core, f);
	}
}

static void
on_beat(struct link_call *call, const redisReply *reply)
{
	struct streams_beat *beat =
	    CONTAINER_OF(call, struct streams_beat, call);
	struct streams *streams = beat->streams;
	struct broker_reader *core = &streams->core;
	bool heard = reply != NULL && !beat->returns;
	if (heard && reply->type == REDIS_REPLY_ARRAY) {
		reader_trouble_end(core, STREAMS_TO_BEAT, NULL);
		read_foreign(streams, reply);
	} else if (heard && reply->type != REDIS_REPLY_ERROR) {
		streams_line_distrust(&streams->teller);
	} else if (heard &&
	    !streams_line_passes(&streams->teller, reply)) {
		reader_trouble_begin(core, STREAMS_TO_BEAT, "",
		    span_of(reply->str, reply->len));
	}
	if (beat->owed) {
		streams->owed--;
		reader_kick(core);
	}
	free(beat);
}

static void
send_beat(struct streams *streams, bool returns, const struct span *ids,
    size_t count)
{
	struct resp command = {0};
	if (count == 0 || !streams_line_is_up(&streams->teller))
		return;
	struct streams_beat *beat = mem_zero(sizeof *beat);
	streams_line_script(
	    streams, STREAMS_SCRIPT_BEAT, 2 + count, &command);
	resp_arg(&command, span_str(streams->core.instance));
	resp_number(&command, returns ? returned_idle_ms : 0);
	for (size_t i = 0; i < count; i++)
		resp_arg(&command, ids[i]);
	beat->call.done = on_beat;
	beat->streams = streams;
	beat->returns = returns;
	beat->owed = streams->core.leaving;
	streams->owed += beat->owed;
	streams_line_send(&streams->teller, &beat->call, &command);
	resp_clear(&command);
}

static void
beat_all(struct streams *streams, bool returns)
{
	struct span ids[STREAMS_LIST_MAX];
	size_t count = 0;
	struct flight *f;
	LIST_EACH(f, &streams->core.in_flight, of_reader) {
		if (((const struct streams_flight *)f)->foreign)
			continue;
		ids[count++] = f->position;
		if (count == STREAMS_LIST_MAX) {
			send_beat(streams, returns, ids, count);
			count = 0;
		}
	}
	send_beat(streams, returns, ids, count);
}

static void
give_back(struct broker_reader *core, struct flight *message)
{
	if (!((const struct streams_flight *)message)->foreign)
		send_beat(
		    (struct streams *)core, true, &message->position, 1);
}

/* --- the copies of letters, for restore --- */

struct streams_question {
	struct reader_question question; /* first */
	struct link_call call;
};

/* False: it is no page. */
static bool
read_page(const struct streams *streams, const redisReply *reply,
    struct broker_copies *copies)
{
	struct broker_message **last = &copies->messages;
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements == 0)
		return false;
	for (size_t i = 1; i < reply->elements; i++) {
		*last = streams_entry_copy(streams, reply->element[i]);
		if (*last != NULL)
			last = &(*last)->next;
	}
	snprintf(copies->next, sizeof copies->next, "%.*s",
	    SPAN_FMT(resp_text(reply->element[0])));
	return true;
}

static void
on_copies(struct link_call *call, const redisReply *reply)
{
	struct streams_question *q =
	    CONTAINER_OF(call, struct streams_question, call);
	struct streams *streams = (struct streams *)q->question.reader;
	int error = E_BROKER_DOWN;
	if (reply != NULL && reply->type == REDIS_REPLY_ERROR &&
	    !streams_line_passes(&streams->teller, reply))
		error = E_BROKER_REFUSED;
	else if (reply != NULL && q->question.copies != NULL &&
	    read_page(streams, reply, q->question.copies))
		error = 0;
	reader_ask_end(&q->question, error,
	    error == E_BROKER_REFUSED ? reply->str : NULL);
	free(q);
}

static void
ask_copies(struct broker_reader *core, struct broker_copies *copies)
{
	struct streams *streams = (struct streams *)core;
	const struct conf_source *source = core->source;
	struct streams_question *q = mem_zero(sizeof *q);
	struct resp command = {0};
	reader_ask_copies(core, copies, &q->question);
	if (!streams_line_is_up(&streams->teller)) {
		reader_ask_end(&q->question, E_BROKER_DOWN, NULL);
		free(q);
		return;
	}
	streams_line_script_of(streams, STREAMS_SCRIPT_COPIES,
	    span_str(source->dead_letters), span_of(NULL, 0), 3, &command);
	resp_arg(&command, span_str(source->name));
	resp_arg(&command, span_str(copies->after));
	resp_number(&command, (int64_t)copies->limit);
	q->call.done = on_copies;
	streams_line_send(&streams->teller, &q->call, &command);
	resp_clear(&command);
}

/* --- its life --- */

static void
on_beat_timer(void *arg)
{
	struct streams *streams = arg;
	int64_t ms = streams->core.lease_ms / 3;
	timer_set(&streams->beat, ms > 0 ? ms : 1);
	if (!streams->core.leaving)
		beat_all(streams, false);
}

static void
open_streams(struct broker_reader *core)
{
	struct streams *streams = (struct streams *)core;
	streams->redis = &core->source->broker->redis;
	streams->key = span_str(core->source->stream);
	streams->group = span_str(core->source->group);
	core->timeout_ms = streams->redis->timeout_ms;
	core->leave_ms = streams->redis->timeout_ms;
	core->reachable = true;
	streams_take_init(streams);
	timer_init(&streams->beat, core->loop, on_beat_timer, streams);
	on_beat_timer(streams);
	streams_line_open(streams);
}

static void
free_streams(struct broker_reader *core)
{
	struct streams *streams = (struct streams *)core;
	link_free(&streams->taker.link);
	link_free(&streams->teller.link);
	sentinel_monitor_free(&streams->sentinels);
	master_free(&streams->master);
	timer_clear(&streams->take.silence);
	timer_clear(&streams->take.look);
	timer_clear(&streams->take.others);
	timer_clear(&streams->beat);
}

/*
 * What a step under way brings is given back as well: nobody else would have it
 * before it has been idle for twice the lease.
 */
static bool
leave(struct broker_reader *core)
{
	struct streams *streams = (struct streams *)core;
	struct flight *f;
	beat_all(streams, true);
	LIST_EACH(f, &core->in_flight, of_reader)
		reader_flight_forget(core, f);
	return streams->owed == 0 &&
	    (!streams->take.awaited || streams->take.waits);
}

static void
read_health(const struct broker_reader *core, struct broker_health *ret_health)
{
	const struct streams *streams = (const struct streams *)core;
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
    .more_ms = streams_finish_more_ms,
    .give_back = give_back,
    .look_again = streams_take_look_again,
    .copies = ask_copies,
    .health = read_health,
};
