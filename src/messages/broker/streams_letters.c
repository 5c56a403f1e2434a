/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/error.h"
#include "base/mem.h"
#include "messages/broker/streams_private.h"
#include "messages/broker/streams_script.h"

/*
 * Pages of dead letters.  One that was asked for lives until its reply, even
 * where its owner has given it up.
 */
enum { BRIEF_BYTES = 1024 };

struct streams_page {
	struct link_call call;
	struct streams *streams;
	struct broker_letters *letters; /* NULL: given up */
	struct streams_page *next, **place;
};

static void
end_page(struct streams_page *page, int error)
{
	struct broker_letters *letters = page->letters;
	*page->place = page->next;
	if (page->next != NULL)
		page->next->place = page->place;
	free(page);
	if (letters != NULL)
		op_done(&letters->op, error);
}

static bool
is_page(const redisReply *reply)
{
	return reply->type == REDIS_REPLY_ARRAY && reply->elements > 1 &&
	    reply->element[0]->type == REDIS_REPLY_STRING &&
	    reply->element[1]->type == REDIS_REPLY_INTEGER &&
	    reply->element[0]->len < BROKER_LETTER_ID_BYTES;
}

static void
take_page(struct streams_page *page, const redisReply *reply)
{
	struct broker_letters *letters = page->letters;
	struct broker_message **end = &letters->messages;
	snprintf(letters->next, sizeof letters->next, "%s",
	    reply->element[0]->str);
	letters->pending = reply->element[1]->integer > 0;
	for (size_t i = 2; i < reply->elements; i++) {
		*end = streams_entry_letter(
		    page->streams, reply->element[i]);
		if (*end != NULL)
			end = &(*end)->next;
	}
}

static void
deny_page(struct streams_page *page, const redisReply *reply)
{
	if (streams_line_error(&page->streams->teller, reply) !=
	    STREAMS_REFUSED) {
		end_page(page, E_BROKER_DOWN);
		return;
	}
	if (page->letters != NULL)
		snprintf(page->letters->refused,
		    sizeof page->letters->refused, "%.*s", (int)reply->len,
		    reply->str);
	end_page(page, E_BROKER_REFUSED);
}

static void
on_page(struct link_call *call, const redisReply *reply)
{
	struct streams_page *page =
	    CONTAINER_OF(call, struct streams_page, call);
	if (reply != NULL && reply->type == REDIS_REPLY_ERROR) {
		deny_page(page, reply);
		return;
	}
	if (reply == NULL || !is_page(reply)) {
		end_page(page, E_BROKER_DOWN);
		return;
	}
	if (page->letters != NULL)
		take_page(page, reply);
	end_page(page, 0);
}

/* Its time is up, or its owner gives it up. */
static void
leave_page(struct op *op, int error)
{
	struct broker_letters *letters =
	    CONTAINER_OF(op, struct broker_letters, op);
	struct streams_page *page = letters->token;
	page->letters = NULL;
	if (error == E_TIMEOUT)
		op_done(op, E_BROKER_DOWN);
}

static void
send_page(struct streams_page *page)
{
	struct streams *streams = page->streams;
	const struct broker_letters *letters = page->letters;
	struct resp command = {0};
	resp_begin(&command, 11);
	resp_arg(&command, SPAN("EVAL"));
	resp_arg(&command, span_str(streams_script_letters));
	resp_arg(&command, SPAN("2"));
	resp_arg(&command, span_str(streams->source->dead_letters));
	resp_arg(&command, streams->key);
	resp_arg(&command, span_str(streams->source->name));
	resp_arg(&command, span_str(letters->after));
	resp_number(&command, (int64_t)letters->limit);
	resp_arg(&command, letters->position);
	if (letters->brief)
		resp_number(&command, BRIEF_BYTES);
	else
		resp_arg(&command, SPAN(""));
	resp_arg(&command, letters->look ? streams->group : SPAN(""));
	page->call.done = on_page;
	streams_line_send(&streams->teller, &page->call, &command);
	resp_clear(&command);
}

void
streams_letters_start(struct streams *streams, struct broker_letters *letters)
{
	letters->messages = NULL;
	letters->pending = false;
	letters->next[0] = letters->refused[0] = '\0';
	op_start(&letters->op, streams->redis->timeout_ms, leave_page);
	if (!streams_line_is_up(&streams->teller) ||
	    streams->source->dead_letters == NULL) {
		op_done(&letters->op, E_BROKER_DOWN);
		return;
	}
	struct streams_page *page = mem_zero(sizeof *page);
	page->streams = streams;
	page->letters = letters;
	letters->token = page;
	page->next = streams->pages;
	page->place = &streams->pages;
	if (page->next != NULL)
		page->next->place = &page->next;
	streams->pages = page;
	send_page(page);
}

void
streams_letters_end(struct streams *streams)
{
	for (struct streams_page *p = streams->pages; p != NULL; p = p->next) {
		struct broker_letters *letters = p->letters;
		p->letters = NULL;
		if (letters != NULL)
			op_done(&letters->op, E_CANCELLED);
	}
}
