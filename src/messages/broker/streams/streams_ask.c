/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/error.h"
#include "base/mem.h"
#include "messages/broker/streams/streams_private.h"

/* What is asked by the teller, and dropped by either line. */
struct streams_question {
	struct reader_question question; /* first */
	struct link_call call;
};

/* --- what both questions have in common --- */

static struct streams_question *
of_call(struct link_call *call)
{
	return CONTAINER_OF(call, struct streams_question, call);
}

static struct streams *
streams_behind(const struct streams_question *q)
{
	return streams_of(q->question.reader);
}

static void
end(struct streams_question *q, int error, const char *refused)
{
	reader_ask_end(&q->question, error, refused);
	free(q);
}

/* True: there is an answer, and somebody who waits for it. */
static bool
is_answered(struct streams_question *q, const redisReply *reply)
{
	struct streams_line *line = &streams_behind(q)->teller;
	if (reply != NULL && reply->type == REDIS_REPLY_ARRAY &&
	    q->question.op != NULL)
		return true;
	bool refused = reply != NULL && reply->type == REDIS_REPLY_ERROR &&
	    streams_line_error(line, reply) == STREAMS_REFUSED;
	if (refused)
		end(q, E_BROKER_REFUSED, reply->str);
	else
		end(q, E_BROKER_DOWN, NULL);
	return false;
}

static void
send_question(struct streams_question *q, struct resp *command,
    void (*done)(struct link_call *call, const redisReply *reply))
{
	q->call.done = done;
	streams_line_send(&streams_behind(q)->teller, &q->call, command);
	resp_clear(command);
}

/* --- an entry whose bytes are gone --- */

/*
 * It is counted by the reply of its XACK; where there is none, whether that had
 * found it or not.  So a loss may be told twice; never by nobody.
 */
struct streams_drop {
	struct link_call call;
	struct streams_line *line;
	struct streams_id id;
};

static void
on_dropped(struct link_call *call, const redisReply *reply)
{
	struct streams_drop *d = CONTAINER_OF(call, struct streams_drop, call);
	struct streams *streams = d->line->streams;
	struct streams_id_text text;
	streams_entry_id_write(d->id, &text);
	if (reply != NULL && reply->type == REDIS_REPLY_ERROR)
		streams_line_error(d->line, reply);
	else if (reply == NULL || reply->integer == 1)
		reader_flight_lost(&streams->core, BROKER_TRIMMED_PENDING, 1,
		    text.span, NULL);
	streams->owed--;
	reader_kick(&streams->core);
	free(d);
}

void
streams_ask_drop(struct streams_line *line, struct streams_id id)
{
	struct resp command = {0};
	struct streams_drop *d = mem_zero(sizeof *d);
	d->line = line;
	d->id = id;
	d->call.done = on_dropped;
	line->streams->owed++;
	resp_begin(&command, 4);
	resp_arg(&command, SPAN("XACK"));
	resp_arg(&command, line->streams->key);
	resp_arg(&command, line->streams->group);
	streams_line_id(&command, id);
	streams_line_send(line, &d->call, &command);
	resp_clear(&command);
}

/* --- copies --- */

static void
on_copies(struct link_call *call, const redisReply *reply)
{
	struct streams_question *q = of_call(call);
	if (!is_answered(q, reply))
		return;
	struct broker_copies *copies =
	    CONTAINER_OF(q->question.op, struct broker_copies, op);
	struct broker_message **last = &copies->messages;
	for (size_t i = 1; i < reply->elements; i++) {
		*last = streams_entry_copy(
		    streams_behind(q), reply->element[i]);
		if (*last != NULL)
			last = &(*last)->next;
	}
	if (reply->elements > 0)
		snprintf(copies->next, sizeof copies->next, "%.*s",
		    SPAN_FMT(resp_text(reply->element[0])));
	end(q, 0, NULL);
}

void
streams_ask_copies(struct broker_reader *core, struct broker_copies *copies)
{
	struct streams *streams = streams_of(core);
	const struct conf_source *source = core->source;
	struct streams_question *q = mem_zero(sizeof *q);
	struct resp command = {0};
	reader_ask_copies(core, copies, &q->question);
	if (!streams_line_is_up(&streams->teller) ||
	    source->dead_letters == NULL ||
	    streams_line_is_apart(streams, source->dead_letters)) {
		end(q, E_BROKER_DOWN, NULL);
		return;
	}
	streams_script_begin(&streams->scripts, STREAMS_SCRIPT_COPIES,
	    span_str(source->dead_letters), span_of(NULL, 0), 3, &command);
	resp_arg(&command, span_str(source->name));
	resp_arg(&command, span_str(copies->after));
	resp_number(&command, (int64_t)copies->limit);
	send_question(q, &command, on_copies);
}
