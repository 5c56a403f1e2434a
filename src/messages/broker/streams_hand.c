/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "base/must.h"
#include "messages/broker/streams_hand.h"

enum { FIRST_SIZE = 64 };

/* --- ids --- */

/* Takes digits off the front; false: there are none, or too many. */
static bool
take_number(struct span *text, uint64_t *ret_number)
{
	uint64_t number = 0;
	size_t i = 0;
	for (; i < text->len; i++) {
		unsigned digit = (unsigned char)text->ptr[i] - (unsigned)'0';
		if (digit > 9)
			break;
		if (number > (UINT64_MAX - digit) / 10)
			return false;
		number = 10 * number + digit;
	}
	*text = span_from(*text, i);
	*ret_number = number;
	return i > 0;
}

bool
streams_hand_read_id(struct span text, struct streams_id *ret_id)
{
	if (!take_number(&text, &ret_id->ms) || text.len == 0 ||
	    text.ptr[0] != '-')
		return false;
	text = span_from(text, 1);
	return take_number(&text, &ret_id->seq) && text.len == 0;
}

static char *
write_number(char *out, uint64_t number)
{
	char digits[20], *at = digits + sizeof digits;
	do
		*--at = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	size_t len = (size_t)(digits + sizeof digits - at);
	memcpy(out, at, len);
	return out + len;
}

size_t
streams_hand_put_id(struct streams_id id, char out[STREAMS_ID_MAX])
{
	char *at = write_number(out, id.ms);
	*at++ = '-';
	at = write_number(at, id.seq);
	*at = '\0';
	return (size_t)(at - out);
}

struct streams_id
streams_hand_id_before(struct streams_id id)
{
	if (id.seq > 0)
		return (struct streams_id){id.ms, id.seq - 1};
	if (id.ms > 0)
		return (struct streams_id){id.ms - 1, UINT64_MAX};
	return id;
}

struct streams_id
streams_hand_id_of(const struct broker_message *message)
{
	struct streams_id id;
	must(streams_hand_read_id(message->position, &id));
	return id;
}

/* --- the table --- */

static size_t
hash_id(struct streams_id id)
{
	uint64_t mixed = (id.ms * 31 + id.seq) * 0x9e3779b97f4a7c15u;
	return (size_t)(mixed >> 32);
}

static struct streams_held **
chain_of(const struct streams_hand *hand, struct streams_id id)
{
	return &hand->buckets[hash_id(id) & (hand->size - 1)];
}

void
streams_hand_init(struct streams_hand *hand)
{
	*hand = (struct streams_hand){.size = FIRST_SIZE};
	hand->buckets = mem_zero(FIRST_SIZE * sizeof *hand->buckets);
	hand->queue_end = &hand->queue;
}

static void
grow(struct streams_hand *hand)
{
	struct streams_held **old = hand->buckets;
	size_t size = hand->size;
	hand->size = 2 * size;
	hand->buckets = mem_zero(hand->size * sizeof *hand->buckets);
	for (size_t i = 0; i < size; i++) {
		struct streams_held *held, *next;
		for (held = old[i]; held != NULL; held = next) {
			next = held->next;
			struct streams_held **bucket =
			    chain_of(hand, held->id);
			held->next = *bucket;
			*bucket = held;
		}
	}
	free(old);
}

struct streams_held *
streams_hand_find(const struct streams_hand *hand, struct streams_id id)
{
	struct streams_held *held = *chain_of(hand, id);
	while (held != NULL && streams_id_cmp(held->id, id) != 0)
		held = held->next;
	return held;
}

struct streams_held *
streams_hand_add(struct streams_hand *hand, struct streams_id id)
{
	if (hand->count == hand->size)
		grow(hand);
	struct streams_held *held = mem_zero(sizeof *held);
	struct streams_held **bucket = chain_of(hand, id);
	held->id = id;
	held->next = *bucket;
	*bucket = held;
	hand->count++;
	return held;
}

static struct streams_held *
first_from(const struct streams_hand *hand, size_t bucket)
{
	for (; bucket < hand->size; bucket++)
		if (hand->buckets[bucket] != NULL)
			return hand->buckets[bucket];
	return NULL;
}

struct streams_held *
streams_hand_next(const struct streams_hand *hand, struct streams_held *after)
{
	if (after == NULL)
		return first_from(hand, 0);
	if (after->next != NULL)
		return after->next;
	size_t bucket = (size_t)(chain_of(hand, after->id) - hand->buckets);
	return first_from(hand, bucket + 1);
}

bool
streams_hand_ends(const struct streams_hand *hand,
    struct streams_id *ret_first, struct streams_id *ret_last)
{
	struct streams_held *held = streams_hand_next(hand, NULL);
	if (held == NULL)
		return false;
	*ret_first = *ret_last = held->id;
	for (; held != NULL; held = streams_hand_next(hand, held)) {
		if (streams_id_cmp(held->id, *ret_first) < 0)
			*ret_first = held->id;
		if (streams_id_cmp(held->id, *ret_last) > 0)
			*ret_last = held->id;
	}
	return true;
}

/* --- the queue --- */

void
streams_hand_queue(struct streams_hand *hand, struct streams_held *held,
    struct broker_message *message, bool in_order)
{
	struct broker_message **at = in_order ? &hand->queue : hand->queue_end;
	while (*at != NULL &&
	    streams_id_cmp(streams_hand_id_of(*at), held->id) < 0)
		at = &(*at)->next;
	message->next = *at;
	*at = message;
	if (message->next == NULL)
		hand->queue_end = &message->next;
	held->message = message;
	hand->queued++;
}

/* Takes the message out of the queue that at points to. */
static struct broker_message *
unqueue(struct streams_hand *hand, struct broker_message **at)
{
	struct broker_message *message = *at;
	*at = message->next;
	if (*at == NULL)
		hand->queue_end = at;
	message->next = NULL;
	hand->queued--;
	return message;
}

struct broker_message *
streams_hand_shift(struct streams_hand *hand)
{
	if (hand->queue == NULL)
		return NULL;
	struct broker_message *message = unqueue(hand, &hand->queue);
	streams_hand_find(hand, streams_hand_id_of(message))->message = NULL;
	return message;
}

static void
free_message(struct streams_hand *hand, struct streams_held *held)
{
	struct broker_message **at = &hand->queue;
	while (*at != held->message)
		at = &(*at)->next;
	struct broker_message *message = unqueue(hand, at);
	broker_message_free(&message);
}

void
streams_hand_remove(struct streams_hand *hand, struct streams_held **held)
{
	struct streams_held *old = *held;
	*held = NULL;
	struct streams_held **at = chain_of(hand, old->id);
	while (*at != old)
		at = &(*at)->next;
	*at = old->next;
	hand->count--;
	if (old->message != NULL)
		free_message(hand, old);
	free(old);
}

void
streams_hand_clear(struct streams_hand *hand)
{
	struct streams_held *held;
	while ((held = streams_hand_next(hand, NULL)) != NULL)
		streams_hand_remove(hand, &held);
	free(hand->buckets);
	*hand = (struct streams_hand){0};
}
