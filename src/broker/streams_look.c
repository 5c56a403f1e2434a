/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/mem.h"
#include "broker/streams_private.h"
#include "broker/streams_script.h"

/* While nothing is read, as there is no credit, the lag grows all the same. */
enum {
	LOOK_AGAIN_MS = 5000,
	LOOK_SOON_MS = 20, /* what was read is in Redis' file by then */
};

/* --- the group's counts --- */

void
streams_look_command(
    struct streams *streams, bool counts, struct resp *ret_command)
{
	struct streams_take *take = &streams->take;
	streams_line_script(streams, streams_script_look, 4, ret_command);
	resp_arg(ret_command, span_str(streams->instance));
	resp_arg(ret_command, !take->doubts ? SPAN("")
		: take->run[0] != '\0' ? span_str(take->run)
					: SPAN("none"));
	resp_number(ret_command, take->untold);
	resp_number(ret_command, counts);
	take->untold = false;
	take->looked_ms = loop_now_ms(streams->loop);
}

static void
set_lag(struct streams *streams, int64_t lag)
{
	if (lag < -1)
		lag = -1;
	if (streams->lag == lag)
		return;
	streams->lag = lag;
	streams_changed(streams);
}

static void
lower_floor(struct streams_take *take, struct streams_id id)
{
	if (take->has_floor && streams_id_cmp(take->floor, id) < 0)
		return;
	take->has_floor = true;
	take->floor = streams_hand_id_before(id);
}

/*
 * Of those that are pending for our name: what is on its way here, or another
 * reader of that name has.
 */
static bool
is_elsewhere(const struct streams *streams, struct streams_id id)
{
	return streams_hand_find(&streams->hand, id) == NULL &&
	    !streams_take_was_finished(streams, id);
}

/*
 * Other readers may be gone for good, so what they had is kept in mind.  A
 * group that is not there says nothing of it.
 */
static void
take_floor(struct streams *streams, struct span last, struct span pending,
    const redisReply *ours)
{
	struct streams_take *take = &streams->take;
	struct streams_id id;
	take->has_floor = streams_hand_read_id(last, &take->floor);
	if (streams_hand_read_id(pending, &id))
		lower_floor(take, id);
	for (size_t i = 0; i < ours->elements; i++)
		if (streams_hand_read_id(resp_text(ours->element[i]), &id) &&
		    is_elsewhere(streams, id))
			lower_floor(take, id);
}

void
streams_look_returned(struct streams *streams, struct streams_id id)
{
	lower_floor(&streams->take, id);
}

/* certain: how many were read. */
static void
take_run(struct streams_take *take, struct span run, bool certain)
{
	if (!certain && (run.len == 0 || !span_eq(run, span_str(take->run))))
		return;
	take->doubts = false;
	if (run.len > 0 && run.len < sizeof take->run)
		snprintf(take->run, sizeof take->run, "%.*s", (int)run.len,
		    run.ptr);
}

static bool
is_look(const redisReply *reply)
{
	static const int types[] = {REDIS_REPLY_INTEGER, REDIS_REPLY_INTEGER,
	    0, REDIS_REPLY_STRING, REDIS_REPLY_INTEGER, REDIS_REPLY_STRING,
	    REDIS_REPLY_ARRAY};
	size_t count = sizeof types / sizeof types[0];
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (types[i] != 0 && reply->element[i]->type != types[i])
			return false;
	return true;
}

void
streams_look_read(
    struct streams_line *line, const redisReply *reply, uint64_t to_count)
{
	struct streams *streams = line->streams;
	if (reply->type == REDIS_REPLY_ERROR) {
		if (streams_line_error(line, reply) == STREAMS_REFUSED)
			streams_refused(streams, STREAMS_TO_LOOK, reply);
		return;
	}
	streams_refused(streams, STREAMS_TO_LOOK, NULL);
	if (!is_look(reply))
		return;
	take_run(&streams->take, resp_text(reply->element[5]),
	    reply->element[4]->integer == 1);
	set_lag(streams, reply->element[1]->integer);
	if (reply->element[2]->type == REDIS_REPLY_STRING)
		take_floor(streams, resp_text(reply->element[2]),
		    resp_text(reply->element[3]), reply->element[6]);
	uint64_t lost = reply->element[0]->integer > 0
	    ? (uint64_t)reply->element[0]->integer
	    : 0;
	if (to_count > 0 && lost > 0)
		streams_lost(streams, BROKER_TRIMMED_UNREAD, lost, NULL);
	else if (lost > streams->take.found)
		streams->take.found = lost;
}

