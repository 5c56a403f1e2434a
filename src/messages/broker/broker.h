/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "base/counter.h"
#include "base/field.h"
#include "base/loop/op.h"
#include "conf/conf.h"

/*
 * A reader takes the messages of one source from its broker, as many as it is
 * given credit for, and acknowledges each when it is told to, with a result or
 * a dead letter in the same atomic step.  It connects, and connects again, by
 * itself.  It knows no gate, no route and no record, and never decides that a
 * message is finished.  One driver for each kind of broker is behind it
 * (driver.h; messages/brokers.h opens them), the only one to see its library.
 * The thread of its loop only.
 *
 * What a broker says is data: what is odd in it is a message that says so, or
 * an end of the connection, never one of the process.
 */
struct broker_reader;

/* A message, as its broker has it; all of it is in its arena. */
struct broker_message {
	struct broker_message *next; /* whoever holds it */
	struct arena *arena; /* broker_message_free */
	size_t bytes; /* what it takes, for budgets */
	/*
	 * Where it stands: the id of an entry of a stream, the id of a row.  No
	 * other message of its source has the same one, ever.  Of a copy or a
	 * mark, where its message stood.
	 */
	struct span position;
	struct fields fields; /* headers, or all fields of a Redis entry */
	/* False: a Redis entry, which is its fields; or it has no value. */
	bool has_payload;
	struct span payload;
	struct span key;    /* Kafka's; ptr NULL: it has none */
	struct span entity; /* the column; ptr NULL: none */
	struct span type;   /* the column; ptr NULL: none */
	/*
	 * "TOPIC/PARTITION" of Kafka, with which its position begins: there is
	 * no order beyond that; ptr NULL: its source is one whole.
	 */
	struct span part;
	int64_t time_ms;    /* when it was made, ms since 1970; -1: not known */
	bool again; /* it has been given to some reader before */
	/*
	 * Why it cannot be used, a sentence; NULL: it can.  Its position is
	 * right all the same, and fields may have what was read.
	 */
	const char *odd;
	bool too_large; /* its size is beyond what a reader takes */
	/*
	 * A result of it may have been put before, as its group was set back:
	 * it matters where its record is COMPLETED already.
	 */
	bool may_be_put;
	void *token; /* the client's own; NULL: none */
};

/* With those behind it, by next.  Sets the pointer to NULL, accepts NULL. */
static inline void
broker_message_free(struct broker_message **message)
{
	struct broker_message *m = *message;
	*message = NULL;
	while (m != NULL) {
		struct arena *arena = m->arena;
		m = m->next;
		arena_free(&arena);
	}
}

/* How messages went missing (contract, section 13). */
enum broker_loss {
	BROKER_TRIMMED_UNREAD,
	BROKER_TRIMMED_PENDING,
	BROKER_DELETED,
	BROKER_LOSS_COUNT_,
};

extern const char *const broker_losses[BROKER_LOSS_COUNT_];

/* How a transaction ended in which something was put. */
enum broker_transaction {
	BROKER_COMMITTED,
	BROKER_ABORTED, /* nothing of it has happened */
	BROKER_FENCED,  /* another reader has its name now */
	BROKER_UNCLEAR, /* nobody said: what is committed is asked for */
	BROKER_TRANSACTION_COUNT_,
};

/* What a reader tells its owner, from the loop and never from within a call. */
struct broker_events {
	/*
	 * A message, in the source's order; it is the owner's now, and counts
	 * against its credit.  One that is pending here already does not come
	 * twice on one reader, unless it was given back.  False: the owner has
	 * no memory for it; it is handed over when there is credit anew.
	 */
	bool (*took)(void *arg, struct broker_message *message);
	/*
	 * So many messages are gone.  position: of one that was pending here,
	 * which is to be forgotten without an acknowledgement; else empty.
	 */
	void (*lost)(void *arg, enum broker_loss how, uint64_t count,
	    struct span position);
	/* Something of broker_reader_health is another one. */
	void (*changed)(void *arg);
	/*
	 * All messages with that token are somebody else's now, or come again:
	 * they are to be forgotten without an acknowledgement.  There may be
	 * none.  Of Kafka and PostgreSQL.
	 */
	void (*recalled)(void *arg, const void *token);
	/*
	 * Which store wrote the newest copy in the broker's place for dead
	 * letters (its onceproxy-store); "": none is there.  Once after each
	 * connection, or for each partition, before any message of it is handed
	 * over.
	 */
	void (*origin)(void *arg, struct span store_id);
	void *arg;

