/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "messages/broker/postgres/postgres_ledger.h"
#include "messages/broker/postgres/postgres_sql.h"
#include "store/postgres/postgres_name.h"
#include "store/postgres/postgres_pipe.h"
#include "store/record/event.h"

/*
 * A connection is opened in one batch: its settings, the tables where they are
 * not there, the term, where the table stands, and what is prepared.  From then
 * on it has one batch at a time: whose term it is, the rows, and the places.
 */
enum { OPEN_SETTINGS, OPEN_ROWS, OPEN_POSITION, OPEN_TAKE, OPEN_PLACES };
enum { PUT_MINE, PUT_ROWS };
/* What one statement puts, at most: it is given 5 s. */
enum { LIST_BYTES = 1 << 18, LIST_ROWS = 100 };

struct postgres_ledger {
	struct relay_target target; /* first */
	struct loop *loop;
	const char *relay;
	struct span store;
	char term[24];
	unsigned shards;
	struct arena *arena; /* of the texts below */
	const char *make, *make_position, *take, *find, *mine, *insert, *move;
	struct postgres_pipe *pipe;
	bool busy;   /* the batch is under way */
	bool taken;  /* the term is ours */
	bool refused; /* one of the rows is: each goes alone, to say which */
	struct relay_batch *put; /* NULL: nothing waits */
	struct relay_place *places; /* as they were found */
	struct task go_on;
};

/* --- statements --- */

static const char row_columns[] =
    "(id text PRIMARY KEY, key_id text NOT NULL, route text NOT NULL, "
    "\"from\" text NOT NULL, \"to\" text NOT NULL, status integer, "
    "attempt integer NOT NULL, time timestamptz NOT NULL, "
    "instance text, request_id text, label jsonb, answer jsonb)";
static const char position_columns[] =
    "(store text, relay text, shard integer, entry text NOT NULL, "
    "count bigint NOT NULL, turn bigint NOT NULL, "
    "PRIMARY KEY (store, relay, shard))";
static const char columns[] =
    "id text, key_id text, route text, \"from\" text, \"to\" text, "
    "status integer, attempt integer, time timestamptz, instance text, "
    "request_id text, label jsonb, answer jsonb";
static const char names[] =
    "id, key_id, route, \"from\", \"to\", status, attempt, time, instance, "
    "request_id, label, answer";

/* Those of a position have the values store, relay and term first. */
static void
make_statements(struct postgres_ledger *l, const char *table)
{
	struct arena *arena = l->arena;
	const char *beside = arena_printf(arena, "%s_position", table).ptr;
	const char *rows = postgres_name_table(arena, table);
	const char *position = postgres_name_table(arena, beside);
	l->make = postgres_sql_make_table(arena, table, row_columns);
	l->make_position =
	    postgres_sql_make_table(arena, beside, position_columns);
	l->take = arena_printf(arena,
	    "INSERT INTO %s AS p (store, relay, shard, entry, count, turn) "
	    "VALUES ($1::text, $2::text, -1, '', 0, $3::text::bigint) "
	    "ON CONFLICT (store, relay, shard) DO UPDATE "
	    "SET turn = excluded.turn WHERE p.turn <= excluded.turn "
	    "RETURNING turn",
	    position).ptr;
	l->find = arena_printf(arena,
	    "SELECT shard::text, entry, count::text FROM %s "
	    "WHERE store = $1::text AND relay = $2::text AND shard >= 0",
	    position).ptr;
	/* No row, and so an error, where the term is another's. */
	l->mine = arena_printf(arena,
	    "SELECT 1 / count(*) FROM (SELECT FROM %s "
	    "WHERE store = $1::text AND relay = $2::text AND shard = -1 "
	    "AND turn = $3::text::bigint FOR UPDATE) AS mine",
	    position).ptr;
	l->insert = arena_printf(arena,
	    "INSERT INTO %s (%s) SELECT %s "
	    "FROM jsonb_to_recordset($1::text::jsonb) AS e (%s) "
	    "ON CONFLICT (id) DO NOTHING",
	    rows, names, names, columns).ptr;
	l->move = arena_printf(arena,
	    "INSERT INTO %s (store, relay, shard, entry, count, turn) "
	    "SELECT $1::text, $2::text, e.shard, e.entry, e.count, "
	    "$3::text::bigint FROM jsonb_to_recordset($4::text::jsonb) "
	    "AS e (shard integer, entry text, count bigint) "
	    "ON CONFLICT (store, relay, shard) DO UPDATE "
	    "SET entry = excluded.entry, count = excluded.count, "
	    "turn = excluded.turn",
	    position).ptr;
}

