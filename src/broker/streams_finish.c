/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/mem.h"
#include "base/must.h"
#include "base/test_build.h"
#include "broker/streams_private.h"
#include "broker/streams_script.h"
#include "redis/redis_error.h"
#include "redis/slots.h"

/*
 * An acknowledgement on its way.  One that was sent lives until its reply, even
 * where its owner has given it up.
 */
struct streams_finish {
	struct link_call call;
	struct streams *streams;
	struct broker_finish *finish; /* NULL: given up */
	struct streams_id id;
	bool whole; /* with the script's text */
	struct streams_finishes *list;
	struct streams_finish *next, **place;
};

/* --- waiting, or sent --- */

static void
join(struct streams_finish *f, struct streams_finishes *list)
{
	f->list = list;
	f->next = NULL;
	f->place = list->end;
	*f->place = f;
	list->end = &f->next;
}

static void
unjoin(struct streams_finish *f)
{
	*f->place = f->next;
	if (f->next != NULL)
		f->next->place = f->place;
	else
		f->list->end = f->place;
}

static bool
is_sent(const struct streams_finish *f)
{
	return f->list == &f->streams->sent;
}

/* --- the end --- */

static void
end_finish(struct streams_finish *f, int error)
{
	struct broker_finish *finish = f->finish;
	unjoin(f);
	if (finish != NULL)
		op_done(&finish->op, error);
	free(f);
}

static void
end_as(struct streams_finish *f, enum broker_finished finished)
{
	if (f->finish != NULL)
		f->finish->finished = finished;
	end_finish(f, 0);
}

static void
end_refused(struct streams_finish *f, const char *words)
{
	struct broker_finish *finish = f->finish;
	snprintf(finish->refused, sizeof finish->refused, "%s", words);
	end_finish(f, E_BROKER_REFUSED);
}

/* Whether it was executed is not known. */
static void
end_unsure(struct streams_finish *f)
{
	struct streams_held *held =
	    streams_hand_find(&f->streams->hand, f->id);
	if (held != NULL)
		held->unsure = true;
	end_finish(f, E_BROKER_DOWN);
}

/* --- sending --- */

static void on_finished(struct link_call *call, const redisReply *reply);

static const char *
target_of(const struct streams *streams, const struct broker_put *put)
{
	return put->place == BROKER_RESULTS ? streams->source->results
					    : streams->source->dead_letters;
}

static void
put_script(const struct streams_finish *f, struct resp *command)
{
	const struct span parts[] = {INVARIANT(put_while_pending)
		? span_str(streams_script_pending)
		: SPAN(""), span_str(streams_script_put)};
	resp_arg(command, f->whole ? SPAN("EVAL") : SPAN("EVALSHA"));
	if (f->whole)
		resp_joined(command, parts, 2);
	else
		resp_arg(command, span_str(f->streams->put_sha));
}

static void
put_fields(const struct broker_put *put, struct resp *command)
{
	for (size_t i = 0; i < put->fields.count; i++) {
		resp_arg(command, put->fields.list[i].name);
		resp_arg(command, put->fields.list[i].value);
	}
	if (put->has_body) {
		resp_arg(command, SPAN("body"));
		resp_arg(command, put->body);
	}
}

/* How many of the values the entry's own take the place of. */
static void
put_kept(const struct broker_put *put, struct resp *command)
{
	if (put->whole)
		resp_number(command, 2 * (int64_t)put->n_kept);
	else
		resp_arg(command, SPAN(""));
}

static size_t
count_values(const struct broker_put *put)
{
	return 2 * (put->fields.count + put->has_body);
}

static void
make_put(const struct streams_finish *f, struct resp *ret_command)
{
	const struct streams *streams = f->streams;
	const struct broker_put *put = f->finish->put;
	resp_begin(ret_command, 9 + count_values(put));
	put_script(f, ret_command);
	resp_arg(ret_command, SPAN("2"));
	resp_arg(ret_command, streams->key);
	resp_arg(ret_command, span_str(target_of(streams, put)));
	resp_arg(ret_command, streams->group);
	resp_arg(ret_command, span_str(streams->instance));
	resp_arg(ret_command, f->finish->position);
	put_kept(put, ret_command);
	put_fields(put, ret_command);
}

static void
make_ack(const struct streams_finish *f, struct resp *ret_command)
{
	resp_begin(ret_command, 4);
	resp_arg(ret_command, SPAN("XACK"));
	resp_arg(ret_command, f->streams->key);
	resp_arg(ret_command, f->streams->group);
	resp_arg(ret_command, f->finish->position);
}

static bool
has_put(const struct streams_finish *f)
{
	return f->finish->put != NULL &&
	    f->finish->put->place != BROKER_NOWHERE;
}

static bool
is_letter(const struct streams_finish *f)
{
	return f->finish->letter.len > 0;
}

