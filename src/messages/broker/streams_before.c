/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>

#include "base/container.h"
#include "base/digits.h"
#include "messages/broker/streams_private.h"

/*
 * Whether anything has to go before what was read.  Whoever had the turn before
 * may still read: what Redis gives to it is pending for its name, which may be
 * ours, and stands behind all that was pending when we began.
 */

static void
go_back(struct streams *streams)
{
	if (streams->standing != STREAMS_NEW)
		return;
	streams->take.cursor = (struct streams_id){0, 0};
	streams->standing = STREAMS_OWN;
}

static void
odd_reply(struct streams *streams)
{
	link_distrust(streams->taker.link, "a reply to another command");
}

/* --- how many are pending, and for whom --- */

/*
 * Of XPENDING: the number of entries, the first and last id, and for each
 * consumer its name and number.  True: entries are pending that are not in
 * hand, for others or, swallowed by a connection that is gone, for us.
 */
static bool
has_more(const struct streams *streams, const redisReply *reply)
{
	int64_t number;
	size_t known = streams->hand.count + streams->take.n_finished;
	const redisReply *list = reply->element[3];
	if (list->type != REDIS_REPLY_ARRAY)
		return false;
	for (size_t i = 0; i < list->elements; i++) {
		const redisReply *each = list->element[i];
		if (each->type != REDIS_REPLY_ARRAY || each->elements != 2 ||
		    !digits_read(resp_text(each->element[1]), INT64_MAX,
			&number))
			return false;
		bool own = span_eq(resp_text(each->element[0]),
		    span_str(streams->instance));
		if (number > 0 && (!own || (uint64_t)number > known))
			return true;
	}
	return false;
}

static void
on_pending(struct link_call *call, const redisReply *reply)
{
	struct streams *streams =
	    CONTAINER_OF(call, struct streams, take.pending);
	streams->take.awaited--;
	if (reply == NULL)
		return;
	if (reply->type == REDIS_REPLY_ERROR)
		streams_line_error(&streams->taker, reply);
	else if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 4)
		odd_reply(streams);
	else if (has_more(streams, reply))
		go_back(streams);
	streams_kick(streams);
}

static void
ask_pending(struct streams *streams)
{
	struct resp command = {0};
	resp_begin(&command, 3);
	resp_arg(&command, SPAN("XPENDING"));
	resp_arg(&command, streams->key);
	resp_arg(&command, streams->group);
	streams->take.awaited++;
	streams_line_send(&streams->taker, &streams->take.pending, &command);
	resp_clear(&command);
}

/* --- which ones those are that were read since --- */

/* True: it is in hand, or was, and all up to it are. */
static bool
pass(struct streams *streams, const redisReply *each)
{
	struct streams_id id;
	if (each->type != REDIS_REPLY_ARRAY || each->elements == 0 ||
	    !streams_hand_read_id(resp_text(each->element[0]), &id)) {
		odd_reply(streams);
		return false;
	}
	if (streams_hand_find(&streams->hand, id) == NULL &&
	    !streams_take_was_finished(streams, id))
		return false;
	streams->take.passed = id;
	return true;
}

static void
on_late(struct link_call *call, const redisReply *reply)
{
	struct streams *streams =
	    CONTAINER_OF(call, struct streams, take.late);
	streams->take.awaited--;
	if (reply == NULL)
		return;
	if (reply->type == REDIS_REPLY_ERROR) {
		streams_line_error(&streams->taker, reply);
	} else if (reply->type != REDIS_REPLY_ARRAY) {
		odd_reply(streams);
	} else {
		size_t i = 0;
		while (i < reply->elements && pass(streams, reply->element[i]))
			i++;
		if (i < reply->elements || i > streams->take.asked)
			go_back(streams);
	}
	streams_kick(streams);
}

static void
ask_late(struct streams *streams, size_t count)
{
	char text[1 + STREAMS_ID_MAX] = "(";
	struct streams_take *take = &streams->take;
	struct resp command = {0};
	size_t len = 1 + streams_hand_put_id(take->passed, text + 1);
	take->asked = count;
	resp_begin(&command, 6);
	resp_arg(&command, SPAN("XPENDING"));
	resp_arg(&command, streams->key);
	resp_arg(&command, streams->group);
	resp_arg(&command, span_of(text, len));
	resp_arg(&command, SPAN("+"));
	resp_number(&command, (int64_t)count + 1);
	take->awaited++;
	streams_line_send(&streams->taker, &take->late, &command);
	resp_clear(&command);
}

/* --- the question --- */

void
streams_before_ask(struct streams *streams, size_t count)
{
	ask_pending(streams);
	ask_late(streams, count);
}

void
streams_before_all_taken(struct streams *streams)
{
	struct streams_id first, last;
	if (streams_hand_ends(&streams->hand, &first, &last))
		streams->take.passed = last;
}

void
streams_before_returned(struct streams *streams, struct streams_id id)
{
	struct streams_take *take = &streams->take;
	if (streams_id_cmp(id, take->passed) <= 0)
		take->passed = streams_hand_id_before(id);
}

void
streams_before_init(struct streams *streams)
{
	streams->take.pending.done = on_pending;
	streams->take.late.done = on_late;
}
