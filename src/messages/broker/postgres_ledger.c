/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "messages/broker/postgres_connect.h"
#include "messages/broker/postgres_ledger.h"
#include "messages/broker/postgres_name.h"
#include "messages/broker/postgres_pipe.h"
#include "messages/broker/postgres_sql.h"

enum {
	GOOD_MS = 1000, /* a connection that lived so long was a good one */
	BEAT_MS = 3000, /* an idle session is not given up by the server */
	PLACES_MAX = 2048,
};

/* What is done on a new connection, one batch after the other. */
enum step { STEP_LOOK, STEP_MAKE, STEP_TAKE, STEP_READY };

struct postgres_ledger {
	struct loop *loop;
	struct postgres_ledger_events events;
	const char *table, *relay;
	struct span store;
	char turn[24];
	struct arena *arena; /* of the texts below */
	const char *look, *make, *make_position, *take, *places, *mine;
	const char *insert, *move;
	struct postgres_connect *connect;
	struct postgres_pipe *pipe; /* NULL: no connection */
	struct postgres_batch batch;
	enum step step;
	bool busy;    /* the batch is under way */
	bool both;    /* tables are there */
	bool taken;   /* the turn is ours */
	bool opened;  /* the owner knows where this connection found it */
	bool up;
	bool closed;
	struct postgres_ledger_put *put; /* NULL: nothing waits */
	bool putting;                    /* it is in the batch */
	struct postgres_ledger_place *found; /* of STEP_TAKE */
	size_t n_found;
	struct arena *found_arena; /* of its texts */
	int64_t ready_ms;
	struct timer beat;
	struct task go_on;
	char message[200];
};

/* --- statements --- */

/* Two that make the same table at once fail, unless one waits. */
static const char one_at_a_time[] =
    "SELECT pg_advisory_xact_lock(1869505377, 2)";

static const char columns[] =
    "id text, key_id text, route text, \"from\" text, \"to\" text, "
    "status integer, attempt integer, time timestamptz, instance text, "
    "request_id text, label jsonb, answer jsonb";
static const char names[] =
    "id, key_id, route, \"from\", \"to\", status, attempt, time, instance, "
    "request_id, label, answer";

/* Values that all statements of a position have: store, relay, turn. */
enum { OF_STORE, OF_RELAY, OF_TURN, OF_REST };

static void
make_statements(struct postgres_ledger *l)
{
	struct arena *arena = l->arena;
	char *beside = mem_printf("%s_position", l->table);
	struct span rows = postgres_name_table(arena, l->table);
	struct span position = postgres_name_table(arena, beside);
	free(beside);
	l->look = "SELECT (to_regclass($1::text) IS NOT NULL AND "
		  "to_regclass($2::text) IS NOT NULL)::text";
	l->make = arena_printf(arena,
	    "CREATE TABLE IF NOT EXISTS %.*s (id text PRIMARY KEY, "
	    "key_id text NOT NULL, route text NOT NULL, "
	    "\"from\" text NOT NULL, \"to\" text NOT NULL, status integer, "
	    "attempt integer NOT NULL, time timestamptz NOT NULL, "
	    "instance text, request_id text, label jsonb, answer jsonb)",
	    SPAN_FMT(rows)).ptr;
	l->make_position = arena_printf(arena,
	    "CREATE TABLE IF NOT EXISTS %.*s (store text, relay text, "
	    "shard integer, entry text NOT NULL, count bigint NOT NULL, "
	    "turn bigint NOT NULL, PRIMARY KEY (store, relay, shard))",
	    SPAN_FMT(position)).ptr;
	l->take = arena_printf(arena,
	    "INSERT INTO %.*s AS p (store, relay, shard, entry, count, turn) "
	    "VALUES ($1::text, $2::text, -1, '', 0, $3::text::bigint) "
	    "ON CONFLICT (store, relay, shard) DO UPDATE "
	    "SET turn = excluded.turn WHERE p.turn <= excluded.turn "
	    "RETURNING turn",
	    SPAN_FMT(position)).ptr;
	l->places = arena_printf(arena,
	    "SELECT shard::text, entry, count::text FROM %.*s "
	    "WHERE store = $1::text AND relay = $2::text AND shard >= 0",
	    SPAN_FMT(position)).ptr;
	/* No row, and so an error, where the turn is another's. */
	l->mine = arena_printf(arena,
	    "SELECT 1 / count(*) FROM (SELECT FROM %.*s "
	    "WHERE store = $1::text AND relay = $2::text AND shard = -1 "
	    "AND turn = $3::text::bigint FOR UPDATE) AS mine",
	    SPAN_FMT(position)).ptr;
	l->insert = arena_printf(arena,
	    "INSERT INTO %.*s (%s) SELECT %s "
	    "FROM jsonb_to_recordset($1::text::jsonb) AS e (%s) "
	    "ON CONFLICT (id) DO NOTHING",
	    SPAN_FMT(rows), names, names, columns).ptr;
	l->move = arena_printf(arena,
	    "INSERT INTO %.*s (store, relay, shard, entry, count, turn) "
	    "SELECT $1::text, $2::text, e.shard, e.entry, e.count, "
	    "$3::text::bigint FROM jsonb_to_recordset($4::text::jsonb) "
	    "AS e (shard integer, entry text, count bigint) "
	    "ON CONFLICT (store, relay, shard) DO UPDATE "
	    "SET entry = excluded.entry, count = excluded.count, "
	    "turn = excluded.turn",
	    SPAN_FMT(position)).ptr;
}