void
streams_look_cut(struct streams *streams, uint64_t to_count)
{
	if (to_count > 0)
		streams_lost(streams, BROKER_TRIMMED_UNREAD, to_count, NULL);
}

/* --- by the other line --- */

struct streams_question {
	struct link_call call;
	struct streams *streams;
	struct streams_id id; /* of an entry whose bytes are gone */
	uint64_t to_count;    /* of a look */
};

static void look_aside(struct streams *streams, uint64_t to_count);

/* While nothing is read, what is found is counted at once. */
static void
on_look_again(struct link_call *call, const redisReply *reply)
{
	struct streams_question *question =
	    CONTAINER_OF(call, struct streams_question, call);
	struct streams *streams = question->streams;
	struct streams_take *take = &streams->take;
	uint64_t to_count = question->to_count;
	free(question);
	if (reply == NULL) {
		streams_look_cut(streams, to_count);
		return;
	}
	streams_look_read(&streams->teller, reply, to_count);
	if (take->found > 0 && take->awaited == 0) {
		look_aside(streams, take->found);
		take->found = 0;
	}
}

static void
look_aside(struct streams *streams, uint64_t to_count)
{
	struct resp command = {0};
	struct streams_question *question = mem_zero(sizeof *question);
	question->streams = streams;
	question->to_count = to_count;
	question->call.done = on_look_again;
	streams_look_command(streams, to_count > 0, &command);
	streams_line_send(&streams->teller, &question->call, &command);
	resp_clear(&command);
}

static void
on_look_timer(void *arg)
{
	struct streams *streams = arg;
	struct streams_take *take = &streams->take;
	int64_t now_ms = loop_now_ms(streams->loop);
	bool waits = take->awaited == 0 &&
	    now_ms - take->looked_ms >= LOOK_AGAIN_MS;
	timer_set(&streams->look, LOOK_AGAIN_MS);
	if (!streams_line_is_up(&streams->teller) || (!waits && !take->untold))
		return;
	look_aside(streams, 0);
}

/* --- an entry whose bytes are gone --- */

static void
on_dropped(struct link_call *call, const redisReply *reply)
{
	struct streams_question *question =
	    CONTAINER_OF(call, struct streams_question, call);
	struct streams *streams = question->streams;
	struct streams_id id = question->id;
	free(question);
	if (reply != NULL && reply->type == REDIS_REPLY_INTEGER &&
	    reply->integer == 1)
		streams_lost(streams, BROKER_TRIMMED_PENDING, 1, &id);
}

void
streams_look_drop(struct streams *streams, struct streams_id id)
{
	char text[STREAMS_ID_MAX];
	struct resp command = {0};
	resp_begin(&command, 4);
	resp_arg(&command, SPAN("XACK"));
	resp_arg(&command, streams->key);
	resp_arg(&command, streams->group);
	resp_arg(&command, span_of(text, streams_hand_put_id(id, text)));
	struct streams_question *question = mem_zero(sizeof *question);
	question->streams = streams;
	question->id = id;
	question->call.done = on_dropped;
	streams_line_send(&streams->taker, &question->call, &command);
	resp_clear(&command);
}

/* --- life --- */

void
streams_look_soon(struct streams *streams)
{
	streams->take.untold = true;
	timer_set(&streams->look, LOOK_SOON_MS);
}

void
streams_look_init(struct streams *streams)
{
	streams->lag = -1;
	timer_init(&streams->look, streams->loop, on_look_timer, streams);
	timer_set(&streams->look, LOOK_AGAIN_MS);
}

void
streams_look_end(struct streams *streams)
{
	timer_clear(&streams->look);
}
