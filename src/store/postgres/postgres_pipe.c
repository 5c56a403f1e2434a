/* SPDX-License-Identifier: BSD-2-Clause */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/loop/resolve.h"
#include "base/mem.h"
#include "base/must.h"
#include "base/random.h"
#include "store/postgres/postgres_pipe.h"

enum {
	HOST_MS = 5000, /* for one host, its name included */
	/* More than statement_timeout: a server that lives answers in time. */
	ANSWER_MS = 7000,
	PAUSE_FIRST_MS = 100,
	PAUSE_MOST_MS = 5000,
	GOOD_MS = 1000, /* a connection that lived so long was a good one */
	WORDS = 200,
	VALUES_MOST = 16,
	/* TLS may keep what one record had beyond libpq's buffer. */
	READS_OF_TLS = 3,
	BINARY = 1,
};

struct postgres_batch {
	struct postgres_batch *next;
	void (*result)(void *arg, unsigned statement, const PGresult *result);
	void (*end)(void *arg, const struct postgres_trouble *trouble);
	void *arg;
	unsigned statements;
	unsigned at; /* the one whose result comes next */
	bool failed;
	struct postgres_trouble trouble;
};

struct postgres_pipe {
	struct loop *loop;
	const struct conf_broker *broker;
	struct postgres_pipe_events events;
	char *application;
	PQconninfoOption *options; /* of the URI; NULL: it cannot be read */
	const struct postgres_pipe *beside; /* or NULL */
	unsigned n_hosts;
	unsigned host;  /* the one that is tried, or was last */
	char *address;  /* of that; NULL: it has none, or it is not known yet */
	unsigned tried; /* of this round */
	unsigned failures; /* rounds in a row */
	struct resolve_lookup *lookup;
	PGconn *conn; /* that is tried, or stands; or NULL */
	struct watch *watch;
	struct timer deadline; /* of the host, or of an answer */
	struct timer pause;
	bool stands;
	bool broken; /* it is given up, from the loop */
	bool ready;
	int64_t ready_ms;
	char why[WORDS];
	struct postgres_batch *first; /* sent, and not ended */
	struct postgres_batch **last;
	struct postgres_batch *making;
};

/* --- its end --- */

/* The server's or libpq's words on one line, cut to size - 1 bytes. */
static void
flatten(const char *from, char *ret_words, size_t size)
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

/* What was under way has ended when it returns. */
static void
drop_connection(struct postgres_pipe *pipe)
{
	struct postgres_batch *batch;
	timer_clear(&pipe->deadline);
	resolve_cancel(&pipe->lookup);
	watch_free(&pipe->watch);
	PQfinish(pipe->conn);
	pipe->conn = NULL;
	pipe->stands = pipe->broken = pipe->ready = false;
	while ((batch = pipe->first) != NULL) {
		const struct postgres_trouble lost = {.lost = true};
		pipe->first = batch->next;
		if (batch->end != NULL)
			batch->end(batch->arg, &lost);
		free(batch);
	}
	pipe->last = &pipe->first;
}

/*
 * The next host's turn; after a round without success, or a connection that was
 * no good one for long, there is a pause.
 */
static void
go_down(struct postgres_pipe *pipe, const char *why, bool refused)
{
	char words[WORDS];
	int64_t ms = PAUSE_FIRST_MS;
	uint8_t chance;
	bool stood = pipe->stands;
	bool good = pipe->ready &&
	    loop_now_ms(pipe->loop) - pipe->ready_ms > GOOD_MS;
	flatten(why, words, sizeof words);
	drop_connection(pipe);
	pipe->host = (pipe->host + 1) % pipe->n_hosts;
	if (!stood && ++pipe->tried < pipe->n_hosts) {
		timer_set(&pipe->pause, 0);
		return;
	}
	pipe->tried = 0;
	pipe->failures = good ? 0 : pipe->failures + 1;
	for (unsigned i = 1; i < pipe->failures && ms < PAUSE_MOST_MS; i++)
		ms *= 2;
	if (ms > PAUSE_MOST_MS)
		ms = PAUSE_MOST_MS;
	/* A fifth of it is by chance. */
	random_bytes(&chance, 1);
	timer_set(&pipe->pause, good ? 0 : ms - ms * chance / 256 / 5);
	pipe->events.down(pipe->events.arg, words, refused);
}

void
postgres_pipe_refuse(struct postgres_pipe *pipe, const char *why)
{
	if (pipe->stands)
		go_down(pipe, why, true);
}

