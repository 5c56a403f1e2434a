/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/error.h"
#include "base/mem.h"
#include "messages/broker/postgres_private.h"

/* Dead letters in pages, in the order of their numbers. */
enum { LETTER_VALUES = 5 };

struct postgres_page {
	struct postgres_batch batch;
	struct postgres_reader *reader;
	struct broker_letters *letters; /* NULL: given up */
	size_t rows;
};

/* --- a letter --- */

static struct span
copy_column(struct arena *arena, const PGresult *result, int at,
    enum postgres_letter column)
{
	struct span value = postgres_pipe_value(result, at, (int)column);
	return value.ptr != NULL ? arena_dup(arena, value) : POSTGRES_NULL;
}

static bool
is_so(const PGresult *result, int at, enum postgres_letter column)
{
	return span_eq(
	    postgres_pipe_value(result, at, (int)column), SPAN("true"));
}

static size_t
letter_bytes(const struct broker_message *m)
{
	size_t bytes = sizeof *m + m->position.len + m->payload.len +
	    m->entity.len + m->type.len;
	for (size_t i = 0; i < m->fields.count; i++)
		bytes += sizeof(struct field) + m->fields.list[i].name.len +
		    m->fields.list[i].value.len;
	return bytes;
}

static struct broker_message *
read_letter(
    const struct postgres_page *page, const PGresult *result, int at)
{
	struct arena *arena = arena_new();
	struct broker_message *m = arena_alloc(arena, sizeof *m);
	m->arena = arena;
	m->letter = copy_column(arena, result, at, LETTER_NUMBER);
	m->position = copy_column(arena, result, at, LETTER_ID);
	m->entity = copy_column(arena, result, at, LETTER_ENTITY);
	m->type = copy_column(arena, result, at, LETTER_TYPE);
	m->payload = copy_column(arena, result, at, LETTER_PAYLOAD);
	m->has_payload = m->payload.ptr != NULL;
	m->key = POSTGRES_NULL;
	m->time_ms = -1;
	m->again = true;
	m->odd = postgres_message_fields(
	    m, postgres_pipe_value(result, at, LETTER_HEADERS));
	if (is_so(result, at, LETTER_IS_NULL))
		m->odd = "its payload is null";
	m->too_large = is_so(result, at, LETTER_TOO_LARGE);
	m->foreign = page->reader->sql.parts > 1 &&
	    page->reader->source->order_by != SOURCE_ORDER_NONE &&
	    !postgres_parts_has(page->reader,
		postgres_pipe_number(result, at, LETTER_PART));
	m->bytes = letter_bytes(m);
	return m;
}

/* --- a page --- */

static void
take_rows(struct postgres_batch *batch, unsigned statement,
    const PGresult *result)
{
	struct postgres_page *page =
	    CONTAINER_OF(batch, struct postgres_page, batch);
	struct broker_letters *letters = page->letters;
	if (letters == NULL)
		return;
	if (statement > 0) {
		letters->pending = span_eq(
		    postgres_pipe_value(result, 0, 0), SPAN("true"));
		return;
	}
	struct broker_message **end = &letters->messages;
	page->rows = (size_t)PQntuples(result);
	for (int i = 0; i < PQntuples(result); i++) {
		*end = read_letter(page, result, i);
		snprintf(letters->next, sizeof letters->next, "%.*s",
		    SPAN_FMT((*end)->letter));
		end = &(*end)->next;
	}
}

/* There is no table until something is put into it. */
static bool
is_no_table(const struct postgres_trouble *trouble)
{
	return !trouble->lost && strcmp(trouble->state, "42P01") == 0;
}

/* The look for the message itself: its id is none that the table can have. */
static bool
is_no_id(const struct postgres_trouble *trouble)
{
	return !trouble->lost && trouble->statement == 1 &&
	    strncmp(trouble->state, "22", 2) == 0;
}

static int
error_of(const struct postgres_page *page,
    const struct postgres_trouble *trouble)
{
	if (trouble == NULL || is_no_table(trouble) || is_no_id(trouble))
		return 0;
	if (trouble->lost)
		return page->reader->closed ? E_CANCELLED : E_BROKER_DOWN;
	snprintf(page->letters->refused, sizeof page->letters->refused, "%s",
	    trouble->words);
	return E_BROKER_REFUSED;
}

static void
page_ended(
    struct postgres_batch *batch, const struct postgres_trouble *trouble)
{
	struct postgres_page *page =
	    CONTAINER_OF(batch, struct postgres_page, batch);
	struct broker_letters *letters = page->letters;
	if (letters != NULL) {
		if (page->rows < letters->limit)
			letters->next[0] = '\0';
		op_done(&letters->op, error_of(page, trouble));
	}
	free(page);
}

static void
send_page(struct postgres_page *page)
{
	const struct broker_letters *letters = page->letters;
	char limit[24];
	snprintf(limit, sizeof limit, "%zu", letters->limit);
	const struct span values[LETTER_VALUES] = {
	    letters->after[0] != '\0' ? span_str(letters->after) : SPAN("0"),
	    span_str(page->reader->source->name),
	    letters->position.len > 0 ? letters->position : SPAN(""),
	    span_str(limit), letters->brief ? SPAN("brief") : SPAN("")};
	page->batch = (struct postgres_batch){
	    .result = take_rows, .end = page_ended};
	postgres_pipe_begin(page->reader->pipe, &page->batch);
	postgres_pipe_query(page->reader->pipe, page->reader->sql.letters,
	    values, LETTER_VALUES);
	if (letters->look)
		postgres_pipe_query(page->reader->pipe,
		    page->reader->sql.pending, &letters->position, 1);
	postgres_pipe_end(page->reader->pipe);
}

/* Its owner gives it up; the pipe ends the batch all the same. */
static void
leave_page(struct op *op, int error)
{
	(void)error;
	struct broker_letters *letters =
	    CONTAINER_OF(op, struct broker_letters, op);
	((struct postgres_page *)letters->token)->letters = NULL;
}

void
postgres_letters_ask(
    struct postgres_reader *reader, struct broker_letters *letters)
{
	letters->messages = NULL;
	letters->pending = false;
	letters->next[0] = letters->refused[0] = '\0';
	op_start(&letters->op, 0, leave_page);
	if (!reader->ready || reader->sql.letters == NULL) {
		op_done(&letters->op, E_BROKER_DOWN);
		return;
	}
	struct postgres_page *page = mem_zero(sizeof *page);
	page->reader = reader;
	page->letters = letters;
	letters->token = page;
	send_page(page);
}
