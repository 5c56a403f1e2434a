/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/hash.h"
#include "base/list.h"
#include "base/loop/log.h"
#include "messages/broker/broker.h"

/*
 * The core of readers: what is the same for every broker, of which driver.h
 * says what a driver adds.  A message is here in one of these states:
 *
 *     queued      in flight, and not handed over: there was no credit
 *     handed over in flight, and its owner's
 *     finishing   the same, and its acknowledgement waits, or was sent
 *
 * and in flight it is known by its position, so that it is never handed over
 * twice.  The core knows no connection and never decides that a message is
 * finished; it sends nothing.  What its owner calls is broker.h.  All of it on
 * the thread of its loop.
 *
 *     reader          credit, the queue, the turn's work, open and leave
 *     reader_flight   what is in flight
 *     reader_finish   acknowledgements: who waits for what
 *     reader_ask      questions: a page of copies
 *     reader_trouble  what is refused, said once
 */
struct driver;
struct finishing;

/* A message that is pending here.  A driver may have more of it behind this. */
struct flight {
	struct hash_item of_position;
	struct list of_reader; /* in the order in which they were taken */
	struct list of_queue;  /* not handed over yet; else in no list */
	struct broker_message *message; /* of the queue; NULL: its owner's */
	struct finishing *finishing;    /* NULL: it is not acknowledged */
	const void *token;              /* of the message */
	struct span position;           /* its bytes stand behind it */
	/*
	 * An acknowledgement was sent, and nobody heard what became of it: it
	 * may be finished.
	 */
	bool unsure;
	bool came_again; /* from the broker, while it was finishing */
};

/* An acknowledgement on its way; a driver may have more of it behind this. */
struct finishing {
	struct list of_reader; /* waiting, or sent */
	struct broker_reader *reader;
	/* NULL: its owner has given it up; what was sent happens anyway. */
	struct broker_finish *finish;
	struct flight *message; /* NULL: a mark, or forgotten since */
	bool sent;
};

/* A page of copies that is asked for; the first member of the driver's own. */
struct reader_question {
	struct list of_reader;
	struct broker_reader *reader;
	struct broker_copies *copies; /* NULL: its owner has given it up */
};

/* What is refused; what the log has heard already is not said again. */
struct trouble {
	struct list of_reader; /* the most pressing first */
	enum event event;
	int what;
	char *name, *words;
};

struct broker_reader {
	const struct driver *driver;
	struct loop *loop;
	const struct conf *conf; /* a reference; or NULL */
	const struct conf_source *source;
	char *instance, *store_id;
	int64_t lease_ms;
	size_t most_bytes;
	bool sole;
	struct broker_events events;
	int64_t timeout_ms; /* of an acknowledgement or question; 0: none */
	int64_t leave_ms;   /* how long it may leave */

	/* In flight; queued ones in the order in which they are handed over. */
	struct hash by_position;
	struct list in_flight, queue;
	size_t queued, queued_bytes;
	unsigned credit;
	size_t credit_bytes;
	size_t usual_bytes; /* of a message lately, rather more; 0: unknown */

	/* Acknowledgements that wait, in their order, and those sent. */
	struct list waiting, sent;
	bool reachable;     /* else they end at once */
	struct timer again; /* set: none is sent before it fires */
	struct list questions;

	struct list troubles;
	char *away; /* why the broker is; NULL: it answers */
	bool refuses; /* and that it does not let us in */

	struct task work;
	struct timer pause; /* set: nothing is taken before it fires */
	bool changed;       /* the owner is to look at the health */
	bool leaving;       /* it was closed */
	struct list of_leaving;
	struct timer end;
};

/* Begins, with no credit yet. */
struct broker_reader *reader_open(
    const struct driver *driver, const struct broker_start *start);
/* Its owner has closed it: it gives back what it has, and is freed. */
void reader_leave(struct broker_reader *reader);

/* Later in this turn: hands over, acknowledges, takes. */
static inline void
reader_kick(struct broker_reader *reader)
{
	task_ready(reader->loop, &reader->work);
}

/* The health is another one: the owner hears of it later in this turn. */
static inline void
reader_changed(struct broker_reader *reader)
{
	reader->changed = true;
	reader_kick(reader);
}

/*
 * How many messages may be asked for: as many as there is credit for, in number
 * and in bytes, by the sizes that were seen lately, and beyond those queued.
 */
