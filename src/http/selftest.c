/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "http/exchange.h"
#include "http/front_private.h"
#include "http/selftest.h"

/* As long as a machine under any load needs; it is milliseconds else. */
enum { PATIENCE_MS = 30000, TRIAL_BYTES = 65536, LEAST_HEAD_BYTES = 1024 };

#define POST "POST /a?b=c&d HTTP/1.1\r\nHost: h\r\n"
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"

static const struct sample {
	const char *what;
	const char *request;
	bool good;
} samples[] = {
    {"a request", POST "\r\n", true},
    {"a request with a body",
	POST "A: b\r\nContent-Length: 2\r\n\r\nhi", true},
    {"a request with chunks",
	CHUNKED "2\r\nhi\r\n0\r\n\r\n", true},
    {"a request with an extension and a trailer",
	CHUNKED "2;a=b\r\nhi\r\n0\r\nC: d\r\n\r\n", true},
    {"a request with blanks, cookies and an empty field",
	POST "A: \t b \t\r\nCookie: c=d; e=f\r\nG:\r\n"
	     "Content-Length:2\r\n\r\nhi",
	true},
    {"a folded line", POST "A: b\r\n c\r\nD: e\r\n\r\n", false},
    {"a folded line that makes a field",
	POST "Content: 2\r\n -Length\r\nA: b\r\n\r\nhi", false},
    {"a bare line feed", POST "A: b\nC: d\r\n\r\n", false},
    {"a head that ends in bare line feeds", POST "A: b\n\n", false},
    {"a line without a name",
	POST "Content-Length: 2\r\n: x\r\nA: b\r\n\r\nhi", false},
    {"a line that is only a colon", POST ":\r\nA: b\r\n\r\n", false},
    {"two spaces in the first line",
	"POST  /a HTTP/1.1\r\nHost: h\r\n\r\n", false},
    {"a length that is none", POST "Content-Length: -1\r\n\r\nhi", false},
    {"a chunk's size behind a bare line feed",
	CHUNKED "2\nhi\r\n0\r\n\r\n", false},
    {"a chunk's extension with a bare line feed",
	CHUNKED "2;\nhi\r\n0\r\n\r\n", false},
    {"a trailer without a name",
	CHUNKED "2\r\nhi\r\n0\r\n: x\r\n\r\n", false},
};

enum {
	N_SAMPLES = sizeof samples / sizeof *samples,
	ANSWER_BYTES = 1024, /* more than the head of an answer has */
};

/* How the fields of answer_new() below are to stand there: http/reply.c. */
static const char *const lines[] = {"\r\nA: b\r\n",
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
	bool served; /* it would have been */
	bool late;
	char got[ANSWER_BYTES + 1];
	size_t len;
};

/* --- one request --- */

static void
on_trial_answered(void *arg)
{
	struct trial *t = arg;
	exchange_end(&t->x);
}

/* The answer closes the connection. */
static void
answer_trial(struct trial *t)
{
	t->x->op.wake = on_trial_answered;
	exchange_answer(t->x, t->answer, &(struct fields){NULL, 0}, true);
}

static void
on_trial_read(void *arg)
{
	struct trial *t = arg;
	t->served = t->served && t->x->op.error == 0;
	answer_trial(t);
}

static void
on_trial_arrived(void *arg, struct exchange *x)
{
	struct trial *t = arg;
	t->served = x->head.verdict == HEAD_CHECK_OK;
	t->x = x;
	op_init(&x->op, t->loop, on_trial_read, t);
	if (x->has_body && t->served)
		exchange_read_body(x, TRIAL_BYTES);
	else
		answer_trial(t);
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

/* Whether the request would have been served. */
static bool
try_one(struct trial *t, const struct conf *conf, const struct sample *sample)
{
	int ends[2];
	const struct sockaddr address = {.sa_family = AF_UNIX};
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
		 ends) == 0);
	const struct arrival arrival = {
	    ends[0], &address, sizeof address, conf, NULL};
	t->client = ends[1];
	t->served = false;
	t->len = 0;
	size_t len = strlen(sample->request);
	must(send(t->client, sample->request, len, MSG_NOSIGNAL) ==
	    (ssize_t)len);
	must(shutdown(t->client, SHUT_WR) == 0);
	must(places_take(t->places));
	front_take(t->front, &arrival);
	t->answered = watch_new(t->loop, t->client, on_trial_client, t);
	watch_want(t->answered, WATCH_READ);
	loop_run(t->loop);
	watch_free(&t->answered);
	close(t->client);
	t->got[t->len] = '\0';
	return t->served;
}

/* --- all of them --- */

static bool
has_lines(const struct trial *t)
{
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		if (strstr(t->got, lines[i]) == NULL)
			return false;
	return true;
}

static bool
try_all(struct trial *t, const struct conf *conf, char **ret_message)
{
	for (size_t i = 0; i < N_SAMPLES; i++) {
		const struct sample *sample = &samples[i];
		bool served = try_one(t, conf, sample);
		bool spoiled = served && !has_lines(t);
		if (t->late || served != sample->good || spoiled) {
			*ret_message = mem_printf("libmicrohttpd %s does not "
			    "behave as this gateway expects: %s %s. Use the "
			    "version that it was tested with",
			    MHD_get_version(), sample->what,
			    t->late	   ? "is not answered"
				: spoiled ? "gets other fields than it is given"
				: served  ? "would be served"
					 : "would be refused");
			return false;
		}
	}
	return true;
}

bool
selftest(const struct conf *conf, char **ret_message)
{
	struct body body;
	struct budget budget = {.limit = TRIAL_BYTES};
	struct places places = {.most = N_SAMPLES};
	struct trial t = {.loop = loop_new(), .places = &places};
	body_init(&body, NULL);
	struct field list[] = {{SPAN("A"), SPAN("b")},
	    {SPAN("Date"), SPAN("Thu, 01 Jan 1970 00:00:00 GMT")},
	    {SPAN("C"), SPAN("")}, {SPAN("A"), SPAN("d, e")}};
	struct fields fields = {list, sizeof list / sizeof *list};
	t.answer = answer_new(200, &fields, &body, SPAN(""));
	t.front = front_new(
	    t.loop, conf, &budget, &places, on_trial_arrived, &t);
	/* What heads may have is not what is tried. */
	if (t.front->max_head < LEAST_HEAD_BYTES)
		t.front->max_head = LEAST_HEAD_BYTES;
	timer_init(&t.patience, t.loop, on_trial_late, &t);
	timer_set(&t.patience, PATIENCE_MS);
	bool ok = try_all(&t, conf, ret_message);
	timer_clear(&t.patience);
	if (t.x != NULL)
		exchange_end(&t.x);
	front_free(&t.front);
	answer_unref(&t.answer);
	loop_free(&t.loop);
	return ok;
}
