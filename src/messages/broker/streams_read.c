/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/container.h"
#include "messages/broker/streams_private.h"
#include "messages/broker/streams_script.h"

enum {
	/* At most: what an idle source costs, and its end waits for. */
	BLOCK_MS = 250,
	LESS = 8, /* so much fewer entries, after a reply was lost */
	LOOK_EVERY_MS = 20,   /* at most: a look costs as much as ten entries */
};

/* --- what all steps have in common --- */

static void
send_step(struct streams *streams, struct link_call *call,
    const struct resp *command)
{
	streams->take.awaited++;
	streams_line_send(&streams->taker, call, command);
}

/* The silence that is allowed begins when the block is over. */
static void
send_read(
    struct streams *streams, const struct resp *command, int64_t block_ms)
{
	struct streams_take *take = &streams->take;
	take->blocking = block_ms > 0;
	take->n_finished = 0;
	take->step = &take->read;
	timer_set(&take->silence, block_ms + streams->redis->timeout_ms);
	send_step(streams, &take->read, command);
}

static void
odd_reply(struct streams *streams)
{
	link_distrust(streams->taker.link, "a reply to another command");
}

/*
 * Of XREADGROUP: the entries of the one stream; NULL: there are none.  False:
 * it is no such reply.
 */
static bool
find_entries(const redisReply *reply, const redisReply **ret_entries)
{
	*ret_entries = NULL;
	if (reply->type == REDIS_REPLY_NIL)
		return true;
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 1)
		return false;
	const redisReply *stream = reply->element[0];
	if (stream->type != REDIS_REPLY_ARRAY || stream->elements != 2 ||
	    stream->element[1]->type != REDIS_REPLY_ARRAY)
		return false;
	*ret_entries = stream->element[1];
	return true;
}

/* False: one of them cannot be read.  *ret_last: of the last one. */
static bool
take_entries(struct streams *streams, const redisReply *entries, bool again,
    struct streams_id *ret_last)
{
	for (size_t i = 0; i < entries->elements; i++)
		if (!streams_entry_take(
			streams, entries->element[i], again, ret_last))
			return false;
	return true;
}

/* How often each was delivered, in their order; counts NULL: once. */
static void
note_counts(struct streams *streams, const redisReply *entries,
    const redisReply *counts)
{
	struct streams_id id;
	for (size_t i = 0; streams->sole && i < entries->elements; i++) {
		const redisReply *entry = entries->element[i];
		if (!streams_hand_read_id(resp_text(entry->element[0]), &id))
			continue;
		struct streams_held *held =
		    streams_hand_find(&streams->hand, id);
		if (held != NULL)
			held->count =
			    counts != NULL ? counts->element[i]->integer : 1;
	}
}

/*
 * A reply may have been larger than any that is believed.  What is new is
 * pending then, and comes as that.
 */
static void
less_at_once(struct streams_take *take)
{
	if (take->reading == STREAMS_READ_NEW)
		return;
	take->in_vain += take->most == 1;
	take->lost_at = take->cursor;
	take->most = take->most > LESS ? take->most / LESS : 1;
}

/* It stays at that until the place is passed where a reply was lost. */
static void
more_at_once(struct streams_take *take)
{
	if (take->reading != STREAMS_READ_NEW &&
	    streams_id_cmp(take->cursor, take->lost_at) < 0)
		return;
	take->in_vain = 0;
	if (take->most < STREAMS_MOST)
		take->most *= 2;
}

/* --- history: what is pending here already --- */

static void
read_history(struct streams *streams, const redisReply *reply)
{
	struct streams_take *take = &streams->take;
	const redisReply *entries;
	if (!find_entries(reply, &entries)) {
		odd_reply(streams);
		return;
	}
	bool any = entries != NULL && entries->elements > 0;
	if (any && !take_entries(streams, entries, true, &take->cursor))
		return;
	if (!any && streams->standing == STREAMS_OWN)
		streams->standing = STREAMS_NEW;
}

static void
put_read(const struct streams *streams, size_t count, int64_t block_ms,
    struct span behind, struct resp *command)
{
	resp_begin(command, block_ms > 0 ? 11 : 9);
	resp_arg(command, SPAN("XREADGROUP"));
	resp_arg(command, SPAN("GROUP"));
	resp_arg(command, streams->group);
	resp_arg(command, span_str(streams->instance));
	resp_arg(command, SPAN("COUNT"));
	resp_number(command, (int64_t)count);
	if (block_ms > 0) {
		resp_arg(command, SPAN("BLOCK"));
		resp_number(command, block_ms);
	}
	resp_arg(command, SPAN("STREAMS"));
	resp_arg(command, streams->key);
	resp_arg(command, behind);
}

