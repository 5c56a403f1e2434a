/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <librdkafka/rdkafka.h>

#include "base/list.h"
#include "base/loop/log.h"
#include "messages/broker/driver.h"
#include "messages/broker/kafka/kafka_conf.h"
#include "messages/broker/kafka/kafka_producer.h"
#include "messages/broker/kafka/kafka_tracker.h"
#include "messages/broker/reader.h"

/*
 * For the files of the Kafka driver alone: a reader and its partitions, behind
 * the core of readers (messages/broker/reader.h).  Calls go down this list;
 * what goes up is a flag that the reader's turn looks at:
 *
 *     kafka          its life, its queue of events, its turns
 *     kafka_group    which partitions it has: rebalances
 *     kafka_put      results and dead letters, in transactions
 *     kafka_commit   what is finished is told to the broker
 *     kafka_part     one partition: where it begins, its messages
 *     kafka_look     whether topics are there, and logs are read
 *     kafka_copies   the topic of dead letters is read, to restore them
 *     kafka_trouble  whether brokers answer, and why none does
 *
 * and these know no reader:
 *
 *     kafka_producer transactions     kafka_message  a message as ours
 *     kafka_call     what brokers are asked
 *     kafka_conf     what librdkafka is told
 *     kafka_thread   what blocks
 *     kafka_tracker  positions        kafka_ledger   the client of relays
 *
 * librdkafka tells of an event by writing to a descriptor when a queue has been
 * empty: so each wake reads all queues until they are empty, or until there is
 * no credit.  All queues are looked at each second too, which also is what
 * keeps the reader in its group, however long a call takes.
 *
 * Offsets are committed by lists of our own, as rd_kafka_offsets_store() of
 * librdkafka before 2.2 has no metadata.  So a commit that comes late may set
 * back what another reader has committed since: what then comes again is found
 * finished.
 */
struct kafka;

enum { KAFKA_LEADER_UNKNOWN = -1, KAFKA_LEADER_DOUBTED = -2 };

/* A partition that the group has given us. */
struct kafka_part {
	struct list link;
	struct kafka *kafka;
	char *topic;
	int32_t number;
	char *name; /* "TOPIC/NUMBER" */
	/* The token of its messages; no other one of this reader has it. */
	uintptr_t serial;
	rd_kafka_queue_t *queue;
	enum kafka_step {
		KAFKA_ASKING,   /* what was committed, its copy, its log */
		KAFKA_LOOKING,  /* for the message that was read last */
		KAFKA_HOLE,     /* there is none: was it compacted away? */
		KAFKA_UNPROVEN, /* an operator is to decide */
		KAFKA_TELLING,  /* where it begins is to be committed */
		KAFKA_READING,
	} step;
	/* Are known. */
	bool has_commit, has_copy, has_log;
	bool group_is_new;        /* it has committed nothing of this topic */
	struct kafka_stand stand; /* of the commit, or of the store's copy */
	bool by_commit;           /* it is the first of these */
	struct kafka_stand copy;
	enum broker_decision decided; /* an operator has, and it holds here */
	bool anew; /* what is kept is to be set to what is committed next */
	/* What was committed is of another store, which nobody has accepted. */
	bool foreign;
	int64_t begin, end; /* of its log, when its leader was last asked */
	struct kafka_tracker tracker;
	int32_t leader;  /* who has sent the last message, or one of these */
	int32_t leads;   /* who leads it, as metadata say */
	bool empty;      /* its queue was, when it was last looked at */
	bool late; /* its log was known late: it may be read from there again */
	/* When something came of it, or nothing was to come. */
	int64_t heard_ms;
	int64_t odd_ms; /* since when what is there cannot be read; 0: it can */
	unsigned putting; /* of what is given, in a transaction */
	bool committing;  /* one is under way */
	char *told;       /* what it tells, to be kept when that is committed */
};

