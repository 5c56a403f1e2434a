/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/must.h"
#include "gate/request.h"
#include "http/front/exchange.h"
#include "http/front/front.h"
#include "replay/fakes.h"

/*
 * In place of src/http/front/front.c and exchange.c: clients whose requests
 * come when the scheduler says so, and that note their answers.  A client that
 * leaves is noticed where the real front notices it: while it sends, while
 * somebody watches it, and when it is answered.
 */
struct front {
	struct gateway *gateway;
	struct loop *loop;
	struct budget *budget;
	void (*arrived)(void *arg, struct exchange *x);
	void *arg;
	unsigned exchanges;
};

struct front *
front_new(struct loop *loop, const struct conf *conf, struct budget *budget,
    struct places *places, struct counter *turned_away,
    void (*arrived)(void *arg, struct exchange *x), void *arg)
{
	struct front *front = mem_zero(sizeof *front);
	(void)conf;
	(void)places;
	(void)turned_away;
	front->gateway = loop_gateway(loop);
	front->loop = loop;
	front->budget = budget;
	front->arrived = arrived;
	front->arg = arg;
	front->gateway->front = front;
	return front;
}

void
front_free(struct front **front)
{
	CHECK((*front)->exchanges == 0, "an exchange outlives its worker");
	(*front)->gateway->front = NULL;
	free(*front);
	*front = NULL;
}

void
front_listen(struct front *front, int fd, size_t entry, bool kept)
{
	(void)entry;
	(void)kept;
	(void)front;
	(void)fd;
	must(false);
}

void
front_reload(struct front *front, const struct conf *conf)
{
	(void)conf;
	front->gateway->reloaded = true;
}

void
front_drain(struct front *front)
{
	front->gateway->draining = true;
}

/* Here a request comes whole or not at all. */
bool
front_is_quiet(struct front *front)
{
	(void)front;
	return true;
}

/* --- a request arrives --- */

/* An exchange as its owner sees it, and the fake's own fields. */
struct fake_exchange {
	struct exchange shown;
	struct front *front;
	struct client *client;
	enum doing_here { NOTHING, READING, ANSWERING } doing;
	void (*left)(void *arg);
	void *left_arg;
};

static struct fake_exchange *
fake_of(struct exchange *x)
{
	return CONTAINER_OF(x, struct fake_exchange, shown);
}

const struct client *
fake_front_client(struct exchange *x)
{
	return fake_of(x)->client;
}

static void
add(struct exchange *x, const char *name, const char *value)
{
	x->head.fields.list[x->head.fields.count++] = (struct field){
	    span_str(name), arena_dup(x->arena, span_str(value))};
}

static void
write_head(struct exchange *x, const struct client *client)
{
	const struct caller *caller = client->caller;
	const char *body = caller->body ? caller->body : "pay 1";
	char text[LABEL_BYTES];
	x->head.method = SPAN("POST");
	x->head.target = SPAN("/pay");
	x->head.version = SPAN("HTTP/1.1");
	x->client = SPAN("127.0.0.1");
	x->head.fields.list =
	    arena_alloc(x->arena, 8 * sizeof *x->head.fields.list);
	add(x, "Host", "pay.test");
	add(x, "Idempotency-Key", caller->key);
	add(x, "Authorization", caller->scope ? caller->scope : "a");
	snprintf(text, sizeof text, "%zu", strlen(body));
	add(x, "Content-Length", text);
	snprintf(text, sizeof text, "client-%u",
	    (unsigned)(client - world.clients));
	add(x, "X-Request-Id", text);
	if (caller->wait_s > 0) {
		snprintf(text, sizeof text, "wait=%d", caller->wait_s);
		add(x, "Prefer", text);
	}
	x->has_body = *body != '\0';
	x->began_us = clock_us();
}

void
fake_front_arrive(struct client *client)
{
	struct front *front = client->gateway->front;
	struct arena *arena = arena_new();
	struct fake_exchange *fake = arena_alloc(arena, sizeof *fake);
	struct exchange *x = &fake->shown;
	x->arena = arena;
	fake->front = front;
	fake->client = client;
	x->body = (struct body){.budget = front->budget};
	write_head(x, client);
	client->x = x;
	client->state = CALLER_SENDING;
	front->exchanges++;
	front->arrived(front->arg, x);
}

/* --- what the owner does --- */

static void
detach(struct op *op, int error)
{
	(void)error;
	CONTAINER_OF(op, struct fake_exchange, shown.op)->doing = NOTHING;
}

static void
begin_call(struct exchange *x, enum doing_here doing)
{
	must(fake_of(x)->doing == NOTHING);
	fake_of(x)->doing = doing;
	op_start(&x->op, 0, detach);
}

static void
end_call(struct exchange *x, enum doing_here doing, int error)
{
	if (fake_of(x)->doing != doing)
		return;
	fake_of(x)->doing = NOTHING;
	op_done(&x->op, error);
}

void
exchange_read_body(struct exchange *x, size_t max_bytes)
{
	(void)max_bytes;
	begin_call(x, READING);
}

void
fake_front_body(struct client *client)
{
	struct exchange *x = client->x;
	const char *body = client->caller->body;
	body = body ? body : "pay 1";
	if (client->state == CALLER_SENDING)
		client->state = CALLER_WAITING;
	if (fake_of(x)->doing != READING)
		return;
	int error = body_append(&x->body, body, strlen(body));
	x->body_bytes = strlen(body);
	x->body_ended = true;
	end_call(x, READING, error);
}

