/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <gnutls/gnutls.h>

#include "base/error.h"
#include "conf/conf.h"
#include "http/front/exchange.h"
#include "http/front/front_private.h"
#include "http/front/places.h"

/*
 * A front whose owner reads the body, or does not, and gives a scripted answer;
 * the client is a thread with a raw socket.
 */
enum owner { READS_BODY, ANSWERS_AT_ONCE, ANSWERS_LATER };

struct fixture {
	struct loop *loop;
	struct conf conf;
	struct budget budget;
	struct places places;
	struct front *front;
	struct sockaddr_in address;

	enum owner owner;
	bool reads_tls; /* of somebody else, who is away */
	size_t max_body;
	struct answer *answer;
	struct fields more;
	struct exchange *x;
	struct timer later;
	char target[256];
	char body[1024];
	int read_error;
	int answer_error;
	unsigned requests;

	const char *request; /* what the client sends */
	size_t request_len;
	bool leaves; /* without reading */
	char reply[65536];
	size_t reply_len;
};

/* The owner of one exchange. */
struct waiter {
	struct fixture *f;
	struct exchange *x;
	bool answers; /* it waits for its answer, not for the body */
};

static void
answer(struct fixture *f, struct exchange *x)
{
	exchange_answer(x, f->answer, &f->more, NULL, 0, false);
}

static void
on_later(void *arg)
{
	struct fixture *f = arg;
	answer(f, f->x);
}

static void
on_wake(void *arg)
{
	struct waiter *waiter = arg;
	struct fixture *f = waiter->f;
	struct exchange *x = waiter->x;
	if (!waiter->answers && !x->gone) {
		waiter->answers = true;
		f->read_error = x->op.error;
		struct span body = body_span(&x->body);
		if (body.len < sizeof f->body)
			memcpy(f->body, body.ptr, body.len);
		if (f->owner == ANSWERS_LATER)
			timer_set(&f->later, 5);
		else
			answer(f, x);
		return;
	}
	f->answer_error = x->op.error;
	if (f->x == x)
		f->x = NULL;
	exchange_end(&waiter->x);
}

static void
read_tls(void)
{
	gnutls_session_t session;
	char byte;
	assert_int_equal(gnutls_init(&session, GNUTLS_CLIENT), 0);
	gnutls_transport_set_int(session, -1);
	assert_true(gnutls_record_recv(session, &byte, 1) < 0);
	gnutls_deinit(session);
}

static void
on_arrived(void *arg, struct exchange *x)
{
	struct fixture *f = arg;
	if (f->reads_tls)
		read_tls();
	f->requests++;
	f->x = x;
	struct waiter *waiter = arena_alloc(x->arena, sizeof *waiter);
	*waiter = (struct waiter){f, x, f->owner == ANSWERS_AT_ONCE};
	op_init(&x->op, f->loop, on_wake, waiter);
	assert_true(x->head.target.len < sizeof f->target);
	memcpy(f->target, x->head.target.ptr, x->head.target.len);
	f->target[x->head.target.len] = '\0';
	if (f->owner == ANSWERS_AT_ONCE)
		answer(f, x);
	else
		exchange_read_body(x, f->max_body);
}

static int
open_listener(struct sockaddr_in *address)
{
	socklen_t len = sizeof *address;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	*address = (struct sockaddr_in){.sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	assert_int_equal(
	    bind(fd, (struct sockaddr *)address, sizeof *address), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(
	    getsockname(fd, (struct sockaddr *)address, &len), 0);
	return fd;
}

static int
set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	static char urn[] = "urn:";
	f->loop = loop_new();
	f->conf = (struct conf){.refs = 1,
	    .workers = 1,
	    .max_request_headers = 32768,
	    .idle_timeout_ms = 5000,
	    .header_timeout_ms = 5000,
	    .problem_base = urn};
	f->budget.limit = 1 << 20;
	f->max_body = 1 << 20;
	timer_init(&f->later, f->loop, on_later, f);
	f->places.most = 16;
	f->front = front_new(f->loop, &f->conf, &f->budget, &f->places, NULL,
	    on_arrived, f);
	front_listen(
	    f->front, open_listener(&f->address), FRONT_PLAIN, false);
	*state = f;
	return 0;
}

static int
tear_down(void **state)
{
	struct fixture *f = *state;
	answer_unref(&f->answer);
	front_free(&f->front);
	assert_null(f->x);
	loop_free(&f->loop);
	assert_int_equal(f->budget.used, 0);
	free(f);
	return 0;
}

static void
script(struct fixture *f, int status, const struct field *list, size_t count,
    const char *text)
{
	struct body body = {0};
	struct fields fields = {(struct field *)(uintptr_t)list, count};
	assert_int_equal(body_append(&body, text, strlen(text)), 0);
	f->answer = answer_new(status, &fields, &body, SPAN(""));
}

static void
on_client_ended(void *arg)
{
	loop_stop(((struct fixture *)arg)->loop);
}

static void *
client(void *arg)
{
	struct fixture *f = arg;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(fd, (struct sockaddr *)&f->address, sizeof f->address))
		abort();
	for (size_t sent = 0; sent < f->request_len;) {
		ssize_t n = send(fd, f->request + sent, f->request_len - sent,
		    MSG_NOSIGNAL);
		if (n < 0)
			break;
		sent += (size_t)n;
	}
	while (!f->leaves && f->reply_len < sizeof f->reply - 1) {
		ssize_t n = recv(fd, f->reply + f->reply_len,
		    sizeof f->reply - 1 - f->reply_len, 0);
		if (n <= 0)
			break;
		f->reply_len += (size_t)n;
	}
	close(fd);
	loop_post(f->loop, on_client_ended, f);
	return NULL;
}

