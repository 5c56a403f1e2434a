/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/error.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "messages/broker/postgres.h"
#include "messages/broker/postgres_private.h"

enum {
	GOOD_MS = 1000, /* a connection that lived so long was a good one */
	COUNT_EVERY_MS = 10000,
};

static struct postgres_reader *
of(struct broker_reader *reader)
{
	return (struct postgres_reader *)(void *)reader;
}

/* --- what the owner is told --- */

void
postgres_changed(struct postgres_reader *reader)
{
	if (!reader->closed)
		task_ready(reader->loop, &reader->tell);
}

static void
tell_changed(void *arg)
{
	struct postgres_reader *reader = arg;
	reader->events.changed(reader->events.arg);
}

void
postgres_note(struct postgres_reader *reader, const char *words)
{
	if (strcmp(reader->message, words) == 0)
		return;
	snprintf(reader->message, sizeof reader->message, "%s", words);
	postgres_changed(reader);
}

static struct logline
log_of(const struct postgres_reader *reader, enum event event)
{
	struct logline line = log_begin(event);
	log_str(&line, "source", reader->source->name);
	log_str(&line, "broker", reader->source->broker->name);
	return line;
}

/* The same trouble again is not said again. */
static void
log_down(struct postgres_reader *reader, enum event event, const char *why)
{
	if (!reader->up && strcmp(reader->message, why) == 0)
		return;
	struct logline line = log_of(reader, event);
	log_str(&line, "error", why);
	log_end(&line);
	reader->up = false;
	postgres_note(reader, why);
	postgres_changed(reader);
}

/* --- the connection --- */

void
postgres_ready(struct postgres_reader *reader)
{
	reader->ready = true;
	reader->ready_ms = loop_now_ms(reader->loop);
	reader->up = true;
	/* The first time it answers not "again". */
	if (reader->message[0] != '\0') {
		struct logline line = log_of(reader, EV_source_broker_up);
		log_end(&line);
	}
	reader->message[0] = '\0';
	postgres_changed(reader);
	postgres_parts_up(reader);
	postgres_pump(reader);
}

static void
drop_connection(struct postgres_reader *reader)
{
	reader->ready = false;
	/* Its batches end within this. */
	postgres_pipe_free(&reader->pipe);
	arena_free(&reader->arena);
	postgres_take_down(reader);
	postgres_parts_down(reader);
	postgres_put_down(reader);
	postgres_own_down(reader);
	postgres_finish_drop(
	    reader, reader->closed ? E_CANCELLED : E_BROKER_DOWN);
}

static void
go_down(struct postgres_reader *reader, enum event event, const char *why)
{
	if (reader->closed || reader->pipe == NULL)
		return;
	char words[sizeof reader->message];
	snprintf(words, sizeof words, "%s", why);
	bool good = reader->ready &&
	    loop_now_ms(reader->loop) - reader->ready_ms > GOOD_MS;
	drop_connection(reader);
	log_down(reader, event, words);
	postgres_connect_begin(reader->connect, good);
}

void
postgres_down(struct postgres_reader *reader, const char *why)
{
	go_down(reader, EV_source_refused, why);
}

void
postgres_trouble(struct postgres_reader *reader,
    const struct postgres_trouble *trouble)
{
	if (trouble != NULL && !trouble->lost)
		postgres_down(reader, trouble->words);
}

static void
pipe_notified(void *arg)
{
	postgres_take_wake(arg);
}

static void
pipe_broke(void *arg, const char *why)
{
	go_down(arg, EV_source_broker_down, why);
}

static void
connection_made(void *arg, PGconn *conn)
{
	struct postgres_reader *reader = arg;
	struct postgres_pipe_events events = {
	    pipe_notified, pipe_broke, reader};
	reader->session++;
	reader->pipe = postgres_pipe_new(reader->loop, conn, &events);
	reader->arena = arena_new();
	postgres_setup_begin(reader);
}

static void
connection_failed(void *arg, const char *why)
{
	log_down(arg, EV_source_broker_down, why);
}

/* --- how many rows are unread --- */

/* Of those that were counted; once, until there are none any more. */
static void
note_no_ids(struct postgres_reader *reader, int64_t count)
{
	static const char words[] =
	    "rows are never taken, because their id is null";
	bool had = reader->has_no_ids;
	reader->has_no_ids = count > 0;
	if (count == 0 && had && strcmp(reader->message, words) == 0)
		postgres_note(reader, "");
	if (count == 0)
		return;
	if (reader->message[0] == '\0')
		postgres_note(reader, words);
	if (had)
		return;
	struct logline line = log_of(reader, EV_source_row_no_id);
	log_str(&line, "table", reader->source->table);
	log_int(&line, "rows", count);
	log_end(&line);
}

