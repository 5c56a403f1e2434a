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
#include "messages/broker/streams_private.h"
#include "messages/broker/streams_script.h"
#include "store/redis/redis_error.h"

/*
 * An acknowledgement on its way.  One that was sent lives until its reply, even
 * where its owner has given it up.
 */
struct streams_finish {
	struct link_call call;
	struct streams *streams;
	struct broker_finish *finish; /* NULL: given up */
	struct streams_id id;
	int64_t delivered; /* as it was last sent; 0: not known */
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

static void
send_finish(struct streams_finish *f)
{
	struct resp command = {0};
	const struct streams_held *held =
	    streams_hand_find(&f->streams->hand, f->id);
	unjoin(f);
	join(f, &f->streams->sent);
	f->delivered = held != NULL ? held->count : 0;
	streams_put_command(
	    f->streams, f->finish, f->whole, f->delivered, &command);
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
	if (held != NULL) {
		streams_hand_remove(&streams->hand, &held);
		streams_look_returned(streams, f->id);
		streams_before_returned(streams, f->id);
	}
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

/*
 * It is pending for our name, and was not as we had it: unless it is being
 * delivered to us anew, another reader of that name has it now.
 */
static bool
is_namesakes(const struct streams_finish *f)
{
	const struct streams_take *take = &f->streams->take;
	const struct streams_held *held =
	    streams_hand_find(&f->streams->hand, f->id);
	bool comes = take->awaited > 0 && take->reading == STREAMS_READ_OTHERS;
	return !comes && f->delivered > 0 && held != NULL &&
	    held->count == f->delivered;
}

/* Of an entry that is to come again, its finish waits for that. */
static void
on_missing(struct link_call *call, const redisReply *reply)
{
	struct streams_finish *f =
	    CONTAINER_OF(call, struct streams_finish, call);
	struct streams *streams = f->streams;
	if (reply == NULL) {
		end_finish(f, E_BROKER_DOWN);
		return;
	}
	bool known = reply->type == REDIS_REPLY_INTEGER;
	int64_t why = known ? reply->integer : STREAMS_MISSING_DONE;
	if (why == STREAMS_MISSING_AHEAD)
		streams_group_vanished(streams);
	if (why == STREAMS_MISSING_BACK && is_namesakes(f))
		why = STREAMS_MISSING_DONE;
	if (why >= STREAMS_MISSING_AHEAD && f->finish != NULL) {
		send_later(f);
		return;
	}
	if (why == STREAMS_MISSING_LOST &&
	    streams_hand_find(&streams->hand, f->id) != NULL)
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

void
streams_finish_start(struct streams *streams, struct broker_finish *finish)
{
	struct streams_finish *f = mem_zero(sizeof *f);
	f->streams = streams;
	f->finish = finish;
	/* A dead letter is in nobody's hand: nothing has the id 0-0. */
	must(streams_put_is_letter(finish) ||
	    streams_hand_read_id(finish->position, &f->id));
	finish->token = f;
	finish->refused[0] = '\0';
	op_start(&finish->op, streams->redis->timeout_ms, detach);
	finish->op.more_ms = more_ms;
	const char *why = streams_put_impossible(streams, finish);
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
