/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/error.h"
#include "base/loop/loop.h"
#include "base/mem.h"
#include "conf/token/token_set.h"
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

struct knock {
	const struct conf_target *target;
	struct loop *loop;
	struct connection *connection;
	int error;         /* 0, or that of connection_open() */
	char message[256]; /* about the error, libcurl's if it has one */
	/* The beginning of the answer to OPTIONS: */
	size_t len;
	char head[sizeof "HTTP/1.1 200" - 1];
};

/* --- connecting --- */

static void
end_knock(void *arg)
{
	struct knock *knock = arg;
	loop_stop(knock->loop);
}

/* Connects, and waits until that has ended; wait_ms 0: for ever. */
static void
knock_at(struct knock *knock, const struct conf_upstream *upstream,
    const struct conf_target *target, int64_t wait_ms,
    void (*made)(void *arg, int error))
{
	struct dialler dialler;
	struct timer timer;
	*knock = (struct knock){.target = target, .loop = loop_new()};
	struct connector *connector = connector_new(knock->loop);
	connection_dialler_init(&dialler, connector, upstream, target);
	timer_init(&timer, knock->loop, end_knock, knock);
	if (wait_ms > 0)
		timer_set(&timer, wait_ms);
	knock->connection = connection_open(&dialler, made, knock);
	loop_run(knock->loop);
	timer_clear(&timer);
	connection_close(&knock->connection);
	connection_dialler_end(&dialler);
	connector_free(&connector);
	loop_free(&knock->loop);
}

static void
on_made(void *arg, int error)
{
	struct knock *knock = arg;
	knock->error = error;
	const char *why = knock->connection->why;
	if (error != 0)
		snprintf(knock->message, sizeof knock->message, "%s",
		    *why != '\0' ? why : error_message(error));
	end_knock(knock);
}

/* --- whether http:// leads to TLS --- */

/*
 * Offers a handshake.  A certificate that we do not trust, or an alert, is
 * spoken in TLS, too.
 */