void
streams_read_history(struct streams *streams, size_t count)
{
	char text[STREAMS_ID_MAX];
	struct resp command = {0};
	streams->take.reading = STREAMS_READ_HISTORY;
	put_read(streams, count, 0,
	    span_of(text, streams_hand_put_id(streams->take.cursor, text)),
	    &command);
	send_read(streams, &command, 0);
	resp_clear(&command);
}

/* --- what is new --- */

/* After the group was made again: until all that is in hand has come. */
static void
read_again(struct streams *streams, bool any)
{
	struct streams_take *take = &streams->take;
	struct streams_id first, last;
	if (any && streams_hand_ends(&streams->hand, &first, &last) &&
	    streams_id_cmp(take->cursor, last) < 0)
		return;
	take->remaking = false;
	take->cursor = (struct streams_id){0, 0};
	streams->standing = STREAMS_OWN;
	streams_finish_flush(streams);
}

static void
read_new(struct streams *streams, const redisReply *reply)
{
	struct streams_take *take = &streams->take;
	const redisReply *entries;
	if (!find_entries(reply, &entries)) {
		odd_reply(streams);
		return;
	}
	bool again = streams->standing == STREAMS_AGAIN;
	bool any = entries != NULL && entries->elements > 0;
	struct streams_id last;
	if (any) {
		if (!take_entries(streams, entries, again, &last))
			return;
		note_counts(streams, entries, NULL);
		if (streams_id_cmp(last, take->newest) > 0)
			take->newest = last;
		take->cursor = last;
		take->unread -= (int64_t)entries->elements;
		streams_look_soon(streams);
	}
	if (again)
		read_again(streams, any);
}

static void
on_look(struct link_call *call, const redisReply *reply)
{
	struct streams *streams =
	    CONTAINER_OF(call, struct streams, take.look);
	struct streams_take *take = &streams->take;
	take->awaited--;
	if (take->awaited == 0)
		timer_clear(&take->silence);
	take->looked = reply != NULL;
	if (reply != NULL)
		streams_look_read(&streams->taker, reply, take->to_count);
	else
		streams_look_cut(streams, take->to_count);
	streams_kick(streams);
}

/* to_count: what is to be counted now; 0: it is only looked for. */
static void
send_look(struct streams *streams, uint64_t to_count)
{
	struct streams_take *take = &streams->take;
	struct resp command = {0};
	take->to_count = to_count;
	streams_look_command(streams, to_count > 0, &command);
	send_step(streams, &take->look, &command);
	resp_clear(&command);
}

/*
 * What was removed unread shows only as long as nothing behind it was read: so
 * it is looked for first, and what is found is counted right before the read.
 * True: the read waits for the look.
 */
static bool
look_first(struct streams *streams)
{
	struct streams_take *take = &streams->take;
	int64_t since_ms = loop_now_ms(streams->loop) - take->looked_ms;
	bool looked = take->looked;
	take->looked = false;
	if (take->found > 0) {
		send_look(streams, take->found);
		take->found = 0;
		return false;
	}
	if (looked || since_ms < LOOK_EVERY_MS)
		return false;
	take->blocking = false;
	take->step = &take->look;
	timer_set(&take->silence, streams->redis->timeout_ms);
	send_look(streams, 0);
	return true;
}

static int64_t
block_ms(const struct streams *streams)
{
	int64_t ms = streams->lease_ms / 2;
	if (ms > streams->redis->timeout_ms / 2)
		ms = streams->redis->timeout_ms / 2;
	if (ms > BLOCK_MS)
		ms = BLOCK_MS;
	return ms > 0 ? ms : 1;
}

void
streams_read_new(struct streams *streams, size_t count)
{
	struct resp command = {0};
	/* One that was refused hears at once that it is not any more. */
	bool blocks = streams->standing == STREAMS_NEW &&
	    streams->trouble[STREAMS_TO_TAKE][0] == '\0';
	int64_t ms = blocks ? block_ms(streams) : 0;
	streams->take.reading = STREAMS_READ_NEW;
	if (streams->standing == STREAMS_NEW && look_first(streams))
		return;
	put_read(streams, count, ms, SPAN(">"), &command);
	send_read(streams, &command, ms);
	resp_clear(&command);
	if (streams->sole)
		streams_before_ask(streams, count);
}

