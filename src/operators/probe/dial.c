/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "operators/probe/dial.h"
#include "store/redis/link.h"

enum { REPLY_MOST_US = 30 * 1000 * 1000 /* the longest, in drops */ };

struct dialled {
	struct loop *loop;
	struct link *link;
	struct list calls;      /* whose replies nobody has asked for */
	struct dial_call *last; /* whose reply is in use; or NULL */
	struct timer silence;
	bool waits; /* the loop runs */
};

struct dial_call {
	struct link_call call;
	struct dialled *dial;
	struct list in_dial;
	struct arena *arena; /* of the reply */
	const redisReply *reply;
	bool ended;
};

/* --- waiting --- */

static void
wait_for(struct dialled *dial)
{
	dial->waits = true;
	loop_run(dial->loop);
	dial->waits = false;
}

static void
end_waiting(struct dialled *dial)
{
	if (dial->waits)
		loop_stop(dial->loop);
}

/* --- life --- */

static void
on_changed(void *arg, bool up)
{
	(void)up;
	end_waiting(arg);
}

static void
on_failed(void *arg)
{
	end_waiting(arg);
}

/* A call whose reply takes its time must not be taken for one that is lost. */
static void
on_silence(void *arg)
{
	struct dialled *dial = arg;
	struct dial_call *first =
	    LIST_FIRST(&dial->calls, struct dial_call, in_dial);
	int64_t left_ms = link_left_ms(dial->link, &first->call);
	if (left_ms == 0)
		link_reset(dial->link, "it did not answer in time");
	else if (clock_us() - first->call.sent_us > REPLY_MOST_US)
		link_reset(dial->link, "its reply was too slow");
	else
		timer_set(&dial->silence, left_ms);
}

static struct dialled *
connect_to(const struct conf *conf, const struct conf_redis *at,
    const struct link_to *to, char **ret_message)
{
	struct dialled *dial = mem_zero(sizeof *dial);
	const struct link_events events = {.changed = on_changed,
	    .failed = on_failed,
	    .unsaid = true,
	    .arg = dial};
	dial->loop = loop_new();
	list_init(&dial->calls);
	timer_init(&dial->silence, dial->loop, on_silence, dial);
	dial->link = link_new(dial->loop, conf, at, to, &events);
	wait_for(dial);
	if (dial_is_broken(dial)) {
		*ret_message = mem_text(link_message(dial->link));
		dial_free(&dial);
	}
	return dial;
}

struct dialled *
dial_tcp(const struct conf *conf, const struct conf_redis *at, const char *host,
    uint16_t port, char **ret_message)
{
	return connect_to(conf, at,
	    &(struct link_to){
		.host = host, .port = port, .bare = true, .unpulsed = true},
	    ret_message);
}

struct dialled *
dial_unix(const struct conf *conf, const struct conf_redis *at,
    const char *path, char **ret_message)
{
	return connect_to(conf, at,
	    &(struct link_to){.socket = path, .bare = true, .unpulsed = true},
	    ret_message);
}

struct dialled *
dial_sentinel(const struct conf *conf, const struct conf_redis *at,
    const char *host, uint16_t port, char **ret_message)
{
	return connect_to(conf, at,
	    &(struct link_to){
		.host = host, .port = port, .sentinel = true, .unpulsed = true},
	    ret_message);
}

static void
drop_call(struct dial_call *call)
{
	if (call == NULL)
		return;
	list_remove(&call->in_dial);
	arena_free(&call->arena);
	free(call);
}

void
dial_free(struct dialled **dial)
{
	struct dialled *d = *dial;
	struct dial_call *call;
	*dial = NULL;
	if (d == NULL)
		return;
	link_free(&d->link); /* which ends all calls */
	LIST_EACH(call, &d->calls, in_dial)
	drop_call(call);
	drop_call(d->last);
	timer_clear(&d->silence);
	loop_free(&d->loop);
	free(d);
}

bool
dial_is_broken(const struct dialled *dial)
{
	return !link_is_up(dial->link);
}

const char *
dial_message(const struct dialled *dial)
{
	return link_message(dial->link);
}

/* --- commands and replies --- */

static redisReply *
copy_reply(struct arena *arena, const redisReply *reply)
{
	redisReply *copy = arena_alloc(arena, sizeof *copy);
	*copy = *reply;
	if (reply->str != NULL)
		copy->str = memcpy(
		    arena_alloc(arena, reply->len + 1), reply->str, reply->len);
	copy->element =
	    arena_alloc(arena, (reply->elements + 1) * sizeof copy->element);
	for (size_t i = 0; i < reply->elements; i++)
		copy->element[i] = copy_reply(arena, reply->element[i]);
	return copy;
}

static void
on_replied(struct link_call *call, const redisReply *reply)
{
	struct dial_call *one = CONTAINER_OF(call, struct dial_call, call);
	one->ended = true;
	one->arena = arena_new();
	if (reply != NULL)
		one->reply = copy_reply(one->arena, reply);
	end_waiting(one->dial);
}

void
dial_send(struct dialled *dial, const struct resp *command)
{
	struct dial_call *call = mem_zero(sizeof *call);
	call->dial = dial;
	call->call.done = on_replied;
	list_add_last(&dial->calls, &call->in_dial);
	if (dial_is_broken(dial))
		call->ended = true;
	else
		link_send(dial->link, &call->call, command);
}

const redisReply *
dial_reply(struct dialled *dial)
{
	struct dial_call *call =
	    LIST_FIRST(&dial->calls, struct dial_call, in_dial);
	must(call != NULL);
	while (!call->ended) {
		timer_set(&dial->silence, 1);
		wait_for(dial);
	}
	timer_clear(&dial->silence);
	list_remove(&call->in_dial);
	drop_call(dial->last);
	dial->last = call;
	return call->reply;
}

const redisReply *
dial_ask(struct dialled *dial, size_t count, const char *const *words)
{
	struct resp command = {0};
	resp_begin(&command, count);
	for (size_t i = 0; i < count; i++)
		resp_arg(&command, span_str(words[i]));
	dial_send(dial, &command);
	resp_clear(&command);
	return dial_reply(dial);
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
