/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/mem.h"
#include "messages/broker/streams_private.h"

enum {
	GATHER_MS = 1,       /* credit that comes in drops is gathered */
	GATHER_SHARE = 4,    /* until so much of in_flight is there */
	CLAIM_EVERY_MS = 5000, /* at most */
	PAGE_LEAST = 16,     /* where something has to go before the queue */
	PAGE_MOST = 128,     /* where most of it is in hand already */
	IN_VAIN_MAX = 3,
	FINISHED_ROOM = 256,
};

static bool
is_idle(const struct streams *streams)
{
	const struct streams_take *take = &streams->take;
	return take->awaited == 0 && !streams->leaving &&
	    !timer_is_set(&take->pause) &&
	    streams_line_is_up(&streams->taker);
}

/* --- how many --- */

static size_t
at_most(const struct streams *streams, size_t count)
{
	return count < streams->take.most ? count : streams->take.most;
}

/* A page may be full of what is in hand already. */
static size_t
page_of(const struct streams *streams, size_t room)
{
	size_t known = streams->hand.count;
	size_t count = room + (known < PAGE_MOST ? known : PAGE_MOST);
	return at_most(streams, count);
}

/*
 * Whoever owns it gives no credit while it is refused what it needs: so it
 * tries with one entry, which stays in the queue, to find out when that ends.
 */
static bool
tries(const struct streams *streams)
{
	return streams->trouble[STREAMS_TO_TAKE][0] != '\0';
}

/*
 * Something may have to go before the first of the queue, which then holds the
 * credit that the other needs.
 */
static size_t
room_to_merge(const struct streams *streams)
{
	size_t room = streams_room(streams);
	if (room == 0 && streams->sole && streams->hand.queued > 0 &&
	    streams->credit > 0)
		return PAGE_LEAST;
	return room == 0 && tries(streams) ? 1 : room;
}

/* Few credits at a time would make a read of each. */
static bool
is_worth_it(struct streams *streams, size_t room)
{
	struct streams_take *take = &streams->take;
	bool enough = streams->hand.count == 0 ||
	    room * GATHER_SHARE >= (size_t)streams->source->in_flight ||
	    room >= STREAMS_MOST;
	if (enough || take->gathering) {
		take->gathering = false;
		return true;
	}
	take->gathering = true;
	timer_set(&take->pause, GATHER_MS);
	return false;
}

/* --- an entry that is larger than any reply --- */

static void
on_skipped(struct link_call *call, const redisReply *reply)
{
	struct streams *streams =
	    CONTAINER_OF(call, struct streams, take.skip);
	struct streams_id id;
	streams->take.awaited--;
	timer_clear(&streams->take.silence);
	if (reply == NULL || reply->type != REDIS_REPLY_ARRAY ||
	    reply->elements == 0 ||
	    reply->element[0]->type != REDIS_REPLY_ARRAY ||
	    reply->element[0]->elements == 0 ||
	    !streams_hand_read_id(
		resp_text(reply->element[0]->element[0]), &id))
		return;
	streams_entry_take_unread(streams, id);
	streams->take.cursor = id;
	streams->take.in_vain = 0;
	streams->take.lost_at = (struct streams_id){0, 0};
	streams_kick(streams);
}

/* Whether the next is one that came in vain, again and again. */
static bool
must_skip(const struct streams_take *take)
{
	return take->in_vain >= IN_VAIN_MAX &&
	    streams_id_cmp(take->cursor, take->lost_at) == 0;
}

/* Asks for its id alone. */
static void
skip_one(struct streams *streams)
{
	char text[1 + STREAMS_ID_MAX] = "(";
	struct streams_take *take = &streams->take;
	struct resp command = {0};
	size_t len = 1 + streams_hand_put_id(take->cursor, text + 1);
	resp_begin(&command, 7);
	resp_arg(&command, SPAN("XPENDING"));
	resp_arg(&command, streams->key);
	resp_arg(&command, streams->group);
	resp_arg(&command, span_of(text, len));
	resp_arg(&command, SPAN("+"));
	resp_arg(&command, SPAN("1"));
	resp_arg(&command, span_str(streams->instance));
	take->skip.done = on_skipped;
	take->step = &take->skip;
	take->awaited++;
	timer_set(&take->silence, streams->redis->timeout_ms);
	streams_line_send(&streams->taker, &take->skip, &command);
	resp_clear(&command);
}

/* --- one step after the other --- */

static void
take_own(struct streams *streams)
{
	size_t room = room_to_merge(streams);
	if (room == 0)
		return;
	if (must_skip(&streams->take))
		skip_one(streams);
	else if (streams->sole)
		streams_read_others(streams, page_of(streams, room), 0);
	else
		streams_read_history(streams, page_of(streams, room));
}