/* --- what is pending for others --- */

static void
drop_gone(struct streams *streams, const redisReply *ids)
{
	struct streams_id id;
	for (size_t i = 0; i < ids->elements; i++) {
		if (!streams_hand_read_id(resp_text(ids->element[i]), &id)) {
			odd_reply(streams);
			return;
		}
		streams_look_drop(
		    streams, id, BROKER_TRIMMED_PENDING, false);
	}
}

static void
all_claimed(struct streams *streams)
{
	struct streams_take *take = &streams->take;
	take->claiming = false;
	if (streams->standing != STREAMS_OWN)
		return;
	streams->standing = STREAMS_NEW;
	streams_before_all_taken(streams);
}

static void
read_others(struct streams *streams, const redisReply *reply)
{
	struct streams_take *take = &streams->take;
	struct streams_id last;
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 4 ||
	    reply->element[1]->type != REDIS_REPLY_ARRAY ||
	    reply->element[2]->type != REDIS_REPLY_ARRAY ||
	    reply->element[3]->type != REDIS_REPLY_ARRAY ||
	    reply->element[3]->elements != reply->element[1]->elements ||
	    !streams_hand_read_id(
		resp_text(reply->element[0]), &take->cursor)) {
		odd_reply(streams);
		return;
	}
	if (!take_entries(streams, reply->element[1], true, &last))
		return;
	note_counts(streams, reply->element[1], reply->element[3]);
	drop_gone(streams, reply->element[2]);
	if (take->cursor.ms == 0 && take->cursor.seq == 0)
		all_claimed(streams);
}

void
streams_read_others(struct streams *streams, size_t count, int64_t idle_ms)
{
	char text[STREAMS_ID_MAX];
	struct resp command = {0};
	streams->take.reading = STREAMS_READ_OTHERS;
	streams_line_script(streams, streams_script_claim, 4, &command);
	resp_arg(&command, span_str(streams->instance));
	resp_number(&command, idle_ms);
	resp_arg(&command,
	    span_of(text, streams_hand_put_id(streams->take.cursor, text)));
	resp_number(&command, (int64_t)count);
	send_read(streams, &command, 0);
	resp_clear(&command);
}

/* --- replies --- */

/* A replica that stays one has nothing for us, whatever it was before. */
static bool
lasts(struct streams *streams)
{
	struct streams_take *take = &streams->take;
	int64_t now_ms = loop_now_ms(streams->loop);
	if (take->passing_ms == 0)
		take->passing_ms = now_ms;
	return now_ms - take->passing_ms >= STREAMS_SOON_MS;
}

void
streams_read_refused(struct streams *streams, const redisReply *reply)
{
	enum streams_error error =
	    streams_line_error(&streams->taker, reply);
	if (error == STREAMS_LATER && lasts(streams))
		error = STREAMS_REFUSED;
	if (error == STREAMS_REFUSED)
		streams_refused(streams, STREAMS_TO_TAKE, reply);
	if (error != STREAMS_NO_GROUP)
		streams_take_pause(streams, error == STREAMS_REFUSED
			? STREAMS_PAUSE_MS
			: STREAMS_AGAIN_MS);
}

static void
on_read(struct link_call *call, const redisReply *reply)
{
	struct streams *streams =
	    CONTAINER_OF(call, struct streams, take.read);
	struct streams_take *take = &streams->take;
	take->awaited--;
	timer_clear(&take->silence);
	if (reply == NULL) {
		less_at_once(take);
		return;
	}
	if (reply->type == REDIS_REPLY_ERROR) {
		streams_read_refused(streams, reply);
	} else {
		take->passing_ms = 0;
		streams_refused(streams, STREAMS_TO_TAKE, NULL);
		more_at_once(take);
		if (take->reading == STREAMS_READ_HISTORY)
			read_history(streams, reply);
		else if (take->reading == STREAMS_READ_NEW)
			read_new(streams, reply);
		else
			read_others(streams, reply);
	}
	streams_kick(streams);
}

void
streams_read_init(struct streams *streams)
{
	streams->take.look.done = on_look;
	streams->take.read.done = on_read;
}
