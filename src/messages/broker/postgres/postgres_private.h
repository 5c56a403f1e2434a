/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/broker/postgres/postgres_sql.h"
#include "messages/broker/reader.h"
#include "store/postgres/postgres_pipe.h"

/*
 * For the files of the PostgreSQL driver alone: a reader, and what its parts
 * ask of each other, all on its loop's thread.
 *
 *     postgres         the driver's table; what a new connection is told and
 *                      asked first, and its health
 *     postgres_take    which rows are asked for, and when
 *     postgres_parts   which of them are this reader's
 *     postgres_finish  acknowledgements, in batches
 *     postgres_row     a row as a message in flight, or as a copy
 *     postgres_sql     the statements
 */

struct postgres_reader;

/* What the server refuses (reader_trouble): what is put into a table. */
enum { POSTGRES_TO_PUT };

/* --- postgres_row.c --- */

struct postgres_row {
	struct flight flight; /* first */
	uint64_t take;        /* number of the take that brought it */
	uint32_t part;
	bool kept; /* the server did not finish it, and did not say why */
	unsigned locked; /* how often somebody else had locked it */
	unsigned failed; /* how often it did alone, the table being well */
	char version[24];
};

/*
 * The row that a take has is in flight from now on, unless it is already, or is
 * of a part that is not read here any more.
 */
void postgres_row_take(
    struct postgres_reader *reader, const PGresult *result, int at);
/* As driver.h has it. */
void postgres_row_copies(
    struct broker_reader *core, struct broker_copies *copies);

/* --- postgres_parts.c --- */

enum postgres_part { PART_OTHERS, PART_MINE, PART_LEAVING };

struct postgres_parts {
	bool busy;
	bool settled; /* it has what it can have on this connection */
	char class[16]; /* of its advisory locks, a number */
	bool joined;  /* it is a member */
	bool marked;  /* the session is this reader's alone */
	unsigned members; /* readers of the table */
	unsigned before;  /* how many of them are before this one */
	/* The address of each is the token of its messages. */
	enum postgres_part is[POSTGRES_PARTS];
	int64_t leaves_ms[POSTGRES_PARTS]; /* LEAVING: its rows are recalled */
	uint64_t changes;
	struct timer look;
};

/*
 * The connection is set up, and the locks' class is known; from then on it is
 * called by a timer, each second.
 */
void postgres_parts_look(void *reader);
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
	size_t limit;
	struct timer poll;
};

void postgres_take_down(struct postgres_reader *reader);
/* Asks for rows if there is reason to, and room. */
void postgres_take_go_on(struct postgres_reader *reader);
/* Something may be there: it is notified, or the time to poll is over. */
void postgres_take_wake(void *reader);

/* --- postgres_finish.c --- */

struct postgres_finishing {
	struct finishing finishing; /* first */
	bool alone; /* what it was sent with has failed */
	/* What its statement says (postgres_sql.h). */
	enum { FOUND_DONE, FOUND_KEPT, FOUND_GONE, FOUND_ANEW } found;
};

void postgres_finish_send_all(struct broker_reader *core);

/* --- the reader --- */

enum { POSTGRES_MARK_BYTES = 8 };

struct postgres_reader {
	struct broker_reader core; /* first */
	struct postgres_pipe *pipe;
	struct arena *arena; /* of sql; NULL: no connection */
	struct postgres_sql sql;
	const char *wrong; /* with the table; NULL: nothing */
	bool up;
	bool no_order; /* it is to keep an order, and the table has none */
	char id_type[64]; /* of the ids in flight; "" */
	char mark[2 * POSTGRES_MARK_BYTES + 1]; /* of its session */
	struct postgres_parts parts;
	struct postgres_take take;
	unsigned finishes_sent; /* batches on their way */
	unsigned failed; /* so often a row did since one was finished */
	bool counting_now;
	int64_t lag;
	int64_t counted_ms;
};

/* Whether a batch that must not fail has: the connection is made again. */
static inline bool
postgres_distrust(struct postgres_reader *reader,
    const struct postgres_trouble *trouble)
{
	if (trouble != NULL && !trouble->lost)
		postgres_pipe_refuse(reader->pipe, trouble->words);
	return trouble != NULL;
}
