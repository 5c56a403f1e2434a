/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/hash.h"
#include "base/list.h"
#include "messages/broker/broker.h"
#include "messages/broker/postgres_connect.h"
#include "messages/broker/postgres_sql.h"

/*
 * For the files of the PostgreSQL client alone: a reader, and what its parts
 * ask of each other.  All memory is the reader's, all on its loop's thread.
 * Who stands further up calls those below; up goes only the reader's task.
 *
 *     postgres         the reader: what a new connection is told and asked
 *                      first, its health, and when it does what
 *     postgres_take    which rows are asked for, and when
 *     postgres_parts   which of them are this reader's
 *     postgres_finish  acknowledgements, in batches
 *     postgres_copies  dead letters, in pages
 *     postgres_row     a row as a message, and those that are in flight
 *     postgres_note    what is wrong, in words
 *     postgres_sql     the statements
 *     postgres_connect, postgres_pipe   libpq
 */

struct postgres_reader;

/* --- postgres_row.c --- */

/* A row that was handed over and is not finished. */
struct postgres_row {
	struct hash_item by_position;
	struct list taken; /* in the order of taking */
	uint64_t take;     /* number of the take that brought it */
	uint64_t session;  /* 0: somebody else may finish it by now */
	uint32_t part;
	bool kept; /* the server did not finish it, and did not say why */
	unsigned locked; /* how often somebody else had locked it */
	char version[24];
	struct span position;
};

/*
 * The row that a take has, in flight from now on, and its message; NULL: it is
 * in flight already, or of a part that is not read here any more.
 */
struct broker_message *postgres_row_take(
    struct postgres_reader *reader, const PGresult *result, int at);
/* The same of a row that is in flight; the message alone. */
struct broker_message *postgres_row_read(
    struct postgres_reader *reader, const PGresult *result, int at);
/* Adds a JSON object's members to the message's; what is odd, or NULL. */
const char *postgres_row_fields(
    struct broker_message *message, struct span text);
/* NULL: it is not in flight. */
struct postgres_row *postgres_row_find(
    const struct postgres_reader *reader, struct span position);
/* Its version, for a finish; null where it is not in flight. */
struct span postgres_row_version(
    const struct postgres_reader *reader, struct span position);
/* It is not in flight any more. */
void postgres_row_forget(
    struct postgres_reader *reader, struct postgres_row *row);
/* The same of all rows of a part: they are recalled, as it is another's. */
void postgres_row_recall(struct postgres_reader *reader, uint32_t part);
/* All are forgotten, and nobody is told. */
void postgres_row_clear(struct postgres_reader *reader);
/* A row in flight was deleted, and not by a reader. */
void postgres_row_deleted(
    struct postgres_reader *reader, struct span position);

/* --- postgres_parts.c --- */

enum postgres_part { PART_OTHERS, PART_MINE, PART_LEAVING };

struct postgres_parts {
	struct postgres_batch batch;
	bool busy;
	bool settled; /* it has what it can have on this connection */
	int32_t class; /* of its advisory locks */
	unsigned members; /* readers of the table */
	enum postgres_part is[POSTGRES_PARTS];
	bool free[POSTGRES_PARTS]; /* nobody's, at the last look */
	unsigned in_flight[POSTGRES_PARTS];
	bool torn; /* a lock of ours is not ours */
	uint64_t changes;
	struct timer look;
};

void postgres_parts_init(struct postgres_reader *reader);
/* The connection is set up, and the locks' class is known. */
void postgres_parts_up(struct postgres_reader *reader);
/* It is gone, and with it all locks. */
void postgres_parts_down(struct postgres_reader *reader);
/* How many parts are read, and their numbers as SQL writes a list. */
unsigned postgres_parts_read(const struct postgres_reader *reader,
    char ret_list[4 * POSTGRES_PARTS + 3]);

/* --- postgres_take.c --- */

/* A place in the table's order; id NULL: before the first row. */
struct postgres_place {
	char *id;
	char *order;
	uint64_t take; /* rows taken later may be behind it */
};

