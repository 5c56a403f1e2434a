/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "lib/postgres.h"
#include "messages/broker/broker.h"

/*
 * A table of a real PostgreSQL, "outbox", and a reader of it on a loop, for the
 * tests of the client.  What the reader tells is written down.
 */
enum { OUTBOX_MOST = 20000 };

struct outbox {
	struct postgres *server;
	struct loop *loop;
	bool own_loop;
	struct conf_broker broker;
	struct conf_source source;
	struct broker_reader *reader;
	struct broker_message **took; /* those handed over; NULL: let go of */
	size_t n_took;
	uint64_t deleted;
	char origin[64]; /* as it was told last */
	unsigned origins; /* how often */
	size_t took_before; /* rows when it was told last */
	unsigned changes;
	size_t wanted; /* for the outbox_until functions */
};

/* The one server of the test program, which a group setup starts. */
extern struct postgres *outbox_server;
int outbox_start_server(void **state);
int outbox_stop_server(void **state);

/*
 * The source of a table that is not opened yet; other: it shares that one's
 * loop, or NULL.
 */
struct outbox *outbox_new(const struct outbox *other);
/* Opens the reader, with that credit. */
void outbox_open(struct outbox *outbox, unsigned credit);
/* Ends all. */
void outbox_free(struct outbox **outbox);

/* Debezium's table, anew, with that type of id. */
void outbox_table(struct postgres *server, const char *id_type);

/* Runs the loop until that is so; a test that waits too long fails. */
void outbox_until(
    struct outbox *outbox, bool (*so)(const struct outbox *outbox));
/* Until so many were handed over, in all. */
void outbox_until_took(struct outbox *outbox, size_t count);
/* Until it is up, or down. */
void outbox_until_up(struct outbox *outbox, bool up);
/* Runs the loop for so long: for what is not to happen. */
void outbox_run_ms(struct outbox *outbox, int64_t ms);

/* An acknowledgement, from its start to its end. */
struct outbox_finish {
	struct broker_finish finish;
	bool done;
};
/* Begins; message stays the caller's. */
void outbox_finish_begin(struct outbox *outbox, struct outbox_finish *finish,
    const struct broker_message *message, const struct broker_put *put);
/* Begins and waits; the error. */
int outbox_finish(struct outbox *outbox, struct outbox_finish *finish,
    const struct broker_message *message, const struct broker_put *put);
/* The same of a mark, that the copy of the position is done with. */
int outbox_mark(struct outbox *outbox, struct outbox_finish *finish,
    const char *position, const struct broker_put *put);
void outbox_until_done(
    struct outbox *outbox, const struct outbox_finish *finish);

/* Its position, payload … against a text. */
void outbox_assert_span(struct span span, const char *text);
