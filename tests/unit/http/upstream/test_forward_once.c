/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "lib/sender.h"

/*
 * The experiment at which libcurl's own transfers fail: an upstream reads the
 * whole POST on a kept connection and closes without a word, and libcurl sends
 * the POST again, up to six times.
 */

#define OK_ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

/* What the upstream does once it is armed. */
struct plan {
	atomic_bool armed;
	const char *says; /* before it ends the connection */
	bool reset;
	unsigned idle; /* connections on which it is sent unasked */
};

/* Until it is armed, it answers each request when it is let go on. */
static void
answer_until_armed(struct talk *talk)
{
	struct plan *plan = talk_arg(talk);
	while (talk_read(talk)) {
		if (plan->armed) {
			talk_say(talk, plan->says);
			if (plan->reset)
				talk_reset(talk);
			return;
		}
		talk_wait(talk, 0);
		talk_say(talk, OK_ANSWER);
	}
}

struct fixture {
	struct sender sender;
	struct peer *peer;
	struct plan plan;
	unsigned idle;
};

/* Leaves so many idle connections behind. */
static void
warm(struct fixture *f, unsigned count)
{
	struct call calls[16];
	unsigned before = peer_requests(f->peer);
	assert_true(count <= 16);
	for (unsigned i = 0; i < count; i++) {
		call_init(&calls[i], &f->sender);
		sender_start(&calls[i]);
	}
	sender_wait_requests(&f->sender, f->peer, before + count);
	for (unsigned i = 0; i < count; i++)
		peer_go(f->peer, 0);
	sender_wait(&f->sender);
	for (unsigned i = 0; i < count; i++) {
		assert_int_equal(calls[i].forward.result, FORWARD_ANSWERED);
		call_clear(&calls[i]);
	}
	assert_int_equal(peer_connections(f->peer), count);
	f->idle = count;
}

static void
begin(struct fixture *f, void (*script)(struct talk *talk), unsigned idle)
{
	memset(f, 0, sizeof *f);
	f->plan.says = "";
	f->plan.idle = idle;
	sender_init(&f->sender);
	f->peer = peer_new(script, &f->plan);
	sender_add(&f->sender, f->peer);
	if (idle > 0)
		warm(f, idle);
}

static void
end(struct fixture *f)
{
	sender_end(&f->sender);
	peer_free(&f->peer);
}

/* The armed upstream sees one POST, which breaks. */
static void
check_once(struct fixture *f, struct span body, bool has_body)
{
	struct call call;
	f->plan.armed = true;
	call_init(&call, &f->sender);
	call.message.body = body;
	call.message.has_body = has_body;
	assert_int_equal(call_make(&call), FORWARD_BROKEN);
	assert_int_equal(call.forward.op.error, E_CLOSED);
	assert_true(call.forward.sent_bytes > body.len);
	sender_run(&f->sender, 20);
	assert_int_equal(peer_requests(f->peer), f->idle + 1);
	call_clear(&call);
}

static void
an_upstream_that_takes_a_post_and_closes_sees_it_once(void **state)
{
	enum { LARGE = 200000 };
	static const unsigned idle[] = {0, 1, 8};
	static const char *const said[] = {"", "HTTP/1.1 2"};
	char *large = mem_zero(LARGE);
	memset(large, 'x', LARGE);
	const struct span bodies[] = {
		SPAN(""), SPAN("amount=100&to=seller"), {large, LARGE}};

	(void)state;
	for (unsigned i = 0; i < 3 * 3 * 2 * 2; i++) {
		struct fixture f;
		begin(&f, answer_until_armed, idle[i % 3]);
		f.plan.reset = i / 3 % 2;
		f.plan.says = said[i / 6 % 2];
		check_once(&f, bodies[i / 12], true);
		end(&f);
	}
	free(large);
}

static void
a_request_without_body_is_sent_once_too(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct fixture f;
		begin(&f, answer_until_armed, 8);
		f.plan.reset = i;
		check_once(&f, SPAN(""), false);
		end(&f);
	}
}

static void
a_head_of_100_does_not_make_it_be_sent_again(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, answer_until_armed, 8);
	f.plan.says = "HTTP/1.1 100 Continue\r\n\r\n";
	check_once(&f, SPAN("amount=100&to=seller"), true);
	end(&f);
}

