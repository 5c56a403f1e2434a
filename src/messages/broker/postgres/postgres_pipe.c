/* SPDX-License-Identifier: BSD-2-Clause */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/must.h"
#include "messages/broker/postgres/postgres_pipe.h"

enum {
	/* More than statement_timeout: a server that lives answers in time. */
	ANSWER_MS = 7000,
	VALUES_MOST = 16,
	/* TLS may keep what one record had beyond libpq's buffer. */
	READS_OF_TLS = 3,
	BINARY = 1,
};

struct postgres_pipe {
	struct loop *loop;
	PGconn *conn; /* NULL: freed, and its memory rests */
	struct postgres_pipe_events events;
	struct watch *watch;
	struct postgres_batch *first; /* sent, and not ended */
	struct postgres_batch **last;
	struct postgres_batch *making;
	struct timer answer;
	struct task broken;
	bool is_broken; /* the owner will be told, or was */
	char why[200];
};

/* --- its end --- */

static void
tell_broken(void *arg)
{
	struct postgres_pipe *pipe = arg;
	pipe->events.broke(pipe->events.arg, pipe->why);
}

/* why NULL: libpq says so. */
static void
pipe_breaks(struct postgres_pipe *pipe, const char *why)
{
	if (pipe->is_broken)
		return;
	pipe->is_broken = true;
	watch_want(pipe->watch, 0);
	timer_clear(&pipe->answer);
	postgres_pipe_words(why != NULL ? why : PQerrorMessage(pipe->conn),
	    pipe->why, sizeof pipe->why);
	if (pipe->why[0] == '\0')
		snprintf(pipe->why, sizeof pipe->why,
		    "the connection was lost");
	task_ready(pipe->loop, &pipe->broken);
}

static void
server_hangs(void *arg)
{
	pipe_breaks(arg, "the server does not answer any more");
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
    {"53", POSTGRES_PASSES}, {"55", POSTGRES_PASSES},
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

/* Whether a trigger, or a policy for rows, has said so; of whatever class. */
static bool
is_by_rule(const PGresult *result)
{
	const char *function =
	    PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION);
	return function != NULL &&
	    (strcmp(function, "exec_stmt_raise") == 0 ||
		strcmp(function, "ExecWithCheckOptions") == 0);
}

static enum postgres_kind
kind_of(const PGresult *result, const struct postgres_trouble *t)
{
	enum postgres_kind kind = POSTGRES_OTHER;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strncmp(t->state, kinds[i].state,
			strlen(kinds[i].state)) == 0) {
			kind = kinds[i].kind;
			break;
		}
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		if (strcmp(t->state, shapes[i]) == 0 && !t->at_row)
			kind = POSTGRES_ANOTHER;
	return kind == POSTGRES_OTHER && is_by_rule(result) ? POSTGRES_ROW
							    : kind;
}

static void
note_error(struct postgres_batch *batch, const PGresult *result)
{
	struct postgres_trouble *t = &batch->trouble;
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *words =
	    PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	if (batch->failed)
		return;
	batch->failed = true;
	t->statement = batch->at;
	snprintf(t->state, sizeof t->state, "%s", state ? state : "");
	t->at_row = PQresultErrorField(result, PG_DIAG_CONTEXT) != NULL;
	t->kind = kind_of(result, t);
	postgres_pipe_words(words ? words : PQresultErrorMessage(result),
	    t->words, sizeof t->words);
}

static void
take_result(struct postgres_pipe *pipe, PGresult *result)
{
	struct postgres_batch *batch = pipe->first;
	switch ((int)PQresultStatus(result)) {
	case PGRES_PIPELINE_SYNC:
		pipe->first = batch->next;
		if (pipe->first == NULL)
			pipe->last = &pipe->first;
		batch->end(batch, batch->failed ? &batch->trouble : NULL);
		break;
	case PGRES_PIPELINE_ABORTED:
		break;
	case PGRES_COMMAND_OK:
	case PGRES_TUPLES_OK:
		if (batch->result != NULL)
			batch->result(batch, batch->at, result);
		break;
	case PGRES_FATAL_ERROR:
		note_error(batch, result);
		break;
	default: /* none that any statement of ours has */
		pipe_breaks(pipe, NULL);
	}
	PQclear(result);
}

/* libpq gives NULL behind the results of each statement. */
static void
take_results(struct postgres_pipe *pipe)
{
	bool ended = false;
	while (pipe->conn != NULL && !pipe->is_broken &&
	    pipe->first != NULL && !PQisBusy(pipe->conn)) {
		PGresult *result = PQgetResult(pipe->conn);
		if (result == NULL && ended)
			return;
		ended = result == NULL;
		if (ended)
			pipe->first->at++;
		else
			take_result(pipe, result);
	}
}