/* From the loop; why NULL: libpq says so. */
static void
pipe_breaks(struct postgres_pipe *pipe, const char *why)
{
	if (pipe->broken)
		return;
	pipe->broken = true;
	watch_free(&pipe->watch);
	flatten(why != NULL ? why : PQerrorMessage(pipe->conn), pipe->why,
	    sizeof pipe->why);
	if (pipe->why[0] == '\0')
		snprintf(
		    pipe->why, sizeof pipe->why, "the connection was lost");
	timer_set(&pipe->deadline, 0);
}

/* --- results --- */

/* The first that a SQLSTATE begins with; its first two bytes are a class. */
static const struct {
	const char *state;
	enum postgres_kind kind;
} kinds[] = {
    {"55P03", POSTGRES_LOCKED},
    {"57014", POSTGRES_ROW}, /* statement_timeout */
    {"25006", POSTGRES_ANOTHER}, {"26000", POSTGRES_ANOTHER},
    {"0A000", POSTGRES_ANOTHER}, {"57P", POSTGRES_ANOTHER},
    {"08", POSTGRES_PASSES}, {"40", POSTGRES_PASSES},
    {"53", POSTGRES_PASSES}, {"55006", POSTGRES_PASSES},
    {"57", POSTGRES_PASSES}, {"58", POSTGRES_PASSES},
    {"25", POSTGRES_PASSES}, {"26", POSTGRES_PASSES},
    {"09", POSTGRES_ROW}, {"21", POSTGRES_ROW}, {"22", POSTGRES_ROW},
    {"23", POSTGRES_ROW}, {"27", POSTGRES_ROW}, {"38", POSTGRES_ROW},
    {"39", POSTGRES_ROW}, {"44", POSTGRES_ROW}, {"54", POSTGRES_ROW},
    {"P0", POSTGRES_ROW}, {"XX", POSTGRES_ROW},
};
/* A table, column or type that is not what it was; in no function of theirs. */
static const char *const shapes[] = {
    "42P01", "42703", "42804", "42883", "3F000"};

static void
note_error(struct postgres_batch *batch, const PGresult *result)
{
	struct postgres_trouble *t = &batch->trouble;
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *words =
	    PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	const char *function =
	    PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION);
	if (batch->failed)
		return;
	batch->failed = true;
	t->statement = batch->at;
	snprintf(t->state, sizeof t->state, "%s", state ? state : "");
	t->at_row = PQresultErrorField(result, PG_DIAG_CONTEXT) != NULL;
	for (size_t i = sizeof kinds / sizeof *kinds; i-- > 0;)
		if (strncmp(t->state, kinds[i].state,
			strlen(kinds[i].state)) == 0)
			t->kind = kinds[i].kind;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		if (strcmp(t->state, shapes[i]) == 0 && !t->at_row)
			t->kind = POSTGRES_ANOTHER;
	/* A trigger, or a policy for rows, has said so; of whatever class. */
	if (t->kind == POSTGRES_OTHER && function != NULL &&
	    (strcmp(function, "exec_stmt_raise") == 0 ||
		strcmp(function, "ExecWithCheckOptions") == 0))
		t->kind = POSTGRES_ROW;
	/* A prepared statement that is not there, or was there before ours. */
	if (!t->at_row && (strcmp(t->state, "26000") == 0 ||
		strcmp(t->state, "42P05") == 0))
		words = POSTGRES_POOLED;
	flatten(words ? words : PQresultErrorMessage(result),
	    t->words, sizeof t->words);
}

static void
take_result(struct postgres_pipe *pipe, PGresult *result)
{
	struct postgres_batch *batch = pipe->first;
	switch ((int)PQresultStatus(result)) {
	case PGRES_PIPELINE_SYNC:
		/* A pooler gives out what another client did not wait for. */
		if (batch->at < batch->statements ||
		    batch->at > batch->statements + batch->failed) {
			pipe_breaks(pipe, "the answers are none to what was "
					  "asked: a pooler mixes them up");
			break;
		}
		pipe->first = batch->next;
		if (pipe->first == NULL)
			pipe->last = &pipe->first;
		if (batch->end != NULL)
			batch->end(batch->arg,
			    batch->failed ? &batch->trouble : NULL);
		free(batch);
		break;
	case PGRES_PIPELINE_ABORTED:
		break;
	case PGRES_COMMAND_OK:
	case PGRES_TUPLES_OK:
		if (batch->result != NULL)
			batch->result(batch->arg, batch->at, result);
		break;
	case PGRES_FATAL_ERROR:
		note_error(batch, result);
		break;
	default: /* none that any statement of ours has */
		pipe_breaks(pipe, NULL);
	}
	PQclear(result);
}

