/* SPDX-License-Identifier: BSD-2-Clause */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/must.h"
#include "messages/broker/postgres_connect.h"
#include "messages/broker/postgres_pipe.h"

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
};

static void
tell_broken(void *arg)
{
	struct postgres_pipe *pipe = arg;
	char why[200];
	postgres_connect_words(PQerrorMessage(pipe->conn), why, sizeof why);
	pipe->events.broke(
	    pipe->events.arg, why[0] ? why : "the connection was lost");
}

static void
pipe_breaks(struct postgres_pipe *pipe)
{
	if (pipe->is_broken)
		return;
	pipe->is_broken = true;
	watch_want(pipe->watch, 0);
	timer_clear(&pipe->answer);
	task_ready(pipe->loop, &pipe->broken);
}

static void
server_hangs(void *arg)
{
	struct postgres_pipe *pipe = arg;
	if (pipe->is_broken)
		return;
	pipe->is_broken = true;
	watch_want(pipe->watch, 0);
	pipe->events.broke(
	    pipe->events.arg, "the server does not answer any more");
}

/* It begins anew whenever bytes flow, either way. */
static void
set_answer_timer(struct postgres_pipe *pipe)
{
	if (pipe->first == NULL)
		timer_clear(&pipe->answer);
	else
		timer_set(&pipe->answer, ANSWER_MS);
}

static void
push(struct postgres_pipe *pipe)
{
	int left = PQflush(pipe->conn);
	if (left < 0)
		pipe_breaks(pipe);
	else
		watch_want(
		    pipe->watch, WATCH_READ | (left > 0 ? WATCH_WRITE : 0));
}

/* --- results --- */

/* Where in the server; its words are in any language. */
static bool
is_by_rule(const PGresult *result)
{
	static const char *const functions[] = {
	    "exec_stmt_raise", "ExecWithCheckOptions"};
	const char *function =
	    PQresultErrorField(result, PG_DIAG_SOURCE_FUNCTION);
	for (unsigned i = 0; function != NULL && i < 2; i++)
		if (strcmp(function, functions[i]) == 0)
			return true;
	return false;
}

static void
note_error(struct postgres_batch *batch, const PGresult *result)
{
	if (batch->failed)
		return;
	batch->failed = true;
	struct postgres_trouble *t = &batch->trouble;
	t->statement = batch->at;
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *words =
	    PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	snprintf(t->state, sizeof t->state, "%s", state ? state : "");
	t->at_row = PQresultErrorField(result, PG_DIAG_CONTEXT) != NULL;
	t->by_rule = is_by_rule(result);
	postgres_connect_words(
	    words ? words : PQresultErrorMessage(result), t->words,
	    sizeof t->words);
}

static void
end_first(struct postgres_pipe *pipe)
{
	struct postgres_batch *batch = pipe->first;
	pipe->first = batch->next;
	if (pipe->first == NULL)
		pipe->last = &pipe->first;
	batch->end(batch, batch->failed ? &batch->trouble : NULL);
}

static void
take_result(struct postgres_pipe *pipe, PGresult *result)
{
	struct postgres_batch *batch = pipe->first;
	switch ((int)PQresultStatus(result)) {
	case PGRES_PIPELINE_SYNC:
		end_first(pipe);
		break;
	case PGRES_PIPELINE_ABORTED:
		break;
	case PGRES_COMMAND_OK:
	case PGRES_TUPLES_OK:
		batch->result(batch, batch->at, result);
		break;
	case PGRES_FATAL_ERROR:
		note_error(batch, result);
		break;
	default: /* none that any statement of ours has */
		pipe_breaks(pipe);
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

static void
take_notifications(struct postgres_pipe *pipe)
{
	bool any = false;
	PGnotify *notify;
	while ((notify = PQnotifies(pipe->conn)) != NULL) {
		PQfreemem(notify);
		any = true;
	}
	if (any)
		pipe->events.notified(pipe->events.arg);
}

static bool
consume(struct postgres_pipe *pipe)
{
	int reads = PQsslInUse(pipe->conn) ? READS_OF_TLS : 1;
	bool well = true;
	for (int i = 0; i < reads && well; i++)
		well = PQconsumeInput(pipe->conn) != 0;
	return well;
}

static void
pipe_ready(void *arg, unsigned events)
{
	struct postgres_pipe *pipe = arg;
	(void)events;
	bool well = consume(pipe);
	take_results(pipe);
	if (pipe->conn == NULL || pipe->is_broken)
		return;
	if (!well || PQstatus(pipe->conn) == CONNECTION_BAD) {
		pipe_breaks(pipe);
		return;
	}
	push(pipe);
	if (!pipe->is_broken)
		set_answer_timer(pipe);
	take_notifications(pipe);
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
		pipe_breaks(pipe);
}

void
postgres_pipe_prepare(
    struct postgres_pipe *pipe, const char *name, const char *sql)
{
	count_sent(pipe, PQsendPrepare(pipe->conn, name, sql, 0, NULL));
}

struct values {
	const char *ptrs[VALUES_MOST];
	int lengths[VALUES_MOST];
	int formats[VALUES_MOST];
};

static void
lay_out(struct values *values, const struct span *from, unsigned count)
{
	must(count <= VALUES_MOST);
	for (unsigned i = 0; i < count; i++) {
		must(from[i].len < INT_MAX);
		values->ptrs[i] = from[i].ptr;
		values->lengths[i] = (int)from[i].len;
		values->formats[i] = BINARY;
	}
}

void
postgres_pipe_run(struct postgres_pipe *pipe, const char *name,
    const struct span *values, unsigned count)
{
	struct values v;
	lay_out(&v, values, count);
	count_sent(pipe, PQsendQueryPrepared(pipe->conn, name, (int)count,
			     v.ptrs, v.lengths, v.formats, BINARY));
}

void
postgres_pipe_query(struct postgres_pipe *pipe, const char *sql,
    const struct span *values, unsigned count)
{
	struct values v;
	lay_out(&v, values, count);
	count_sent(pipe, PQsendQueryParams(pipe->conn, sql, (int)count, NULL,
			     v.ptrs, v.lengths, v.formats, BINARY));
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
	if (PQpipelineSync(pipe->conn) == 0) {
		pipe_breaks(pipe);
		return;
	}
	push(pipe);
	if (!pipe->is_broken && !timer_is_set(&pipe->answer))
		set_answer_timer(pipe);
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
		pipe_breaks(pipe);
	return pipe;
}

void
postgres_pipe_free(struct postgres_pipe **pipe)
{
	struct postgres_pipe *p = *pipe;
	*pipe = NULL;
	if (p == NULL)
		return;
	timer_clear(&p->answer);
	task_cancel(&p->broken);
	watch_free(&p->watch);
	PQfinish(p->conn);
	p->conn = NULL;
	struct postgres_batch *batch;
	while ((batch = p->first) != NULL) {
		p->first = batch->next;
		struct postgres_trouble lost = {.lost = true};
		batch->end(batch, &lost);
	}
	loop_rest(p->loop, p, free);
}

int
postgres_pipe_version(const struct postgres_pipe *pipe)
{
	return PQserverVersion(pipe->conn);
}

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
