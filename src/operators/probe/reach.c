/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/error.h"
#include "base/mem.h"
#include "http/upstream/connection.h"
#include "operators/probe/reach.h"

/* The most for each question about http://, whatever connect_timeout is. */
enum { WAIT_MS = 2000 };

struct knock {
	struct knocks *all;
	struct reached *reached; /* NULL: this one is left out */
	struct dialler dialler;
	struct connection *connection;
	struct timer timer;
	bool ended;
	/* The beginning of the answer to OPTIONS: */
	size_t len;
	char head[sizeof "HTTP/1.1 200" - 1];
};

struct knocks {
	struct loop *loop;
	size_t pending;
};

static void
end_knock(void *arg)
{
	struct knock *knock = arg;
	if (knock->ended)
		return;
	knock->ended = true;
	timer_clear(&knock->timer);
	if (--knock->all->pending == 0)
		loop_stop(knock->all->loop);
}

/* Connects to each, and waits until the last has ended; wait_ms 0: for ever. */
static void
connect_all(struct knock *list, size_t count, int64_t wait_ms,
    void (*made)(void *arg, int error))
{
	struct knocks all = {.loop = loop_new()};
	struct connector *connector = connector_new(all.loop);
	for (size_t i = 0; i < count; i++) {
		struct knock *knock = &list[i];
		if (knock->reached == NULL)
			continue;
		knock->all = &all;
		all.pending++;
		connection_dialler_init(&knock->dialler, connector,
		    knock->reached->upstream, knock->reached->target);
		timer_init(&knock->timer, all.loop, end_knock, knock);
		if (wait_ms > 0)
			timer_set(&knock->timer, wait_ms);
		knock->connection =
		    connection_open(&knock->dialler, made, knock);
	}
	if (all.pending > 0)
		loop_run(all.loop);
	for (size_t i = 0; i < count; i++) {
		if (list[i].reached == NULL)
			continue;
		connection_close(&list[i].connection);
		connection_dialler_end(&list[i].dialler);
	}
	connector_free(&connector);
	loop_free(&all.loop);
}

/* --- whether they can be reached --- */

static void
on_reached(void *arg, int error)
{
	struct knock *knock = arg;
	struct reached *reached = knock->reached;
	reached->error = error;
	if (error != 0)
		snprintf(reached->message, sizeof reached->message, "%s",
		    knock->connection->why);
	end_knock(knock);
}

static void
try_each(struct reached *list, size_t count)
{
	struct knock *knocks = mem_zero(count * sizeof *knocks);
	for (size_t i = 0; i < count; i++)
		knocks[i].reached = &list[i];
	connect_all(knocks, count, 0, on_reached);
	free(knocks);
}

/* --- whether http:// leads to TLS --- */

static bool
is_in_question(const struct reached *reached)
{
	return reached->error == 0 && !reached->target->tls &&
	    reached->target->unix_path == NULL;
}

/* A certificate that we do not trust, or an alert, is spoken in TLS, too. */
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

/* Offers those with http:// a handshake, and notes which of them speak TLS. */
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
	try_each(tried, n);
	n = 0;
	for (size_t i = 0; i < count; i++)
		if (is_in_question(&list[i]))
			list[i].wants_tls = speaks_tls(&tried[n++]);
	free(targets);
	free(upstreams);
	free(tried);
}

static void
on_answer(void *arg, unsigned events)
{
	struct knock *a = arg;
	(void)events;
	ssize_t n = connection_receive(
	    a->connection, a->head + a->len, sizeof a->head - a->len);
	if (n > 0)
		a->len += (size_t)n;
	if (n < 0 || a->len == sizeof a->head) {
		connection_want(a->connection, false, false);
		end_knock(a);
	}
}

/* OPTIONS is safe, and of "*" it is about nothing that a server has. */
static void
on_plain_made(void *arg, int error)
{
	struct knock *a = arg;
	char *text = mem_printf("OPTIONS * HTTP/1.1\r\nHost: %s\r\n"
	    "User-Agent: onceproxy\r\nConnection: close\r\n\r\n",
	    a->reached->target->authority);
	if (error == 0)
		connection_watch(a->connection, on_answer, a);
	if (error != 0 ||
	    connection_send(a->connection, text, strlen(text)) <= 0)
		end_knock(a);
	free(text);
}

/*
 * A client of plain HTTP that has come to the wrong port is told so by 400, by
 * 426 or by a way to another one.
 */
static bool
is_welcome(const struct knock *a)
{
	const struct span head = span_of(a->head, a->len);
	int64_t status;
	if (head.len < sizeof a->head || !span_starts(head, SPAN("HTTP/1.")) ||
	    !digits_read(span_from(head, 9), 999, &status))
		return false;
	return status != 400 && status != 426 && status / 100 != 3;
}

/* Those that take a handshake are asked without one. */
static void
ask_plainly(struct reached *list, size_t count)
{
	struct knock *asked = mem_zero(count * sizeof *asked);
	for (size_t i = 0; i < count; i++)
		if (list[i].wants_tls)
			asked[i].reached = &list[i];
	connect_all(asked, count, WAIT_MS, on_plain_made);
	for (size_t i = 0; i < count; i++)
		if (asked[i].reached != NULL)
			list[i].wants_tls = !is_welcome(&asked[i]);
	free(asked);
}

/* --- all of them --- */

/* Puts them in the list from there on; returns where the next ones begin. */
static size_t
add_targets(
    struct reached *list, size_t at, const struct conf_upstream *upstream)
{
	for (size_t k = 0; k < upstream->n_targets; k++)
		list[at++] = (struct reached){
		    .upstream = upstream, .target = &upstream->targets[k]};
	return at;
}

struct reached *
reach_targets(const struct conf *conf, size_t *ret_count)
{
	size_t count = 0, at = 0;
	for (size_t i = 0; i < conf->n_upstreams; i++)
		count += conf->upstreams[i].n_targets;
	for (size_t i = 0; i < conf->n_relays; i++)
		count += conf->relays[i].receiver.n_targets;
	struct reached *list = mem_zero(count * sizeof *list);
	for (size_t i = 0; i < conf->n_upstreams; i++)
		at = add_targets(list, at, &conf->upstreams[i]);
	for (size_t i = 0; i < conf->n_relays; i++)
		at = add_targets(list, at, &conf->relays[i].receiver);
	try_each(list, count);
	try_handshakes(list, count);
	ask_plainly(list, count);
	*ret_count = count;
	return list;
}