/* --- the socket --- */

/* Sends what it can, and sets the time by which an answer must be here. */
static void
push(struct postgres_pipe *pipe, bool something_came)
{
	int left = PQflush(pipe->conn);
	if (left < 0 || pipe->watch == NULL) {
		pipe_breaks(pipe, NULL);
		return;
	}
	watch_want(pipe->watch, WATCH_READ | (left > 0 ? WATCH_WRITE : 0));
	if (pipe->first == NULL)
		timer_clear(&pipe->deadline);
	else if (something_came || !timer_is_set(&pipe->deadline))
		timer_set(&pipe->deadline, ANSWER_MS);
}

static void
answers_come(void *arg, unsigned events)
{
	struct postgres_pipe *pipe = arg;
	int reads = PQsslInUse(pipe->conn) ? READS_OF_TLS : 1;
	bool well = true, ended = false, notified = false;
	PGnotify *notify;
	(void)events;
	for (int i = 0; i < reads && well; i++)
		well = PQconsumeInput(pipe->conn) != 0;
	/* Then libpq has closed its socket, whose number is anybody's. */
	if (!well)
		watch_free(&pipe->watch);
	/* libpq gives NULL behind the results of each statement. */
	while (pipe->stands && !pipe->broken &&
	    pipe->first != NULL && !PQisBusy(pipe->conn)) {
		PGresult *result = PQgetResult(pipe->conn);
		if (result == NULL && ended)
			break;
		ended = result == NULL;
		if (ended)
			pipe->first->at++;
		else
			take_result(pipe, result);
	}
	if (!pipe->stands || pipe->broken)
		return;
	if (!well || PQstatus(pipe->conn) == CONNECTION_BAD) {
		pipe_breaks(pipe, NULL);
		return;
	}
	push(pipe, true);
	while ((notify = PQnotifies(pipe->conn)) != NULL) {
		PQfreemem(notify);
		notified = true;
	}
	if (notified && pipe->events.notified != NULL)
		pipe->events.notified(pipe->events.arg);
}

/* --- sending --- */

void
postgres_pipe_begin(struct postgres_pipe *pipe,
    void (*result)(void *arg, unsigned statement, const PGresult *result),
    void (*end)(void *arg, const struct postgres_trouble *trouble), void *arg)
{
	must(pipe->making == NULL);
	pipe->making = mem_zero(sizeof *pipe->making);
	pipe->making->result = result;
	pipe->making->end = end;
	pipe->making->arg = arg;
}

void
postgres_pipe_prepare(
    struct postgres_pipe *pipe, const char *name, const char *sql)
{
	pipe->making->statements++;
	if (PQsendPrepare(pipe->conn, name, sql, 0, NULL) == 0)
		pipe_breaks(pipe, NULL);
}

/* name NULL: what sql says, which nobody has prepared. */
static void
send_with(struct postgres_pipe *pipe, const char *name, const char *sql,
    const struct span *from, unsigned count)
{
	const char *values[VALUES_MOST];
	int lengths[VALUES_MOST], formats[VALUES_MOST];
	must(count <= VALUES_MOST);
	pipe->making->statements++;
	for (unsigned i = 0; i < count; i++) {
		must(from[i].len < INT_MAX);
		values[i] = from[i].ptr;
		lengths[i] = (int)from[i].len;
		formats[i] = BINARY;
	}
	int sent = name != NULL
	    ? PQsendQueryPrepared(pipe->conn, name, (int)count, values,
		  lengths, formats, BINARY)
	    : PQsendQueryParams(pipe->conn, sql, (int)count, NULL, values,
		  lengths, formats, BINARY);
	if (sent == 0)
		pipe_breaks(pipe, NULL);
}

void
postgres_pipe_run(struct postgres_pipe *pipe, const char *name,
    const struct span *values, unsigned count)
{
	send_with(pipe, name, NULL, values, count);
}

void
postgres_pipe_flush(struct postgres_pipe *pipe)
{
	if (PQsendFlushRequest(pipe->conn) == 0)
		pipe_breaks(pipe, NULL);
}

