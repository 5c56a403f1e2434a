/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/error.h"
#include "base/mem.h"
#include "messages/broker/streams/streams_private.h"

struct streams_question {
	struct reader_question question; /* first */
	struct link_call call;
};

static void
end(struct streams_question *q, int error, const char *refused)
{
	reader_ask_end(&q->question, error, refused);
	free(q);
}

/* False: it is no page. */
static bool
read_page(const struct streams *streams, const redisReply *reply,
    struct broker_copies *copies)
{
	struct broker_message **last = &copies->messages;
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements == 0)
		return false;
	for (size_t i = 1; i < reply->elements; i++) {
		*last = streams_entry_copy(streams, reply->element[i]);
		if (*last != NULL)
			last = &(*last)->next;
	}
	snprintf(copies->next, sizeof copies->next, "%.*s",
	    SPAN_FMT(resp_text(reply->element[0])));
	return true;
}

static void
on_copies(struct link_call *call, const redisReply *reply)
{
	struct streams_question *q =
	    CONTAINER_OF(call, struct streams_question, call);
	struct streams *streams = streams_of(q->question.reader);
	if (reply != NULL && reply->type == REDIS_REPLY_ERROR &&
	    streams_line_error(&streams->teller, reply) == STREAMS_REFUSED)
		end(q, E_BROKER_REFUSED, reply->str);
	else if (reply != NULL && q->question.op != NULL &&
	    read_page(streams, reply,
		CONTAINER_OF(q->question.op, struct broker_copies, op)))
		end(q, 0, NULL);
	else
		end(q, E_BROKER_DOWN, NULL);
}

void
streams_copies_ask(struct broker_reader *core, struct broker_copies *copies)
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
	q->call.done = on_copies;
	streams_line_send(&streams->teller, &q->call, &command);
	resp_clear(&command);
}
