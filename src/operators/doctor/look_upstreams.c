/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/error.h"
#include "base/loop/loop.h"
#include "base/mem.h"
#include "http/upstream/connection.h"
#include "operators/commands/shell_quote.h"
#include "operators/doctor/look_private.h"

/*
 * Each target is connected to, as for a request (name, address, TLS and its
 * verification), and nothing is sent.  One with http:// that was reached is
 * offered a handshake of TLS, too.  One that takes it is asked OPTIONS *
 * without TLS, because a port may speak both; of a request in plain HTTP to a
 * port that speaks only TLS nobody would know what became.
 */

/* The most for each question about http://, whatever connect_timeout is. */
enum { WAIT_MS = 2000 };

struct knocks {
	struct loop *loop;
	size_t pending;
};

struct knock {
	struct knocks *all;
	const struct conf_upstream *upstream; /* NULL: this one is left out */
	const struct conf_target *target;
	struct dialler dialler;
	struct connection *connection;
	struct timer timer;
	bool ended;
	bool wants_tls;    /* http:// leads to TLS, and to no plain HTTP */
	int error;         /* 0, or that of connection_open() */
	char message[256]; /* libcurl's about the error; "" for none */
	/* The beginning of the answer to OPTIONS: */
	size_t len;
	char head[sizeof "HTTP/1.1 200" - 1];
};

/* --- connecting --- */

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
knock_at_all(struct knock *list, size_t count, int64_t wait_ms,
    void (*made)(void *arg, int error))
{
	struct knocks all = {.loop = loop_new()};
	struct connector *connector = connector_new(all.loop);
	for (size_t i = 0; i < count; i++) {
		struct knock *knock = &list[i];
		if (knock->upstream == NULL)
			continue;
		knock->all = &all;
		all.pending++;
		connection_dialler_init(
		    &knock->dialler, connector, knock->upstream, knock->target);
		timer_init(&knock->timer, all.loop, end_knock, knock);
		if (wait_ms > 0)
			timer_set(&knock->timer, wait_ms);
		knock->connection =
		    connection_open(&knock->dialler, made, knock);
	}
	if (all.pending > 0)
		loop_run(all.loop);
	for (size_t i = 0; i < count; i++) {
		if (list[i].upstream == NULL)
			continue;
		connection_close(&list[i].connection);
		connection_dialler_end(&list[i].dialler);
	}
	connector_free(&connector);
	loop_free(&all.loop);
}

static void
on_made(void *arg, int error)
{
	struct knock *knock = arg;
	knock->error = error;
	if (error != 0)
		snprintf(knock->message, sizeof knock->message, "%s",
		    knock->connection->why);
	end_knock(knock);
}

/* --- whether http:// leads to TLS --- */

/* A certificate that we do not trust, or an alert, is spoken in TLS, too. */
static bool
speaks_tls(const struct knock *tried)
{
	switch (tried->error) {
	case 0:
	case E_TLS_AUTHORITY:
	case E_TLS_EARLY:
	case E_TLS_NAME:
	case E_TLS_OVER:
		return tried->upstream != NULL;
	case E_TLS:
		return strstr(tried->message, "alert") != NULL;
	}
	return false;
}

/* Offers those with http:// a handshake, and notes which of them speak TLS. */
static void
try_handshakes(struct knock *list, size_t count)
{
	struct knock *tried = mem_zero(count * sizeof *tried);
	struct conf_upstream *upstreams = mem_zero(count * sizeof *upstreams);
	struct conf_target *targets = mem_zero(count * sizeof *targets);
	for (size_t i = 0; i < count; i++) {
		const struct knock *plain = &list[i];
		if (plain->error != 0 || plain->target->tls ||
		    plain->target->unix_path != NULL)
			continue;
		targets[i] = *plain->target;
		targets[i].tls = true;
		upstreams[i] = *plain->upstream;
		/* There were no files of it before, and it is told nothing. */
		upstreams[i].ca = NULL;
		upstreams[i].certificate = upstreams[i].key = NULL;
		if (upstreams[i].connect_timeout_ms > WAIT_MS)
			upstreams[i].connect_timeout_ms = WAIT_MS;
		tried[i].upstream = &upstreams[i];
		tried[i].target = &targets[i];
	}
	knock_at_all(tried, count, 0, on_made);
	for (size_t i = 0; i < count; i++)
		list[i].wants_tls = speaks_tls(&tried[i]);
	free(targets);
	free(upstreams);
	free(tried);
}

static void
on_answer(void *arg, unsigned events)
{
	struct knock *asked = arg;
	(void)events;
	ssize_t n = connection_receive(asked->connection,
	    asked->head + asked->len, sizeof asked->head - asked->len);
	if (n > 0)
		asked->len += (size_t)n;
	if (n < 0 || asked->len == sizeof asked->head) {
		connection_want(asked->connection, false, false);
		end_knock(asked);
	}
}

/* OPTIONS is safe, and of "*" it is about nothing that a server has. */
static void
on_plain_made(void *arg, int error)
{
	struct knock *asked = arg;
	char *text =
	    mem_printf("OPTIONS * HTTP/1.1\r\nHost: %s\r\n"
		       "User-Agent: onceproxy\r\nConnection: close\r\n\r\n",
		asked->target->authority);
	if (error == 0)
		connection_watch(asked->connection, on_answer, asked);
	if (error != 0 ||
	    connection_send(asked->connection, text, strlen(text)) <= 0)
		end_knock(asked);
	free(text);
}

/*
 * Those that take a handshake are asked without one.  A client of plain HTTP
 * that has come to the wrong port is told so by 400, by 426 or by a way to
 * another one.
 */
