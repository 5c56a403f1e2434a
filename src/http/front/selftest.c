/* SPDX-License-Identifier: BSD-2-Clause */
#include <dlfcn.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "http/front/client_io_private.h"
#include "http/front/exchange.h"
#include "http/front/front_private.h"
#include "http/front/selftest.h"

/* As long as a machine under any load needs; it is milliseconds else. */
enum {
	PATIENCE_MS = 30000,
	TRIAL_BYTES = 65536,
	LEAST_HEAD_BYTES = 1024,
	ANSWER_BYTES = 1024, /* more than the head of an answer has */
};

static const char request[] =
    "POST /a?b=%63&d HTTP/1.1\r\nHost: h\r\nA: \t b \t\r\n"
    "Transfer-Encoding: chunked\r\n\r\n"
    "02;e=f\r\nhi\r\n0\r\nG: h\r\n\r\n";

/* How the fields of the answer below are to stand there: front/reply.c. */
static const char *const lines[] = {"HTTP/1.1 200 OK\r\n", "\r\nA: b\r\n",
    "\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n", "\r\nC:  \r\n",
    "\r\nA: d, e\r\n", "\r\n\r\n"};

struct trial {
	struct loop *loop;
	struct places *places;
	struct front *front;
	int client; /* our end of the pair */
	struct watch *answered;
	struct timer patience;
	struct answer *answer;
	struct exchange *x;
	bool served; /* as it was sent */
	bool late;
	char got[ANSWER_BYTES + 1];
	size_t len;
};

/* --- the request --- */

static void
on_trial_answered(void *arg)
{
	struct trial *t = arg;
	exchange_end(&t->x);
}

/* The answer closes the connection. */
static void
on_trial_read(void *arg)
{
	struct trial *t = arg;
	struct exchange *x = t->x;
	t->served = x->op.error == 0 && x->head.verdict == HEAD_CHECK_OK &&
	    span_eq(x->head.target, SPAN("/a?b=%63&d")) &&
	    x->head.fields.count == 3 &&
	    span_eq(body_span(&x->body), SPAN("hi"));
	x->op.task.run = on_trial_answered;
	exchange_answer(
	    x, t->answer, &(struct fields){NULL, 0}, NULL, 0, true);
}

static void
on_trial_arrived(void *arg, struct exchange *x)
{
	struct trial *t = arg;
	t->x = x;
	op_init(&x->op, t->loop, on_trial_read, t);
	if (x->head.verdict == HEAD_CHECK_OK && x->has_body)
		exchange_read_body(x, TRIAL_BYTES);
	else
		on_trial_read(t);
}

static void
on_trial_late(void *arg)
{
	struct trial *t = arg;
	t->late = true;
	loop_stop(t->loop);
}

/* Whatever is answered, the end of the connection is the end. */
static void
on_trial_client(void *arg, unsigned events)
{
	struct trial *t = arg;
	(void)events;
	ssize_t n = recv(t->client, t->got + t->len, ANSWER_BYTES - t->len,
	    MSG_DONTWAIT);
	if (n > 0)
		t->len += (size_t)n;
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		loop_stop(t->loop);
}

static void
ask(struct trial *t, const struct conf *conf)
{
	int ends[2];
	const struct sockaddr address = {.sa_family = AF_UNIX};
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
		 ends) == 0);
	const struct arrival arrival = {
	    ends[0], &address, sizeof address, conf, NULL};
	t->client = ends[1];
	must(send(t->client, request, sizeof request - 1, MSG_NOSIGNAL) ==
	    sizeof request - 1);
	must(shutdown(t->client, SHUT_WR) == 0);
	must(places_take(t->places));
	front_take(t->front, &arrival);
	t->answered =
	    watch_new(t->loop, t->client, WATCH_READ, on_trial_client, t);
	loop_run(t->loop);
	watch_free(&t->answered);
	close(t->client);
	t->got[t->len] = '\0';
}

/* --- what came of it --- */

bool
selftest(const struct conf *conf, char **ret_message)
{
	struct body body = {0};
	struct budget budget = {.limit = TRIAL_BYTES};
	struct places places = {.most = 1};
	struct trial t = {.loop = loop_new(), .places = &places};
	struct field list[] = {{SPAN("A"), SPAN("b")},
	    {SPAN("Date"), SPAN("Thu, 01 Jan 1970 00:00:00 GMT")},
	    {SPAN("C"), SPAN("")}, {SPAN("A"), SPAN("d, e")}};
	struct fields fields = {list, sizeof list / sizeof *list};
	t.answer = answer_new(200, &fields, &body, SPAN(""));
	t.front = front_new(
	    t.loop, conf, &budget, &places, NULL, on_trial_arrived, &t);
	/* What heads may have is not what is tried. */
	if (t.front->max_head < LEAST_HEAD_BYTES)
		t.front->max_head = LEAST_HEAD_BYTES;
	timer_init(&t.patience, t.loop, on_trial_late, &t);
	timer_set(&t.patience, PATIENCE_MS);
	ask(&t, conf);
	timer_clear(&t.patience);
	if (t.x != NULL)
		exchange_end(&t.x);
	front_free(&t.front);
	answer_unref(&t.answer);
	loop_free(&t.loop);
	/* What the dynamic linker gives to who calls it by name. */
	ssize_t (*ours)(struct gnutls_session_int *, void *, size_t) =
	    client_io_tls;
	void *found = dlsym(RTLD_DEFAULT, "gnutls_record_recv");
	bool has_lines = true;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		has_lines &= strstr(t.got, lines[i]) != NULL;
	const char *wrong = t.late ? "a request is not answered"
	    : !t.served		   ? "a request would be refused"
	    : !has_lines   ? "an answer gets other fields than it is given"
	    : memcmp(&found, &ours, sizeof found) != 0 ? "TLS is read past it"
						       : NULL;
	if (wrong != NULL)
		*ret_message = mem_printf("libmicrohttpd %s does not behave "
		    "as this gateway expects: %s. Use a version that it was "
		    "tested with", MHD_get_version(), wrong);
	return wrong == NULL;
}
