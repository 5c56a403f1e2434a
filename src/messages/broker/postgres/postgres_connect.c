/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/random.h"
#include "messages/broker/postgres/postgres_connect.h"
#include "store/redis/resolve.h"

enum {
	HOST_MS = 5000, /* for one host, its name included */
	PAUSE_FIRST_MS = 100,
	PAUSE_MOST_MS = 5000,
	GOOD_MS = 1000, /* a connection that lived so long was a good one */
	SETTINGS_MOST = 96, /* libpq 15 has 40 */
	WORDS = 200,
};

struct postgres_connect {
	struct loop *loop;
	const struct conf_broker *broker;
	struct postgres_connect_events events;
	char *application;
	PQconninfoOption *options; /* of the URI; NULL: it cannot be read */
	unsigned n_hosts;
	unsigned host;  /* the one that is tried, or was last */
	unsigned tried; /* of this round */
	unsigned failures; /* rounds in a row */
	struct resolve_lookup *lookup;
	PGconn *conn; /* that is tried */
	struct watch *watch;
	struct timer deadline;
	struct timer pause;
	struct postgres_pipe *pipe; /* NULL: no connection */
	bool ready;
	int64_t ready_ms;
};

/* --- the URI --- */

/* NULL: libpq's default. */
static const char *
setting(const struct postgres_connect *connect, const char *keyword)
{
	PQconninfoOption *o = connect->options;
	while (o != NULL && o->keyword != NULL && strcmp(o->keyword, keyword))
		o++;
	return o != NULL ? o->val : NULL;
}

/* Of a list with commas, that of the host at hand; one alone serves all. */
static char *
of_host(const struct postgres_connect *connect, const char *keyword)
{
	const char *list = setting(connect, keyword);
	struct span all = span_str(list), piece = {"", 0};
	if (list == NULL)
		return NULL;
	unsigned n = strchr(list, ',') != NULL ? connect->host : 0;
	for (unsigned i = 0; i <= n; i++)
		if (!span_next(&all, ',', &piece))
			return NULL;
	return piece.len > 0 ? mem_str(piece) : NULL;
}

static unsigned
count_of(const char *list)
{
	unsigned count = 1;
	for (; list != NULL && *list != '\0'; list++)
		count += *list == ',';
	return count;
}

struct postgres_settings {
	const char *names[SETTINGS_MOST];
	const char *values[SETTINGS_MOST];
	unsigned count;
};

static void
set(struct postgres_settings *settings, const char *name, const char *value)
{
	if (value == NULL || settings->count + 1 >= SETTINGS_MOST)
		return;
	settings->names[settings->count] = name;
	settings->values[settings->count++] = value;
}

/* Of two of one name the later one wins: the URI's, before what is ours. */
static PGconn *
start_to(const struct postgres_connect *connect, const char *address)
{
	static const char *const first[][2] = {
	    {"target_session_attrs", "read-write"}, {"gssencmode", "disable"},
	    {"keepalives_idle", "5"}, {"keepalives_interval", "2"},
	    {"keepalives_count", "3"}, {"tcp_user_timeout", "10000"}};
	static const char *const of_all[] = {
	    "host", "hostaddr", "port", "client_encoding"};
	struct postgres_settings settings = {0};
	char *host = of_host(connect, "host"), *port = of_host(connect, "port");
	set(&settings, "application_name", connect->application);
	for (size_t i = 0; i < sizeof first / sizeof *first; i++)
		set(&settings, first[i][0], first[i][1]);
	PQconninfoOption *o = connect->options;
	for (; o != NULL && o->keyword != NULL; o++) {
		bool ours = false;
		for (size_t i = 0; i < sizeof of_all / sizeof *of_all; i++)
			ours |= strcmp(o->keyword, of_all[i]) == 0;
		if (!ours)
			set(&settings, o->keyword, o->val);
	}
	set(&settings, "host", host);
	set(&settings, "hostaddr", address);
	set(&settings, "port", port);
	set(&settings, "client_encoding", "UTF8");
	set(&settings, "password", connect->broker->password);
	PGconn *conn =
	    PQconnectStartParams(settings.names, settings.values, 0);
	free(host);
	free(port);
	return conn;
}

/* --- a connection that stands --- */

/* After so many rounds that failed; a fifth of it is by chance. */
static int64_t
pause_ms(unsigned failures)
{
	int64_t ms = PAUSE_FIRST_MS;
	uint8_t chance;
	for (unsigned i = 1; i < failures && ms < PAUSE_MOST_MS; i++)
		ms *= 2;
	if (ms > PAUSE_MOST_MS)
		ms = PAUSE_MOST_MS;
	random_bytes(&chance, 1);
	return failures > 0 ? ms - ms * chance / 256 / 5 : 0;
}

/* Where it was no good one for long, the next is made after a pause. */
static void
go_down(struct postgres_connect *connect, const char *why, bool refused)
{
	char words[WORDS];
	if (connect->pipe == NULL)
		return;
	snprintf(words, sizeof words, "%s", why);
	bool good = connect->ready &&
	    loop_now_ms(connect->loop) - connect->ready_ms > GOOD_MS;
	connect->ready = false;
	postgres_pipe_free(&connect->pipe);
	connect->failures = good ? 0 : connect->failures + 1;
	connect->host = (connect->host + 1) % connect->n_hosts;
	timer_set(&connect->pause, pause_ms(connect->failures));
	connect->events.down(connect->events.arg, words, refused);
}

void
postgres_connect_refuse(struct postgres_connect *connect, const char *why)
{
	go_down(connect, why, true);
}

static void
on_broke(void *arg, const char *why)
{
	go_down(arg, why, false);
}

