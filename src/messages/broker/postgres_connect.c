/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/random.h"
#include "messages/broker/postgres_connect.h"
#include "store/redis/resolve.h"

enum {
	HOST_MS = 5000, /* for one host, its name included */
	PAUSE_FIRST_MS = 100,
	PAUSE_MOST_MS = 5000,
	HOSTS_MOST = 32,
	SETTINGS_MOST = 96, /* libpq 15 has 40 */
	WORDS = 200,
};

/* One of the URI's: its name, address and port; NULL: libpq's default. */
struct postgres_host {
	char *host;
	char *hostaddr;
	char *port;
};

struct postgres_connect {
	struct loop *loop;
	const struct conf_broker *broker;
	struct postgres_connect_events events;
	char *application;
	PQconninfoOption *options; /* of the URI; NULL: it cannot be read */
	struct postgres_host hosts[HOSTS_MOST];
	unsigned n_hosts;
	unsigned host;  /* the one that is tried, or was last */
	unsigned tried; /* of this round */
	unsigned failures; /* rounds in a row */
	bool ever;         /* there was a connection */
	struct resolve_lookup *lookup;
	PGconn *conn;
	struct watch *watch;
	struct timer deadline;
	struct timer pause;
	char why[WORDS];
};

static void try_host(void *arg);

void
postgres_connect_words(const char *from, char *ret_words, size_t size)
{
	size_t at = 0;
	for (; *from != '\0' && at + 1 < size; from++) {
		bool blank = (unsigned char)*from <= ' ';
		if (blank && (at == 0 || ret_words[at - 1] == ' '))
			continue;
		ret_words[at++] = blank ? ' ' : *from;
	}
	/* Not in the middle of a character. */
	if (*from != '\0')
		while (at > 0 && ((unsigned char)*from & 0xc0) == 0x80)
			from--, at--;
	while (at > 0 && ret_words[at - 1] == ' ')
		at--;
	ret_words[at] = '\0';
}

/* --- the URI --- */

static const char *
setting(const struct postgres_connect *connect, const char *keyword)
{
	PQconninfoOption *o = connect->options;
	for (; o != NULL && o->keyword != NULL; o++)
		if (strcmp(o->keyword, keyword) == 0)
			return o->val;
	return NULL;
}

