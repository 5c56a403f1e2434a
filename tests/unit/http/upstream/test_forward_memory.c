/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "lib/sender.h"

/*
 * Answers for which there is no memory: they stay in the upstream's connection
 * until there is, or until their time is up.
 */
enum {
	BODY_BYTES = 200000,
	LIMIT_BYTES = 1 << 20,
	MANY = 12,
	TIMEOUT_MS = 300,
};

struct fixture {
	struct sender sender;
	struct peer *peer;
	struct body hog; /* what others hold */
	struct call calls[MANY];
	unsigned answered;
};

static const char *const forms[] = {"length", "chunked"};

static void
begin(struct fixture *f, void (*script)(struct talk *talk), const char *form)
{
	memset(f, 0, sizeof *f);
	sender_init(&f->sender);
	f->peer = peer_new(script, (void *)(uintptr_t)form);
	sender_add(&f->sender, f->peer);
	f->sender.budget.limit = LIMIT_BYTES;
	f->hog = (struct body){.budget = &f->sender.budget};
	for (unsigned i = 0; i < MANY; i++) {
		call_init(&f->calls[i], &f->sender);
		f->calls[i].limits.max_body = BODY_BYTES + 1000;
	}
}

static void
hold(struct fixture *f, size_t bytes)
{
	assert_int_equal(body_reserve(&f->hog, bytes, BUDGET_COMMON), 0);
}

static void
end(struct fixture *f)
{
	for (unsigned i = 0; i < MANY; i++)
		call_clear(&f->calls[i]);
	body_clear(&f->hog);
	assert_int_equal(f->sender.budget.wanted, 0);
	assert_false(atomic_exchange(&f->sender.budget.turn, true));
	sender_end(&f->sender);
	peer_free(&f->peer);
}

/* The second half of the body comes when it is told to. */
static void
answer_in_halves(struct talk *talk)
{
	bool chunked = !strcmp(talk_arg(talk), "chunked");
	char *body = mem_zero(BODY_BYTES);
	memset(body, 'z', BODY_BYTES);
	while (talk_read(talk)) {
		char head[128];
		snprintf(head, sizeof head,
		    chunked ? "HTTP/1.1 201 Made\r\nX-A: b\r\n"
			      "Transfer-Encoding: chunked\r\n\r\n%x\r\n"
			    : "HTTP/1.1 201 Made\r\nX-A: b\r\n"
			      "Content-Length: %d\r\n\r\n",
		    BODY_BYTES);
		talk_say(talk, head);
		talk_send(talk, body, BODY_BYTES / 2);
		talk_wait(talk, 0);
		talk_send(talk, body, BODY_BYTES / 2);
		if (chunked)
			talk_say(talk, "\r\n0\r\n\r\n");
	}
	free(body);
}

static void
check_answer(const struct call *call)
{
	assert_int_equal(call->forward.result, FORWARD_ANSWERED);
	assert_int_equal(call->forward.status, 201);
	assert_int_equal(call->forward.body.len, BODY_BYTES);
	for (size_t i = 0; i < BODY_BYTES; i++)
		assert_int_equal(call->forward.body.ptr[i], 'z');
	/* No more is counted than it holds. */
	assert_int_equal(call->forward.body.size, BODY_BYTES);
}

static void
an_answer_is_not_read_before_there_is_memory(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct fixture f;
		begin(&f, answer_in_halves, forms[i]);
		hold(&f, LIMIT_BYTES - 1000);
		sender_start(&f.calls[0]);
		peer_go(f.peer, 0);
		sender_run(&f.sender, 100);
		assert_false(f.calls[0].done);
		assert_true(f.sender.budget.used <= LIMIT_BYTES);
		body_clear(&f.hog);
		sender_wait(&f.sender);
		check_answer(&f.calls[0]);
		end(&f);
	}
}