/* --- the socket --- */

/* Sends what it can, and sets the time by which an answer must be here. */
static void
push(struct postgres_pipe *pipe, bool something_came)
{
	int left = PQflush(pipe->conn);
	if (left < 0) {
		pipe_breaks(pipe, NULL);
		return;
	}
	watch_want(pipe->watch, WATCH_READ | (left > 0 ? WATCH_WRITE : 0));
	if (pipe->first == NULL)
		timer_clear(&pipe->answer);
	else if (something_came || !timer_is_set(&pipe->answer))
		timer_set(&pipe->answer, ANSWER_MS);
}

static void
pipe_ready(void *arg, unsigned events)
{
	struct postgres_pipe *pipe = arg;
	int reads = PQsslInUse(pipe->conn) ? READS_OF_TLS : 1;
	bool well = true, notified = false;
	PGnotify *notify;
	(void)events;
	for (int i = 0; i < reads && well; i++)
		well = PQconsumeInput(pipe->conn) != 0;
	take_results(pipe);
	if (pipe->conn == NULL || pipe->is_broken)
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
	if (notified)
		pipe->events.notified(pipe->events.arg);
}

/* --- sending --- */

void
postgres_pipe_begin(struct postgres_pipe *pipe, struct postgres_batch *batch)
{
	must(pipe->making == NULL);
	batch->next = NULL;
	batch->statements = batch->at = 0;
	batch->failed = false;
	batch->trouble = (struct postgres_trouble){0};
	pipe->making = batch;
}

static void
count_sent(struct postgres_pipe *pipe, int sent)
{
	pipe->making->statements++;
	if (sent == 0)
		pipe_breaks(pipe, NULL);
}

void
postgres_pipe_prepare(
    struct postgres_pipe *pipe, const char *name, const char *sql)
{
	count_sent(pipe, PQsendPrepare(pipe->conn, name, sql, 0, NULL));
}

/* name NULL: what sql says, which nobody has prepared. */
static void
send_with(struct postgres_pipe *pipe, const char *name, const char *sql,
    const struct span *from, unsigned count)
{
	const char *values[VALUES_MOST];
	int lengths[VALUES_MOST], formats[VALUES_MOST];
	must(count <= VALUES_MOST);
	for (unsigned i = 0; i < count; i++) {
		must(from[i].len < INT_MAX);
		values[i] = from[i].ptr;
		lengths[i] = (int)from[i].len;
		formats[i] = BINARY;
	}
	count_sent(pipe,
	    name != NULL ? PQsendQueryPrepared(pipe->conn, name, (int)count,
			       values, lengths, formats, BINARY)
			 : PQsendQueryParams(pipe->conn, sql, (int)count, NULL,
			       values, lengths, formats, BINARY));
}

void
postgres_pipe_run(struct postgres_pipe *pipe, const char *name,
    const struct span *values, unsigned count)
{
	send_with(pipe, name, NULL, values, count);
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
	if (pipe->is_broken)
		return;
	if (PQpipelineSync(pipe->conn) == 0)
		pipe_breaks(pipe, NULL);
	else
		push(pipe, false);
}

/* --- life --- */

struct postgres_pipe *
postgres_pipe_new(struct loop *loop, PGconn *conn,
    const struct postgres_pipe_events *events)
{
	struct postgres_pipe *pipe = mem_zero(sizeof *pipe);
	pipe->loop = loop;
	pipe->conn = conn;
	pipe->events = *events;
	pipe->last = &pipe->first;
	timer_init(&pipe->answer, loop, server_hangs, pipe);
	task_init(&pipe->broken, tell_broken, pipe);
	pipe->watch = watch_new(loop, PQsocket(conn), pipe_ready, pipe);
	watch_want(pipe->watch, WATCH_READ);
	if (PQsetnonblocking(conn, 1) != 0 || PQenterPipelineMode(conn) != 1)
		pipe_breaks(pipe, NULL);
	return pipe;
}

void
postgres_pipe_free(struct postgres_pipe **pipe)
{
	struct postgres_pipe *p = *pipe;
	struct postgres_batch *batch;
	*pipe = NULL;
	if (p == NULL)
		return;
	timer_clear(&p->answer);
	task_cancel(&p->broken);
	watch_free(&p->watch);
	PQfinish(p->conn);
	p->conn = NULL;
	while ((batch = p->first) != NULL) {
		p->first = batch->next;
		struct postgres_trouble lost = {.lost = true};
		batch->end(batch, &lost);
	}
	loop_rest(p->loop, p, free);
}

/* --- what a result has, and what is said --- */

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

void
postgres_pipe_words(const char *from, char *ret_words, size_t size)
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