	/* The others are of Kafka alone. */

	/*
	 * What is kept of that part of the source is wanted, and what an
	 * operator has decided of it: the answer is broker_reader_floor(), at
	 * any time; asked again, any of them is one.  Or the part stands,
	 * unproven, until an operator has decided.
	 */
	void (*floor_wanted)(void *arg, const char *part, bool unproven);
	/*
	 * That is to be kept of the part, unless what is kept begins with a
	 * greater number; anew: whatever that begins with, and what was decided
	 * of it is used.
	 */
	void (*floor)(
	    void *arg, const char *part, struct span floor, bool anew);
	/* Transactions of the reader's own, by how they have ended. */
	struct counter *transactions;
};

struct broker_start {
	struct loop *loop;
	const struct conf *conf;
	const struct conf_source *source; /* of conf; both outlive the reader */
	const char *instance; /* this gateway's name: [A-Za-z0-9._-]+ */
	struct span store_id; /* of the records' store; "": not known */
	int64_t lease_ms;     /* others' messages are taken after twice that */
	size_t most_bytes; /* the longest payload; a longer one is too_large */
	/*
	 * Nobody else reads this source while this reader does (an order): what
	 * is pending for others is taken first, at once, in order.
	 */
	bool sole;
	const struct broker_events *events; /* copied */
};

/*
 * Gives back all that it took and what is not finished, at once where the
 * broker allows that, so that others need not wait for it; operations that are
 * pending end with E_CANCELLED, or E_TIMEOUT's kin.  Nulls the pointer, accepts
 * NULL.
 */
void broker_reader_close(struct broker_reader **reader);

/*
 * How many messages it may hand over from now on, and of how many bytes; each
 * that it hands over takes its share away.  It asks its broker for no more than
 * that, by the sizes that it has seen lately, and may have one message more.
 * 0 of either: it takes nothing, and what it keeps alive stays alive.
 */
void broker_reader_credit(
    struct broker_reader *reader, unsigned messages, size_t bytes);

/*
 * Where something is put together with an acknowledgement; its owner's alone is
 * NOWHERE, while there is nothing to put.
 */
enum broker_place { BROKER_NOWHERE, BROKER_RESULTS, BROKER_DEAD_LETTERS };

struct broker_put {
	enum broker_place place; /* of the source: it is configured */
	struct fields fields; /* headers; a stream's fields: no `body` in it */
	bool has_body;
	struct span body; /* bytes, not only text */
	struct span key;
	struct span entity;
	struct span type;
	int status; /* of a result; 0: none */
	struct span key_id; /* in hex */
	/*
	 * Of a dead letter of a message that is too large: its payload is not
	 * body, but what the broker has, and so are its own fields, in place of
	 * the first n_kept, unless the broker has lost them.
	 */
	bool whole;
	size_t n_kept;
};

enum broker_finished {
	/* Acknowledged, and what was to be put is put, in one step. */
	BROKER_FINISHED,
	/*
	 * Nothing was put: it is not pending any more.  Another reader has
	 * finished it, or the broker has lost it (which lost() tells).  Where
	 * the copy of a letter is put, that is so for all readers.
	 */
	BROKER_NOT_PENDING,
	/*
	 * Nothing was put: somebody else has it locked at this moment.  It is
	 * pending as before, and to be asked again a little later.
	 */
	BROKER_LOCKED,
	/*
	 * Nothing was put: it is another reader's to finish now, or still to be
	 * taken, and to be forgotten here.
	 */
	BROKER_ELSEWHERE,
};