static bool
speaks_tls(
    const struct conf_upstream *upstream, const struct conf_target *target)
{
	struct knock tried;
	struct conf_upstream untold = *upstream;
	struct conf_target tls = *target;
	tls.tls = true;
	/* There were no files of it before, and it is told nothing. */
	untold.ca = untold.certificate = untold.key = NULL;
	if (untold.connect_timeout_ms > WAIT_MS)
		untold.connect_timeout_ms = WAIT_MS;
	knock_at(&tried, &untold, &tls, 0, on_made);
	switch (tried.error) {
	case 0:
	case E_TLS_AUTHORITY:
	case E_TLS_EARLY:
	case E_TLS_NAME:
	case E_TLS_OVER:
		return true;
	case E_TLS:
		return strstr(tried.message, "alert") != NULL;
	}
	return false;
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
 * What takes a handshake is asked without one.  A client of plain HTTP that has
 * come to the wrong port is told so by 400, by 426 or by a way to another one.
 */
static bool
speaks_plainly(
    const struct conf_upstream *upstream, const struct conf_target *target)
{
	struct knock asked;
	int64_t status;
	knock_at(&asked, upstream, target, WAIT_MS, on_plain_made);
	struct span head = span_of(asked.head, asked.len);
	return head.len == sizeof asked.head &&
	       span_starts(head, SPAN("HTTP/1.")) &&
	       digits_read(span_from(head, 9), 999, &status) && status != 400 &&
	       status != 426 && status / 100 != 3;
}

/* --- judging --- */

static char *
host_port(const struct conf_target *target)
{
	bool v6 = strchr(target->host, ':') != NULL;
	return target->unix_path != NULL
		   ? mem_text(target->unix_path)
		   : mem_printf("%s%s%s:%u", v6 ? "[" : "", target->host,
			 v6 ? "]" : "", target->port);
}

/*
 * What is found where no other target takes the requests, and its cure; NULL:
 * that is about the target's URL.
 */
static enum finding_name
judge_error(const struct knock *knock, char **ret_remedy)
{
	const struct conf_target *target = knock->target;
	*ret_remedy = NULL;
	switch (knock->error) {
	case E_UNREACHABLE:
		return FINDING_upstream_closed;
	case E_TLS_NONE:
		return FINDING_upstream_plain;
	case E_RESOLVE:
		*ret_remedy = shell_quote(target->host);
		return FINDING_upstream_name;
	case E_TIMEOUT:
		*ret_remedy = host_port(target);
		return FINDING_upstream_silent;
	}
	char *place = host_port(target);
	*ret_remedy = mem_printf(
	    "openssl s_client -connect %s -servername %s", place, target->host);
	free(place);
	return FINDING_upstream_tls;
}

/* spared: another target of its upstream takes what this one cannot. */
static void
judge_target(struct doctor *doctor, const char *where,
    const struct conf_upstream *upstream, const struct knock *knock,
    bool spared)
{
	const struct conf_target *target = knock->target;
	char *remedy = NULL;
	/* Each of several, too: one in so many payments would go there. */
	if (knock->error == 0 && !target->tls && target->unix_path == NULL &&
	    speaks_tls(upstream, target) && !speaks_plainly(upstream, target))
		findings_add(doctor, FINDING_upstream_wants_tls, where,
		    mem_text(target->url), mem_text(target->url));
	if (knock->error == 0)
		return;
	enum finding_name name = FINDING_target_down;
	if (!spared) {
		name = judge_error(knock, &remedy);
		findings_skip(doctor, FINDING_target_down,
		    "no other target takes the requests of one that fails");
	}
	findings_add(doctor, name, where,
	    mem_printf("%s: %s", target->url, knock->message),
	    remedy != NULL ? remedy : mem_text(target->url));
}

/* --- all of them --- */

static void
look_at_upstream(struct doctor *doctor, const struct conf_upstream *upstream)
{
	size_t count = upstream->n_targets;
	struct knock *list = mem_zero(count * sizeof *list);
	char *pointer = findings_pointer("upstreams", upstream->name);
	bool spared = false;
	for (size_t i = 0; i < count; i++) {
		knock_at(&list[i], upstream, &upstream->targets[i], 0, on_made);
		spared |= list[i].error == 0;
	}
	for (size_t i = 0; i < count; i++) {
		char *target = count == 1
				   ? mem_text(pointer)
				   : mem_printf("%s/targets/%zu", pointer, i);
		judge_target(doctor, target, upstream, &list[i], spared);
		free(target);
	}
	free(pointer);
	free(list);
}

/* The path of a webhook is secret. */
static void
look_at_receiver(struct doctor *doctor, const struct conf_relay *relay)
{
	const struct conf_target *target = relay->receiver.targets;
	char *where = findings_pointer("relays", relay->name);
	char *place = host_port(target);
	struct knock knock;
	knock_at(&knock, &relay->receiver, target, 0, on_made);
	if (knock.error != 0)
		findings_add(doctor, FINDING_relay_receiver, where,
		    mem_printf("%s: %s", place, knock.message),
		    mem_printf("%s%s", place,
			target->tls
			    ? "; its certificate must be of an authority that "
			      "this machine trusts"
			    : ""));
	free(place);
	free(where);
}

void
look_upstreams(struct doctor *doctor)
{
	const struct conf *conf = doctor->conf;
	struct conf_keys_at at = {0, 0};
	const struct conf_scope *scope;
	for (size_t i = 0; i < conf->n_upstreams; i++)
		look_at_upstream(doctor, &conf->upstreams[i]);
	for (size_t i = 0; i < conf->n_relays; i++)
		if (conf->relays[i].kind == RELAY_WEBHOOK)
			look_at_receiver(doctor, &conf->relays[i]);
	/* Each URL of tokens' keys is asked once, as by the gateway. */
	while ((scope = conf_next_keys(conf, &at)) != NULL) {
		char *wrong = token_set_try(scope->set);
		if (wrong == NULL)
			continue;
		char *where = mem_printf("/routes/%zu/idempotency/scope/%zu",
		    at.route, scope->index);
		findings_add(doctor, FINDING_token_keys, where, wrong,
		    shell_quote(scope->keys));
		free(where);
	}
}