static void
nothing_is_asked_with_expect(void **state)
{
	enum { LARGE = 2000000 };
	struct fixture f;
	struct call call;
	char *large = mem_zero(LARGE);
	memset(large, 'x', LARGE);

	(void)state;
	begin(&f, answer_until_armed, 0);
	call_init(&call, &f.sender);
	call.message.body = span_of(large, LARGE);
	peer_go(f.peer, 0);
	assert_int_equal(call_make(&call), FORWARD_ANSWERED);
	char *request = peer_last_request(f.peer);
	assert_null(strstr(request, "xpect"));
	free(request);
	call_clear(&call);
	free(large);
	end(&f);
}

/* --- what happens to idle connections --- */

/* Answers; then idle connections send something unasked. */
static void
answer_then_speak(struct talk *talk)
{
	struct plan *plan = talk_arg(talk);
	while (talk_read(talk)) {
		talk_wait(talk, 0);
		talk_say(talk, OK_ANSWER);
		if (talk_number(talk) >= plan->idle)
			continue;
		talk_wait(talk, 1);
		talk_say(talk, plan->says);
		if (plan->reset)
			talk_reset(talk);
		if (plan->says[0] == '\0')
			return;
		talk_wait_end(talk);
	}
}

static const char forged[] =
    "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged";
static const char timed_out[] =
    "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n"
    "Connection: close\r\n\r\n";

static const char *const unasked[] = {forged, timed_out, "\r\n", ""};

/* Waits until all idle connections have something to read, or have ended. */
static void
let_them_speak(struct fixture *f, unsigned i)
{
	f->plan.says = unasked[i / 2];
	f->plan.reset = i % 2;
	for (unsigned n = 0; n < f->idle; n++)
		peer_go(f->peer, 1);
	peer_wait_sent(f->peer, 2 * f->idle);
	if (f->plan.reset || f->plan.says[0] == '\0')
		peer_wait_ended(f->peer, f->idle);
}

/* A new request gets its own answer, on a connection of its own. */
static void
check_unharmed(struct fixture *f)
{
	struct call call;
	call_init(&call, &f->sender);
	peer_go(f->peer, 0);
	assert_int_equal(call_make(&call), FORWARD_ANSWERED);
	assert_int_equal(call.forward.status, 200);
	assert_true(span_eq(body_span(&call.forward.body), SPAN("ok")));
	assert_int_equal(peer_connections(f->peer), f->idle + 1);
	assert_int_equal(peer_requests(f->peer), f->idle + 1);
	call_clear(&call);
}

static void
what_comes_on_an_idle_connection_closes_it(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4 * 2; i++) {
		struct fixture f;
		begin(&f, answer_then_speak, 8);
		let_them_speak(&f, i);
		sender_wait_ended(&f.sender, f.peer, 8);
		check_unharmed(&f);
		end(&f);
	}
}

static void
an_idle_connection_is_looked_at_before_it_is_used(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4 * 2; i++) {
		struct fixture f;
		begin(&f, answer_then_speak, 8);
		let_them_speak(&f, i);
		/* The loop has had no turn in which to notice. */
		check_unharmed(&f);
		end(&f);
	}
}

/* --- many requests and a bad upstream --- */

enum { CHAOS = 3000, CHAOS_AT_ONCE = 24 };

struct chaos {
	atomic_uint executed[CHAOS];
};

/* A pseudo-random number, the same in each run. */
static unsigned
scramble(unsigned n)
{
	n = (n ^ 61) ^ (n >> 16);
	n *= 9;
	n ^= n >> 4;
	n *= 0x27d4eb2d;
	return n ^ n >> 15;
}

