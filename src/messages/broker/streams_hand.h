/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/broker/broker.h"

/*
 * What a reader of a stream has in hand: its entries by their ids, and of those
 * that were not handed over yet a queue of messages.  And the ids: two numbers
 * that only grow.  It knows no connection.  One thread; its owner clears it.
 */
struct streams_id {
	uint64_t ms, seq;
};

enum { STREAMS_ID_MAX = 20 + 1 + 20 + 1 };

/* Reads "MS-SEQ"; false: it is no id. */
bool streams_hand_read_id(struct span text, struct streams_id *ret_id);
/* Writes it; returns how many bytes that were, and a NUL behind them. */
size_t streams_hand_put_id(struct streams_id id, char out[STREAMS_ID_MAX]);
/* Below 0: a stands before b; 0: they are the same. */
static inline int
streams_id_cmp(struct streams_id a, struct streams_id b)
{
	if (a.ms != b.ms)
		return a.ms < b.ms ? -1 : 1;
	return a.seq < b.seq ? -1 : a.seq > b.seq;
}
/* The greatest id below; of 0-0 itself. */
struct streams_id streams_hand_id_before(struct streams_id id);

struct streams_held {
	struct streams_held *next; /* with the same hash */
	struct streams_id id;
	/* Not handed over yet; else NULL. */
	struct broker_message *message;
	bool foreign; /* another reader has been seen to have it */
	/*
	 * How often it was delivered, with this time.  Where nobody else reads,
	 * whoever has the turn next has it delivered anew: so it tells our time
	 * from that of another reader of our name.  0: not known.
	 */
	int64_t count;
	bool unsure;  /* an acknowledgement was sent, and no reply came */
};

struct streams_hand {
	struct streams_held **buckets;
	size_t size;
	size_t count;
	struct broker_message *queue, **queue_end;
	size_t queued;
};

void streams_hand_init(struct streams_hand *hand);
/* Frees all of it, messages included. */
void streams_hand_clear(struct streams_hand *hand);
struct streams_held *streams_hand_find(
    const struct streams_hand *hand, struct streams_id id);
/* Of an entry that is not in hand. */
struct streams_held *streams_hand_add(
    struct streams_hand *hand, struct streams_id id);
/*
 * Puts its message into the queue: at the end, or in_order, before the first
 * that stands behind it in the stream.
 */
void streams_hand_queue(struct streams_hand *hand, struct streams_held *held,
    struct broker_message *message, bool in_order);
/* Takes the first message of the queue, which is its caller's; or NULL. */
struct broker_message *streams_hand_shift(struct streams_hand *hand);
/* Frees its message too, where it has not been handed over. */
void streams_hand_remove(
    struct streams_hand *hand, struct streams_held **held);
/*
 * The one behind another, in no order; of NULL the first.  Nothing may be added
 * or removed meanwhile.
 */
struct streams_held *streams_hand_next(
    const struct streams_hand *hand, struct streams_held *after);
/* The lowest and the highest id; false: the hand is empty. */
bool streams_hand_ends(const struct streams_hand *hand,
    struct streams_id *ret_first, struct streams_id *ret_last);
/* The id of a message of this client. */
struct streams_id streams_hand_id_of(const struct broker_message *message);
