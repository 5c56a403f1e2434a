/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/error.h"
#include "base/mem.h"
#include "http/upstream/connection.h"
#include "http/upstream/dialler.h"
#include "http/upstream/reach_plain.h"

/* So long, whatever connect_timeout is: it is asked of each target. */
enum { WAIT_MS = 2000 };

/* --- TLS --- */

static bool
is_in_question(const struct reached *reached)
{
	return reached->error == 0 && !reached->target->tls &&
	    reached->target->unix_path == NULL;
}

/* Who finds fault with a certificate, or is refused by an alert, was heard. */
static bool
speaks_tls(const struct reached *tried)
{
	switch (tried->error) {
	case 0:
	case E_TLS_AUTHORITY:
	case E_TLS_EARLY:
	case E_TLS_NAME:
	case E_TLS_OVER:
		return true;
	case E_TLS:
		return strstr(tried->message, "alert") != NULL;
	}
	return false;
}

/* Tries a handshake with each; whether one succeeded, or was refused. */
static void
try_handshakes(struct reached *list, size_t count)
{
	struct reached *tried = mem_zero(count * sizeof *tried);
	struct conf_upstream *upstreams =
	    mem_zero(count * sizeof *upstreams);
	struct conf_target *targets = mem_zero(count * sizeof *targets);
	size_t n = 0;
	for (size_t i = 0; i < count; i++) {
		if (!is_in_question(&list[i]))
			continue;
		targets[n] = *list[i].target;
		targets[n].tls = true;
		upstreams[n] = *list[i].upstream;
		/* There were no files of it before, and it is told nothing. */
		upstreams[n].ca = NULL;
		upstreams[n].certificate = upstreams[n].key = NULL;
		if (upstreams[n].connect_timeout_ms > WAIT_MS)
			upstreams[n].connect_timeout_ms = WAIT_MS;
		tried[n] = (struct reached){
		    .upstream = &upstreams[n], .target = &targets[n]};
		n++;
	}
	reach_try(tried, n);
	n = 0;
	for (size_t i = 0; i < count; i++)
		if (is_in_question(&list[i]))
			list[i].wants_tls = speaks_tls(&tried[n++]);
	free(targets);
	free(upstreams);
	free(tried);
}

/* --- and plain HTTP besides --- */

struct plain_ask {
	struct plain_asks *all;
	struct reached *reached;
	struct dialler dialler;
	struct connection *connection;
	struct timer timer;
	bool ended;
	size_t len;
	char head[sizeof "HTTP/1.1 200" - 1];
};

struct plain_asks {
	struct loop *loop;
	size_t pending;
};

static void
end_ask(void *arg)
{
	struct plain_ask *q = arg;
	if (q->ended)
		return;
	q->ended = true;
	timer_clear(&q->timer);
	if (--q->all->pending == 0)
		loop_stop(q->all->loop);
}

static void
on_answer(void *arg, unsigned events)
{
	struct plain_ask *q = arg;
	(void)events;
	ssize_t n = connection_receive(
	    q->connection, q->head + q->len, sizeof q->head - q->len);
	if (n > 0)
		q->len += (size_t)n;
	if (n < 0 || q->len == sizeof q->head) {
		connection_want(q->connection, false, false);
		end_ask(q);
	}
}

/* OPTIONS is safe, and of "*" it is about nothing that a server has. */
static void
on_plain_made(void *arg, int error)
{
	struct plain_ask *q = arg;
	char *text = mem_printf("OPTIONS * HTTP/1.1\r\nHost: %s\r\n"
	    "User-Agent: onceproxy\r\nConnection: close\r\n\r\n",
	    q->reached->target->authority);
	if (error == 0)
		connection_watch(q->connection, on_answer, q);
	if (error != 0 ||
	    connection_send(q->connection, text, strlen(text)) <= 0)
		end_ask(q);
	free(text);
}

/*
 * What tells a client of plain HTTP that it has come to the wrong port is 400,
 * 426 or a way to another one.
 */
static bool
is_welcome(const struct plain_ask *q)
{
	const struct span head = span_of(q->head, q->len);
	int64_t status;
	if (head.len < sizeof q->head || !span_starts(head, SPAN("HTTP/1.")) ||
	    !digits_read(span_from(head, 9), 999, &status))
		return false;
	return status != 400 && status != 426 && status / 100 != 3;
}

static void
ask_plainly(struct reached *list, size_t count)
{
	struct plain_asks all = {.loop = loop_new()};
	struct connector *connector = connector_new(all.loop);
	struct plain_ask *asked = mem_zero(count * sizeof *asked);
	for (size_t i = 0; i < count; i++) {
		struct plain_ask *q = &asked[i];
		if (!list[i].wants_tls)
			continue;
		q->all = &all;
		q->reached = &list[i];
		all.pending++;
		dialler_init(&q->dialler, connector, list[i].upstream,
		    list[i].target);
		timer_init(&q->timer, all.loop, end_ask, q);
		timer_set(&q->timer, WAIT_MS);
		q->connection =
		    connection_open(&q->dialler, on_plain_made, q);
	}
	if (all.pending > 0)
		loop_run(all.loop);
	for (size_t i = 0; i < count; i++) {
		if (asked[i].reached == NULL)
			continue;
		list[i].wants_tls = !is_welcome(&asked[i]);
		connection_close(&asked[i].connection);
		dialler_end(&asked[i].dialler);
	}
	free(asked);
	connector_free(&connector);
	loop_free(&all.loop);
}

void
reach_plain_judge(struct reached *list, size_t count)
{
	try_handshakes(list, count);
	ask_plainly(list, count);
}