struct postgres_take {
	struct postgres_batch batch;
	bool outstanding;
	bool wake; /* something may be there */
	bool more; /* the last take did not come to the end */
	bool from_start; /* rows before the floor may be there */
	uint64_t number; /* of the last take */
	struct postgres_place floor; /* takes begin behind it */
	struct postgres_place mark;  /* the floor to be */
	int64_t mark_xmax; /* transactions since have it; 0: not known yet */
	int64_t mark_ms;
	int64_t xmin; /* all before it were over at the last take */
	bool sweeping; /* it began at the start, for rows that came late */
	int64_t sweep_ms; /* when that is to be done next */
	int64_t began_ms; /* of the last take from the start */
	int64_t rest_until_ms; /* of a table whose ids do not rise */
	unsigned limit;
	size_t mean_bytes; /* of the messages seen lately; 0: none */
	struct timer poll;
};

void postgres_take_init(struct postgres_reader *reader);
void postgres_take_down(struct postgres_reader *reader);
/* Asks for rows if there is reason to, and credit. */
void postgres_take_go_on(struct postgres_reader *reader);
/* Something may be there. */
void postgres_take_wake(struct postgres_reader *reader);
/* A row that is in flight. */
void postgres_take_again(
    struct broker_reader *base, struct broker_again *again);

/* --- postgres_finish.c --- */

struct postgres_finishes {
	struct list waiting; /* in their order */
	struct list sent;    /* batches on their way */
	unsigned n_sent;
	/* Whether the tables of each place can be put into. */
	struct postgres_place_table {
		struct postgres_reader *reader;
		struct postgres_batch batch;
		enum { TABLE_UNKNOWN, TABLE_ASKED, TABLE_READY } state;
	} tables[BROKER_DEAD_LETTERS + 1];
	struct timer look; /* while the table lets nothing be finished */
};

void postgres_finish_init(struct postgres_reader *reader);
/* Ends all that waits. */
void postgres_finish_down(struct postgres_reader *reader);
void postgres_finish_ask(
    struct broker_reader *base, struct broker_finish *finish);
/* Sends what can be sent. */
void postgres_finish_go_on(struct postgres_reader *reader);

/* --- postgres_copies.c --- */

/* A page of dead letters. */
void postgres_copies_ask(
    struct broker_reader *base, struct broker_copies *copies);

/* --- postgres_note.c --- */

struct postgres_reader {
	struct broker_reader reader; /* first */
	struct loop *loop;
	const struct conf_source *source;
	struct broker_events events;
	size_t most_bytes;
	struct postgres_connect *connect;
	struct arena *arena; /* of sql; NULL: no connection */
	struct postgres_sql sql;
	struct postgres_batch setup;
	enum { SETUP_COLUMNS, SETUP_PREPARE, SETUP_ORIGIN, SETUP_LISTEN } step;
	const char *wrong; /* with the table; NULL: nothing */
	bool has_dead; /* the table of dead letters is there */
	bool up;       /* as the owner was told */
	bool stands;   /* no row is finished */
	bool no_order; /* it is to keep an order, and the table has none */
	bool closed;
	char id_type[64]; /* of the ids in flight; "" */
	uint64_t session; /* counts connections */
	unsigned credit;
	size_t bytes;
	struct hash rows;
	struct list taken; /* rows, the newest last */
	struct postgres_parts parts;
	struct postgres_take take;
	struct postgres_finishes finishes;
	struct task pump; /* whatever can be sent is sent later in this turn */
	struct task tell;
	struct postgres_batch counting;
	bool counting_now;
	bool has_no_ids; /* rows without one were there when it counted */
	int64_t lag;
	int64_t count_next_ms;
	char message[200];
	/* What was refused with that message, until it is taken. */
	enum broker_place refused;
};

/* What went wrong on a connection that stays; "": it is over. */
void postgres_note(struct postgres_reader *reader, const char *words);
/* Something of the health is another one: its owner is told. */
void postgres_note_change(struct postgres_reader *reader);
/* What is refused is logged, unless it was already, and noted. */
void postgres_note_refusal(struct postgres_reader *reader, const char *words);
/* A batch that must not fail has: the connection is made again. */
void postgres_note_trouble(struct postgres_reader *reader,
    const struct postgres_trouble *trouble);
/* The error of what has failed with its connection, or as that was refused. */
int postgres_note_error(const struct postgres_reader *reader);

static inline struct postgres_reader *
postgres_of(struct broker_reader *base)
{
	return (struct postgres_reader *)(void *)base;
}

static inline void
postgres_pump(struct postgres_reader *reader)
{
	if (!reader->closed)
		task_ready(reader->loop, &reader->pump);
}
