/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/error.h"
#include "base/mem.h"
#include "messages/broker/postgres_private.h"

/*
 * Dead letters in pages, in the order of their numbers.  What was marked was
 * deleted: there are no marks among them.
 */
struct copies_page {
	struct postgres_batch batch;
	struct postgres_reader *reader;
	struct broker_copies *copies; /* NULL: given up */
};

static struct span
copy(struct arena *arena, const PGresult *result, int at,
    enum postgres_copy column)
{
	struct span value = postgres_pipe_value(result, at, (int)column);
	return value.ptr != NULL ? arena_dup(arena, value) : POSTGRES_NULL;
}

static struct broker_message *
read_copy(const PGresult *result, int at)
{
	struct arena *arena = arena_new();
	struct broker_message *m = arena_alloc(arena, sizeof *m);
	m->arena = arena;
	m->position = copy(arena, result, at, COPY_ID);
	m->entity = copy(arena, result, at, COPY_ENTITY);
	m->type = copy(arena, result, at, COPY_TYPE);
	m->payload = copy(arena, result, at, COPY_PAYLOAD);
	m->has_payload = m->payload.ptr != NULL;
	m->is_null = postgres_pipe_true(result, at, COPY_IS_NULL);
	m->too_large = postgres_pipe_true(result, at, COPY_TOO_LARGE);
	m->key = POSTGRES_NULL;
	m->time_ms = -1;
	m->again = true;
	m->odd = postgres_row_fields(
	    m, postgres_pipe_value(result, at, COPY_HEADERS));
	m->bytes = sizeof *m + m->position.len + m->payload.len +
	    m->entity.len + m->type.len;
	for (size_t i = 0; i < m->fields.count; i++) {
		const struct field *f = &m->fields.list[i];
		m->bytes += sizeof *f + f->name.len + f->value.len;
		if (span_eq(f->name, SPAN("onceproxy-position")))
			m->position = f->value;
	}
	return m;
}

static void
take_rows(struct postgres_batch *batch, unsigned statement,
    const PGresult *result)
{
	struct broker_copies *copies =
	    CONTAINER_OF(batch, struct copies_page, batch)->copies;
	int rows = PQntuples(result);
	(void)statement;
	if (copies == NULL)
		return;
	struct broker_message **end = &copies->messages;
	for (int i = 0; i < rows; i++, end = &(*end)->next)
		*end = read_copy(result, i);
	/* Where it is full, or cut to size, there may be more. */
	if (rows > 0 &&
	    ((size_t)rows >= copies->limit ||
		rows < postgres_pipe_number(result, 0, COPY_COUNT)))
		snprintf(copies->next, sizeof copies->next, "%.*s",
		    SPAN_FMT(
			postgres_pipe_value(result, rows - 1, COPY_NUMBER)));
}

/* There is no table until something is put into it. */
static void
page_ended(struct postgres_batch *batch, const struct postgres_trouble *trouble)
{
	struct copies_page *page =
	    CONTAINER_OF(batch, struct copies_page, batch);
	struct broker_copies *copies = page->copies;
	int error = 0;
	if (copies != NULL && trouble != NULL && trouble->lost) {
		error = postgres_note_error(page->reader);
	} else if (copies != NULL && trouble != NULL &&
	    !span_eq(span_str(trouble->state), SPAN("42P01"))) {
		error = E_BROKER_REFUSED;
		snprintf(copies->refused, sizeof copies->refused, "%s",
		    trouble->words);
	}
	if (copies != NULL && error != 0)
		broker_messages_free(&copies->messages);
	if (copies != NULL)
		op_done(&copies->op, error);
	free(page);
}

/* Its owner gives it up; the pipe ends the batch all the same. */
static void
leave_page(struct op *op, int error)
{
	struct broker_copies *copies =
	    CONTAINER_OF(op, struct broker_copies, op);
	(void)error;
	((struct copies_page *)copies->token)->copies = NULL;
	broker_messages_free(&copies->messages);
}

void
postgres_copies_ask(
    struct broker_reader *base, struct broker_copies *copies)
{
	struct postgres_reader *reader = postgres_of(base);
	struct postgres_pipe *pipe = postgres_connect_pipe(reader->connect);
	char limit[24];
	copies->messages = NULL;
	copies->next[0] = copies->refused[0] = '\0';
	op_start(&copies->op, 0, leave_page);
	if (!postgres_connect_is_ready(reader->connect)) {
		op_done(&copies->op, E_BROKER_DOWN);
		return;
	}
	struct copies_page *page = mem_zero(sizeof *page);
	page->reader = reader;
	page->copies = copies;
	copies->token = page;
	snprintf(limit, sizeof limit, "%zu", copies->limit);
	const struct span values[] = {
	    copies->after[0] != '\0' ? span_str(copies->after) : SPAN("0"),
	    span_str(reader->source->name), span_str(limit)};
	page->batch = (struct postgres_batch){
	    .result = take_rows, .end = page_ended};
	postgres_pipe_begin(pipe, &page->batch);
	postgres_pipe_query(pipe, reader->sql.copies, values, 3);
	postgres_pipe_end(pipe);
}