size_t reader_room(const struct broker_reader *reader);
/* The same in the arena, or ptr NULL where that is NULL.  Any thread. */
struct span reader_copy(struct arena *arena, struct span text);
/* What the newest copy in the broker's place says; "": there is none. */
void reader_origin(struct broker_reader *reader, struct span store_id);

/*
 * How many readers of that loop were closed and still give back what they had.
 * A drain waits for 0.
 */
size_t reader_leaving(const struct loop *loop);
/* Frees those at once; before the loop is freed. */
void reader_abandon(struct loop *loop);

/* --- what is in flight --- */

/*
 * NULL: it is not in flight.  An item's address is good until it is forgotten.
 */
struct flight *reader_flight_find(
    const struct broker_reader *reader, struct span position);
/* A message that is not in flight, which the queue owns from now on. */
struct flight *reader_flight_add(
    struct broker_reader *reader, struct broker_message *message);
/* A message was so large as it came; reader_flight_add says what it takes. */
void reader_flight_weigh(struct broker_reader *reader, size_t bytes);
/* It is not in flight any more; frees its message, too, where it is queued. */
void reader_flight_forget(
    struct broker_reader *reader, struct flight *message);
/* All that is queued: it is not handed over, and comes again. */
void reader_flight_forget_queue(struct broker_reader *reader);
/*
 * All with that token are somebody else's, or come again: they are forgotten,
 * and the owner is told first.
 */
void reader_flight_recall(struct broker_reader *reader, const void *token);
/*
 * So many are gone, which is logged, and the owner told.  position: of one,
 * which is forgotten if it is in flight; empty: of others.  part: where, for
 * the log; or NULL.
 */
void reader_flight_lost(struct broker_reader *reader, enum broker_loss how,
    uint64_t count, struct span position, const char *part);

/* --- acknowledgements --- */

/* Moves it from waiting to sent, before the driver sends it. */
void reader_finish_send(struct finishing *finishing);
/*
 * Each ends one, waiting or sent, and frees it.  The first: it is done, or
 * found not to be pending, and not in flight any more; or it is locked.
 */
void reader_finish_end(
    struct finishing *finishing, enum broker_finished finished);
/* The broker would not take it: nothing has happened. */
void reader_finish_refuse(struct finishing *finishing, struct span words,
    enum broker_fault fault);
/* It is not known whether it is done; sure: it is known that it is not. */
void reader_finish_fail(struct finishing *finishing, bool sure);
/*
 * Nothing has happened, and it is to be sent again, before all that waits, and
 * in ms at the earliest; one that was given up is ended.
 */
void reader_finish_again(struct finishing *finishing, int64_t ms);
/*
 * There is no connection, and none soon.  All that waits ends with
 * E_BROKER_DOWN, as does what is started until it is back.
 */
void reader_finish_unreachable(struct broker_reader *reader);

/* --- questions --- */

/*
 * A copy's position, or a mark's, is where its message stood; "": that is not
 * said.  Pure; any thread.
 */
void reader_ask_place(struct broker_message *copy);
/* Starts the operation; the question is the driver's until reader_ask_end. */
void reader_ask_copies(struct broker_reader *reader,
    struct broker_copies *copies, struct reader_question *question);
/*
 * Ends it; NULL: nothing is refused.  The driver frees it, and looks whether
 * there are copies before it sets what the owner asked for.
 */
void reader_ask_end(
    struct reader_question *question, int error, const char *refused);

/* --- what is refused --- */

/*
 * The broker answers, and refuses something: what (a driver's own number; the
 * lowest is the most pressing) and of which name ("": of none).  It is logged
 * where the words are new.
 */
void reader_trouble_begin(struct broker_reader *reader, int what,
    const char *name, struct span words);
/* The same, by another event than that it is refused. */
void reader_trouble_say(struct broker_reader *reader, enum event event,
    int what, const char *name, struct span words);
/* Not any more; name NULL: whatever it is of. */
void reader_trouble_end(
    struct broker_reader *reader, int what, const char *name);
bool reader_trouble_is(
    const struct broker_reader *reader, int what, const char *name);
/* The broker answers, or does not; the log has each change once. */
void reader_trouble_back(struct broker_reader *reader);
/* refuses: it is there, and does not let us in. */
void reader_trouble_away(
    struct broker_reader *reader, const char *why, bool refuses);
