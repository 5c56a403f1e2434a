/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "base/container.h"
#include "base/loop/log.h"
#include "messages/broker/postgres_private.h"

/*
 * A row is finished, and something is put, in one statement.  Where that is
 * refused, the same without a row and without a put shows whose fault it is:
 * that of the table itself, whose source then stands, or of what is put into.
 * As long as it is the table's it is looked at again and again, as nothing else
 * may come to be finished.  A refusal is judged by its SQLSTATE, since its
 * words are in any language.
 */
enum { AGAIN_MS = 2000 };

/* --- what a refusal is about --- */

/* The first two characters of a SQLSTATE are its class. */
static bool
is_of(const struct postgres_trouble *trouble, const char *const *states)
{
	for (; *states != NULL; states++)
		if (strncmp(trouble->state, *states, strlen(*states)) == 0)
			return true;
	return false;
}

bool
postgres_own_is_lock(const struct postgres_trouble *trouble)
{
	return strcmp(trouble->state, "55P03") == 0;
}

bool
postgres_own_may_pass(const struct postgres_trouble *trouble)
{
	static const char *const states[] = {"08", "40", "53", "55", "57",
	    "58", "25", "26", "0A000", NULL};
	return is_of(trouble, states) && !postgres_own_is_lock(trouble);
}

bool
postgres_own_needs_another(const struct postgres_trouble *trouble)
{
	static const char *const states[] = {
	    "25006", "26000", "0A000", "57P", NULL};
	return is_of(trouble, states);
}

/*
 * Values that no column of theirs can have, constraints, what a view checks,
 * limits of a row or of an index, what is raised, pages that are broken, and
 * what takes too long, in a trigger perhaps.
 */
bool
postgres_own_is_of_row(const struct postgres_trouble *trouble)
{
	static const char *const states[] = {"09", "21", "22", "23", "27",
	    "38", "39", "44", "54", "57014", "P0", "XX", NULL};
	return is_of(trouble, states) ||
	    (trouble->by_rule && !postgres_own_may_pass(trouble) &&
		!postgres_own_is_lock(trouble));
}

bool
postgres_own_is_of_shape(const struct postgres_trouble *trouble)
{
	static const char *const states[] = {
	    "42P01", "42703", "42804", "42883", "3F", NULL};
	return is_of(trouble, states);
}

/* --- the look --- */

static void
ignore_none(struct postgres_batch *batch, unsigned statement,
    const PGresult *result)
{
	(void)batch;
	(void)statement;
	(void)result;
}

static void
stand(struct postgres_reader *reader, const struct postgres_trouble *trouble)
{
	if (strcmp(reader->message, trouble->words) != 0) {
		struct logline line = log_begin(EV_source_refused);
		log_str(&line, "source", reader->source->name);
		log_str(&line, "error", trouble->words);
		log_end(&line);
	}
	reader->own.stands = true;
	postgres_note(reader, trouble->words);
	postgres_changed(reader);
	timer_set(&reader->own.again, AGAIN_MS);
}

void
postgres_own_well(struct postgres_reader *reader)
{
	if (!reader->own.stands)
		return;
	reader->own.stands = false;
	timer_clear(&reader->own.again);
	postgres_note(reader, "");
	postgres_changed(reader);
}

/* Of another table, another statement is to be made. */
static void
look_ended(struct postgres_batch *batch, const struct postgres_trouble *trouble)
{
	struct postgres_reader *reader =
	    CONTAINER_OF(batch, struct postgres_reader, own.batch);
	struct postgres_own *own = &reader->own;
	struct postgres_finish_item *item;
	struct postgres_trouble found = {0};
	if (trouble != NULL)
		found = *trouble;
	own->looking = false;
	bool another = trouble != NULL && !found.lost &&
	    (postgres_own_is_of_shape(&found) ||
		postgres_own_may_pass(&found));
	if (trouble != NULL && !found.lost && !another)
		stand(reader, &found);
	else if (trouble == NULL)
		postgres_own_well(reader);
	found.lost |= another;
	while ((item = own->waiting) != NULL) {
		own->waiting = item->next;
		postgres_finish_looked(
		    reader, item, trouble != NULL ? &found : NULL);
	}
	if (another)
		postgres_down(reader, found.words);
}

static void
look_at_table(struct postgres_reader *reader)
{
	struct postgres_own *own = &reader->own;
	const struct span nothing[] = {POSTGRES_NULL, POSTGRES_NULL};
	if (own->looking || !reader->ready)
		return;
	own->looking = true;
	own->batch = (struct postgres_batch){
	    .result = ignore_none, .end = look_ended};
	postgres_pipe_begin(reader->pipe, &own->batch);
	postgres_pipe_run(reader->pipe, "finish0", nothing, 2);
	postgres_pipe_end(reader->pipe);
}

static void
look_once_more(void *arg)
{
	look_at_table(arg);
}

void
postgres_own_ask(
    struct postgres_reader *reader, struct postgres_finish_item *item,
    const struct postgres_trouble *trouble)
{
	item->trouble = *trouble;
	item->next = reader->own.waiting;
	reader->own.waiting = item;
	look_at_table(reader);
}

void
postgres_own_down(struct postgres_reader *reader)
{
	reader->own.stands = false;
	timer_clear(&reader->own.again);
}

void
postgres_own_init(struct postgres_reader *reader)
{
	timer_init(&reader->own.again, reader->loop, look_once_more, reader);
}
