/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/broker/broker.h"
#include "messages/broker/postgres_connect.h"
#include "messages/broker/postgres_hand.h"
#include "messages/broker/postgres_pipe.h"
#include "messages/broker/postgres_sql.h"

/*
 * For the files of the PostgreSQL client alone: a reader, and what its parts
 * ask of each other.  All memory is the reader's, all on its loop's thread.
 *
 *     postgres          the reader, and whether its connection is any good
 *     postgres_setup    what a new connection is told and asked first
 *     postgres_parts    which rows are this reader's
 *     postgres_take     which of those are asked for, and when
 *     postgres_message  a row as a message
 *     postgres_finish   acknowledgements, in batches
 *     postgres_again    a row in hand, read again
 *     postgres_letters  dead letters, in pages
 *     postgres_own      whether the table lets its rows be finished
 *     postgres_put      tables of results and dead letters
 */

/* A place in the table's order; id NULL: before the first row. */
struct postgres_place {
	char *id;
	char *order;
};

/* Where the reader stands in its table (postgres_take.c). */
struct postgres_take {
	struct postgres_batch batch;
	bool outstanding;
	bool wake; /* something may be there */
	bool more; /* the last take did not come to the end */
	bool sweep_wanted;
	bool sweeping;
	uint64_t number; /* of the last take */
	struct postgres_place frontier; /* the furthest row */
	struct postgres_place floor; /* late rows before it are rare */
	uint64_t floor_take; /* rows taken later may be behind the floor */
	struct postgres_place mark;  /* the floor to be */
	uint64_t mark_take;
	int64_t mark_ms;
	int64_t mark_xmax; /* transactions since have it; 0: not known yet */
	int64_t xmin; /* all before it were over at the last take */
	int64_t window_ms; /* when a take from the floor on was asked last */
	struct postgres_place sweep; /* how far the sweep has come */
	uint64_t sweep_take;         /* the last one before it */
	int64_t sweep_began_ms;
	int64_t sweep_next_ms;
	/* Of the one that is outstanding: */
	enum postgres_pass { PASS_FRONT, PASS_WINDOW, PASS_SWEEP } pass;
	unsigned limit;
	bool came_to_end;
	bool last_ahead; /* of its last row */
	bool any_id;     /* a row of it had one */
	struct timer poll;
};

/* Which parts are this reader's (postgres_parts.c). */
struct postgres_parts {
	struct postgres_batch batch;
	bool busy;
	bool settled; /* it has what it can have on this connection */
	int32_t class; /* of its advisory locks */
	unsigned members; /* readers of the table */
	unsigned n_mine;
	bool mine[POSTGRES_PARTS];
	bool free[POSTGRES_PARTS]; /* nobody's, at the last look */
	/* Not read any more; the number of the last take that did; else 0. */
	uint64_t leaving[POSTGRES_PARTS];
	bool torn; /* a lock of ours is not ours */
	uint64_t changes;
	struct timer look;
};

enum postgres_table_state { TABLE_UNKNOWN, TABLE_ASKED, TABLE_READY };

/* A table of results or of dead letters (postgres_put.c). */
struct postgres_put {
	struct postgres_reader *reader;
	struct postgres_batch batch;
	enum broker_place place;
	enum postgres_table_state state;
	enum { PUT_LOOK, PUT_MAKE, PUT_PREPARE } step;
	bool exists;
	unsigned made; /* how often: a part of the statement's name */
};

struct postgres_finish_item {
	struct postgres_finish_item *next;
	struct broker_finish *finish; /* NULL: given up by its owner */
	bool alone;
	bool done;   /* the row was unread until now */
	bool exists; /* else: it is there all the same */
	bool kept;   /* and could have been finished */
	bool locked; /* and somebody else has locked it */
	bool again;  /* it was kept, and this is the second time */
	struct postgres_trouble trouble; /* while the table is looked at */
	bool of_row; /* that may be of its row alone */
};

struct postgres_finish_batch;

/* Whether the table lets rows be finished at all (postgres_own.c). */
struct postgres_own {
	struct postgres_batch batch;
	bool looking;
	struct postgres_finish_item *waiting; /* for what is found */
	bool stands; /* it does not */
	struct timer again;
};

