/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/mem.h"
#include "messages/broker/streams_private.h"
#include "messages/broker/streams_script.h"

/*
 * Heartbeats, and their opposite.  An entry whose bytes are gone is not touched
 * by either: Redis would drop it, and a result could not be put any more.  One
 * that was deleted is dropped by a step of its own (streams_look).
 */
enum { BATCH = 100 };

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
	size_t count;
	struct streams_id ids[BATCH];
};

static struct streams_beat *
new_batch(struct streams *streams, bool returns)
{
	struct streams_beat *batch = mem_zero(sizeof *batch);
	batch->streams = streams;
	batch->returns = returns;
	return batch;
}

/* --- the reply --- */

/* What a beat has found of an entry that is in hand. */
static void
take_found(struct streams *streams, struct streams_id id, int64_t found)
{
	struct streams_held *held = streams_hand_find(&streams->hand, id);
	if (held == NULL)
		return;
	held->foreign = found == STREAMS_BEAT_FOREIGN;
	if (found == STREAMS_BEAT_FOREIGN && held->message != NULL) {
		streams_hand_remove(&streams->hand, &held);
		streams_look_returned(streams, id);
	} else if (found == STREAMS_BEAT_DELETED) {
		streams_look_drop(streams, id, BROKER_DELETED, false);
	}
}

static void
take_beats(const struct streams_beat *batch, const redisReply *reply)
{
	struct streams *streams = batch->streams;
	if (reply->type == REDIS_REPLY_ERROR) {
		if (streams_line_error(&streams->teller, reply) ==
		    STREAMS_REFUSED)
			streams_refused(streams, STREAMS_TO_BEAT, reply);
		return;
	}
	streams_refused(streams, STREAMS_TO_BEAT, NULL);
	if (reply->type != REDIS_REPLY_ARRAY ||
	    reply->elements != batch->count) {
		link_distrust(
		    streams->teller.link, "a reply to another command");
		return;
	}
	for (size_t i = 0; i < batch->count; i++)
		if (reply->element[i]->type == REDIS_REPLY_INTEGER)
			take_found(streams, batch->ids[i],
			    reply->element[i]->integer);
}

/* What was deleted before it was given back. */
static void
take_returned(const struct streams_beat *batch, const redisReply *reply)
{
	if (reply->type != REDIS_REPLY_ARRAY ||
	    reply->elements != batch->count)
		return;
	for (size_t i = 0; i < batch->count; i++)
		if (reply->element[i]->type == REDIS_REPLY_INTEGER &&
		    reply->element[i]->integer == STREAMS_BEAT_DELETED)
			streams_look_drop(batch->streams,
			    batch->ids[i], BROKER_DELETED, false);
}

static void
on_beat(struct link_call *call, const redisReply *reply)
{
	struct streams_beat *batch =
	    CONTAINER_OF(call, struct streams_beat, call);
	struct streams *streams = batch->streams;
	bool owed = batch->owed;
	if (reply != NULL && batch->returns)
		take_returned(batch, reply);
	else if (reply != NULL)
		take_beats(batch, reply);
	free(batch);
	if (owed)
		streams_leave_paid(streams);
}

/* --- sending --- */

/* Nulls the pointer. */
static void
send_batch(struct streams_beat **batch)
{
	struct streams_beat *b = *batch;
	struct streams *streams = b->streams;
	struct resp command = {0};
	*batch = NULL;
	streams_line_script(
	    streams, streams_script_beat, 2 + b->count, &command);
	resp_arg(&command, span_str(streams->instance));
	resp_number(&command, b->returns ? returned_idle_ms : 0);
	for (size_t i = 0; i < b->count; i++) {
		char text[STREAMS_ID_MAX];
		resp_arg(&command,
		    span_of(text, streams_hand_put_id(b->ids[i], text)));
	}
	b->call.done = on_beat;
	b->owed = streams->leaving;
	streams->owed += b->owed;
	streams_line_send(&streams->teller, &b->call, &command);
	resp_clear(&command);
}

/* --- heartbeats --- */

static void
beat_all(struct streams *streams)
{
	struct streams_beat *batch = NULL;
	struct streams_held *held = NULL;
	while ((held = streams_hand_next(&streams->hand, held)) != NULL) {
		if (held->foreign)
			continue;
		if (batch == NULL)
			batch = new_batch(streams, false);
		batch->ids[batch->count++] = held->id;
		if (batch->count == BATCH)
			send_batch(&batch);
	}
	if (batch != NULL)
		send_batch(&batch);
}

static int64_t
beat_every_ms(const struct streams *streams)
{
	return streams->lease_ms / 3 > 0 ? streams->lease_ms / 3 : 1;
}

static void
on_beat_timer(void *arg)
{
	struct streams *streams = arg;
	timer_set(&streams->beat, beat_every_ms(streams));
	if (streams_line_is_up(&streams->teller) && !streams->take.remaking)
		beat_all(streams);
	streams_look_drop_again(streams);
}

/* --- giving back --- */

void
streams_beat_flush(struct streams *streams)
{
	task_cancel(&streams->give_back);
	if (streams->returns == NULL)
		return;
	if (streams_line_is_up(&streams->teller)) {
		send_batch(&streams->returns);
		return;
	}
	free(streams->returns);
	streams->returns = NULL;
}

static void
on_give_back(void *arg)
{
	streams_beat_flush(arg);
}

void
streams_beat_return(struct streams *streams, struct streams_id id)
{
	if (streams->returns == NULL)
		streams->returns = new_batch(streams, true);
	streams->returns->ids[streams->returns->count++] = id;
	if (streams->returns->count == BATCH)
		streams_beat_flush(streams);
	else
		task_ready(streams->loop, &streams->give_back);
}

/* --- life --- */

void
streams_beat_init(struct streams *streams)
{
	task_init(&streams->give_back, on_give_back, streams);
	timer_init(&streams->beat, streams->loop, on_beat_timer, streams);
	timer_set(&streams->beat, beat_every_ms(streams));
}

void
streams_beat_end(struct streams *streams)
{
	task_cancel(&streams->give_back);
	timer_clear(&streams->beat);
	free(streams->returns);
	streams->returns = NULL;
}