/* --- opening --- */

static void
open_result(void *arg, unsigned statement, const PGresult *result)
{
	struct postgres_ledger *l = arg;
	struct event_id entry = {0};
	if (statement == OPEN_TAKE)
		l->taken = PQntuples(result) == 1;
	if (statement != OPEN_PLACES)
		return;
	memset(l->places, 0, l->shards * sizeof *l->places);
	for (int i = 0; i < PQntuples(result); i++) {
		int64_t shard = postgres_pipe_number(result, i, 0);
		if (shard < l->shards &&
		    event_read_entry(
			postgres_pipe_value(result, i, 1), &entry))
			l->places[shard] = (struct relay_place){true, entry.ms,
			    entry.number, postgres_pipe_number(result, i, 2)};
	}
}

/* A commit whose answer was lost is there; a failover may undo one. */
static void
open_ended(void *arg, const struct postgres_trouble *trouble)
{
	struct postgres_ledger *l = arg;
	l->busy = false;
	if (trouble != NULL && trouble->lost)
		return; /* the connection says why */
	if (trouble != NULL) {
		postgres_pipe_refuse(l->pipe, trouble->words);
	} else if (!l->taken) {
		l->target.events->fenced(l->target.arg);
	} else {
		postgres_pipe_ready(l->pipe);
		l->put = NULL;
		l->target.events->opened(l->target.arg, l->places);
		/* What a row was refused for stands as long as it is put. */
		l->refused = l->refused && l->put != NULL;
		if (!l->refused)
			relay_target_say(&l->target, true, "");
	}
}

/* What a statement has against the tables shows when it is prepared. */
static void
connection_made(void *arg)
{
	struct postgres_ledger *l = arg;
	struct postgres_pipe *pipe = l->pipe;
	const struct span values[] = {
	    l->store, span_str(l->relay), span_str(l->term)};
	l->busy = true;
	l->taken = false;
	postgres_pipe_begin(pipe, open_result, open_ended, l);
	postgres_pipe_query(pipe, postgres_sql_settings, NULL, 0);
	postgres_pipe_query(pipe, l->make, NULL, 0);
	postgres_pipe_query(pipe, l->make_position, NULL, 0);
	postgres_pipe_query(pipe, l->take, values, 3);
	postgres_pipe_query(pipe, l->find, values, 2);
	postgres_pipe_prepare(pipe, "mine", l->mine);
	postgres_pipe_prepare(pipe, "insert", l->insert);
	postgres_pipe_prepare(pipe, "move", l->move);
	postgres_pipe_end(pipe);
}

static void
connection_down(void *arg, const char *why, bool refused)
{
	struct postgres_ledger *l = arg;
	(void)refused;
	l->busy = false;
	relay_target_say(&l->target, false, why);
}

/* --- putting --- */

/*
 * A row may be refused alone, by a constraint of the table's owner.  Which one
 * it is shows when all are put once more, each by a statement of its own.
 */
static void
batch_ended(void *arg, const struct postgres_trouble *trouble)
{
	struct postgres_ledger *l = arg;
	char words[RELAY_WHY_BYTES];
	l->busy = false;
	if (trouble != NULL && trouble->lost)
		return;
	if (trouble == NULL) {
		l->refused = false;
		relay_target_say(&l->target, true, "");
		l->put = NULL;
		l->target.events->done(l->target.arg);
		return;
	}
	size_t at = trouble->statement - (size_t)PUT_ROWS;
	bool of_row = trouble->statement >= PUT_ROWS &&
	    at < l->put->n_events && trouble->kind == POSTGRES_ROW;
	if (of_row && !l->refused) {
		l->refused = true;
		task_ready(l->loop, &l->go_on);
		return;
	}
	if (of_row) {
		snprintf(words, sizeof words, "event %.*s: %s",
		    SPAN_FMT(l->put->events[at].id), trouble->words);
	} else if (trouble->statement == PUT_MINE &&
	    !strcmp(trouble->state, "22012")) {
		snprintf(words, sizeof words, "another gateway has the term");
	} else {
		snprintf(words, sizeof words, "%s", trouble->words);
	}
	postgres_pipe_refuse(l->pipe, words);
}