/* Executes the request whose number is in its target, and behaves badly. */
static void
misbehave(struct talk *talk)
{
	struct chaos *chaos = talk_arg(talk);
	while (talk_read(talk)) {
		unsigned n = 0;
		char id[16], text[256];
		must(sscanf(talk_request(talk), "POST /%u ", &n) == 1);
		must(n < CHAOS);
		chaos->executed[n]++;
		snprintf(id, sizeof id, "%06u", n);
		switch (scramble(n) % 12) {
		case 0: /* not a word */
			return;
		case 1:
			talk_reset(talk);
			return;
		case 2: /* a part of it */
			talk_say(talk, "HTTP/1.1 200 OK\r\nContent-Le");
			return;
		case 3: /* two pieces */
			talk_say(talk, "HTTP/1.1 200 OK\r\nContent-Length: 6");
			snprintf(text, sizeof text, "\r\n\r\n%s", id);
			talk_say(talk, text);
			break;
		case 4: /* more than it */
			snprintf(text, sizeof text,
			    "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n%s"
			    "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n"
			    "forged",
			    id);
			talk_say(talk, text);
			break;
		case 5: /* and closes, with notice and without */
			snprintf(text, sizeof text,
			    "HTTP/1.1 200 OK\r\nConnection: close\r\n"
			    "Content-Length: 6\r\n\r\n%s",
			    id);
			talk_say(talk, text);
			return;
		case 6:
			snprintf(text, sizeof text,
			    "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n%s",
			    id);
			talk_say(talk, text);
			return;
		case 7:
			snprintf(text, sizeof text,
			    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked"
			    "\r\n\r\n3\r\n%.3s\r\n3\r\n%s\r\n0\r\n\r\n",
			    id, id + 3);
			talk_say(talk, text);
			break;
		default:
			snprintf(text, sizeof text,
			    "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n%s",
			    id);
			talk_say(talk, text);
			break;
		}
	}
}

/* Asserts that each call was sent at most once, and got its own answer. */
static void
check_own(const struct chaos *chaos, const struct call *call, unsigned n)
{
	char id[16];
	unsigned executed = chaos->executed[n];
	snprintf(id, sizeof id, "%06u", n);
	assert_true(executed <= 1);
	switch (call->forward.result) {
	case FORWARD_NOT_SENT:
		assert_int_equal(executed, 0);
		break;
	case FORWARD_ANSWERED:
		assert_int_equal(executed, 1);
		assert_true(span_eq(
		    body_span(&call->forward.body), span_str(id)));
		break;
	case FORWARD_BROKEN:
		break;
	case FORWARD_TIMEOUT:
	case FORWARD_UNREAD:
	case FORWARD_MALFORMED:
		fail_msg("call %u: %d", n, (int)call->forward.result);
	}
}

static void
each_call_is_sent_once_and_has_its_own_answer(void **state)
{
	struct chaos *chaos = mem_zero(sizeof *chaos);
	struct peer *peer = peer_new(misbehave, chaos);
	struct sender sender;
	unsigned answered = 0;

	(void)state;
	sender_init(&sender);
	sender_add(&sender, peer);
	for (unsigned n = 0; n < CHAOS; n += CHAOS_AT_ONCE) {
		struct call calls[CHAOS_AT_ONCE];
		char targets[CHAOS_AT_ONCE][16];
		for (unsigned i = 0; i < CHAOS_AT_ONCE; i++) {
			snprintf(targets[i], sizeof targets[i], "/%u", n + i);
			call_init(&calls[i], &sender);
			calls[i].message.target = span_str(targets[i]);
			sender_start(&calls[i]);
		}
		sender_wait(&sender);
		for (unsigned i = 0; i < CHAOS_AT_ONCE; i++) {
			answered +=
			    calls[i].forward.result == FORWARD_ANSWERED;
			check_own(chaos, &calls[i], n + i);
			call_clear(&calls[i]);
		}
	}
	/* A quarter is broken by design, and a few more by chance. */
	assert_true(answered > CHAOS / 2);
	sender_end(&sender);
	peer_free(&peer);
	free(chaos);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    an_upstream_that_takes_a_post_and_closes_sees_it_once),
		cmocka_unit_test(a_request_without_body_is_sent_once_too),
		cmocka_unit_test(a_head_of_100_does_not_make_it_be_sent_again),
		cmocka_unit_test(nothing_is_asked_with_expect),
		cmocka_unit_test(what_comes_on_an_idle_connection_closes_it),
		cmocka_unit_test(
		    an_idle_connection_is_looked_at_before_it_is_used),
		cmocka_unit_test(
		    each_call_is_sent_once_and_has_its_own_answer),
	};
	return cmocka_run_group_tests_name(
	    "forward, once", tests, NULL, NULL);
}