/* Acknowledgements that wait, and those on their way (postgres_finish.c). */
struct postgres_finishes {
	struct postgres_finish_item *first;
	struct postgres_finish_item **last;
	unsigned outstanding; /* batches */
	struct postgres_finish_batch *sent;
};

struct postgres_reader {
	struct broker_reader reader; /* first */
	struct loop *loop;
	const struct conf_source *source;
	struct broker_events events;
	size_t most_bytes;
	struct postgres_connect *connect;
	struct postgres_pipe *pipe; /* NULL: no connection */
	struct arena *arena;        /* of sql; NULL: no connection */
	struct postgres_sql sql;
	struct postgres_batch setup;
	struct postgres_batch counting;
	bool ready;   /* the connection is set up */
	bool up;      /* as the owner was told */
	bool closed;
	int64_t ready_ms;
	uint64_t session; /* counts connections */
	unsigned credit;
	struct postgres_hand hand;
	char id_kind[POSTGRES_SQL_NAME]; /* of the ids in hand; "" */
	struct postgres_take take;
	struct postgres_parts parts;
	struct postgres_put puts[BROKER_DEAD_LETTERS + 1];
	struct postgres_finishes finishes;
	struct postgres_own own;
	struct task pump;
	struct task tell;
	int64_t lag;
	int64_t count_next_ms;
	bool counting_now;
	bool has_no_ids; /* rows whose id is null were there when it counted */
	char message[200];
	/* What was refused with that message, until it is taken. */
	enum broker_place refused;
};

/* --- postgres.c --- */

/* Whatever can be sent is sent later in this turn. */
void postgres_pump(struct postgres_reader *reader);
/*
 * The server answers, and not as it must: the connection is good for nothing,
 * and made again.
 */
void postgres_down(struct postgres_reader *reader, const char *why);
/* The same for a batch that must not fail. */
void postgres_trouble(struct postgres_reader *reader,
    const struct postgres_trouble *trouble);
/* The owner is told, later in this turn, to look at the health. */
void postgres_changed(struct postgres_reader *reader);
/* What went wrong on a connection that stays. */
void postgres_note(struct postgres_reader *reader, const char *words);
/* The connection is set up. */
void postgres_ready(struct postgres_reader *reader);

/* --- postgres_setup.c --- */

/* Ends with postgres_ready, or postgres_down. */
void postgres_setup_begin(struct postgres_reader *reader);

/* --- postgres_parts.c --- */

void postgres_parts_init(struct postgres_reader *reader);
/* The connection is set up, and the locks' class is known. */
void postgres_parts_up(struct postgres_reader *reader);
/* It is gone, and with it all locks. */
void postgres_parts_down(struct postgres_reader *reader);
/*
 * How many parts may be read.  ret_list: their numbers as SQL writes a list,
 * from the arena; ptr NULL: all there are.
 */
unsigned postgres_parts_usable(const struct postgres_reader *reader,
    struct arena *arena, struct span *ret_list);

/* --- postgres_take.c --- */

void postgres_take_init(struct postgres_reader *reader);
void postgres_take_down(struct postgres_reader *reader);
void postgres_take_free(struct postgres_reader *reader);
/* Asks for rows if there is reason to, and credit. */
void postgres_take_go_on(struct postgres_reader *reader);
/* Something may be there: asks, when it can. */
void postgres_take_wake(struct postgres_reader *reader);
/* Rows before the furthest one may be there, not only late ones. */
void postgres_take_from_start(struct postgres_reader *reader);

/* Whether that part is read here. */
bool postgres_parts_has(
    const struct postgres_reader *reader, int64_t part);
/*
 * Whether a row of an earlier connection may be in another reader's hand by
 * now: its part is not ours any more.  What is finished waits until that is
 * known (settled).
 */
MUST_USE bool postgres_parts_lost(
    const struct postgres_reader *reader, const struct postgres_row *row);

/* --- postgres_again.c --- */

/* A row that is in hand. */
void postgres_again_ask(
    struct postgres_reader *reader, struct broker_again *again);
/* It is disowned, or lost with its part, and in hand no more. */
MUST_USE bool postgres_again_disowned(
    struct postgres_reader *reader, struct span position);