/* A list of the first of those events, in their order; returns how many. */
static size_t
put_rows(struct postgres_ledger *l, const struct relay_event *events,
    size_t left)
{
	size_t n = 0, bytes = 1;
	do
		bytes += events[n++].text.len + 1;
	while (n < left && n < LIST_ROWS && !l->refused &&
	    bytes + events[n].text.len < LIST_BYTES);
	char *list = mem_zero(bytes), *to = list;
	for (size_t i = 0; i < n; i++) {
		*to++ = i > 0 ? ',' : '[';
		to = span_put(to, events[i].text);
	}
	*to = ']';
	const struct span value = {list, bytes};
	postgres_pipe_run(l->pipe, "insert", &value, 1);
	postgres_pipe_flush(l->pipe);
	free(list);
	return n;
}

static void
ledger_goes_on(void *arg)
{
	struct postgres_ledger *l = arg;
	if (!postgres_pipe_is_ready(l->pipe) || l->busy ||
	    l->put == NULL)
		return;
	struct postgres_pipe *pipe = l->pipe;
	/* Where the relay stands with the rows, as a list of objects. */
	json_t *list = json_array();
	for (unsigned i = 0; i < l->shards; i++) {
		const struct relay_place *at = &l->put->places[i];
		if (at->known)
			json_array_append_new(list,
			    json_pack("{s:i, s:o, s:I}", "shard", (int)i,
				"entry",
				json_sprintf("%" PRIu64 "-%" PRIu64, at->ms,
				    at->seq),
				"count", (json_int_t)at->count));
	}
	char *places = json_dumps(list, JSON_COMPACT);
	json_decref(list);
	must(places != NULL);
	const struct span values[] = {l->store, span_str(l->relay),
	    span_str(l->term), span_str(places)};
	l->busy = true;
	postgres_pipe_begin(pipe, NULL, batch_ended, l);
	postgres_pipe_run(pipe, "mine", values, 3);
	for (size_t i = 0; i < l->put->n_events;)
		i += put_rows(l, l->put->events + i, l->put->n_events - i);
	postgres_pipe_run(pipe, "move", values, 4);
	postgres_pipe_end(pipe);
	free(places);
}

/* --- its life --- */

static struct relay_target *
ledger_open(const struct relay_target_start *start)
{
	struct postgres_ledger *l = mem_zero(sizeof *l);
	const struct postgres_pipe_events events = {
	    connection_made, NULL, connection_down, l};
	l->target.events = start->events;
	l->target.arg = start->arg;
	l->loop = start->loop;
	l->relay = start->relay->name;
	l->shards = start->shards;
	l->arena = arena_new();
	l->store = arena_dup(l->arena, span_str(start->store));
	l->places = arena_alloc(l->arena, l->shards * sizeof *l->places);
	snprintf(l->term, sizeof l->term, "%" PRId64, start->term);
	make_statements(l, start->relay->table);
	l->go_on = (struct task){.run = ledger_goes_on, .arg = l};
	l->pipe = postgres_pipe_new(l->loop, start->relay->broker,
	    start->conf->instance, &events, NULL);
	return &l->target;
}

static void
ledger_put(struct relay_target *target, struct relay_batch *batch)
{
	struct postgres_ledger *l =
	    CONTAINER_OF(target, struct postgres_ledger, target);
	l->put = batch;
	task_ready(l->loop, &l->go_on);
}

static void
ledger_close(struct relay_target *target)
{
	struct postgres_ledger *l =
	    CONTAINER_OF(target, struct postgres_ledger, target);
	task_cancel(&l->go_on);
	postgres_pipe_free(&l->pipe);
	arena_free(&l->arena);
	task_rest(l->loop, l, free);
}

const struct relay_target_kind postgres_ledger_kind = {
    .keeps_place = true,
    .events = 1000,
    .open = ledger_open,
    .put = ledger_put,
    .close = ledger_close,
};