static void
when_the_time_is_up_its_head_is_all_there_is(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct fixture f;
		begin(&f, answer_in_halves, forms[i]);
		f.sender.upstream.timeout_ms = TIMEOUT_MS;
		hold(&f, LIMIT_BYTES - 1000);
		assert_int_equal(call_make(&f.calls[0]), FORWARD_UNREAD);
		struct forward *forward = &f.calls[0].forward;
		assert_int_equal(forward->op.error, E_NO_MEMORY);
		assert_int_equal(forward->status, 201);
		assert_true(span_eq(forward->fields.list[0].name, SPAN("X-A")));
		assert_int_equal(forward->body.len, 0);
		assert_true(forward->sent_bytes > 0);
		assert_int_equal(f.sender.budget.used, f.hog.size);
		/* The peer still sends. */
		peer_go(f.peer, 0);
		end(&f);
	}
}

/* With memory, but without the rest of it, it is late as any other. */
static void
an_answer_that_does_not_come_is_late(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct fixture f;
		begin(&f, answer_in_halves, forms[i]);
		f.sender.upstream.timeout_ms = TIMEOUT_MS;
		assert_int_equal(call_make(&f.calls[0]), FORWARD_TIMEOUT);
		assert_int_equal(f.calls[0].forward.op.error, E_TIMEOUT);
		peer_go(f.peer, 0);
		end(&f);
	}
}

static void
on_answered(void *arg)
{
	struct call *call = arg;
	check_answer(call);
	forward_clear(&call->forward);
	call->done = true;
	if (--call->sender->pending == 0)
		loop_stop(call->sender->loop);
}

static void
many_that_are_half_read_all_end(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct fixture f;
		begin(&f, answer_in_halves, forms[i]);
		for (unsigned n = 0; n < MANY; n++) {
			op_init(&f.calls[n].forward.op, f.sender.loop,
			    on_answered, &f.calls[n]);
			sender_start(&f.calls[n]);
		}
		sender_wait_requests(&f.sender, f.peer, MANY);
		sender_run(&f.sender, 100);
		/* More is on its way than there is memory. */
		assert_true(f.sender.budget.used > 0);
		assert_true(f.sender.budget.used <= LIMIT_BYTES);
		for (unsigned n = 0; n < MANY; n++)
			peer_go(f.peer, 0);
		sender_wait(&f.sender);
		end(&f);
	}
}

static void
a_body_that_was_sent_leaves_its_memory(void **state)
{
	struct fixture f;
	struct body body = {.budget = &f.sender.budget};
	(void)state;
	begin(&f, answer_in_halves, forms[0]);
	assert_int_equal(body_reserve(&body, BODY_BYTES, BUDGET_COMMON), 0);
	memset(body.ptr, 'x', BODY_BYTES);
	body.len = BODY_BYTES;
	struct call *call = &f.calls[0];
	call->message.body = body_span(&body);
	call->message.spent = &body;
	hold(&f, LIMIT_BYTES - BODY_BYTES);
	sender_start(call);
	sender_wait_requests(&f.sender, f.peer, 1);
	assert_int_equal(body.size, 0);
	peer_go(f.peer, 0);
	sender_wait(&f.sender);
	check_answer(call);
	char *request = peer_last_request(f.peer);
	const char *sent = strstr(request, "\r\n\r\n") + 4;
	assert_int_equal(strlen(sent), BODY_BYTES);
	assert_int_equal(strspn(sent, "x"), BODY_BYTES);
	free(request);
	end(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_answer_is_not_read_before_there_is_memory),
	    cmocka_unit_test(when_the_time_is_up_its_head_is_all_there_is),
	    cmocka_unit_test(an_answer_that_does_not_come_is_late),
	    cmocka_unit_test(many_that_are_half_read_all_end),
	    cmocka_unit_test(a_body_that_was_sent_leaves_its_memory),
	};
	return cmocka_run_group_tests_name("forward_memory", tests, NULL, NULL);
}