/* What a broker refuses something about, the most pressing first. */
enum kafka_subject {
	KAFKA_OF_GROUP,  /* its name: "" */
	KAFKA_OF_TOPIC,  /* one that is read: it is not there, or not seen */
	KAFKA_OF_READ,   /* the same, and its messages */
	KAFKA_OF_PROOF,  /* a partition that is unproven: "TOPIC/NUMBER" */
	KAFKA_OF_PART,   /* a partition: "TOPIC/NUMBER" */
	KAFKA_OF_ELSE,   /* "", or by its words */
};

/* A message that is in flight. */
struct kafka_flight {
	struct flight flight; /* first; its token is the partition's serial */
	int64_t offset;
};

/* An acknowledgement on its way. */
struct kafka_finishing {
	struct finishing finishing; /* first */
	uintptr_t serial;           /* of its partition; 0: none is needed */
	int64_t offset;
	const struct kafka_record *record; /* of the batch that it is in */
};

struct kafka {
	struct broker_reader core; /* first */

	rd_kafka_t *consumer;    /* NULL: there is none now */
	rd_kafka_queue_t *queue; /* of all but messages */
	int fd;                  /* librdkafka writes to it */
	struct watch *watch;
	struct kafka_thread
	    *asker; /* calls that block; it frees the consumer */
	struct kafka_thread *copies; /* NULL: none were asked for */
	struct kafka_producer *producer;
	struct timer second;
	bool remake; /* it is of no use any more: another one, in a while */
	bool closes; /* it was closed, and leaves its group */

	/* --- kafka_group --- */
	struct list parts;
	int n_parts;
	uintptr_t serials;
	bool given; /* the group has given what parts are */
	bool assigned; /* they are fetched, where it is known from where */
	int64_t given_ms;
	bool asking;         /* for what was committed */
	uintptr_t asked_for; /* serials was that, then */
	int64_t asked_ms, ask_again_ms;
	/*
	 * All is read anew, from what is committed: at once, as what was read
	 * may not be there any more; or when there is credit, as something was
	 * given back.
	 */
	bool anew, again;
	int64_t copies_ms; /* when the store is asked for decisions */
	bool revoking;
	bool revoke_told; /* the last commit before that was begun */
	int64_t revoke_ms;

	/* --- kafka_commit --- */
	bool commits;    /* one is under way */
	bool tells;      /* there is something to be committed at once */
	bool told;       /* the owner has asked for that, as it drains */
	int64_t sure_ms; /* our last commit was there */
	uintptr_t commit_serial; /* of the last one */

	/* --- kafka_put --- */
	struct kafka_batch *batch; /* in a transaction; NULL: none */
	bool preparing;            /* the producer is being made */
	bool unanswered; /* it is to be, as nobody is told what is committed */
	struct timer put_timer; /* until what waits is put, together */
	bool put_due;

	/* --- kafka_look --- */
	bool looking;
	unsigned unheard; /* looks in a row that nobody has answered */
	int64_t look_ms;  /* the next time, by the loop's clock */

	/* --- kafka_trouble --- */
	char broke[160]; /* what was last said of a connection */
	int64_t lag;
	uint64_t rebalances;
};

/* --- kafka_trouble.c --- */

/* The broker has answered something. */
void kafka_trouble_is_up(struct kafka *kafka);
/*
 * It cannot be reached, or what was asked of it is undone; it is pinged.  why
 * NULL: no broker answers, because of what was last said of one.
 */
void kafka_trouble_is_down(struct kafka *kafka, const char *why);
/* The consumer is good for nothing: another one is made in a while. */
void kafka_trouble_remake(struct kafka *kafka, const char *why);
/* It may not be read. */
void kafka_trouble_unreadable(struct kafka *kafka, const char *topic);
/* What an error of brokers says of our group and topics; false: nothing. */
bool kafka_trouble_of_group(struct kafka *kafka, rd_kafka_resp_err_t error);
void kafka_trouble_health(
    const struct broker_reader *core, struct broker_health *ret_health);

/* --- kafka_look.c --- */

/* Looks, when it is time. */
void kafka_look_go_on(struct kafka *kafka);

/* --- kafka_part.c --- */

