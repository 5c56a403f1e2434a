/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/container.h"
#include "base/error.h"
#include "base/mem.h"
#include "messages/broker/postgres_private.h"

/* Rows that are in hand, read again: unread still, and as they were taken. */
struct postgres_again {
	struct postgres_batch batch;
	struct postgres_reader *reader;
	struct broker_again *again; /* NULL: given up */
	bool exists; /* finished, or written anew; else deleted */
};

enum { STATEMENT_AGAIN };

static void
take_again(struct postgres_batch *batch, unsigned statement,
    const PGresult *result)
{
	struct postgres_again *a =
	    CONTAINER_OF(batch, struct postgres_again, batch);
	struct postgres_row row;
	if (a->again == NULL)
		return;
	if (statement != STATEMENT_AGAIN)
		a->exists = span_eq(
		    postgres_pipe_value(result, 0, 0), SPAN("true"));
	else if (PQntuples(result) > 0)
		a->again->message = postgres_message_read(
		    result, 0, a->reader->most_bytes, &row);
}

/* It is not there as it was: another take brings what is there now. */
static void
forget_row(struct postgres_again *a)
{
	struct postgres_reader *reader = a->reader;
	struct postgres_row *row =
	    postgres_hand_find(&reader->hand, a->again->position);
	bool deleted = row != NULL && !a->exists &&
	    row->session == reader->session;
	if (row != NULL)
		postgres_hand_remove(&reader->hand, row);
	if (deleted)
		postgres_finish_tell_deleted(reader, a->again->position);
	else
		postgres_take_from_start(reader);
}

bool
postgres_again_disowned(struct postgres_reader *reader, struct span position)
{
	struct postgres_row *row =
	    postgres_hand_find(&reader->hand, position);
	if (row == NULL ||
	    (!row->disowned && !postgres_parts_lost(reader, row)))
		return false;
	postgres_hand_remove(&reader->hand, row);
	postgres_take_from_start(reader);
	return true;
}

static void
again_ended(
    struct postgres_batch *batch, const struct postgres_trouble *trouble)
{
	struct postgres_again *a =
	    CONTAINER_OF(batch, struct postgres_again, batch);
	struct broker_again *again = a->again;
	struct postgres_reader *reader = a->reader;
	bool failed = trouble != NULL;
	if (again != NULL && !failed && again->message == NULL)
		forget_row(a);
	if (again != NULL && failed)
		broker_message_free(&again->message);
	if (again != NULL)
		op_done(&again->op,
		    !failed		   ? 0
			: reader->closed ? E_CANCELLED
					   : E_BROKER_DOWN);
	free(a);
	postgres_trouble(reader, trouble);
}

/* Its owner gives it up. */
static void
leave_again(struct op *op, int error)
{
	(void)error;
	struct broker_again *again =
	    CONTAINER_OF(op, struct broker_again, op);
	((struct postgres_again *)again->token)->again = NULL;
	broker_message_free(&again->message);
}

static void
ask_again(struct postgres_reader *reader, struct postgres_again *a)
{
	const struct postgres_row *row =
	    postgres_hand_find(&reader->hand, a->again->position);
	struct span values[] = {a->again->position,
	    row != NULL && row->version[0] != '\0' ? span_str(row->version) :
						     POSTGRES_NULL};
	a->batch = (struct postgres_batch){
	    .result = take_again, .end = again_ended};
	postgres_pipe_begin(reader->pipe, &a->batch);
	postgres_pipe_run(reader->pipe, "again", values, 2);
	postgres_pipe_run(reader->pipe, "there", values, 1);
	postgres_pipe_end(reader->pipe);
}

void
postgres_again_ask(struct postgres_reader *reader, struct broker_again *again)
{
	again->message = NULL;
	again->refused[0] = '\0';
	op_start(&again->op, 0, leave_again);
	if (!reader->ready) {
		op_done(&again->op, E_BROKER_DOWN);
		return;
	}
	if (postgres_again_disowned(reader, again->position)) {
		op_done(&again->op, 0);
		return;
	}
	struct postgres_again *a = mem_zero(sizeof *a);
	a->reader = reader;
	a->again = again;
	again->token = a;
	ask_again(reader, a);
}