/* What a client can see of its answer. */
static void
note_answer(struct client *client, const struct answer *answer,
    const struct fields *more)
{
	uint64_t seen = (uint64_t)answer->status;
	struct span body = body_span(&answer->body);
	client->status = answer->status;
	for (size_t i = 0; i < answer->fields.count; i++) {
		const struct field *f = &answer->fields.list[i];
		seen = mix_bytes(seen, f->name.ptr, f->name.len);
		seen = mix_bytes(seen, f->value.ptr, f->value.len);
	}
	client->seen = mix_bytes(seen, body.ptr, body.len);
	client->replayed =
	    fields_first(more, SPAN("Idempotent-Replayed")) != NULL;
	const struct field *type =
	    fields_first(&answer->fields, SPAN("Content-Type"));
	if (type == NULL ||
	    !span_eq(type->value, SPAN("application/problem+json"))) {
		snprintf(client->body, sizeof client->body, "%.*s",
		    SPAN_FMT(body));
		return;
	}
	static const char before[] = "urn:onceproxy:problem:";
	const char *at = memmem(
	    body.ptr, body.len, before, sizeof before - 1);
	must(at != NULL);
	at += sizeof before - 1;
	snprintf(client->problem, sizeof client->problem, "%.*s",
	    (int)strcspn(at, "\""), at);
}

/* --- what is said to be stored --- */

static const char *stored_key; /* in hex; NULL: Redis has its answer */

static void
see_stored(const char *name, struct span value)
{
	size_t len = strlen(name);
	if (stored_key != NULL && len > DIGEST_HEX &&
	    strcmp(name + len - DIGEST_HEX, stored_key) == 0 &&
	    span_starts(span_from(value, 2), SPAN("C")))
		stored_key = NULL;
}

/* That is said of no outcome that only the journal has, and of all others. */
static void
check_stored(const struct request *r)
{
	unsigned faults = world.scenario->faults;
	CHECK(r->c.stored || r->c.outcome != OUTCOME_EXECUTED ||
		world.faulty || world.hurried,
	    "an outcome is not said to be stored, and nothing went wrong");
	if (!r->c.stored || world.forgot ||
	    (faults & (FAULT_FORGET | FAULT_LOSE)) != 0)
		return;
	stored_key = r->c.key_hex;
	redis_records(see_stored);
	CHECK(stored_key == NULL, "an outcome is said to be stored, and Redis "
				  "does not have it");
}

void
exchange_answer(struct exchange *x, struct answer *answer,
    const struct fields *more, struct flow *flow, int64_t length, bool close)
{
	struct client *client = fake_of(x)->client;
	(void)length;
	(void)close;
	must(flow == NULL);
	must(client->gateway->worker == NULL || !client->gateway->dead);
	begin_call(x, ANSWERING);
	world.deeds++;
	if (client->state == CALLER_LEFT) {
		end_call(x, ANSWERING, E_CLIENT_GONE);
		return;
	}
	CHECK(client->state != CALLER_ANSWERED, "a client is answered twice");
	client->state = CALLER_ANSWERED;
	check_stored(x->op.task.arg);
	note_answer(client, answer, more);
	world_say("  client %u is answered %d %s%s%s",
	    (unsigned)(client - world.clients) + 1, client->status,
	    client->problem, client->body,
	    client->replayed ? " (replayed)" : "");
	x->sent_bytes = answer->body.len;
	end_call(x, ANSWERING, 0);
}

/* Here, requests without a claim are forwarded once they are whole. */
void
exchange_stream_body(struct exchange *x, struct flow *flow)
{
	(void)x;
	(void)flow;
	must(false);
}

void
exchange_watch_client(
    struct exchange *x, void (*left)(void *arg), void *arg)
{
	fake_of(x)->left = left;
	fake_of(x)->left_arg = arg;
}

void
fake_front_leave(struct client *client)
{
	struct exchange *x = client->x;
	client->state = CALLER_LEFT;
	if (x != NULL && fake_of(x)->doing == READING) {
		x->gone = true;
		end_call(x, READING, E_CLIENT_GONE);
	}
}

bool
fake_front_notice(struct client *client)
{
	struct exchange *x = client->x;
	if (client->state != CALLER_LEFT || x == NULL ||
	    fake_of(x)->left == NULL)
		return false;
	void (*left)(void *) = fake_of(x)->left;
	fake_of(x)->left = NULL;
	x->gone = true;
	left(fake_of(x)->left_arg);
	return true;
}

void
exchange_end(struct exchange **x)
{
	struct exchange *old = *x;
	struct client *client = fake_of(old)->client;
	*x = NULL;
	op_cancel(&old->op);
	must(client->x == old);
	client->x = NULL;
	/* Half a request need not be answered. */
	if (client->state == CALLER_SENDING)
		client->state = CALLER_LEFT;
	if (client->state == CALLER_WAITING)
		client->state = CALLER_CUT_OFF;
	fake_of(old)->front->exchanges--;
	body_clear(&old->body);
	struct arena *arena = old->arena;
	arena_free(&arena);
}
