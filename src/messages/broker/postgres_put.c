/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "base/container.h"
#include "base/hex.h"
#include "base/random.h"
#include "messages/broker/postgres_name.h"
#include "messages/broker/postgres_private.h"

/*
 * A table of results or dead letters is seen to when something is to be put
 * into it first: looked for, made where it is not there, and the statement
 * prepared.  Looked for first, because to make a table one must have the right
 * to, even where it is there.  Dead letters have the row's id, entity and type
 * as texts, its payload as bytes and its headers with ours, so that a replay
 * can insert the row again.
 */
enum { CHANCE_BYTES = 8, NAME = 32 };

static const char result_columns[] =
    "(id text PRIMARY KEY, status int, headers json NOT NULL, body bytea, "
    "key_id text, created timestamptz NOT NULL DEFAULT now())";
/* The number keeps the order in which they died. */
static const char dead_columns[] =
    "(number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
    "id text NOT NULL, entity text, type text, payload bytea, "
    "headers json NOT NULL, created timestamptz NOT NULL DEFAULT now())";
static const char look_for[] = "SELECT to_regclass($1::text)::text";
/* Two that make the same table at once fail, unless one waits. */
static const char one_at_a_time[] =
    "SELECT pg_advisory_xact_lock(1869505377, 1)";

static void next_step(struct postgres_put *put);

static const char *
table_name(const struct postgres_put *put)
{
	const struct conf_source *source = put->reader->source;
	return put->place == BROKER_RESULTS ? source->results :
					      source->dead_letters;
}

static void
name_statement(const struct postgres_put *put, char name[NAME])
{
	snprintf(name, NAME, "finish%d_%u", (int)put->place, put->made);
}

struct span
postgres_put_statement(const struct postgres_reader *reader,
    struct arena *arena, enum broker_place place)
{
	char name[NAME];
	if (place == BROKER_NOWHERE)
		return SPAN("finish0");
	name_statement(&reader->puts[place], name);
	return arena_dup(arena, span_str(name));
}

const char *
postgres_put_letter(
    const struct postgres_reader *reader, enum broker_place place)
{
	const struct postgres_sql *sql = &reader->sql;
	return place == BROKER_RESULTS ? sql->letter_result
	    : place == BROKER_DEAD_LETTERS ? sql->letter_dead
					   : sql->letter;
}

/* --- seeing to the table --- */

static void
step_result(struct postgres_batch *batch, unsigned statement,
    const PGresult *result)
{
	(void)statement;
	struct postgres_put *put =
	    CONTAINER_OF(batch, struct postgres_put, batch);
	if (put->step == PUT_LOOK)
		put->exists = postgres_pipe_value(result, 0, 0).ptr != NULL;
}

static void
step_ended(struct postgres_batch *batch, const struct postgres_trouble *trouble)
{
	struct postgres_put *put =
	    CONTAINER_OF(batch, struct postgres_put, batch);
	if (trouble != NULL && trouble->lost)
		return;
	if (trouble != NULL) {
		struct postgres_trouble copy = *trouble;
		put->state = TABLE_UNKNOWN;
		postgres_finish_refuse(put->reader, put->place, &copy);
		return;
	}
	if (put->step == PUT_PREPARE) {
		put->state = TABLE_READY;
		postgres_pump(put->reader);
		return;
	}
	put->step = put->step == PUT_LOOK && !put->exists ? PUT_MAKE :
							    PUT_PREPARE;
	next_step(put);
}