void
postgres_pipe_query(struct postgres_pipe *pipe, const char *sql,
    const struct span *values, unsigned count)
{
	send_with(pipe, NULL, sql, values, count);
}

void
postgres_pipe_end(struct postgres_pipe *pipe)
{
	struct postgres_batch *batch = pipe->making;
	must(batch != NULL);
	pipe->making = NULL;
	*pipe->last = batch;
	pipe->last = &batch->next;
	if (pipe->broken)
		return;
	if (PQpipelineSync(pipe->conn) == 0)
		pipe_breaks(pipe, NULL);
	else
		push(pipe, false);
}

/* --- making a connection --- */

/* NULL: libpq's default. */
static const char *
setting(const struct postgres_pipe *pipe, const char *keyword)
{
	PQconninfoOption *o = pipe->options;
	while (o != NULL && o->keyword != NULL && strcmp(o->keyword, keyword))
		o++;
	return o != NULL ? o->val : NULL;
}

/* Of a list with commas, that of the host at hand; one alone serves all. */
static char *
of_host(const struct postgres_pipe *pipe, const char *keyword)
{
	const char *list = setting(pipe, keyword);
	struct span all = span_str(list), piece = {"", 0};
	if (list == NULL)
		return NULL;
	unsigned n = strchr(list, ',') != NULL ? pipe->host : 0;
	for (unsigned i = 0; i <= n; i++)
		if (!span_next(&all, ',', &piece))
			return NULL;
	return piece.len > 0 ? mem_str(piece) : NULL;
}

static void
host_failed(struct postgres_pipe *pipe, const char *how)
{
	char why[WORDS];
	char *name = of_host(pipe, "host");
	snprintf(why, sizeof why, "%.100s %s",
	    name != NULL ? name : "the server", how);
	free(name);
	go_down(pipe, why, false);
}

static void
on_deadline(void *arg)
{
	struct postgres_pipe *pipe = arg;
	if (pipe->stands)
		go_down(pipe,
		    pipe->broken ? pipe->why
				 : "the server does not answer any more",
		    false);
	else
		host_failed(pipe, "does not answer");
}

/*
 * The next step of an attempt (events 0: the first one); libpq may have another
 * socket after each.
 */
static void
attempt_goes_on(void *arg, unsigned events)
{
	struct postgres_pipe *pipe = arg;
	PostgresPollingStatusType step = PGRES_POLLING_WRITING;
	watch_free(&pipe->watch);
	if (events != 0)
		step = PQconnectPoll(pipe->conn);
	int fd = PQsocket(pipe->conn);
	if (step == PGRES_POLLING_OK) {
		pipe->stands = true;
		pipe->tried = 0;
		timer_clear(&pipe->deadline);
		pipe->watch =
		    watch_new(pipe->loop, fd, WATCH_READ, answers_come, pipe);
		if (PQsetnonblocking(pipe->conn, 1) != 0 ||
		    PQenterPipelineMode(pipe->conn) != 1)
			pipe_breaks(pipe, NULL);
		else
			pipe->events.made(pipe->events.arg);
	} else if (PQstatus(pipe->conn) == CONNECTION_BAD || fd < 0) {
		go_down(pipe, PQerrorMessage(pipe->conn), false);
	} else {
		pipe->watch = watch_new(pipe->loop, fd,
		    step == PGRES_POLLING_READING ? WATCH_READ : WATCH_WRITE,
		    attempt_goes_on, pipe);
	}
}

static void
discard_notice(void *arg, const PGresult *notice)
{
	(void)arg;
	(void)notice;
}

/*
 * What the URI says wins over what is before it, and what is behind it over the
 * URI; where a value is NULL, what is said elsewhere stays.  All of libpq's
 * functions take a connection that is NULL for a bad one.
 */
static void
start_attempt(struct postgres_pipe *pipe, const char *address)
{
	char *host = of_host(pipe, "host"), *port = of_host(pipe, "port");
	if (port == NULL && setting(pipe, "port") != NULL)
		port = mem_text("5432");
	const char *const settings[][2] = {
	    {"application_name", pipe->application},
	    {"target_session_attrs", "read-write"}, {"gssencmode", "disable"},
	    {"keepalives_idle", "5"}, {"keepalives_interval", "2"},
	    {"keepalives_count", "3"}, {"tcp_user_timeout", "10000"},
	    {"dbname", pipe->broker->postgres}, {"host", host},
	    {"hostaddr", address}, {"port", port},
	    {"client_encoding", "UTF8"}, {"password", pipe->broker->password}};
	enum { N = sizeof settings / sizeof *settings };
	const char *names[N + 1] = {NULL}, *values[N + 1] = {NULL};
	for (size_t i = 0; i < N; i++) {
		names[i] = settings[i][0];
		values[i] = settings[i][1];
	}
	free(pipe->address);
	pipe->address = mem_text(address);
	pipe->conn = PQconnectStartParams(names, values, true);
	free(host);
	free(port);
	PQsetNoticeReceiver(pipe->conn, discard_notice, NULL);
	attempt_goes_on(pipe, 0);
}

