/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "messages/relay/webhook_private.h"

static struct webhook_lane **
lane_bucket(struct webhook *hook, struct span key_id)
{
	uint32_t hash = 2166136261U; /* FNV-1a */
	for (size_t i = 0; i < key_id.len; i++)
		hash = (hash ^ (uint8_t)key_id.ptr[i]) * 16777619U;
	return &hook->buckets[hash % WEBHOOK_LANES];
}

static struct webhook_lane *
find_lane(struct webhook *hook, struct span key_id)
{
	struct webhook_lane *lane = *lane_bucket(hook, key_id);
	while (lane != NULL && !span_eq(span_str(lane->key_id), key_id))
		lane = lane->in_bucket;
	return lane;
}

/* --- whose turn it is --- */

static void
make_ready(struct webhook_lane *lane)
{
	struct webhook *hook = lane->hook;
	lane->next_ready = NULL;
	*hook->ready_end = lane;
	hook->ready_end = &lane->next_ready;
	hook->n_ready++;
}

static void
leave_down(struct webhook_lane *lane)
{
	if (lane->down_at == NULL)
		return;
	*lane->down_at = lane->down_next;
	if (lane->down_next != NULL)
		lane->down_next->down_at = lane->down_at;
	else
		lane->hook->down_end = lane->down_at;
	lane->down_at = NULL;
}

static void
on_lane_due(void *arg)
{
	struct webhook_lane *lane = arg;
	leave_down(lane);
	make_ready(lane);
	webhook_send_more(lane->hook);
}

struct webhook_lane *
webhook_lane_next(struct webhook *hook)
{
	struct webhook_lane *lane = hook->ready;
	if (lane == NULL)
		return NULL;
	hook->ready = lane->next_ready;
	hook->n_ready--;
	if (hook->ready == NULL)
		hook->ready_end = &hook->ready;
	return lane;
}

/* --- events --- */

static void
forget_body(struct webhook *hook, struct webhook_event *event)
{
	if (event->body != NULL)
		hook->bodies_bytes -= event->body_bytes;
	free(event->body);
	event->body = NULL;
}

void
webhook_lane_rest(struct webhook_lane *lane, int64_t ms)
{
	forget_body(lane->hook, lane->first);
	timer_set(&lane->timer, ms);
}

void
webhook_lane_rest_down(struct webhook_lane *lane, int64_t ms)
{
	struct webhook *hook = lane->hook;
	lane->down_next = NULL;
	lane->down_at = hook->down_end;
	*hook->down_end = lane;
	hook->down_end = &lane->down_next;
	webhook_lane_rest(lane, ms);
}

void
webhook_lane_forward(struct webhook *hook, unsigned count)
{
	while (count-- > 0 && hook->down != NULL) {
		struct webhook_lane *lane = hook->down;
		timer_clear(&lane->timer);
		leave_down(lane);
		make_ready(lane);
	}
}

static struct webhook_lane *
lane_new(struct webhook *hook, struct span key_id)
{
	struct webhook_lane **bucket = lane_bucket(hook, key_id);
	struct webhook_lane *lane = mem_zero(sizeof *lane);
	lane->hook = hook;
	snprintf(lane->key_id, sizeof lane->key_id, "%.*s", SPAN_FMT(key_id));
	timer_init(&lane->timer, hook->loop, on_lane_due, lane);
	lane->in_bucket = *bucket;
	*bucket = lane;
	return lane;
}

static bool
has_event(const struct webhook_lane *lane, const char *id)
{
	const struct webhook_event *event = lane->first;
	while (event != NULL && strcmp(event->id, id) != 0)
		event = event->next;
	return event != NULL;
}

static struct webhook_event *
event_new(struct webhook *hook, const struct kept_event *from,
    const char *body)
{
	struct webhook_event *event = mem_zero(sizeof *event);
	snprintf(event->id, sizeof event->id, "%.*s", SPAN_FMT(from->id));
	if (!event_read(from->id, &event->place))
		event->place = (struct event_id){0};
	event->since_ms = from->since_ms;
	event->body_bytes = from->body_bytes;
	hook->kept++;
	hook->kept_bytes += event->body_bytes;
	if (body == NULL || hook->bodies_bytes + event->body_bytes >
		WEBHOOK_BODIES_MAX)
		return event;
	event->body = mem_copy(body, event->body_bytes);
	hook->bodies_bytes += event->body_bytes;
	return event;
}

void
webhook_lane_add(struct webhook *hook, const struct kept_event *from,
    const char *body)
{
	struct webhook_lane *lane = find_lane(hook, from->key_id);
	char id[EVENT_ID_MAX];
	snprintf(id, sizeof id, "%.*s", SPAN_FMT(from->id));
	if (lane != NULL && has_event(lane, id))
		return;
	struct webhook_event *event = event_new(hook, from, body);
	if (lane != NULL) {
		lane->last->next = event;
		lane->last = event;
		return;
	}
	lane = lane_new(hook, from->key_id);
	lane->first = lane->last = event;
	make_ready(lane);
}

static void
event_free(struct webhook *hook, struct webhook_event *event)
{
	hook->kept--;
	hook->kept_bytes -= event->body_bytes;
	forget_body(hook, event);
	free(event);
}

static void
lane_free(struct webhook_lane *lane)
{
	struct webhook_lane **at =
	    lane_bucket(lane->hook, span_str(lane->key_id));
	while (*at != lane)
		at = &(*at)->in_bucket;
	*at = lane->in_bucket;
	leave_down(lane);
	timer_clear(&lane->timer);
	free(lane);
}

void
webhook_lane_done(struct webhook_lane *lane)
{
	struct webhook_event *event = lane->first;
	lane->first = event->next;
	lane->tries = 0;
	event_free(lane->hook, event);
	if (lane->first != NULL)
		make_ready(lane);
	else
		lane_free(lane);
}

void
webhook_lane_end(struct webhook *hook)
{
	for (size_t i = 0; i < WEBHOOK_LANES; i++)
		while (hook->buckets[i] != NULL) {
			struct webhook_lane *lane = hook->buckets[i];
			while (lane->first != NULL) {
				struct webhook_event *event = lane->first;
				lane->first = event->next;
				event_free(hook, event);
			}
			lane_free(lane);
		}
	hook->ready = NULL;
	hook->ready_end = &hook->ready;
	hook->n_ready = 0;
}