/* What a broker that is there refuses. */
enum broker_fault {
	BROKER_FAULT_PLACE,   /* all that is put there; no put: SOURCE */
	BROKER_FAULT_SOURCE,  /* that anything of the source is finished */
	BROKER_FAULT_MESSAGE, /* this one, while others may be taken */
	BROKER_FAULT_SIZE,    /* this one, for the size of what is put */
};

/*
 * An acknowledgement on its way.  When op is done: error is 0, and finished
 * says how; or it is E_BROKER_DOWN (nothing is known: ask again later; it is
 * done once, or found NOT_PENDING), or E_BROKER_REFUSED (the broker is there
 * and would not take it: refused has its words, fault says what it refuses, and
 * nothing was put).
 */
enum { BROKER_REFUSED_BYTES = 160 };
struct broker_finish {
	struct op op; /* op_init is its owner's to call */
	struct span position; /* both, and put, live until op is done */
	/*
	 * There is no message that is pending: put, if any, and a mark that the
	 * copy of that position in the dead letters' place is done with, are
	 * put in one atomic step.  It ends as FINISHED.
	 */
	bool mark;
	struct span key; /* Kafka's of that copy; ptr NULL: none */
	void *token; /* of the message; NULL: it was not handed over here */
	const struct broker_put *put; /* NULL: nothing is put */
	enum broker_finished finished;
	char refused[BROKER_REFUSED_BYTES];
	enum broker_fault fault; /* FAULT_PLACE until the client knows better */
};
void broker_reader_finish(
    struct broker_reader *reader, struct broker_finish *finish);

enum { BROKER_COPIES_MAX = 100, BROKER_COPY_ID_BYTES = 48 };
/*
 * For restore alone: a page of what stands in the broker's place for dead
 * letters, of the reader's source, in the order in which it was put: copies,
 * and marks (a field onceproxy-done) that they are done with.  Their fields are
 * as they were put, onceproxy-* ones included; position is where a copy's
 * message stood, or the one that a mark is of.  When op is done: error is 0; or
 * E_BROKER_DOWN, or E_BROKER_REFUSED with the broker's words.
 */
struct broker_copies {
	struct op op; /* op_init is its owner's to call */
	char after[BROKER_COPY_ID_BYTES]; /* "": from the first */
	size_t limit; /* at most so many, from 1 to BROKER_COPIES_MAX */
	struct broker_message *messages; /* the owner's, by next */
	char next[BROKER_COPY_ID_BYTES]; /* to go on after; "": no more */
	char refused[BROKER_REFUSED_BYTES];
	void *token; /* the client's own */
};
void broker_reader_copies(
    struct broker_reader *reader, struct broker_copies *copies);

/*
 * The message is not worked on here any more, and may be given to anybody, this
 * reader too.
 */
void broker_reader_give_back(
    struct broker_reader *reader, const struct broker_message *message);

/* What an operator has decided of a part that is unproven; it is used once. */
enum broker_decision {
	BROKER_UNDECIDED,
	BROKER_RESUME, /* it goes on behind what was finished */
	BROKER_REWIND, /* all of its log is read again */
};
/* What is kept of that part of the source; "": nothing. */
void broker_reader_floor(struct broker_reader *reader, const char *part,
    struct span floor, enum broker_decision decided);

/*
 * All that is finished is told to the broker now, and what is to be kept of
 * that (floor()); before the reader is closed, by when nobody is told any more.
 * True: it is; or it cannot be told now.
 */
bool broker_reader_tell(struct broker_reader *reader);

struct broker_health {
	bool up;
	/* It answers; nothing can be taken, or finished, all the same. */
	bool stands;
	/* Topics and partitions that are not read, while others may be. */
	unsigned parts_standing;
	bool unproven; /* nothing tells whether what was read is there */
	bool no_order; /* it is up, and cannot keep the source's order */
	const char *message; /* why not, or what it refuses; "" for nothing */
	int64_t lag; /* messages not yet taken by anybody; -1: unknown */
	uint64_t rebalances;
	size_t next_bytes; /* of the message that it hands over next; 0: none */
};
/* Valid until the next turn of the loop. */
struct broker_health broker_reader_health(const struct broker_reader *reader);
