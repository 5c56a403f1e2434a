/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/mem.h"
#include "messages/broker/streams/streams_private.h"

/*
 * Heartbeats, each third of the lease, and their opposite.
 */

/*
 * Idle for so long that everybody may take it at once, in ms; Redis takes no
 * time before 1970.
 */
static const int64_t returned_idle_ms = INT64_C(365) * 24 * 3600 * 1000;

enum { FOREIGN = -1 }; /* as the script answers */

struct streams_beat {
	struct link_call call;
	struct streams *streams;
	bool returns;
	bool owed; /* the reader waits for its reply before it ends */
	size_t count;
	struct streams_id ids[STREAMS_LIST_MAX];
};

/* --- the reply --- */

/* What another reader has, and was not handed over here, is forgotten. */
static void
note(struct streams *streams, struct streams_id id, int64_t found)
{
	struct streams_id_text text;
	streams_entry_id_write(id, &text);
	struct flight *f = reader_flight_find(&streams->core, text.span);
	if (f == NULL)
		return;
	((struct streams_flight *)f)->foreign = found == FOREIGN;
	if (found == FOREIGN && f->message != NULL)
		reader_flight_forget(&streams->core, f);
}

static void
take_beats(const struct streams_beat *batch, const redisReply *reply)
{
	struct streams *streams = batch->streams;
	if (reply->type == REDIS_REPLY_ERROR) {
		if (streams_line_error(&streams->teller, reply) ==
		    STREAMS_REFUSED)
			reader_trouble_begin(&streams->core, STREAMS_TO_BEAT,
			    "", span_of(reply->str, reply->len));
		return;
	}
	reader_trouble_end(&streams->core, STREAMS_TO_BEAT, NULL);
	if (reply->type != REDIS_REPLY_ARRAY ||
	    reply->elements != batch->count) {
		streams_line_distrust(&streams->teller);
		return;
	}
	for (size_t i = 0; i < batch->count; i++)
		note(streams, batch->ids[i], reply->element[i]->integer);
}

static void
on_beat(struct link_call *call, const redisReply *reply)
{
	struct streams_beat *batch =
	    CONTAINER_OF(call, struct streams_beat, call);
	struct streams *streams = batch->streams;
	if (reply != NULL && !batch->returns)
		take_beats(batch, reply);
	if (batch->owed) {
		streams->owed--;
		reader_kick(&streams->core);
	}
	free(batch);
}

/* --- sending --- */

static void
send_batch(struct streams_beat *batch)
{
	struct streams *streams = batch->streams;
	struct resp command = {0};
	streams_line_script(
	    streams, STREAMS_SCRIPT_BEAT, 2 + batch->count, &command);
	resp_arg(&command, span_str(streams->core.instance));
	resp_number(&command, batch->returns ? returned_idle_ms : 0);
	for (size_t i = 0; i < batch->count; i++)
		streams_line_id(&command, batch->ids[i]);
	batch->call.done = on_beat;
	batch->owed = streams->core.leaving;
	streams->owed += batch->owed;
	streams_line_send(&streams->teller, &batch->call, &command);
	resp_clear(&command);
}

/* NULL: a new one; it is sent, and NULL again, when it is full. */
static void
add(struct streams *streams, const struct flight *f, bool returns,
    struct streams_beat **batch)
{
	struct streams_id id;
	if (((const struct streams_flight *)f)->foreign ||
	    !streams_line_is_up(&streams->teller) ||
	    !streams_entry_id_read(f->position, &id))
		return;
	if (*batch == NULL) {
		*batch = mem_zero(sizeof **batch);
		(*batch)->streams = streams;
		(*batch)->returns = returns;
	}
	(*batch)->ids[(*batch)->count++] = id;
	if ((*batch)->count < STREAMS_LIST_MAX)
		return;
	send_batch(*batch);
	*batch = NULL;
}

void
streams_beat_all(struct streams *streams, bool returns)
{
	struct streams_beat *batch = NULL;
	struct flight *f;
	LIST_EACH(f, &streams->core.in_flight, of_reader)
		add(streams, f, returns, &batch);
	if (batch != NULL)
		send_batch(batch);
}

void
streams_beat_return(struct broker_reader *core, struct flight *message)
{
	struct streams_beat *batch = NULL;
	add(streams_of(core), message, true, &batch);
	if (batch != NULL)
		send_batch(batch);
}

void
streams_beat_on_timer(void *arg)
{
	struct streams *streams = arg;
	int64_t ms = streams->core.lease_ms / 3;
	timer_set(&streams->beat, ms > 0 ? ms : 1);
	if (!streams->core.leaving)
		streams_beat_all(streams, false);
}
