/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/must.h"
#include "messages/broker/streams_private.h"

/*
 * An entry that is in hand, read again.  Where its bytes are gone it can never
 * be executed: it is acknowledged, and lost unless others have finished it.
 */
struct streams_again {
	struct link_call call;
	struct streams *streams;
	struct broker_again *again; /* NULL: given up */
	struct streams_id id;
	struct streams_again *next, **place; /* of its reader */
};

/* --- the end --- */

static void
end_again(struct streams_again *a, int error)
{
	*a->place = a->next;
	if (a->next != NULL)
		a->next->place = a->place;
	if (a->again != NULL)
		op_done(&a->again->op, error);
	free(a);
}

static void
deny(struct streams_again *a, const redisReply *reply)
{
	if (streams_line_error(&a->streams->teller, reply) !=
	    STREAMS_REFUSED) {
		end_again(a, E_BROKER_DOWN);
		return;
	}
	if (a->again != NULL)
		snprintf(a->again->refused, sizeof a->again->refused, "%.*s",
		    (int)reply->len, reply->str);
	end_again(a, E_BROKER_REFUSED);
}

/* --- its bytes are gone --- */

static void
drop_entry(struct streams_again *a)
{
	struct streams *streams = a->streams;
	struct streams_held *held = streams_hand_find(&streams->hand, a->id);
	bool ours = held != NULL && !held->foreign && !held->unsure;
	if (!streams_look_drop(
		streams, a->id, BROKER_TRIMMED_PENDING, ours)) {
		end_again(a, E_BROKER_DOWN);
		return;
	}
	if (held != NULL)
		streams_hand_remove(&streams->hand, &held);
	end_again(a, 0);
}

/* --- reading --- */

static void
take_entry(struct streams_again *a, const redisReply *entry)
{
	struct broker_message *message =
	    streams_entry_again(a->streams, entry);
	if (message == NULL)
		link_distrust(
		    a->streams->teller.link, "an entry that cannot be read");
	else if (a->again != NULL)
		a->again->message = message;
	else
		broker_message_free(&message);
	end_again(a, message != NULL ? 0 : E_BROKER_DOWN);
}

static void
on_read_again(struct link_call *call, const redisReply *reply)
{
	struct streams_again *a =
	    CONTAINER_OF(call, struct streams_again, call);
	if (reply != NULL && reply->type == REDIS_REPLY_ERROR)
		deny(a, reply);
	else if (reply == NULL || reply->type != REDIS_REPLY_ARRAY ||
	    reply->elements > 1 || a->again == NULL || a->streams->leaving)
		end_again(a, E_BROKER_DOWN);
	else if (reply->elements == 1)
		take_entry(a, reply->element[0]);
	else
		drop_entry(a);
}

static void
send_again(struct streams_again *a)
{
	struct streams *streams = a->streams;
	char text[STREAMS_ID_MAX];
	struct span id = span_of(text, streams_hand_put_id(a->id, text));
	struct resp command = {0};
	resp_begin(&command, 4);
	resp_arg(&command, SPAN("XRANGE"));
	resp_arg(&command, streams->key);
	resp_arg(&command, id);
	resp_arg(&command, id);
	a->call.done = on_read_again;
	streams_line_send(&streams->teller, &a->call, &command);
	resp_clear(&command);
}

/* --- the operation --- */

/* Its time is up, or its owner gives it up. */
static void
let_again_go(struct op *op, int error)
{
	struct streams_again *a =
	    CONTAINER_OF(op, struct broker_again, op)->token;
	a->again = NULL;
	if (error == E_TIMEOUT)
		op_done(op, E_BROKER_DOWN);
}

void
streams_again_start(struct streams *streams, struct broker_again *again)
{
	again->message = NULL;
	again->refused[0] = '\0';
	op_start(&again->op, streams->redis->timeout_ms, let_again_go);
	if (!streams_line_is_up(&streams->teller)) {
		op_done(&again->op, E_BROKER_DOWN);
		return;
	}
	struct streams_again *a = mem_zero(sizeof *a);
	a->streams = streams;
	a->again = again;
	must(streams_hand_read_id(again->position, &a->id));
	again->token = a;
	a->next = streams->agains;
	a->place = &streams->agains;
	if (a->next != NULL)
		a->next->place = &a->next;
	streams->agains = a;
	send_again(a);
}

void
streams_again_end(struct streams *streams)
{
	for (struct streams_again *a = streams->agains; a; a = a->next) {
		struct broker_again *again = a->again;
		a->again = NULL;
		if (again != NULL)
			op_done(&again->op, E_CANCELLED);
	}
}
