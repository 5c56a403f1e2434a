/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <librdkafka/rdkafka.h>
#include <pthread.h>
#include <stdatomic.h>

#include "messages/broker/kafka/kafka_ledger.h"

/*
 * For the files of the ledger alone: what the loop and the ledger's thread have
 * of each other, and the thread's own.
 *
 *     kafka_ledger          the loop's side, the thread, and what passes
 *     kafka_ledger_client   a producer, and where it stands
 *     kafka_ledger_write    transactions
 *     kafka_ledger_place    places as text: pure
 *
 * An attempt that has ended in anything but a commit or an abort may have been
 * committed.  Then the producer is dropped, and the next one, which ends the
 * former's transaction before it has its own, reads what is committed.
 */
enum { KAFKA_LEDGER_WORDS = 200 };

/* What the thread tells the loop. */
struct kafka_ledger_news {
	bool opened, fenced, done, up;
	char words[KAFKA_LEDGER_WORDS];
};

struct kafka_ledger {
	/* Not changed any more: */
	struct loop *loop;
	const struct conf *conf; /* a reference, which the last one drops */
	const struct conf_broker *broker;
	char *topic;
	char *client; /* the name of the clients */
	char *id;     /* transactional.id, and how names of groups begin */
	int64_t turn;
	unsigned shards, groups;

	pthread_mutex_t mutex;
	pthread_cond_t wake;
	struct kafka_ledger_place *found; /* for opened(): set once */
	/* With the mutex: */
	unsigned refs; /* the owner's, the thread's, and of what was posted */
	struct kafka_ledger_batch *put; /* for the thread; NULL: nothing */
	struct kafka_ledger_news news;
	bool posted;    /* the loop will look at the news */
	bool abandoned; /* the loop is not told of the end */
	atomic_bool closed;

	/* The loop's: */
	struct kafka_ledger_events events;
	bool up, busy;
	int64_t put_ms;
	bool told; /* that it is open, or fenced */
	char message[KAFKA_LEDGER_WORDS];
	struct kafka_ledger *next; /* of those that leave, in this thread */
	bool begun;         /* the thread is there */
	struct timer begin; /* else it is tried again */

	/* The thread's: */
	rd_kafka_t *producer; /* NULL: none */
	rd_kafka_topic_t *rkt;
	struct kafka_ledger_place *kept;  /* what is committed */
	struct kafka_ledger_place *ahead; /* with the batch */
	bool is_open; /* kept is known, and the owner was told */
	bool is_fenced;
	struct kafka_ledger_batch *batch; /* not known to be there */
	rd_kafka_resp_err_t refused; /* of a message; NO_ERROR: none was */
	size_t culprit;              /* that one */
	bool again; /* too large together */
	bool apart; /* each message in a request of its own */
	bool fails;                  /* the last call did */
	int64_t fails_ms;            /* since then */
	int64_t beat_ms; /* when all groups were last told of */
	bool beats;      /* they are to be told again, soon */
	/* What librdkafka last said of its connections. */
	char broke[KAFKA_LEDGER_WORDS];
};

/* --- kafka_ledger.c, for the thread --- */

/* It is up, or is not for that reason; the owner is told what is new. */
void kafka_ledger_say(struct kafka_ledger *ledger, bool up, const char *words);
/* The batch is there: it is given back. */
void kafka_ledger_bring(struct kafka_ledger *ledger);
/* Waits so long, or until the ledger is closed. */
void kafka_ledger_rest(struct kafka_ledger *ledger, int64_t ms);
/* The thread's own clock. */
int64_t kafka_ledger_now_ms(void);

/* --- kafka_ledger_client.c --- */

enum kafka_ledger_result {
	KAFKA_LEDGER_DONE,
	KAFKA_LEDGER_ABORT,  /* nothing of the transaction happens: abort it */
	KAFKA_LEDGER_BROKEN, /* the producer is of no use */
};

/*
 * Makes a producer, reads what is committed, and settles what became of the
 * batch: NULL where it is there.  False: not now, or it is fenced.
 */
MUST_USE bool kafka_ledger_client_make(struct kafka_ledger *ledger);
void kafka_ledger_client_drop(struct kafka_ledger *ledger);
/* Repeats a call while it may be repeated and the ledger is not closed. */
enum kafka_ledger_result kafka_ledger_client_insist(
    struct kafka_ledger *ledger,
    rd_kafka_error_t *(*call)(struct kafka_ledger *ledger, void *arg),
    void *arg);
/* Something has gone well. */
void kafka_ledger_client_is_well(struct kafka_ledger *ledger);
/* A message was not taken, in those words; the owner is told. */
void kafka_ledger_client_refused(struct kafka_ledger *ledger,
    rd_kafka_resp_err_t err, const char *words);
/* Has librdkafka say what it has to say. */
void kafka_ledger_client_listen(struct kafka_ledger *ledger);
/* How many shards a group tells of, from shard 64 * group on. */
size_t kafka_ledger_client_shards(
    const struct kafka_ledger *ledger, unsigned group);
/* The name of a group; the caller frees it. */
char *kafka_ledger_client_group(
    const struct kafka_ledger *ledger, unsigned group);

/* --- kafka_ledger_write.c --- */

/*
 * Brings the batch, if there is one, and the places, in one transaction.  The
 * batch is NULL then; else it is to be tried again.
 */
void kafka_ledger_write(struct kafka_ledger *ledger);
/* What was written is there, with the batch. */
void kafka_ledger_write_settled(struct kafka_ledger *ledger);
/* As librdkafka calls it for a message that was not taken. */
void kafka_ledger_write_failed(
    rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque);
