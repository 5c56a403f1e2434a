/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "messages/broker/streams_private.h"
#include "messages/broker/streams_script.h"

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
 * What the group has read is pending, or finished, whoever has read it.  Other
 * readers may be gone for good, so what they had is kept in mind.  A group that
 * is not there says nothing of it.
 */
static void
take_floor(struct streams *streams, const redisReply *reply)
{
	struct streams_take *take = &streams->take;
	const redisReply *ours = reply->element[6];
	struct streams_id id;
	take->has_floor = streams_hand_read_id(
	    resp_text(reply->element[2]), &take->floor);
	if (streams_hand_read_id(resp_text(reply->element[3]), &id))
		lower_floor(take, id);
	for (size_t i = 0; i < ours->elements; i++)
		if (streams_hand_read_id(resp_text(ours->element[i]), &id) &&
		    is_elsewhere(streams, id))
			lower_floor(take, id);
	if (streams_hand_read_id(resp_text(reply->element[8]), &id) &&
	    streams_id_cmp(id, take->newest) > 0)
		take->newest = id;
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

enum { MARK_FIRST, MARK_DELETED, MARK_LAST, MARK_IDS };

struct mark {
	int64_t added;
	struct streams_id ids[MARK_IDS];
};

static bool
read_mark(struct span text, struct mark *ret_mark)
{
	struct mark *m = ret_mark;
	char ids[MARK_IDS][STREAMS_ID_MAX];
	if (sscanf(text.ptr, "%" SCNd64 " %41s %41s %41s", &m->added, ids[0],
		ids[1], ids[2]) != 1 + MARK_IDS)
		return false;
	for (int i = 0; i < MARK_IDS; i++)
		if (!streams_hand_read_id(span_str(ids[i]), &m->ids[i]))
			return false;
	return true;
}

/* Something is lower that only grows, as the script sees it that decides. */
static bool
is_another(struct span now, struct span before)
{
	static const struct streams_id none = {0, 0};
	struct mark a, b;
	if (!read_mark(now, &a) || !read_mark(before, &b))
		return false;
	bool lower = a.added < b.added;
	for (int i = 0; i < MARK_IDS; i++)
		lower |= streams_id_cmp(a.ids[i], b.ids[i]) < 0 &&
		    (i != MARK_FIRST || streams_id_cmp(a.ids[i], none) > 0);
	return lower;
}

/* Whose history is known. */
static bool
is_of_takers_server(const struct streams_line *line)
{
	struct link_to a = link_where(line->link);
	struct link_to b = link_where(line->streams->taker.link);
	if (a.socket != NULL || b.socket != NULL)
		return true;
	return a.host != NULL && b.host != NULL && a.port == b.port &&
	    strcmp(a.host, b.host) == 0;
}

/* Where there is no group, that is no look at the stream that had one. */
static void
take_mark(struct streams *streams, struct span mark)
{
	struct streams_take *take = &streams->take;
	if (mark.len == 0 || mark.len >= sizeof take->mark)
		return;
	struct mark known;
	if (is_another(mark, span_str(take->mark))) {
		streams_group_ask(streams);
		return;
	}
	/* The script that is given it could not read it either. */
	if (!read_mark(mark, &known))
		return;
	snprintf(
	    take->mark, sizeof take->mark, "%.*s", (int)mark.len, mark.ptr);
}

static bool
is_look(const redisReply *reply)
{
	static const int types[] = {REDIS_REPLY_INTEGER, REDIS_REPLY_INTEGER,
	    0, REDIS_REPLY_STRING, REDIS_REPLY_INTEGER, REDIS_REPLY_STRING,
	    REDIS_REPLY_ARRAY, REDIS_REPLY_STRING, REDIS_REPLY_STRING};
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
	if (is_of_takers_server(line))
		take_mark(streams, resp_text(reply->element[7]));
	if (reply->element[7]->len > 0)
		streams->take.unread = reply->element[1]->integer;
	if (reply->element[2]->type == REDIS_REPLY_STRING)
		take_floor(streams, reply);
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
	uint64_t to_count;
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

/*
 * An entry that is pending, and whose bytes are gone, is acknowledged by a step
 * of its own, and counted by its reply.  Where there is no reply, it is sent
 * again: what is not pending then was acknowledged by the first one.  So a loss
 * may be told twice, when another reader has found the same; never by nobody.
 */
struct streams_drop {
	struct link_call call;
	struct streams *streams;
	struct streams_id id;
	enum broker_loss how;
	bool ours; /* nobody else can have finished it */
	bool sent; /* and the reply is awaited */
	bool cut;  /* it was sent once, and no reply came */
	bool owed; /* the reader waits for its reply before it ends */
	struct streams_drop *next, **place;
};

static struct streams_drop *
find_drop(const struct streams *streams, struct streams_id id)
{
	struct streams_drop *d = streams->drops;
	while (d != NULL && streams_id_cmp(d->id, id) != 0)
		d = d->next;
	return d;
}

static void
free_drop(struct streams_drop *d)
{
	*d->place = d->next;
	if (d->next != NULL)
		d->next->place = d->place;
	free(d);
}

static void
tell_lost(struct streams_drop *d, enum broker_loss how)
{
	struct streams *streams = d->streams;
	struct streams_id id = d->id;
	struct streams_held *held = streams_hand_find(&streams->hand, id);
	if (held != NULL)
		streams_hand_remove(&streams->hand, &held);
	free_drop(d);
	streams_lost(streams, how, 1, &id);
}

/* Nothing has happened by this one; what was not cut is found again. */
static void
take_drop_error(struct streams_drop *d, const redisReply *reply)
{
	struct streams *streams = d->streams;
	if (streams_line_error(&streams->taker, reply) == STREAMS_REFUSED)
		streams_refused(streams, STREAMS_TO_FINISH, reply);
	if (!d->cut)
		free_drop(d);
}

static void
distrust_drop(struct streams_drop *d)
{
	d->cut = true;
	link_distrust(
	    d->streams->taker.link, "a reply to another command");
}

static void
on_dropped(struct link_call *call, const redisReply *reply)
{
	struct streams_drop *d =
	    CONTAINER_OF(call, struct streams_drop, call);
	struct streams *streams = d->streams;
	bool owed = d->owed;
	d->sent = d->owed = false;
	if (reply == NULL)
		d->cut = true;
	else if (reply->type == REDIS_REPLY_ERROR)
		take_drop_error(d, reply);
	else if (reply->type != REDIS_REPLY_INTEGER)
		distrust_drop(d);
	else if (reply->integer == 1 || d->cut)
		tell_lost(d, d->how);
	else if (d->ours)
		tell_lost(d, BROKER_DELETED);
	else
		free_drop(d);
	if (owed)
		streams_leave_paid(streams);
}

static void
send_drop(struct streams_drop *d)
{
	struct streams *streams = d->streams;
	char text[STREAMS_ID_MAX];
	struct resp command = {0};
	resp_begin(&command, 4);
	resp_arg(&command, SPAN("XACK"));
	resp_arg(&command, streams->key);
	resp_arg(&command, streams->group);
	resp_arg(&command, span_of(text, streams_hand_put_id(d->id, text)));
	d->sent = true;
	d->call.done = on_dropped;
	streams_line_send(&streams->taker, &d->call, &command);
	resp_clear(&command);
}

bool
streams_look_drop(struct streams *streams, struct streams_id id,
    enum broker_loss how, bool ours)
{
	if (streams->leaving || !streams_line_is_up(&streams->taker))
		return false;
	if (find_drop(streams, id) != NULL)
		return true;
	struct streams_drop *d = mem_zero(sizeof *d);
	d->streams = streams;
	d->id = id;
	d->how = how;
	d->ours = ours;
	d->next = streams->drops;
	d->place = &streams->drops;
	if (d->next != NULL)
		d->next->place = &d->next;
	streams->drops = d;
	send_drop(d);
	return true;
}

/* A new stream may have entries of the same ids. */
void
streams_look_forget(struct streams *streams)
{
	struct streams_drop *d = streams->drops;
	while (d != NULL) {
		struct streams_drop *next = d->next;
		if (!d->sent)
			tell_lost(d, d->how);
		d = next;
	}
}

void
streams_look_drop_again(struct streams *streams)
{
	if (!streams_line_is_up(&streams->taker))
		return;
	for (struct streams_drop *d = streams->drops; d != NULL; d = d->next)
		if (!d->sent)
			send_drop(d);
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
streams_look_leave(struct streams *streams)
{
	for (struct streams_drop *d = streams->drops; d != NULL; d = d->next) {
		d->owed = d->sent;
		streams->owed += d->owed;
	}
}

void
streams_look_end(struct streams *streams)
{
	timer_clear(&streams->look);
	while (streams->drops != NULL)
		tell_lost(streams->drops, streams->drops->how);
}