static void
send_step(struct postgres_put *put)
{
	struct postgres_reader *reader = put->reader;
	const struct postgres_sql *sql = &reader->sql;
	bool result = put->place == BROKER_RESULTS;
	char name[NAME];
	struct span table =
	    postgres_name_table(reader->arena, table_name(put));
	switch (put->step) {
	case PUT_LOOK:
		postgres_pipe_query(reader->pipe, look_for, &table, 1);
		break;
	case PUT_MAKE:
		postgres_pipe_query(reader->pipe, one_at_a_time, NULL, 0);
		postgres_pipe_query(reader->pipe,
		    arena_printf(reader->arena,
			"CREATE TABLE IF NOT EXISTS %.*s %s", SPAN_FMT(table),
			result ? result_columns : dead_columns)
			.ptr,
		    NULL, 0);
		break;
	case PUT_PREPARE:
		put->made++;
		name_statement(put, name);
		postgres_pipe_prepare(reader->pipe, name,
		    result ? sql->finish_result : sql->finish_dead);
	}
}

static void
next_step(struct postgres_put *put)
{
	put->batch = (struct postgres_batch){
	    .result = step_result, .end = step_ended};
	postgres_pipe_begin(put->reader->pipe, &put->batch);
	send_step(put);
	postgres_pipe_end(put->reader->pipe);
}

bool
postgres_put_is_ready(struct postgres_reader *reader, enum broker_place place)
{
	struct postgres_put *put = &reader->puts[place];
	if (place == BROKER_NOWHERE || put->state == TABLE_READY)
		return true;
	if (put->state == TABLE_UNKNOWN) {
		put->state = TABLE_ASKED;
		put->step = PUT_LOOK;
		next_step(put);
	}
	return false;
}

void
postgres_put_is_gone(struct postgres_reader *reader, enum broker_place place)
{
	if (reader->puts[place].state == TABLE_READY)
		reader->puts[place].state = TABLE_UNKNOWN;
}

void
postgres_put_down(struct postgres_reader *reader)
{
	for (int i = 0; i <= BROKER_DEAD_LETTERS; i++)
		reader->puts[i].state = TABLE_UNKNOWN;
}

void
postgres_put_init(struct postgres_reader *reader)
{
	for (int i = 0; i <= BROKER_DEAD_LETTERS; i++)
		reader->puts[i] = (struct postgres_put){
		    .reader = reader, .place = (enum broker_place)i};
}

/* --- what is put --- */

static struct span
or_null(struct span s)
{
	return s.ptr != NULL ? s : POSTGRES_NULL;
}

/* A row may be read again, where somebody makes it unread. */
static struct span
result_id(struct arena *arena, struct span position)
{
	uint8_t chance[CHANCE_BYTES];
	char hex[2 * CHANCE_BYTES + 1];
	random_bytes(chance, sizeof chance);
	hex_encode(chance, sizeof chance, hex);
	return arena_printf(arena, "%.*s/%s", SPAN_FMT(position), hex);
}

static struct span
body_of(const struct broker_put *put)
{
	if (!put->has_body)
		return POSTGRES_NULL;
	return put->body.ptr != NULL ? put->body : SPAN("");
}

unsigned
postgres_put_values(struct arena *arena, const struct broker_finish *finish,
    struct span version, struct span ret_values[POSTGRES_PUT_VALUES])
{
	const struct broker_put *put = finish->put;
	bool letter = finish->letter.len > 0;
	ret_values[0] = letter ? finish->letter : finish->position;
	ret_values[1] = letter ? POSTGRES_NULL : version;
	if (put == NULL || put->place == BROKER_NOWHERE)
		return 2;
	struct span headers = postgres_message_headers(arena, &put->fields);
	if (put->place == BROKER_RESULTS) {
		ret_values[2] = result_id(arena, finish->position);
		ret_values[3] = put->status != 0 ?
		    arena_printf(arena, "%d", put->status) :
		    POSTGRES_NULL;
		ret_values[4] = headers;
		ret_values[5] = body_of(put);
		ret_values[6] = or_null(put->key_id);
		return POSTGRES_PUT_VALUES - 1;
	} else {
		ret_values[2] = finish->position;
		ret_values[3] = or_null(put->entity);
		ret_values[4] = or_null(put->type);
		ret_values[5] = body_of(put);
		ret_values[6] = headers;
		ret_values[7] = put->whole ? SPAN("whole") : SPAN("");
	}
	return POSTGRES_PUT_VALUES;
}