/* What is to become of a dead letter. */
static void
make_letter(const struct streams_finish *f, struct resp *ret_command)
{
	const struct streams *streams = f->streams;
	const struct broker_put *put = has_put(f) ? f->finish->put : NULL;
	struct span dead = span_str(streams->source->dead_letters);
	resp_begin(ret_command, 9 + (put != NULL ? count_values(put) : 0));
	resp_arg(ret_command, SPAN("EVAL"));
	resp_arg(ret_command, span_str(streams_script_letter));
	resp_arg(ret_command, SPAN("2"));
	resp_arg(ret_command, dead);
	resp_arg(ret_command,
	    put != NULL ? span_str(target_of(streams, put)) : dead);
	resp_arg(ret_command, streams->group);
	resp_arg(ret_command, span_str(streams->instance));
	resp_arg(ret_command, f->finish->letter);
	if (put == NULL) {
		resp_arg(ret_command, SPAN(""));
		return;
	}
	put_kept(put, ret_command);
	put_fields(put, ret_command);
}

static void
send_finish(struct streams_finish *f)
{
	struct resp command = {0};
	unjoin(f);
	join(f, &f->streams->sent);
	if (is_letter(f))
		make_letter(f, &command);
	else if (has_put(f))
		make_put(f, &command);
	else
		make_ack(f, &command);
	f->call.done = on_finished;
	streams_line_send(&f->streams->teller, &f->call, &command);
	resp_clear(&command);
}

/* What is in hand is pending, as far as anybody knows. */
static bool
can_send(const struct streams *streams)
{
	return streams_line_is_up(&streams->teller) &&
	    !streams->take.remaking && !timer_is_set(&streams->again);
}

static bool
may_wait(const struct streams *streams)
{
	return streams_line_is_up(&streams->teller) ||
	    link_is_hopeful(streams->teller.link);
}

void
streams_finish_flush(struct streams *streams)
{
	while (streams->waiting.first != NULL && can_send(streams))
		send_finish(streams->waiting.first);
}

static void
on_again(void *arg)
{
	streams_finish_flush(arg);
}

static void
send_later(struct streams_finish *f)
{
	struct streams *streams = f->streams;
	unjoin(f);
	join(f, &streams->waiting);
	if (!timer_is_set(&streams->again))
		timer_set(&streams->again, STREAMS_AGAIN_MS);
}

/* --- the reply --- */

static void
end_not_pending(struct streams_finish *f)
{
	struct streams *streams = f->streams;
	struct streams_held *held = streams_hand_find(&streams->hand, f->id);
	if (held != NULL)
		streams_hand_remove(&streams->hand, &held);
	end_as(f, BROKER_NOT_PENDING);
}

static void
end_finished(struct streams_finish *f)
{
	struct streams *streams = f->streams;
	struct streams_held *held = streams_hand_find(&streams->hand, f->id);
	if (held != NULL) {
		streams_hand_remove(&streams->hand, &held);
		streams_take_note_finished(streams, f->id);
	}
	streams_refused(streams, STREAMS_TO_FINISH, NULL);
	end_as(f, BROKER_FINISHED);
}

/* Nothing has happened. */
static void
take_error(struct streams_finish *f, const redisReply *reply)
{
	if (f->finish == NULL) {
		end_finish(f, E_CANCELLED);
		return;
	}
	if (redis_error_of_reply(reply) == REDIS_ERROR_NOSCRIPT && !f->whole) {
		f->whole = true;
		send_finish(f);
		return;
	}
	if (streams_line_error(&f->streams->teller, reply) != STREAMS_REFUSED) {
		send_later(f);
		return;
	}
	streams_refused(f->streams, STREAMS_TO_FINISH, reply);
	end_refused(f, reply->str);
}

/* Of an entry that is to come again, its finish waits for that. */
static void
on_missing(struct link_call *call, const redisReply *reply)
{
	struct streams_finish *f =
	    CONTAINER_OF(call, struct streams_finish, call);
	struct streams *streams = f->streams;
	bool known = reply != NULL && reply->type == REDIS_REPLY_INTEGER;
	int64_t why = known ? reply->integer : STREAMS_MISSING_DONE;
	if (why == STREAMS_MISSING_AHEAD)
		streams_group_vanished(streams);
	if (why >= STREAMS_MISSING_AHEAD && f->finish != NULL) {
		send_later(f);
		return;
	}
	if (why == STREAMS_MISSING_LOST)
		streams_lost(streams, BROKER_DELETED, 1, NULL);
	end_not_pending(f);
}

static void
ask_why(struct streams_finish *f)
{
	struct streams *streams = f->streams;
	char text[STREAMS_ID_MAX];
	struct resp command = {0};
	streams_line_script(streams, streams_script_missing, 2, &command);
	resp_arg(&command, span_str(streams->instance));
	resp_arg(&command, span_of(text, streams_hand_put_id(f->id, text)));
	f->call.done = on_missing;
	streams_line_send(&streams->teller, &f->call, &command);
	resp_clear(&command);
}