/* Sends a request with Connection: close, and reads until the end. */
static void
talk_bytes(struct fixture *f, const char *request, size_t len)
{
	pthread_t thread;
	f->request = request;
	f->request_len = len;
	assert_int_equal(pthread_create(&thread, NULL, client, f), 0);
	loop_run(f->loop);
	pthread_join(thread, NULL);
	f->reply[f->reply_len] = '\0';
}

static void
talk(struct fixture *f, const char *request)
{
	talk_bytes(f, request, strlen(request));
}

#define GET(target)                                                           \
	"GET " target " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
#define POST(fields, body)                                                    \
	"POST /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" fields          \
	"\r\n" body

/* All of them in their order. */
static void
an_answer_reaches_the_client_with_its_fields(void **state)
{
	struct fixture *f = *state;
	const struct field list[] = {
	    {SPAN("Set-Cookie"), SPAN("a=1")},
	    {SPAN("Date"), SPAN("Sat, 01 Jan 2000 00:00:00 GMT")},
	    {SPAN("Set-Cookie"), SPAN("b=2, c")},
	    {SPAN("X-Empty"), SPAN("")},
	};
	struct field more[] = {{SPAN("X-Request-Id"), SPAN("r1")}};
	f->more = (struct fields){more, 1};
	script(f, 201, list, 4, "hello");
	talk(f, GET("/a%2Fb?q=%41"));
	assert_string_equal(f->target, "/a%2Fb?q=%41");
	assert_string_equal(f->reply,
	    "HTTP/1.1 201 Created\r\n"
	    "Connection: close\r\n"
	    "Set-Cookie: a=1\r\n"
	    "Date: Sat, 01 Jan 2000 00:00:00 GMT\r\n"
	    "Set-Cookie: b=2, c\r\n"
	    "X-Empty:  \r\n"
	    "X-Request-Id: r1\r\n"
	    "Content-Length: 5\r\n\r\nhello");
	assert_int_equal(f->answer_error, 0);
}

static void
bodies_arrive_whole_with_a_length_and_chunked(void **state)
{
	struct fixture *f = *state;
	script(f, 200, NULL, 0, "");
	talk(f, POST("Content-Length: 5\r\n", "hello"));
	assert_string_equal(f->body, "hello");
	f->reply_len = 0;
	talk(f, POST("Transfer-Encoding: chunked\r\n",
		    "3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n"));
	assert_string_equal(f->body, "abcdefg");
	assert_int_equal(f->requests, 2);
	assert_int_equal(f->read_error, 0);
}

static void
an_owner_may_answer_long_after_the_request(void **state)
{
	struct fixture *f = *state;
	f->owner = ANSWERS_LATER;
	script(f, 200, NULL, 0, "late");
	talk(f, POST("Content-Length: 2\r\n", "hi"));
	assert_non_null(strstr(f->reply, "\r\n\r\nlate"));
}

/* As libcurl does of an upstream, where GnuTLS is below it. */
static void
an_owner_may_read_tls_of_others(void **state)
{
	struct fixture *f = *state;
	f->reads_tls = true;
	script(f, 200, NULL, 0, "read");
	talk(f, POST("Content-Length: 2\r\n", "hi"));
	assert_non_null(strstr(f->reply, "\r\n\r\nread"));
}