/* The n-th of a list with commas; a list of one serves all. NULL: none. */
static char *
nth(const char *list, unsigned n)
{
	struct span all = span_str(list), piece = {"", 0};
	if (list == NULL)
		return NULL;
	bool one = strchr(list, ',') == NULL;
	for (unsigned i = 0; i <= (one ? 0 : n); i++)
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

static void
read_hosts(struct postgres_connect *connect)
{
	const char *names = setting(connect, "host");
	const char *addresses = setting(connect, "hostaddr");
	unsigned count = count_of(names);
	if (count < count_of(addresses))
		count = count_of(addresses);
	if (count > HOSTS_MOST)
		count = HOSTS_MOST;
	connect->n_hosts = count;
	for (unsigned i = 0; i < count; i++)
		connect->hosts[i] = (struct postgres_host){nth(names, i),
		    nth(addresses, i), nth(setting(connect, "port"), i)};
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

/* What the URI says comes later and wins. */
static void
set_defaults(struct postgres_settings *settings,
    const struct postgres_connect *connect)
{
	set(settings, "application_name", connect->application);
	set(settings, "target_session_attrs", "read-write");
	set(settings, "gssencmode", "disable");
	set(settings, "keepalives_idle", "5");
	set(settings, "keepalives_interval", "2");
	set(settings, "keepalives_count", "3");
	set(settings, "tcp_user_timeout", "10000");
}

static bool
is_own(const char *keyword)
{
	static const char *const own[] = {
	    "host", "hostaddr", "port", "client_encoding"};
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (strcmp(keyword, own[i]) == 0)
			return true;
	return false;
}

static PGconn *
start_to(const struct postgres_connect *connect, const char *address)
{
	const struct postgres_host *host = &connect->hosts[connect->host];
	struct postgres_settings settings = {0};
	set_defaults(&settings, connect);
	PQconninfoOption *o = connect->options;
	for (; o != NULL && o->keyword != NULL; o++)
		if (!is_own(o->keyword))
			set(&settings, o->keyword, o->val);
	set(&settings, "host", host->host);
	set(&settings, "hostaddr", address);
	set(&settings, "port", host->port);
	set(&settings, "client_encoding", "UTF8");
	set(&settings, "password", connect->broker->password);
	return PQconnectStartParams(settings.names, settings.values, 0);
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

/* After so many rounds that failed; a fifth of it is by chance. */
static int64_t
pause_ms(unsigned failures)
{
	int64_t ms = PAUSE_FIRST_MS;
	for (unsigned i = 1; i < failures && ms < PAUSE_MOST_MS; i++)
		ms *= 2;
	if (ms > PAUSE_MOST_MS)
		ms = PAUSE_MOST_MS;
	uint8_t chance;
	random_bytes(&chance, 1);
	return ms - ms * chance / 256 / 5;
}

static void
attempt_failed(struct postgres_connect *connect, const char *why)
{
	postgres_connect_words(why, connect->why, sizeof connect->why);
	drop_attempt(connect);
	connect->host = (connect->host + 1) % connect->n_hosts;
	if (++connect->tried < connect->n_hosts) {
		timer_set(&connect->pause, 0);
		return;
	}
	connect->tried = 0;
	connect->failures++;
	timer_set(&connect->pause, pause_ms(connect->failures));
	connect->events.failed(connect->events.arg, connect->why);
}

static void
host_hangs(void *arg)
{
	struct postgres_connect *connect = arg;
	char why[WORDS];
	const char *name = connect->hosts[connect->host].host;
	snprintf(why, sizeof why, "%.100s does not answer",
	    name != NULL ? name : "the server");
	attempt_failed(connect, why);
}

static void on_socket(void *arg, unsigned events);

static void
attempt_made(struct postgres_connect *connect)
{
	PGconn *conn = connect->conn;
	connect->conn = NULL;
	drop_attempt(connect);
	connect->tried = 0;
	connect->ever = true;
	connect->events.made(connect->events.arg, conn);
}

/* libpq may have another socket after each step. */
static void
attempt_goes_on(struct postgres_connect *connect)
{
	watch_free(&connect->watch);
	PostgresPollingStatusType step = PQconnectPoll(connect->conn);
	if (step == PGRES_POLLING_OK) {
		attempt_made(connect);
		return;
	}
	int fd = PQsocket(connect->conn);
	if (step == PGRES_POLLING_FAILED || fd < 0) {
		attempt_failed(connect, PQerrorMessage(connect->conn));
		return;
	}
	connect->watch = watch_new(connect->loop, fd, on_socket, connect);
	watch_want(connect->watch,
	    step == PGRES_POLLING_READING ? WATCH_READ : WATCH_WRITE);
}

static void
on_socket(void *arg, unsigned events)
{
	(void)events;
	attempt_goes_on(arg);
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
	connect->watch = watch_new(connect->loop, fd, on_socket, connect);
	watch_want(connect->watch, WATCH_WRITE);
}

static void
name_resolved(void *arg, const char *address)
{
	struct postgres_connect *connect = arg;
	char why[WORDS];
	connect->lookup = NULL;
	if (address != NULL) {
		start_attempt(connect, address);
		return;
	}
	snprintf(why, sizeof why, "%.100s has no address",
	    connect->hosts[connect->host].host);
	attempt_failed(connect, why);
}

/* A Unix socket's folder, or an abstract one, is no name. */
static bool
needs_lookup(const struct postgres_host *host)
{
	return host->hostaddr == NULL && host->host != NULL &&
	    host->host[0] != '/' && host->host[0] != '@';
}

static void
try_host(void *arg)
{
	struct postgres_connect *connect = arg;
	const struct postgres_host *host = &connect->hosts[connect->host];
	if (connect->options == NULL) {
		attempt_failed(connect, "the URI cannot be read");
		return;
	}
	timer_set(&connect->deadline, HOST_MS);
	if (needs_lookup(host))
		connect->lookup = resolve_start(
		    connect->loop, host->host, name_resolved, connect);
	else
		start_attempt(connect, host->hostaddr);
}

void
postgres_connect_begin(struct postgres_connect *connect, bool was_good)
{
	drop_attempt(connect);
	connect->tried = 0;
	if (connect->ever)
		connect->host = (connect->host + 1) % connect->n_hosts;
	connect->failures = was_good ? 0 : connect->failures + 1;
	timer_set(&connect->pause,
	    was_good ? 0 : pause_ms(connect->failures));
}

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
	read_hosts(connect);
	timer_init(&connect->deadline, loop, host_hangs, connect);
	timer_init(&connect->pause, loop, try_host, connect);
	return connect;
}

void
postgres_connect_free(struct postgres_connect **connect)
{
	struct postgres_connect *c = *connect;
	*connect = NULL;
	if (c == NULL)
		return;
	drop_attempt(c);
	timer_clear(&c->pause);
	for (unsigned i = 0; i < c->n_hosts; i++) {
		free(c->hosts[i].host);
		free(c->hosts[i].hostaddr);
		free(c->hosts[i].port);
	}
	PQconninfoFree(c->options);
	free(c->application);
	free(c);
}