/*
 * It was not pending.  Where this reader did that itself, or another one may
 * have, that is all.
 */
static void
take_nothing(struct streams_finish *f)
{
	struct streams_held *held =
	    streams_hand_find(&f->streams->hand, f->id);
	if (held != NULL && !held->foreign && !held->unsure)
		ask_why(f);
	else
		end_not_pending(f);
}

static void
on_finished(struct link_call *call, const redisReply *reply)
{
	struct streams_finish *f =
	    CONTAINER_OF(call, struct streams_finish, call);
	struct streams *streams = f->streams;
	if (reply == NULL) {
		end_unsure(f);
	} else if (reply->type == REDIS_REPLY_ERROR) {
		take_error(f, reply);
	} else if (reply->type != REDIS_REPLY_INTEGER) {
		link_distrust(
		    streams->teller.link, "a reply to another command");
		end_unsure(f);
	} else if (reply->integer == 0) {
		take_nothing(f);
	} else {
		end_finished(f);
	}
}

/* --- the operation --- */

static struct streams_finish *
of_op(struct op *op)
{
	return CONTAINER_OF(op, struct broker_finish, op)->token;
}

/* Its time is up, or its owner gives it up. */
static void
detach(struct op *op, int error)
{
	struct streams_finish *f = of_op(op);
	struct streams_held *held =
	    streams_hand_find(&f->streams->hand, f->id);
	f->finish = NULL;
	if (held != NULL && is_sent(f))
		held->unsure = true;
	if (!is_sent(f))
		end_finish(f, error);
	if (error == E_TIMEOUT)
		op_done(op, E_BROKER_DOWN);
}

/* What was sent takes as long as the connection lives. */
static int64_t
more_ms(struct op *op)
{
	struct streams_finish *f = of_op(op);
	return is_sent(f)
	    ? link_left_ms(f->streams->teller.link, &f->call)
	    : 0;
}

/* The slot of a key is that of what stands between its first braces. */
static struct span
tag_of(struct span key)
{
	const char *open = memchr(key.ptr, '{', key.len);
	if (open == NULL)
		return key;
	struct span rest =
	    span_from(key, (size_t)(open + 1 - key.ptr));
	const char *close = memchr(rest.ptr, '}', rest.len);
	return close == NULL || close == rest.ptr
	    ? key
	    : span_of(rest.ptr, (size_t)(close - rest.ptr));
}

/* Why it cannot be done at all; NULL: it can. */
static const char *
impossible(const struct streams_finish *f)
{
	const struct streams *streams = f->streams;
	if (is_letter(f) && streams->source->dead_letters == NULL)
		return "no stream is configured for dead letters";
	if (!has_put(f))
		return NULL;
	const char *target = target_of(streams, f->finish->put);
	if (target == NULL)
		return "no stream is configured for it";
	if (streams->redis->cluster.count > 0 &&
	    slots_of_tag(tag_of(span_str(target))) !=
		slots_of_tag(tag_of(streams->key)))
		return "its stream is in another slot of the cluster";
	return NULL;
}

void
streams_finish_start(struct streams *streams, struct broker_finish *finish)
{
	struct streams_finish *f = mem_zero(sizeof *f);
	f->streams = streams;
	f->finish = finish;
	/* A dead letter is in nobody's hand: nothing has the id 0-0. */
	must(is_letter(f) || streams_hand_read_id(finish->position, &f->id));
	finish->token = f;
	finish->refused[0] = '\0';
	op_start(&finish->op, streams->redis->timeout_ms, detach);
	finish->op.more_ms = more_ms;
	const char *why = impossible(f);
	join(f, &streams->waiting);
	if (why != NULL)
		end_refused(f, why);
	else if (!may_wait(streams))
		end_finish(f, E_BROKER_DOWN);
	else
		streams_finish_flush(streams);
}

/* --- life --- */

void
streams_finish_down(struct streams *streams)
{
	while (streams->waiting.first != NULL && !may_wait(streams))
		end_finish(streams->waiting.first, E_BROKER_DOWN);
}

void
streams_finish_end(struct streams *streams)
{
	timer_clear(&streams->again);
	while (streams->waiting.first != NULL)
		end_finish(streams->waiting.first, E_CANCELLED);
	for (struct streams_finish *f = streams->sent.first; f != NULL;
	     f = f->next) {
		if (f->finish != NULL)
			op_done(&f->finish->op, E_CANCELLED);
		f->finish = NULL;
	}
}

void
streams_finish_init(struct streams *streams)
{
	uint8_t hash[SHA1_BYTES];
	char *text = mem_printf("%s%s",
	    INVARIANT(put_while_pending) ? streams_script_pending : "",
	    streams_script_put);
	sha1(span_str(text), hash);
	hex_encode(hash, sizeof hash, streams->put_sha);
	free(text);
	streams->waiting.end = &streams->waiting.first;
	streams->sent.end = &streams->sent.first;
	timer_init(&streams->again, streams->loop, on_again, streams);
}