static void
ask_plainly(struct knock *list, size_t count)
{
	struct knock *asked = mem_zero(count * sizeof *asked);
	for (size_t i = 0; i < count; i++)
		if (list[i].wants_tls) {
			asked[i].upstream = list[i].upstream;
			asked[i].target = list[i].target;
		}
	knock_at_all(asked, count, WAIT_MS, on_plain_made);
	for (size_t i = 0; i < count; i++) {
		struct span head = span_of(asked[i].head, asked[i].len);
		int64_t status;
		if (head.len == sizeof asked[i].head &&
		    span_starts(head, SPAN("HTTP/1.")) &&
		    digits_read(span_from(head, 9), 999, &status) &&
		    status != 400 && status != 426 && status / 100 != 3)
			list[i].wants_tls = false;
	}
	free(asked);
}

/* --- judging --- */

/* The pointer to a target, or to an upstream that has only one. */
static char *
pointer_of(const struct conf *conf, const struct knock *knock)
{
	const struct conf_upstream *upstream = knock->upstream;
	size_t relay = 0;
	if (upstream->name == NULL) {
		while (&conf->relays[relay].receiver != upstream)
			relay++;
		return findings_pointer("relays", conf->relays[relay].name);
	}
	char *pointer = findings_pointer("upstreams", upstream->name);
	if (upstream->n_targets == 1)
		return pointer;
	char *target = mem_printf(
	    "%s/targets/%td", pointer, knock->target - upstream->targets);
	free(pointer);
	return target;
}

static char *
host_port(const struct conf_target *target)
{
	bool v6 = strchr(target->host, ':') != NULL;
	return target->unix_path != NULL
		   ? mem_text(target->unix_path)
		   : mem_printf("%s%s%s:%u", v6 ? "[" : "", target->host,
			 v6 ? "]" : "", target->port);
}

/* What is found where no other target takes the requests, and its cure. */
static enum finding_name
judge_error(const struct knock *knock, char **ret_remedy)
{
	const struct conf_target *target = knock->target;
	char *place = host_port(target);
	char *remedy = mem_text(target->url);
	enum finding_name name = FINDING_upstream_tls;
	switch (knock->error) {
	case E_RESOLVE:
		name = FINDING_upstream_name;
		free(remedy);
		remedy = shell_quote(target->host);
		break;
	case E_UNREACHABLE:
		name = FINDING_upstream_closed;
		break;
	case E_TIMEOUT:
		name = FINDING_upstream_silent;
		free(remedy);
		remedy = mem_text(place);
		break;
	case E_TLS_NONE:
		name = FINDING_upstream_plain;
		break;
	default:
		free(remedy);
		remedy =
		    mem_printf("openssl s_client -connect %s -servername %s",
			place, target->host);
	}
	free(place);
	*ret_remedy = remedy;
	return name;
}

/* spared: another target of its upstream takes what this one cannot. */
static void
judge_target(struct doctor *doctor, const struct knock *knock, bool spared)
{
	const struct conf_target *target = knock->target;
	/* That of a relay has a finding of its own, and its path is secret. */
	bool receiver = knock->upstream->name == NULL;
	char *where = pointer_of(doctor->conf, knock), *remedy = NULL;
	char *place = receiver ? host_port(target) : mem_text(target->url);
	enum finding_name name = FINDING_target_down;
	/* Each of several, too: one in so many payments would go there. */
	if (knock->wants_tls && !receiver)
		findings_add(doctor, FINDING_upstream_wants_tls, where,
		    mem_text(target->url), mem_text(target->url));
	if (knock->error != 0) {
		if (receiver) {
			name = FINDING_relay_receiver;
			remedy = mem_printf("%s%s", place,
			    target->tls
				? "; its certificate must be of an authority "
				  "that this machine trusts"
				: "");
		} else if (spared) {
			remedy = mem_text(target->url);
		} else {
			name = judge_error(knock, &remedy);
			findings_skip(doctor, FINDING_target_down,
			    "no other "
			    "target takes the requests of one that fails");
		}
		findings_add(doctor, name, where,
		    mem_printf("%s: %s", place,
			knock->message[0] ? knock->message
					  : error_message(knock->error)),
		    remedy);
	}
	free(place);
	free(where);
}

static bool
is_spared(const struct knock *list, size_t count, const struct knock *one)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].upstream == one->upstream && list[i].error == 0)
			return true;
	return false;
}

/* --- all of them --- */

/* Those of all upstreams, and then the receivers of webhooks. */
static struct knock *
list_targets(const struct conf *conf, size_t *ret_count)
{
	struct knock *list = NULL;
	size_t count = 0, all = conf->n_upstreams + conf->n_relays;
	for (size_t i = 0; i < all; i++) {
		const struct conf_upstream *upstream =
		    i < conf->n_upstreams
			? &conf->upstreams[i]
			: &conf->relays[i - conf->n_upstreams].receiver;
		list = mem_grow(
		    list, (count + upstream->n_targets + 1) * sizeof *list);
		for (size_t k = 0; k < upstream->n_targets; k++)
			list[count++] = (struct knock){.upstream = upstream,
			    .target = &upstream->targets[k]};
	}
	*ret_count = count;
	return list;
}

void
look_upstreams(struct doctor *doctor)
{
	size_t count;
	struct knock *list = list_targets(doctor->conf, &count);
	knock_at_all(list, count, 0, on_made);
	try_handshakes(list, count);
	ask_plainly(list, count);
	for (size_t i = 0; i < count; i++)
		judge_target(
		    doctor, &list[i], is_spared(list, count, &list[i]));
	free(list);
}