/* --- postgres_letters.c --- */

/* A page of dead letters. */
void postgres_letters_ask(
    struct postgres_reader *reader, struct broker_letters *letters);

/* --- postgres_message.c --- */

/* Adds headers to the message's; NULL: well; else what is odd. */
const char *postgres_message_fields(
    struct broker_message *message, struct span text);

/*
 * The message of a row of a take; NULL: it has no id, or its part is not one.
 * ret_row: what is kept of it while it is in hand; its position is the
 * message's.
 */
struct broker_message *postgres_message_read(const PGresult *result, int at,
    size_t most_bytes, struct postgres_row *ret_row);
/*
 * Headers as JSON: an object whose values are strings, in the arena.  Bytes
 * that are not UTF-8 are each the character of that number.
 */
struct span postgres_message_headers(
    struct arena *arena, const struct fields *fields);

/* --- postgres_finish.c --- */

void postgres_finish_init(struct postgres_reader *reader);
/* Ends what waits with the error. */
void postgres_finish_drop(struct postgres_reader *reader, int error);
void postgres_finish_ask(
    struct postgres_reader *reader, struct broker_finish *finish);
/* Sends what can be sent. */
void postgres_finish_go_on(struct postgres_reader *reader);
/* A row in hand was deleted, and not by a reader. */
void postgres_finish_tell_deleted(
    struct postgres_reader *reader, struct span position);
/*
 * The table was looked at for the item, which ends; own: what is wrong with
 * it, NULL: nothing.
 */
void postgres_finish_looked(struct postgres_reader *reader,
    struct postgres_finish_item *item, const struct postgres_trouble *own);
/* Ends all that waits to put something there as refused. */
void postgres_finish_refuse(struct postgres_reader *reader,
    enum broker_place place, const struct postgres_trouble *trouble);

/* --- postgres_own.c --- */

/* Another try may change it. */
MUST_USE bool postgres_own_may_pass(const struct postgres_trouble *trouble);
/*
 * What only another connection changes: the server does not write any more, or
 * what was prepared is not there or out of date.
 */
MUST_USE bool postgres_own_needs_another(
    const struct postgres_trouble *trouble);
/* Somebody else has locked what it is about. */
MUST_USE bool postgres_own_is_lock(const struct postgres_trouble *trouble);
/* It may be of one row, or of what is put with it, while others are taken. */
MUST_USE bool postgres_own_is_of_row(const struct postgres_trouble *trouble);
/* The table, or a column of it, is another one than it was. */
MUST_USE bool postgres_own_is_of_shape(
    const struct postgres_trouble *trouble);

void postgres_own_init(struct postgres_reader *reader);
/* The connection is gone. */
void postgres_own_down(struct postgres_reader *reader);
/* What was refused may be so because of the table: it is looked at. */
void postgres_own_ask(
    struct postgres_reader *reader, struct postgres_finish_item *item,
    const struct postgres_trouble *trouble);
/* A row was finished: so nothing is wrong with the table. */
void postgres_own_well(struct postgres_reader *reader);

/* --- postgres_put.c --- */

void postgres_put_init(struct postgres_reader *reader);
void postgres_put_down(struct postgres_reader *reader);
/* Whether the table can be put into; if not, it is seen to. */
bool postgres_put_is_ready(
    struct postgres_reader *reader, enum broker_place place);
/* It was ready, and is not there any more. */
void postgres_put_is_gone(
    struct postgres_reader *reader, enum broker_place place);
/* The statement that finishes a row and puts something at the place. */
struct span postgres_put_statement(const struct postgres_reader *reader,
    struct arena *arena, enum broker_place place);
/* The text of the same, of a dead letter. */
const char *postgres_put_letter(
    const struct postgres_reader *reader, enum broker_place place);
enum { POSTGRES_PUT_VALUES = 8 };
/*
 * Its values, and how many; in the arena or of finish.  version: of the row's
 * bytes as they were taken; ptr NULL: any.
 */
unsigned postgres_put_values(struct arena *arena,
    const struct broker_finish *finish, struct span version,
    struct span ret_values[POSTGRES_PUT_VALUES]);