static void
name_resolved(void *arg, const char *address)
{
	struct postgres_pipe *pipe = arg;
	pipe->lookup = NULL;
	if (address != NULL)
		start_attempt(pipe, address);
	else
		host_failed(pipe, "has no address");
}

/* A Unix socket's folder, or an abstract one, is no name. */
static void
try_host(void *arg)
{
	struct postgres_pipe *pipe = arg;
	timer_set(&pipe->deadline, HOST_MS);
	if (pipe->beside != NULL) {
		pipe->host = pipe->beside->host;
		start_attempt(pipe, pipe->beside->address);
		return;
	}
	char *name = of_host(pipe, "host");
	char *address = of_host(pipe, "hostaddr");
	if (pipe->options == NULL)
		go_down(pipe, "the URI cannot be read", false);
	else if (address == NULL && name != NULL && name[0] != '/' &&
	    name[0] != '@')
		pipe->lookup =
		    resolve_start(pipe->loop, name, name_resolved, pipe);
	else
		start_attempt(pipe, address);
	free(name);
	free(address);
}

/* --- its life --- */

struct postgres_pipe *
postgres_pipe_new(struct loop *loop, const struct conf_broker *broker,
    const char *instance, const struct postgres_pipe_events *events,
    const struct postgres_pipe *beside)
{
	struct postgres_pipe *pipe = mem_zero(sizeof *pipe);
	pipe->loop = loop;
	pipe->broker = broker;
	pipe->events = *events;
	pipe->last = &pipe->first;
	pipe->application = mem_printf("onceproxy/%s", instance);
	pipe->options = PQconninfoParse(broker->postgres, NULL);
	pipe->beside = beside;
	/* As many as the longer of the two lists has; NULL: it has one. */
	pipe->n_hosts = 1;
	for (int i = 0; i < 2 && beside == NULL; i++) {
		const char *list = setting(pipe, i ? "hostaddr" : "host");
		unsigned count = 1;
		for (; list != NULL && *list != '\0'; list++)
			count += *list == ',';
		if (pipe->n_hosts < count)
			pipe->n_hosts = count;
	}
	timer_init(&pipe->deadline, loop, on_deadline, pipe);
	timer_init(&pipe->pause, loop, try_host, pipe);
	timer_set(&pipe->pause, 0);
	return pipe;
}

void
postgres_pipe_free(struct postgres_pipe **pipe)
{
	struct postgres_pipe *p = *pipe;
	if (p == NULL)
		return;
	timer_clear(&p->pause);
	drop_connection(p);
	*pipe = NULL;
	PQconninfoFree(p->options);
	free(p->application);
	free(p->address);
	task_rest(p->loop, p, free);
}

void
postgres_pipe_ready(struct postgres_pipe *pipe)
{
	pipe->ready = true;
	pipe->ready_ms = loop_now_ms(pipe->loop);
}

bool
postgres_pipe_is_ready(const struct postgres_pipe *pipe)
{
	return pipe->ready;
}

/* --- what a result has --- */

struct span
postgres_pipe_value(const PGresult *result, int row, int column)
{
	if (column >= PQnfields(result) || row >= PQntuples(result) ||
	    PQgetisnull(result, row, column))
		return POSTGRES_NULL;
	return span_of(PQgetvalue(result, row, column),
	    (size_t)PQgetlength(result, row, column));
}

/* libpq ends each value with a NUL. */
int64_t
postgres_pipe_number(const PGresult *result, int row, int column)
{
	struct span text = postgres_pipe_value(result, row, column);
	return text.ptr != NULL ? strtoll(text.ptr, NULL, 10) : 0;
}

bool
postgres_pipe_true(const PGresult *result, int row, int column)
{
	return span_eq(
	    postgres_pipe_value(result, row, column), SPAN("true"));
}