static void
an_announced_body_over_the_limit_is_refused_unread(void **state)
{
	struct fixture *f = *state;
	f->max_body = 4;
	script(f, 413, NULL, 0, "no");
	talk(f, POST("Content-Length: 5\r\n", "hello"));
	assert_int_equal(f->read_error, E_TOO_LARGE);
	assert_non_null(strstr(f->reply, "413"));
}

static void
a_chunked_body_over_the_limit_is_refused(void **state)
{
	struct fixture *f = *state;
	f->max_body = 4;
	script(f, 413, NULL, 0, "no");
	talk(f, POST("Transfer-Encoding: chunked\r\n",
		    "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"));
	assert_int_equal(f->read_error, E_TOO_LARGE);
	assert_non_null(strstr(f->reply, "413"));
}

static void
a_body_beyond_the_budget_is_refused(void **state)
{
	struct fixture *f = *state;
	f->budget.limit = 3;
	script(f, 503, NULL, 0, "full");
	talk(f, POST("Content-Length: 5\r\n", "hello"));
	assert_int_equal(f->read_error, E_NO_MEMORY);
	assert_non_null(strstr(f->reply, "503"));
}

static void
a_short_unwanted_body_is_swallowed_before_the_answer(void **state)
{
	struct fixture *f = *state;
	f->owner = ANSWERS_AT_ONCE;
	script(f, 400, NULL, 0, "no");
	talk(f,
	    "POST /1 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
	    GET("/2"));
	assert_int_equal(f->requests, 2); /* the connection was kept */
	assert_string_equal(f->target, "/2");
}

static void
a_long_unwanted_body_ends_the_connection(void **state)
{
	struct fixture *f = *state;
	f->owner = ANSWERS_AT_ONCE;
	script(f, 400, NULL, 0, "no");
	talk(f,
	    "POST /1 HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n");
	assert_non_null(strstr(f->reply, "400"));
	assert_non_null(strstr(f->reply, "Connection: close"));
}

static void
a_client_that_expects_100_is_refused_before_it_sends(void **state)
{
	struct fixture *f = *state;
	f->owner = ANSWERS_AT_ONCE;
	script(f, 400, NULL, 0, "no");
	talk(f, POST("Content-Length: 5\r\nExpect: 100-continue\r\n", ""));
	assert_null(strstr(f->reply, "100 Continue"));
	assert_non_null(strstr(f->reply, "400"));
}

static void
pipelined_requests_are_answered_in_order(void **state)
{
	struct fixture *f = *state;
	script(f, 200, NULL, 0, "x");
	talk(f,
	    "GET /1 HTTP/1.1\r\nHost: x\r\n\r\n"
	    "GET /2 HTTP/1.1\r\nHost: x\r\n\r\n" GET("/3"));
	assert_int_equal(f->requests, 3);
	assert_string_equal(f->target, "/3");
}