static void
on_notified(void *arg)
{
	struct postgres_connect *connect = arg;
	connect->events.notified(connect->events.arg);
}

/* --- one attempt --- */

static void
drop_attempt(struct postgres_connect *connect)
{
	timer_clear(&connect->deadline);
	resolve_cancel(&connect->lookup);
	watch_free(&connect->watch);
	PQfinish(connect->conn);
	connect->conn = NULL;
}

static void
attempt_failed(struct postgres_connect *connect, const char *why)
{
	char words[WORDS];
	postgres_pipe_words(why, words, sizeof words);
	drop_attempt(connect);
	connect->host = (connect->host + 1) % connect->n_hosts;
	if (++connect->tried < connect->n_hosts) {
		timer_set(&connect->pause, 0);
		return;
	}
	connect->tried = 0;
	connect->failures++;
	timer_set(&connect->pause, pause_ms(connect->failures));
	connect->events.down(connect->events.arg, words, false);
}

static void
host_failed(struct postgres_connect *connect, const char *how)
{
	char why[WORDS];
	char *name = of_host(connect, "host");
	snprintf(why, sizeof why, "%.100s %s",
	    name != NULL ? name : "the server", how);
	free(name);
	attempt_failed(connect, why);
}

static void
host_hangs(void *arg)
{
	host_failed(arg, "does not answer");
}

/* libpq may have another socket after each step. */
static void
attempt_goes_on(void *arg, unsigned events)
{
	struct postgres_connect *connect = arg;
	const struct postgres_pipe_events of_pipe = {
	    on_notified, on_broke, connect};
	(void)events;
	watch_free(&connect->watch);
	PostgresPollingStatusType step = PQconnectPoll(connect->conn);
	int fd = PQsocket(connect->conn);
	if (step == PGRES_POLLING_OK) {
		connect->pipe = postgres_pipe_new(
		    connect->loop, connect->conn, &of_pipe);
		connect->conn = NULL;
		drop_attempt(connect);
		connect->tried = 0;
		connect->events.made(connect->events.arg);
	} else if (step == PGRES_POLLING_FAILED || fd < 0) {
		attempt_failed(connect, PQerrorMessage(connect->conn));
	} else {
		connect->watch =
		    watch_new(connect->loop, fd, attempt_goes_on, connect);
		watch_want(connect->watch,
		    step == PGRES_POLLING_READING ? WATCH_READ : WATCH_WRITE);
	}
}

static void
discard_notice(void *arg, const PGresult *notice)
{
	(void)arg;
	(void)notice;
}

static void
start_attempt(struct postgres_connect *connect, const char *address)
{
	connect->conn = start_to(connect, address);
	if (connect->conn == NULL) {
		attempt_failed(connect, "no memory for a connection");
		return;
	}
	PQsetNoticeReceiver(connect->conn, discard_notice, NULL);
	int fd = PQsocket(connect->conn);
	if (PQstatus(connect->conn) == CONNECTION_BAD || fd < 0) {
		attempt_failed(connect, PQerrorMessage(connect->conn));
		return;
	}
	connect->watch =
	    watch_new(connect->loop, fd, attempt_goes_on, connect);
	watch_want(connect->watch, WATCH_WRITE);
}

static void
name_resolved(void *arg, const char *address)
{
	struct postgres_connect *connect = arg;
	connect->lookup = NULL;
	if (address != NULL)
		start_attempt(connect, address);
	else
		host_failed(connect, "has no address");
}

/* A Unix socket's folder, or an abstract one, is no name. */
static void
try_host(void *arg)
{
	struct postgres_connect *connect = arg;
	char *name = of_host(connect, "host");
	char *address = of_host(connect, "hostaddr");
	timer_set(&connect->deadline, HOST_MS);
	if (connect->options == NULL)
		attempt_failed(connect, "the URI cannot be read");
	else if (address == NULL && name != NULL && name[0] != '/' &&
	    name[0] != '@')
		connect->lookup = resolve_start(
		    connect->loop, name, name_resolved, connect);
	else
		start_attempt(connect, address);
	free(name);
	free(address);
}

/* --- its life --- */

struct postgres_connect *
postgres_connect_new(struct loop *loop, const struct conf_broker *broker,
    const char *instance, const struct postgres_connect_events *events)
{
	struct postgres_connect *connect = mem_zero(sizeof *connect);
	connect->loop = loop;
	connect->broker = broker;
	connect->events = *events;
	connect->application = mem_printf("onceproxy/%s", instance);
	connect->options = PQconninfoParse(broker->postgres, NULL);
	connect->n_hosts = count_of(setting(connect, "host"));
	if (connect->n_hosts < count_of(setting(connect, "hostaddr")))
		connect->n_hosts = count_of(setting(connect, "hostaddr"));
	timer_init(&connect->deadline, loop, host_hangs, connect);
	timer_init(&connect->pause, loop, try_host, connect);
	timer_set(&connect->pause, 0);
	return connect;
}

void
postgres_connect_free(struct postgres_connect **connect)
{
	struct postgres_connect *c = *connect;
	if (c == NULL)
		return;
	drop_attempt(c);
	timer_clear(&c->pause);
	c->ready = false;
	postgres_pipe_free(&c->pipe);
	*connect = NULL;
	PQconninfoFree(c->options);
	free(c->application);
	free(c);
}

struct postgres_pipe *
postgres_connect_pipe(const struct postgres_connect *connect)
{
	return connect->pipe;
}

void
postgres_connect_ready(struct postgres_connect *connect)
{
	connect->ready = true;
	connect->ready_ms = loop_now_ms(connect->loop);
}

bool
postgres_connect_is_ready(const struct postgres_connect *connect)
{
	return connect->ready;
}