static void
take_new(struct streams *streams)
{
	struct streams_take *take = &streams->take;
	size_t room = streams_room(streams);
	if (tries(streams))
		room = 1;
	else if (room == 0 || !is_worth_it(streams, room))
		return;
	if (take->claiming)
		streams_read_others(
		    streams, at_most(streams, room), 2 * streams->lease_ms);
	else
		streams_read_new(streams, at_most(streams, room));
}

void
streams_take_go(struct streams *streams)
{
	if (!is_idle(streams))
		return;
	switch (streams->standing) {
	case STREAMS_GROUP:
		streams_group_make(streams);
		break;
	case STREAMS_AGAIN:
		streams_read_new(streams, page_of(streams, PAGE_LEAST));
		break;
	case STREAMS_OWN:
		take_own(streams);
		break;
	case STREAMS_NEW:
		take_new(streams);
		break;
	}
}

bool
streams_take_is_first(const struct streams *streams, struct streams_id id)
{
	const struct streams_take *take = &streams->take;
	if (!streams->sole)
		return true;
	if (streams->standing == STREAMS_OWN)
		return streams_id_cmp(id, take->cursor) < 0;
	return streams->standing == STREAMS_NEW && take->awaited == 0;
}

void
streams_take_note_finished(struct streams *streams, struct streams_id id)
{
	struct streams_take *take = &streams->take;
	if (take->awaited == 0)
		return;
	if (take->n_finished == take->finished_size) {
		take->finished_size += FINISHED_ROOM;
		take->finished = mem_grow(take->finished,
		    take->finished_size * sizeof *take->finished);
	}
	take->finished[take->n_finished++] = id;
}

bool
streams_take_was_finished(const struct streams *streams, struct streams_id id)
{
	const struct streams_take *take = &streams->take;
	for (size_t i = 0; i < take->n_finished; i++)
		if (streams_id_cmp(take->finished[i], id) == 0)
			return true;
	return false;
}

/* --- timers --- */

static void
on_pause(void *arg)
{
	streams_kick(arg);
}

void
streams_take_pause(struct streams *streams, int64_t ms)
{
	timer_set(&streams->take.pause, ms);
}

static void
on_take_silence(void *arg)
{
	struct streams *streams = arg;
	struct streams_take *take = &streams->take;
	int64_t left_ms = link_left_ms(streams->taker.link, take->step);
	if (left_ms > 0)
		timer_set(&take->silence, left_ms);
	else
		link_reset(streams->taker.link,
		    "no answer within the broker's timeout");
}

static int64_t
claim_every_ms(const struct streams *streams)
{
	int64_t ms = streams->lease_ms / 2;
	return ms < CLAIM_EVERY_MS ? ms + 1 : CLAIM_EVERY_MS;
}

/* An order's reader looks at each read whether others have anything. */
static void
on_claim(void *arg)
{
	struct streams *streams = arg;
	struct streams_take *take = &streams->take;
	timer_set(&take->claim, claim_every_ms(streams));
	if (streams->standing != STREAMS_NEW || take->claiming ||
	    streams->sole)
		return;
	take->claiming = true;
	take->cursor = (struct streams_id){0, 0};
	streams_kick(streams);
}

/* --- the line --- */

void
streams_take_up(struct streams *streams)
{
	struct streams_take *take = &streams->take;
	take->claiming = false;
	take->looked = false;
	take->doubts = true;
	timer_clear(&take->pause);
	streams->standing = STREAMS_GROUP;
	streams_kick(streams);
}

void
streams_take_down(struct streams *streams)
{
	struct streams_take *take = &streams->take;
	timer_clear(&take->silence);
	streams->standing = STREAMS_GROUP;
	streams_kick(streams);
}

void
streams_take_init(struct streams *streams)
{
	struct streams_take *take = &streams->take;
	take->most = STREAMS_MOST;
	timer_init(&take->pause, streams->loop, on_pause, streams);
	timer_init(
	    &take->silence, streams->loop, on_take_silence, streams);
	timer_init(&take->claim, streams->loop, on_claim, streams);
	timer_set(&take->claim, claim_every_ms(streams));
	streams_read_init(streams);
	streams_before_init(streams);
	streams->taker.up = streams_take_up;
	streams->taker.down = streams_take_down;
}

void
streams_take_end(struct streams *streams)
{
	timer_clear(&streams->take.pause);
	timer_clear(&streams->take.silence);
	timer_clear(&streams->take.claim);
	free(streams->take.finished);
}
