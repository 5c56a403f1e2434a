/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/error.h"
#include "base/mem.h"
#include "messages/broker/postgres/postgres_private.h"

/* What is found is the question's own until the batch has ended. */
struct postgres_question {
	struct reader_question question; /* first */
	struct postgres_batch batch;
	struct broker_message *found;
	size_t limit;
	char next[BROKER_COPY_ID_BYTES];
};

static struct postgres_question *
of_batch(struct postgres_batch *batch)
{
	return CONTAINER_OF(batch, struct postgres_question, batch);
}

static void
end(struct postgres_question *q, int error, const char *refused)
{
	reader_ask_end(&q->question, error, refused);
	broker_messages_free(&q->found);
	free(q);
}

/*
 * Dead letters in the order of their numbers.  What was marked was deleted:
 * there are no marks among them.
 */
static void
copies_result(struct postgres_batch *batch, unsigned statement,
    const PGresult *result)
{
	struct postgres_question *q = of_batch(batch);
	struct broker_message **last = &q->found;
	int rows = PQntuples(result);
	(void)statement;
	for (int i = 0; i < rows; i++, last = &(*last)->next)
		*last = postgres_row_copy(result, i);
	/* Where it is full, or cut to size, there may be more. */
	if (rows > 0 &&
	    ((size_t)rows >= q->limit ||
		rows < postgres_pipe_number(result, 0, COPY_COUNT)))
		snprintf(q->next, sizeof q->next, "%.*s",
		    SPAN_FMT(
			postgres_pipe_value(result, rows - 1, COPY_NUMBER)));
}

/* There is no table until something is put into it. */
static void
copies_ended(
    struct postgres_batch *batch, const struct postgres_trouble *trouble)
{
	struct postgres_question *q = of_batch(batch);
	bool is_there = trouble == NULL ||
	    !span_eq(span_str(trouble->state), SPAN("42P01"));
	if (trouble != NULL && trouble->lost) {
		end(q, E_BROKER_DOWN, NULL);
		return;
	}
	if (trouble != NULL && is_there) {
		end(q, E_BROKER_REFUSED, trouble->words);
		return;
	}
	if (q->question.op != NULL) {
		struct broker_copies *copies = CONTAINER_OF(
		    q->question.op, struct broker_copies, op);
		copies->messages = q->found;
		memcpy(copies->next, q->next, sizeof copies->next);
		q->found = NULL;
	}
	end(q, 0, NULL);
}

void
postgres_ask_copies(struct broker_reader *core, struct broker_copies *copies)
{
	struct postgres_reader *reader = postgres_of(core);
	struct postgres_question *q = mem_zero(sizeof *q);
	char limit[24];
	q->batch = (struct postgres_batch){
	    .result = copies_result, .end = copies_ended};
	q->limit = copies->limit;
	reader_ask_copies(core, copies, &q->question);
	if (!postgres_connect_is_ready(reader->connect)) {
		end(q, E_BROKER_DOWN, NULL);
		return;
	}
	struct postgres_pipe *pipe = postgres_connect_pipe(reader->connect);
	snprintf(limit, sizeof limit, "%zu", copies->limit);
	const struct span values[] = {
	    copies->after[0] != '\0' ? span_str(copies->after) : SPAN("0"),
	    span_str(core->source->name), span_str(limit)};
	postgres_pipe_begin(pipe, &q->batch);
	postgres_pipe_query(pipe, reader->sql.copies, values, 3);
	postgres_pipe_end(pipe);
}