/* NULL: librdkafka has no such partition. */
struct kafka_part *kafka_part_new(
    struct kafka *kafka, const char *topic, int32_t number);
/* Its messages are recalled. */
void kafka_part_free(struct kafka_part **part);
/*
 * What is committed, the store's copy, and its log are known: where it is to be
 * fetched from first, an offset or one of RD_KAFKA_OFFSET_.
 */
int64_t kafka_part_begin(struct kafka_part *part);
/* What comes next is fetched from that offset on. */
void kafka_part_seek(struct kafka_part *part, int64_t offset);
/*
 * What its topic's cleanup.policy is, as its step HOLE waits for; NULL: it is
 * not told, for that reason.
 */
void kafka_part_policy(
    struct kafka_part *part, const char *policy, const char *words);
/* Whether what comes of it is taken. */
bool kafka_part_wants(const struct kafka_part *part);
/* All queues are to be looked at. */
void kafka_part_again(struct kafka *kafka);
/* Reads as many messages as there is credit for; true: there may be more. */
bool kafka_part_take(struct kafka *kafka);

/* --- kafka_message.c --- */

struct broker_message *kafka_message_read(const struct kafka_part *part,
    const rd_kafka_message_t *message, size_t most_bytes);
/* A dead letter's copy, or its mark.  For any thread. */
struct broker_message *kafka_message_copy(
    const rd_kafka_message_t *message, size_t most_bytes);
struct kafka_mark kafka_message_mark(const rd_kafka_message_t *message);
/* The offset in a position of that partition; below 0: it is none. */
int64_t kafka_message_offset(
    const struct kafka_part *part, struct span position);

/* --- kafka_commit.c --- */

/* Commits what has changed, unless something is under way; false: not yet. */
bool kafka_commit_go_on(struct kafka *kafka);
void kafka_commit_answered(struct kafka *kafka, rd_kafka_event_t *event);
/* What is to be committed, noted as being committed; NULL: nothing. */
rd_kafka_topic_partition_list_t *kafka_commit_list(
    struct kafka *kafka, bool putting);
/*
 * Commits at once what there is, and what is refused then each second; true:
 * nothing is to be committed, or being committed; or cannot be.
 */
bool kafka_commit_tell(struct broker_reader *core);
/* It is committed, or not. */
void kafka_commit_over(struct kafka *kafka, bool good);
/*
 * Whether our last commit was there a moment ago; else it is asked for, and
 * then all goes on.  With a topic its brokers delete what groups have committed
 * of it; so a topic that was made again while it is read is noticed before the
 * next commit, whatever has come of it.
 */
bool kafka_commit_is_sure(struct kafka *kafka);
/* Asks for what is committed: also whether there is an answer at all. */
void kafka_commit_ask(struct kafka *kafka);

/* --- kafka_put.c --- */

/* Of put_timer: what waits is to wait for no more. */
void kafka_put_due(void *kafka);
/* What waits is finished, as far as it can be now. */
void kafka_put_finish(struct broker_reader *core);
/*
 * The producer is to be there, which ends what may be open from before we were
 * killed: nobody has an answer about what is committed while it is.
 */
void kafka_put_prepare(struct kafka *kafka);
/* What the producer says of a batch; arg is the reader. */
void kafka_put_done(void *arg, struct kafka_batch *batch);
/* There is no transaction any more: nobody knows what became of it. */
void kafka_put_forget(struct kafka *kafka);

/* --- kafka_copies.c --- */

void kafka_copies_begin(
    struct broker_reader *core, struct broker_copies *copies);

/* --- kafka_group.c --- */

void kafka_group_rebalance(struct kafka *kafka, rd_kafka_event_t *event);
/* What the store has of a partition, and what an operator has decided. */
void kafka_group_copy(struct broker_reader *core, const char *name,
    struct span floor, enum broker_decision decided);
/* Whatever is due. */
void kafka_group_go_on(struct kafka *kafka);
/* Each second. */
void kafka_group_look(struct kafka *kafka);
/* Forgets all partitions: their messages are recalled. */
void kafka_group_clear(struct kafka *kafka);