/* --- what the owner is told --- */

static void
say(struct postgres_ledger *l, bool up, const char *why)
{
	if (l->up == up && !strcmp(l->message, why))
		return;
	l->up = up;
	snprintf(l->message, sizeof l->message, "%s", why);
	if (!l->closed)
		l->events.changed(l->events.arg);
}

/* --- the connection --- */

static void
drop_connection(struct postgres_ledger *l)
{
	timer_clear(&l->beat);
	/* Its batch ends within this. */
	postgres_pipe_free(&l->pipe);
	l->busy = l->putting = false;
}

static void
down(struct postgres_ledger *l, const char *why)
{
	if (l->closed || l->pipe == NULL)
		return;
	char words[sizeof l->message];
	snprintf(words, sizeof words, "%s", why);
	bool good = l->step == STEP_READY &&
	    loop_now_ms(l->loop) - l->ready_ms > GOOD_MS;
	drop_connection(l);
	say(l, false, words);
	postgres_connect_begin(l->connect, good);
}

static void
on_notified(void *arg)
{
	(void)arg;
}

static void
on_broke(void *arg, const char *why)
{
	down(arg, why);
}

/* --- what is sent --- */

static void batch_result(struct postgres_batch *batch, unsigned statement,
    const PGresult *result);
static void batch_ended(struct postgres_batch *batch,
    const struct postgres_trouble *trouble);

static void
send_look(struct postgres_ledger *l)
{
	char *beside = mem_printf("%s_position", l->table);
	const struct span tables[] = {postgres_name_table(l->arena, l->table),
	    postgres_name_table(l->arena, beside)};
	free(beside);
	postgres_pipe_query(l->pipe, postgres_sql_settings, NULL, 0);
	postgres_pipe_query(l->pipe, l->look, tables, 2);
}

static void
send_make(struct postgres_ledger *l)
{
	postgres_pipe_query(l->pipe, one_at_a_time, NULL, 0);
	postgres_pipe_query(l->pipe, l->make, NULL, 0);
	postgres_pipe_query(l->pipe, l->make_position, NULL, 0);
}

/* What a statement has against the tables shows when it is prepared. */
static void
send_take(struct postgres_ledger *l, const struct span *values)
{
	l->taken = false;
	l->n_found = 0;
	postgres_pipe_query(l->pipe, l->take, values, OF_REST);
	postgres_pipe_query(l->pipe, l->places, values, OF_TURN);
	postgres_pipe_prepare(l->pipe, "mine", l->mine);
	postgres_pipe_prepare(l->pipe, "insert", l->insert);
	postgres_pipe_prepare(l->pipe, "move", l->move);
}

static void
send_put(struct postgres_ledger *l, struct span *values)
{
	postgres_pipe_run(l->pipe, "mine", values, OF_REST);
	l->putting = l->put != NULL;
	if (l->put == NULL)
		return;
	if (!span_eq(l->put->rows, SPAN("[]")))
		postgres_pipe_run(l->pipe, "insert", &l->put->rows, 1);
	values[OF_REST] = l->put->places;
	postgres_pipe_run(l->pipe, "move", values, OF_REST + 1);
}

static void
send(struct postgres_ledger *l)
{
	struct span values[OF_REST + 1] = {
	    l->store, span_str(l->relay), span_str(l->turn)};
	l->busy = true;
	l->batch =
	    (struct postgres_batch){.result = batch_result, .end = batch_ended};
	postgres_pipe_begin(l->pipe, &l->batch);
	switch (l->step) {
	case STEP_LOOK:
		send_look(l);
		break;
	case STEP_MAKE:
		send_make(l);
		break;
	case STEP_TAKE:
		send_take(l, values);
		break;
	case STEP_READY:
		send_put(l, values);
		break;
	}
	postgres_pipe_end(l->pipe);
}

/* --- what comes back --- */

static void
read_places(struct postgres_ledger *l, const PGresult *result)
{
	int rows = PQntuples(result);
	if (l->opened || rows > PLACES_MAX)
		return;
	arena_free(&l->found_arena);
	l->found_arena = arena_new();
	l->found = mem_grow(
	    l->found, ((size_t)rows + 1) * sizeof *l->found);
	for (int i = 0; i < rows; i++)
		l->found[l->n_found++] = (struct postgres_ledger_place){
		    (unsigned)postgres_pipe_number(result, i, 0),
		    arena_dup(
			l->found_arena, postgres_pipe_value(result, i, 1)),
		    postgres_pipe_number(result, i, 2)};
}

