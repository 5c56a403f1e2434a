/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "lib/client.h"

char
client_byte(size_t i)
{
	return (char)('a' + i % 23);
}

char *
client_body(size_t size)
{
	char *body = mem_zero(size + 1);
	for (size_t i = 0; i < size; i++)
		body[i] = client_byte(i);
	return body;
}

static void
note_memory(struct client *c)
{
	size_t used = c->sender->budget.used;
	c->most = used > c->most ? used : c->most;
}

static void
on_room(void *arg)
{
	struct client *c = arg;
	size_t room;
	while (c->put < c->size && (room = flow_room(&c->up)) > 0) {
		char piece[4096];
		size_t len = room < sizeof piece ? room : sizeof piece;
		len = len < c->size - c->put ? len : c->size - c->put;
		for (size_t i = 0; i < len; i++)
			piece[i] = client_byte(c->put + i);
		must(flow_put(&c->up, piece, len) == len);
		c->put += len;
		note_memory(c);
	}
	if (c->put == c->size && !c->up.ended)
		flow_end(&c->up, 0);
}

static void
on_bytes(void *arg)
{
	struct client *c = arg;
	struct span bytes;
	note_memory(c);
	while ((bytes = flow_look(c->rest)).len > 0) {
		for (size_t i = 0; i < bytes.len; i++)
			must(bytes.ptr[i] == client_byte(c->got + i));
		c->got += bytes.len;
		flow_take(c->rest, bytes.len);
	}
	if (c->rest->ended && c->running)
		loop_stop(c->sender->loop);
}

void
client_init(struct client *c, struct sender *sender)
{
	*c = (struct client){
	    .sender = sender,
	    .up = {.loop = sender->loop, .body.budget = &sender->budget},
	};
	flow_by(&c->up.writer, on_room, c);
}

void
client_upload(
    struct client *c, struct call *call, size_t size, int64_t length)
{
	call->message.body = SPAN("");
	call->message.source = &c->up;
	call->message.length = length;
	c->size = size;
	must(body_reserve(
		 &c->up.body, FLOW_LEAST_BYTES, BUDGET_COMMON) == 0);
	on_room(c);
}

void
client_read(struct client *c, struct call *call)
{
	c->rest = call->forward.rest;
	c->got = 0;
	flow_by(&c->rest->reader, on_bytes, c);
	on_bytes(c);
	c->running = true;
	while (!c->rest->ended || flow_look(c->rest).len > 0)
		sender_turn(c->sender);
	c->running = false;
}

void
client_leave(struct client *c)
{
	flow_by(&c->up.writer, NULL, NULL);
	flow_end(&c->up, E_CLIENT_GONE);
}

void
client_end(struct client *c)
{
	flow_clear(&c->up);
}
