/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/mem.h"
#include "operators/probe/events_shard.h"
#include "store/redis/resp.h"

enum { FIELDS_MAX = 32 };

static bool
has_elements(const redisReply *reply)
{
	return reply != NULL && reply->type == REDIS_REPLY_ARRAY;
}

static int
compare_entries(const struct event_id *a, const struct event_id *b)
{
	struct event_id of_same = *b;
	of_same.shard = a->shard;
	return event_compare(a, &of_same);
}

/* --- what a stream says of itself --- */

struct stream_info {
	int64_t length;
	int64_t added; /* since it was made */
	struct event_id first; /* zeros: there is none */
	struct event_id last;  /* that ever was */
};

static int64_t
count_in(const redisReply *reply)
{
	bool is = reply->type == REDIS_REPLY_INTEGER && reply->integer >= 0;
	return is ? reply->integer : -1;
}

/* Zeros where it is none. */
static struct event_id
id_of(const redisReply *reply)
{
	struct event_id id = {0};
	if (!event_read_entry(resp_text(reply), &id))
		id = (struct event_id){0};
	return id;
}

static void
read_member(struct stream_info *info, struct span name,
    const redisReply *value)
{
	if (span_eq(name, SPAN("length")))
		info->length = count_in(value);
	else if (span_eq(name, SPAN("entries-added")))
		info->added = count_in(value);
	else if (span_eq(name, SPAN("last-generated-id")))
		info->last = id_of(value);
	else if (span_eq(name, SPAN("first-entry")) && has_elements(value) &&
	    value->elements > 0)
		info->first = id_of(value->element[0]);
}

static bool
read_info(const redisReply *reply, struct stream_info *ret_info)
{
	struct stream_info info = {.length = -1, .added = -1};
	if (!has_elements(reply))
		return false;
	for (size_t i = 0; i + 1 < reply->elements; i += 2)
		read_member(&info, resp_text(reply->element[i]),
		    reply->element[i + 1]);
	if (info.length < 0 || info.added < info.length)
		return false;
	*ret_info = info;
	return true;
}

/* An error that says that there is no such key: a stream of nothing. */
static bool
is_missing(const redisReply *reply)
{
	return reply != NULL && reply->type == REDIS_REPLY_ERROR &&
	    span_eq(span_str(reply->str), SPAN("ERR no such key"));
}

/* The id before which nothing of that one was read. */
static struct event_id
before(struct event_id id)
{
	if (id.number > 0)
		id.number--;
	else if (id.ms > 0)
		id = (struct event_id){id.shard, id.ms - 1, INT64_MAX};
	return id;
}

static enum events_seen
begin_shard(struct events_shard *shard, const struct stream_info *info,
    enum events_from from, const struct event_id *since)
{
	int64_t removed = info->added - info->length;
	struct event_id start = {.shard = shard->position.shard};
	shard->looked_at = true;
	shard->more = true;
	shard->first_ms = info->first.ms;
	shard->end = info->last;
	shard->end.shard = start.shard;
	shard->passed = removed;
	if (from == EVENTS_NOW) {
		shard->position = shard->end;
		shard->passed = info->added;
	}
	if (from != EVENTS_SINCE)
		return EVENTS_WELL;
	start.ms = since->ms;
	start.number = since->shard == start.shard ? since->number : 0;
	shard->position = before(start);
	if (compare_entries(&start, &info->last) > 0)
		shard->passed = info->added;
	else if (info->length > 0 && compare_entries(&info->first, &start) <= 0)
		shard->passed = -1;
	else if (removed > 0)
		return EVENTS_GAP;
	return EVENTS_WELL;
}

static enum events_seen
compare_look(struct events_shard *shard, const struct stream_info *info,
    int64_t *ret_lost)
{
	int64_t removed = info->added - info->length;
	int64_t passed = shard->passed;
	int order = compare_entries(&shard->position, &info->last);
	if (order >= 0)
		shard->passed = info->added;
	else if (passed >= 0 && removed > passed)
		shard->passed = removed;
	if (order > 0 && shard->has_read) {
		shard->position.ms = info->last.ms;
		shard->position.number = info->last.number;
		return EVENTS_REWOUND;
	}
	if (passed < 0 || shard->passed <= passed)
		return EVENTS_WELL;
	*ret_lost = shard->passed - passed;
	return EVENTS_LOST;
}

enum events_seen
events_shard_look(struct events_shard *shard, const redisReply *reply,
    enum events_from from, const struct event_id *since, int64_t *ret_lost)
{
	struct stream_info info = {.length = 0};
	if (!is_missing(reply) && !read_info(reply, &info))
		return EVENTS_NO_STREAM;
	return shard->looked_at ? compare_look(shard, &info, ret_lost)
				: begin_shard(shard, &info, from, since);
}

/* --- its entries --- */

static bool
read_entry(const struct conf_store *conf, const redisReply *entry,
    struct events_event *ret_event)
{
	struct event_field fields[FIELDS_MAX];
	size_t count = 0;
	if (!has_elements(entry) || entry->elements != 2 ||
	    !event_read_entry(
		resp_text(entry->element[0]), &ret_event->id) ||
	    !has_elements(entry->element[1]))
		return false;
	const redisReply *words = entry->element[1];
	for (size_t i = 0; i + 1 < words->elements && count < FIELDS_MAX;
	     i += 2)
		fields[count++] = (struct event_field){
		    resp_text(words->element[i]),
		    resp_text(words->element[i + 1])};
	ret_event->message = event_message(conf, &ret_event->id, fields, count);
	return true;
}

static void
drop_list(struct events_shard *shard)
{
	while (shard->at < shard->count)
		json_decref(shard->list[shard->at++].message);
	shard->at = shard->count = 0;
}

bool
events_shard_take(struct events_shard *shard, const struct conf_store *conf,
    const redisReply *entries, size_t page)
{
	drop_list(shard);
	shard->more = has_elements(entries) && entries->elements >= page;
	if (!has_elements(entries))
		return entries != NULL && entries->type == REDIS_REPLY_NIL;
	shard->list = mem_grow(
	    shard->list, (entries->elements + 1) * sizeof *shard->list);
	for (size_t i = 0; i < entries->elements; i++) {
		struct events_event *event = &shard->list[i];
		event->id = shard->position;
		if (!read_entry(conf, entries->element[i], event))
			return false;
		shard->count++;
		shard->position = event->id;
		shard->has_read = true;
		if (shard->passed >= 0)
			shard->passed++;
	}
	return true;
}

void
events_shard_stop_at_end(struct events_shard *shard)
{
	if (compare_entries(&shard->position, &shard->end) >= 0)
		shard->more = false;
	while (shard->count > shard->at &&
	    compare_entries(
		&shard->list[shard->count - 1].id, &shard->end) > 0)
		json_decref(shard->list[--shard->count].message);
}

const struct events_event *
events_shard_first(const struct events_shard *shard)
{
	return shard->at < shard->count ? &shard->list[shard->at] : NULL;
}

json_t *
events_shard_pop(struct events_shard *shard)
{
	return shard->list[shard->at++].message;
}

void
events_shard_clear(struct events_shard *shard)
{
	drop_list(shard);
	free(shard->list);
	shard->list = NULL;
}