static void
head_and_304_speak_of_a_length_and_have_no_body(void **state)
{
	struct fixture *f = *state;
	script(f, 200, NULL, 0, "");
	f->answer->head_length = 1234;
	talk(f, "HEAD /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	assert_non_null(strstr(f->reply, "Content-Length: 1234\r\n"));
	assert_string_equal(strstr(f->reply, "\r\n\r\n"), "\r\n\r\n");
	answer_unref(&f->answer);
	f->reply_len = 0;

	script(f, 304, NULL, 0, "");
	talk(f, GET("/x"));
	assert_null(strstr(f->reply, "Content-Length"));
	assert_string_equal(strstr(f->reply, "\r\n\r\n"), "\r\n\r\n");
}

static void
no_content_has_no_length(void **state)
{
	struct fixture *f = *state;
	script(f, 204, NULL, 0, "");
	talk(f, GET("/x"));
	assert_string_equal(f->reply,
	    "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
}

static void
a_field_that_would_break_the_head_never_leaves(void **state)
{
	struct fixture *f = *state;
	const struct field list[] = {
	    {SPAN("X"), SPAN("a\r\nSet-Cookie: evil=1")}};
	script(f, 200, list, 1, "");
	talk(f, GET("/x"));
	assert_null(strstr(f->reply, "evil"));
	assert_non_null(strstr(f->reply, "500"));
}

static void
an_answer_head_of_sixteen_kib_fits(void **state)
{
	struct fixture *f = *state;
	char *value = malloc(16000);
	memset(value, 'v', 16000);
	const struct field list[] = {{SPAN("X-Long"), span_of(value, 16000)}};
	script(f, 200, list, 1, "body");
	char *request = malloc(40000);
	size_t len = (size_t)sprintf(request,
	    "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n");
	while (len < 31000)
		len += (size_t)sprintf(request + len, "X: %0200d\r\n", 1);
	len += (size_t)sprintf(request + len, "\r\n");
	talk_bytes(f, request, len);
	assert_int_equal(f->requests, 1);
	assert_non_null(strstr(f->reply, "\r\n\r\nbody"));
	free(value);
	free(request);
}

static void
a_client_that_leaves_in_its_body_is_told_of(void **state)
{
	struct fixture *f = *state;
	f->leaves = true;
	script(f, 200, NULL, 0, "");
	talk(f, POST("Content-Length: 50\r\n", "hello"));
	timer_init(&f->later, f->loop, on_client_ended, f);
	while (f->x != NULL || f->requests == 0) {
		timer_set(&f->later, 10);
		loop_run(f->loop);
	}
	assert_int_equal(f->answer_error, E_CLIENT_GONE);
}

/* On a kept connection, and after the loop has run for the last time. */
static void
a_request_that_comes_with_the_end_has_no_owner(void **state)
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
	struct fixture *f = *state;
	const ssize_t len = sizeof request - 1;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	script(f, 200, NULL, 0, "");
	assert_int_equal(
	    connect(fd, (struct sockaddr *)&f->address, sizeof f->address),
	    0);
	assert_int_equal(send(fd, request, (size_t)len, 0), len);
	timer_init(&f->later, f->loop, on_client_ended, f);
	while (f->x != NULL || f->requests == 0) {
		timer_set(&f->later, 10);
		loop_run(f->loop);
	}
	assert_int_equal(send(fd, request, (size_t)len, 0), len);
	front_free(&f->front);
	assert_int_equal(f->requests, 1);
	close(fd);
}

/* For whom libmicrohttpd has no room, whenever it finds that out. */
static void
who_is_turned_away_gives_his_place_back(void **state)
{
	enum { MANY = 64 };
	struct fixture *f = *state;
	const struct sockaddr address = {.sa_family = AF_UNIX};
	int ends[MANY][2];
	f->places.most = 1;
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(
		    socketpair(AF_UNIX, SOCK_STREAM, 0, ends[i]), 0);
		const struct arrival arrival = {
		    ends[i][0], &address, sizeof address, &f->conf, NULL};
		assert_true(places_take(&f->places));
		front_take(f->front, &arrival);
		f->places.most = MANY;
	}
	timer_init(&f->later, f->loop, on_client_ended, f);
	timer_set(&f->later, 10);
	loop_run(f->loop);
	int left = 0;
	while (left < MANY && places_take(&f->places))
		left++;
	int turned_away = 0;
	for (int i = 0; i < MANY; i++) {
		char byte;
		turned_away +=
		    recv(ends[i][1], &byte, 1, MSG_DONTWAIT) == 0;
		close(ends[i][1]);
	}
	assert_int_not_equal(turned_away, 0);
	assert_int_equal(left, turned_away);
	while (left-- > 0)
		places_give(&f->places);
}

static void
a_draining_front_takes_no_new_connections(void **state)
{
	struct fixture *f = *state;
	front_drain(f->front);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_not_equal(
	    connect(fd, (struct sockaddr *)&f->address, sizeof f->address),
	    0);
	close(fd);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(an_answer_reaches_the_client_with_its_fields),
	    TEST(bodies_arrive_whole_with_a_length_and_chunked),
	    TEST(an_owner_may_answer_long_after_the_request),
	    TEST(an_owner_may_read_tls_of_others),
	    TEST(an_announced_body_over_the_limit_is_refused_unread),
	    TEST(a_chunked_body_over_the_limit_is_refused),
	    TEST(a_body_beyond_the_budget_is_refused),
	    TEST(a_short_unwanted_body_is_swallowed_before_the_answer),
	    TEST(a_long_unwanted_body_ends_the_connection),
	    TEST(a_client_that_expects_100_is_refused_before_it_sends),
	    TEST(pipelined_requests_are_answered_in_order),
	    TEST(head_and_304_speak_of_a_length_and_have_no_body),
	    TEST(no_content_has_no_length),
	    TEST(a_field_that_would_break_the_head_never_leaves),
	    TEST(an_answer_head_of_sixteen_kib_fits),
	    TEST(a_client_that_leaves_in_its_body_is_told_of),
	    TEST(a_request_that_comes_with_the_end_has_no_owner),
	    TEST(who_is_turned_away_gives_his_place_back),
	    TEST(a_draining_front_takes_no_new_connections),
	};
	return cmocka_run_group_tests_name("front", tests, NULL, NULL);
}
