/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/digits.h"
#include "base/mem.h"
#include "operators/probe/dial.h"

enum {
	REPLY_MOST_US = 30 * 1000 * 1000, /* the longest, in drops */
	PROBE_WORDS = 16,
};

struct dialled {
	struct loop *loop;
	struct link *link;
	bool runs; /* the loop does */
	struct timer silence;
	struct link_call call; /* while it is pending */
	bool pending;
	redisReply *reply; /* the last one, or NULL */
};

/* --- life --- */

static void
run(struct dialled *dial)
{
	dial->runs = true;
	loop_run(dial->loop);
	dial->runs = false;
}

/* A loop that is freed must not be stopped. */
static void
on_changed(void *arg, enum link_change change)
{
	struct dialled *dial = arg;
	(void)change;
	if (dial->runs)
		loop_stop(dial->loop);
}

/* A call whose reply takes its time must not be taken for one that is lost. */
static void
on_silence(void *arg)
{
	struct dialled *dial = arg;
	int64_t left_ms = link_left_ms(dial->link, &dial->call);
	if (left_ms == 0)
		link_reset(dial->link, "it did not answer in time");
	else if (clock_us() - dial->call.sent_us > REPLY_MOST_US)
		link_reset(dial->link, "its reply was too slow");
	else
		timer_set(&dial->silence, left_ms);
}

struct dialled *
dial_to(const struct conf *conf, const struct conf_redis *at, struct link_to to,
    char **ret_message)
{
	struct dialled *dial = mem_zero(sizeof *dial);
	const struct link_events events = {.changed = on_changed, .arg = dial};
	to.bare = !to.sentinel;
	to.unpulsed = true;
	dial->loop = loop_new();
	timer_init(&dial->silence, dial->loop, on_silence, dial);
	dial->link = link_new(dial->loop, conf, at, &to, &events);
	run(dial);
	if (!link_is_up(dial->link)) {
		*ret_message = mem_text(link_message(dial->link));
		dial_free(&dial);
	}
	return dial;
}

void
dial_free(struct dialled **dial)
{
	struct dialled *d = *dial;
	*dial = NULL;
	if (d == NULL)
		return;
	link_free(&d->link); /* which ends a call */
	freeReplyObject(d->reply);
	timer_clear(&d->silence);
	loop_free(&d->loop);
	free(d);
}

const char *
dial_broken(const struct dialled *dial)
{
	return link_is_up(dial->link) ? NULL : link_message(dial->link);
}

/* --- commands and replies --- */

static void
on_replied(struct link_call *call, const redisReply *reply)
{
	struct dialled *dial = CONTAINER_OF(call, struct dialled, call);
	dial->pending = false;
	if (reply != NULL)
		dial->reply = resp_copy(reply);
	on_changed(dial, LINK_CAME_UP);
}

const redisReply *
dial_send(struct dialled *dial, struct resp *command)
{
	freeReplyObject(dial->reply);
	dial->reply = NULL;
	if (link_is_up(dial->link)) {
		dial->pending = true;
		dial->call = (struct link_call){.done = on_replied};
		link_send(dial->link, &dial->call, command);
		timer_set(&dial->silence, 1);
	}
	resp_clear(command);
	while (dial->pending)
		run(dial);
	timer_clear(&dial->silence);
	return dial->reply;
}

const redisReply *
dial_ask(struct dialled *dial, size_t count, const char *const *words)
{
	struct resp command = {0};
	resp_begin(&command, count);
	for (size_t i = 0; i < count; i++)
		resp_arg(&command, span_str(words[i]));
	return dial_send(dial, &command);
}

const redisReply *
dial_probe(struct dialled *dial, const char *probe,
    const struct dial_word *words, size_t count)
{
	struct resp command = {0};
	struct span list[PROBE_WORDS], rest = span_str(probe);
	size_t n = 0;
	for (; n < PROBE_WORDS && span_next(&rest, ' ', &list[n]); n++) {
		size_t i = 0;
		while (i < count && !span_eq(list[n], span_str(words[i].word)))
			i++;
		if (i < count && words[i].text == NULL)
			return NULL;
		if (i < count)
			list[n] = span_str(words[i].text);
	}
	resp_begin(&command, n);
	for (size_t i = 0; i < n; i++)
		resp_arg(&command, list[i]);
	return dial_send(dial, &command);
}

const redisReply *
dial_accept(
    const struct dialled *dial, const redisReply *reply, char **ret_message)
{
	if (reply != NULL && reply->type != REDIS_REPLY_ERROR)
		return reply;
	*ret_message =
	    mem_text(reply != NULL ? reply->str : link_message(dial->link));
	return NULL;
}

bool
dial_is(const redisReply *reply, int type)
{
	return reply != NULL && reply->type == type;
}

int64_t
dial_number(const redisReply *list, const char *name)
{
	const redisReply *reply = resp_member(list, span_str(name));
	bool is = dial_is(reply, REDIS_REPLY_INTEGER) && reply->integer >= 0;
	return is ? reply->integer : -1;
}

bool
dial_read_stream(const redisReply *reply, struct dial_stream *ret_stream)
{
	const redisReply *first = resp_member(reply, SPAN("first-entry"));
	const redisReply *last = resp_member(reply, SPAN("last-generated-id"));
	struct dial_stream stream = {.length = dial_number(reply, "length"),
	    .added = dial_number(reply, "entries-added")};
	*ret_stream = (struct dial_stream){0};
	if (dial_is(reply, REDIS_REPLY_ERROR))
		return span_eq(span_str(reply->str), SPAN("ERR no such key"));
	if (last != NULL)
		(void)!event_read_entry(resp_text(last), &stream.last);
	if (dial_is(first, REDIS_REPLY_ARRAY) && first->elements > 0)
		(void)!event_read_entry(
		    resp_text(first->element[0]), &stream.first);
	*ret_stream = stream;
	return stream.length >= 0 && stream.added >= stream.length;
}

bool
dial_select(
    struct dialled *dial, const struct conf_redis *at, char **ret_message)
{
	char db[DIGITS_MAX + 1] = "";
	digits_put(db, at->db);
	const redisReply *reply = at->db != 0 && !at->managed
				      ? DIAL_ASK(dial, "SELECT", db)
				      : DIAL_ASK(dial, "PING");
	return dial_accept(dial, reply, ret_message) != NULL;
}
