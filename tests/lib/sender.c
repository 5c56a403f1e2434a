/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "lib/sender.h"

/*
 * After this many seconds SIGALRM ends a test: not the loop's clock, which a
 * test may set forward.
 */
enum { PATIENCE_S = 30 };

static void
stop(void *arg)
{
	struct sender *sender = arg;
	loop_stop(sender->loop);
}

void
sender_init(struct sender *s)
{
	memset(s, 0, sizeof *s);
	s->loop = loop_new();
	s->conf.refs = 1;
	s->conf.upstreams = &s->upstream;
	s->conf.n_upstreams = 1;
	s->upstream.name = mem_str(SPAN("payments"));
	s->upstream.targets = s->targets;
	s->upstream.connect_timeout_ms = 2000;
	s->upstream.max_age_ms = 300000;
	s->upstream.timeout_ms = 10000;
	s->upstream.keepalive = 64;
	s->upstream.max_idle_ms = 4000;
	s->budget.limit = 64 << 20;
	timer_init(&s->timer, s->loop, stop, s);
}

void
sender_end(struct sender *s)
{
	upstreams_free(&s->upstreams);
	must(s->conf.refs == 1);
	must(s->budget.used == 0);
	for (size_t i = 0; i < s->upstream.n_targets; i++) {
		free(s->targets[i].host);
		free(s->targets[i].authority);
		free(s->targets[i].base_path);
		free(s->targets[i].unix_path);
	}
	free(s->upstream.name);
	free(s->upstream.ca);
	loop_free(&s->loop);
}

struct conf_target *
sender_add_port(struct sender *s, const char *host, uint16_t port)
{
	must(s->upstreams == NULL && s->upstream.n_targets < SENDER_TARGETS);
	struct conf_target *target = &s->targets[s->upstream.n_targets++];
	target->host = mem_str(span_str(host));
	target->port = port;
	target->authority = mem_printf("%s:%u", host, (unsigned)port);
	target->base_path = mem_str(SPAN(""));
	return target;
}

struct conf_target *
sender_add(struct sender *s, const struct peer *peer)
{
	return sender_add_port(s, "127.0.0.1", peer_port(peer));
}

static void
wake(void *owner)
{
	struct call *call = owner;
	call->done = true;
	if (--call->sender->pending == 0)
		loop_stop(call->sender->loop);
}

void
call_init(struct call *call, struct sender *s)
{
	memset(call, 0, sizeof *call);
	call->sender = s;
	call->message = (struct message){
	    .method = SPAN("POST"),
	    .target = SPAN("/v1/charges"),
	    .authority = SPAN("shop.example"),
	    .body = SPAN("amount=100&to=seller"),
	    .has_body = true,
	};
	call->limits = (struct forward_limits){
	    .max_head = 16384,
	    .max_body = 1 << 20,
	    .reuse = true,
	};
	op_init(&call->forward.op, s->loop, wake, call);
}

void
sender_start(struct call *call)
{
	struct sender *s = call->sender;
	if (s->upstreams == NULL)
		s->upstreams = upstreams_new(s->loop, &s->conf, &s->budget,
		    s->conf.upstreams, s->conf.n_upstreams);
	call->done = false;
	s->pending++;
	forward_start(s->upstreams, &call->forward, &s->upstream,
	    &call->message, &call->limits);
}

void
call_clear(struct call *call)
{
	op_cancel(&call->forward.op);
	forward_clear(&call->forward);
}

void
sender_wait(struct sender *s)
{
	alarm(PATIENCE_S);
	while (s->pending > 0)
		loop_run(s->loop);
	alarm(0);
}

void
sender_wait_requests(struct sender *s, struct peer *peer, unsigned requests)
{
	alarm(PATIENCE_S);
	while (peer_requests(peer) < requests)
		sender_run(s, 1);
	alarm(0);
}

void
sender_wait_ended(struct sender *s, struct peer *peer, unsigned connections)
{
	alarm(PATIENCE_S);
	while (peer_ended(peer) < connections)
		sender_run(s, 1);
	alarm(0);
}

void
sender_turn(struct sender *s)
{
	alarm(PATIENCE_S);
	loop_run(s->loop);
	alarm(0);
}

void
sender_run(struct sender *s, int64_t ms)
{
	timer_set(&s->timer, ms);
	while (timer_is_set(&s->timer))
		loop_run(s->loop);
}

enum forward_result
call_make(struct call *call)
{
	sender_start(call);
	sender_wait(call->sender);
	return call->forward.result;
}

enum forward_result
sender_post(struct sender *s)
{
	struct call call;
	call_init(&call, s);
	enum forward_result result = call_make(&call);
	call_clear(&call);
	return result;
}

void
sender_post_at_once(struct sender *s, unsigned count)
{
	struct call *calls = mem_zero(count * sizeof *calls);
	for (unsigned i = 0; i < count; i++) {
		call_init(&calls[i], s);
		sender_start(&calls[i]);
	}
	sender_wait(s);
	for (unsigned i = 0; i < count; i++) {
		must(calls[i].forward.result == FORWARD_ANSWERED);
		call_clear(&calls[i]);
	}
	free(calls);
}