static void
counted(struct postgres_batch *batch, unsigned statement,
    const PGresult *result)
{
	(void)statement;
	struct postgres_reader *reader =
	    CONTAINER_OF(batch, struct postgres_reader, counting);
	int64_t unread = postgres_pipe_number(result, 0, 0);
	int64_t hand = reader->hand.count;
	reader->lag = unread > hand ? unread - hand : 0;
	note_no_ids(reader, postgres_pipe_number(result, 0, 1));
}

static void
count_ended(struct postgres_batch *batch,
    const struct postgres_trouble *trouble)
{
	struct postgres_reader *reader =
	    CONTAINER_OF(batch, struct postgres_reader, counting);
	reader->counting_now = false;
	reader->count_next_ms = loop_now_ms(reader->loop) + COUNT_EVERY_MS;
	if (trouble != NULL)
		reader->lag = -1;
	postgres_changed(reader);
}

static void
count_unread(struct postgres_reader *reader)
{
	if (reader->counting_now ||
	    loop_now_ms(reader->loop) < reader->count_next_ms)
		return;
	reader->counting_now = true;
	reader->counting = (struct postgres_batch){
	    .result = counted, .end = count_ended};
	postgres_pipe_begin(reader->pipe, &reader->counting);
	postgres_pipe_query(reader->pipe, reader->sql.count, NULL, 0);
	postgres_pipe_end(reader->pipe);
}

/* --- the client --- */

static void
pump(void *arg)
{
	struct postgres_reader *reader = arg;
	if (!reader->ready)
		return;
	postgres_finish_go_on(reader);
	postgres_take_go_on(reader);
	count_unread(reader);
}

void
postgres_pump(struct postgres_reader *reader)
{
	if (!reader->closed)
		task_ready(reader->loop, &reader->pump);
}

static struct broker_reader *
reader_open(const struct broker_start *start)
{
	struct postgres_reader *reader = mem_zero(sizeof *reader);
	reader->reader.client = &postgres_client;
	reader->loop = start->loop;
	reader->source = start->source;
	reader->events = *start->events;
	reader->most_bytes = start->most_bytes;
	reader->lag = -1;
	task_init(&reader->pump, pump, reader);
	task_init(&reader->tell, tell_changed, reader);
	postgres_take_init(reader);
	postgres_parts_init(reader);
	postgres_put_init(reader);
	postgres_own_init(reader);
	postgres_finish_init(reader);
	struct postgres_connect_events events = {
	    connection_made, connection_failed, reader};
	reader->connect = postgres_connect_new(
	    start->loop, start->source->broker, start->instance, &events);
	postgres_connect_begin(reader->connect, true);
	return &reader->reader;
}

static void
reader_close(struct broker_reader *base)
{
	struct postgres_reader *reader = of(base);
	reader->closed = true;
	task_cancel(&reader->pump);
	task_cancel(&reader->tell);
	postgres_connect_free(&reader->connect);
	drop_connection(reader);
	postgres_take_free(reader);
	postgres_hand_clear(&reader->hand);
	loop_rest(reader->loop, reader, free);
}

static void
reader_credit(struct broker_reader *base, unsigned credit)
{
	of(base)->credit = credit;
	postgres_pump(of(base));
}

static void
reader_finish(struct broker_reader *base, struct broker_finish *finish)
{
	postgres_finish_ask(of(base), finish);
}

static void
reader_read_again(struct broker_reader *base, struct broker_again *again)
{
	postgres_again_ask(of(base), again);
}

static void
reader_letters(struct broker_reader *base, struct broker_letters *letters)
{
	postgres_letters_ask(of(base), letters);
}

static void
reader_give_back(
    struct broker_reader *base, const struct broker_message *message)
{
	struct postgres_reader *reader = of(base);
	struct postgres_row *row =
	    postgres_hand_find(&reader->hand, message->position);
	if (row == NULL)
		return;
	postgres_hand_remove(&reader->hand, row);
	postgres_take_from_start(reader);
}

static struct broker_health
reader_health(const struct broker_reader *base)
{
	const struct postgres_reader *reader =
	    (const struct postgres_reader *)(const void *)base;
	return (struct broker_health){.up = reader->up,
	    .stands = reader->own.stands,
	    .message = reader->message,
	    .lag = reader->up ? reader->lag : -1,
	    .rebalances = reader->parts.changes};
}

const struct broker_client postgres_client = {
    .open = reader_open,
    .close = reader_close,
    .credit = reader_credit,
    .finish = reader_finish,
    .read_again = reader_read_again,
    .letters = reader_letters,
    .give_back = reader_give_back,
    .health = reader_health,
};