static void
batch_result(struct postgres_batch *batch, unsigned statement,
    const PGresult *result)
{
	struct postgres_ledger *l =
	    CONTAINER_OF(batch, struct postgres_ledger, batch);
	if (l->step == STEP_LOOK && statement == 1)
		l->both = span_eq(
		    postgres_pipe_value(result, 0, 0), SPAN("true"));
	else if (l->step == STEP_TAKE && statement == 0)
		l->taken = PQntuples(result) == 1;
	else if (l->step == STEP_TAKE && statement == 1)
		read_places(l, result);
}

static void
become_ready(struct postgres_ledger *l)
{
	l->step = STEP_READY;
	l->ready_ms = loop_now_ms(l->loop);
	say(l, true, "");
	if (l->opened)
		return;
	l->opened = true;
	/* A commit whose answer was lost is there; a failover may undo one. */
	l->put = NULL;
	l->events.opened(l->events.arg, l->found, l->n_found);
}

static void
on_put(struct postgres_ledger *l)
{
	struct postgres_ledger_put *put = l->put;
	say(l, true, "");
	if (!l->putting)
		return;
	l->put = NULL;
	l->putting = false;
	put->done(put);
}

/* The turn may be another's; taking it again shows that. */
static bool
is_fence(const struct postgres_ledger *l,
    const struct postgres_trouble *trouble)
{
	return l->step == STEP_READY && trouble->statement == 0 &&
	    !strcmp(trouble->state, "22012");
}

static void
batch_ended(
    struct postgres_batch *batch, const struct postgres_trouble *trouble)
{
	struct postgres_ledger *l =
	    CONTAINER_OF(batch, struct postgres_ledger, batch);
	l->busy = false;
	if (trouble != NULL && trouble->lost)
		return; /* the pipe says why */
	if (trouble != NULL && is_fence(l, trouble)) {
		l->putting = false;
		l->step = STEP_TAKE;
	} else if (trouble != NULL) {
		down(l, trouble->words);
		return;
	} else if (l->step == STEP_LOOK) {
		l->step = l->both ? STEP_TAKE : STEP_MAKE;
	} else if (l->step == STEP_MAKE) {
		l->step = STEP_TAKE;
	} else if (l->step == STEP_TAKE && !l->taken) {
		l->events.fenced(l->events.arg);
		return;
	} else if (l->step == STEP_TAKE) {
		become_ready(l);
	} else {
		on_put(l);
	}
	task_ready(l->loop, &l->go_on);
}

static void
ledger_goes_on(void *arg)
{
	struct postgres_ledger *l = arg;
	if (l->pipe == NULL || l->busy)
		return;
	if (l->step != STEP_READY || l->put != NULL)
		send(l);
	timer_set(&l->beat, BEAT_MS);
}

static void
session_beats(void *arg)
{
	struct postgres_ledger *l = arg;
	if (l->pipe != NULL && !l->busy && l->step == STEP_READY)
		send(l);
	timer_set(&l->beat, BEAT_MS);
}

static void
connection_made(void *arg, PGconn *conn)
{
	struct postgres_ledger *l = arg;
	const struct postgres_pipe_events events = {
	    on_notified, on_broke, l};
	l->pipe = postgres_pipe_new(l->loop, conn, &events);
	l->step = STEP_LOOK;
	l->opened = false;
	ledger_goes_on(l);
}

static void
connection_failed(void *arg, const char *why)
{
	say(arg, false, why);
}

/* --- life --- */

struct postgres_ledger *
postgres_ledger_open(const struct postgres_ledger_start *start)
{
	struct postgres_ledger *l = mem_zero(sizeof *l);
	const struct postgres_connect_events events = {
	    connection_made, connection_failed, l};
	l->loop = start->loop;
	l->events = *start->events;
	l->table = start->table;
	l->relay = start->relay;
	l->arena = arena_new();
	l->store = arena_dup(l->arena, start->store);
	snprintf(l->turn, sizeof l->turn, "%lld", (long long)start->turn);
	make_statements(l);
	timer_init(&l->beat, l->loop, session_beats, l);
	task_init(&l->go_on, ledger_goes_on, l);
	l->connect = postgres_connect_new(
	    l->loop, start->broker, start->instance, &events);
	postgres_connect_begin(l->connect, true);
	return l;
}

void
postgres_ledger_close(struct postgres_ledger **ledger)
{
	struct postgres_ledger *l = *ledger;
	*ledger = NULL;
	if (l == NULL)
		return;
	l->closed = true;
	task_cancel(&l->go_on);
	postgres_connect_free(&l->connect);
	drop_connection(l);
	free(l->found);
	arena_free(&l->found_arena);
	arena_free(&l->arena);
	loop_rest(l->loop, l, free);
}

void
postgres_ledger_put(
    struct postgres_ledger *l, struct postgres_ledger_put *put)
{
	l->put = put;
	task_ready(l->loop, &l->go_on);
}

bool
postgres_ledger_is_up(const struct postgres_ledger *l)
{
	return l->up;
}

const char *
postgres_ledger_message(const struct postgres_ledger *l)
{
	return l->message;
}
