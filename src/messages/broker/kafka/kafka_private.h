/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <librdkafka/rdkafka.h>

#include "base/loop/log.h"
#include "messages/broker/broker.h"
#include "messages/broker/kafka/kafka_ask.h"
#include "messages/broker/kafka/kafka_doubt.h"
#include "messages/broker/kafka/kafka_ring.h"
#include "messages/broker/kafka/kafka_shelf.h"
#include "messages/broker/kafka/kafka_thread.h"

/*
 * For the files of the Kafka client alone: a reader, its partitions, and what
 * its parts ask of each other.
 *
 *     kafka          the reader: its queue of events, its health
 *     kafka_make     its consumer
 *     kafka_conf     what librdkafka is told
 *     kafka_group    which partitions it has: rebalances
 *     kafka_part     one of them: what is fetched, its era, its floor
 *     kafka_proof    where in one it begins, and how that is proven
 *     kafka_take     messages out of the queues of partitions
 *     kafka_message  a message of librdkafka as ours
 *     kafka_name     the names that it knows us by: pure
 *     kafka_commit   what is finished is told to the broker
 *     kafka_doubt    whether topic and log are still those that were read
 *     kafka_trouble  what the broker refuses, and why none answers
 *     kafka_topics   whether topics are there
 *     kafka_still    partitions that the library does not read any more
 *     kafka_put      results and dead letters, in transactions
 *     kafka_producer their producer
 *     kafka_thread   the thread that it may block
 *     kafka_ask      the thread of questions to the group
 *     kafka_letters  dead letters: looked for by a thread of their own,
 *                    kafka_scan, and finished for good, kafka_shelf, whatever
 *                    becomes of the group
 *     kafka_leave    after it was closed
 *     kafka_ring     positions: pure
 *
 * kafka_ledger.h is another client, of relays.
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

enum kafka_step {
	KAFKA_ASKING,  /* what was committed, and the floor */
	KAFKA_PROVING, /* whether its topic is the one that was read */
	KAFKA_UNPROVEN, /* nobody can tell: an operator is to decide */
	KAFKA_READING,
};

/* Where its beginning is from. */
enum kafka_trial {
	KAFKA_TRY_FLOOR,
	KAFKA_TRY_COMMIT,
	KAFKA_TRY_START,
	KAFKA_TRY_LATEST,
};

/* A partition that the group has given us. */
struct kafka_part {
	struct kafka_part *next;
	struct kafka *kafka;
	char *topic;
	int32_t number;
	char *name; /* "TOPIC/NUMBER" */
	/* The token of its messages; no other one of this reader has it. */
	uintptr_t serial;
	rd_kafka_queue_t *queue;
	enum kafka_step step;
	/* Is known, as far as it will be; letters: what is kept of them. */
	bool has_floor, has_commit, has_letters;
	bool group_is_new; /* it has committed nothing of this topic */
	struct kafka_floor floor;
	/*
	 * What is known of it does not say all that was put.  So another era
	 * begins; nothing is taken before that is committed, or it would be
	 * another one once more for whoever comes next.
	 */
	bool era_ends, era_untold;
	bool left; /* what came meanwhile is to be fetched again */
	bool lowered; /* the group may stand below it */
	struct kafka_stand commit;
	enum kafka_trial trial;
	struct kafka_anchor prove; /* what must stand there */
	struct kafka_anchor newest; /* it was that first */
	struct kafka_anchors tries; /* older ones, which were not tried yet */
	bool other, other_before; /* stand at the newest, at older ones */
	bool stood; /* so it was kept: an operator has not decided yet */
	bool blind; /* no floor is kept: nor are, perhaps, the records */
	int64_t latest; /* its log ended there when it began with the latest */
	struct kafka_sight seen;
	bool empty; /* its queue was, when it was last looked at */
	bool heard; /* something came of it since the last look (kafka_still) */
	unsigned still; /* answers in a row that more should have come */
	int64_t end; /* of its log, as its leader says; below 0: not asked */
	int64_t odd_ms; /* since when it is not read; 0: it is */
	int64_t odd_offset; /* what is there cannot be read */
	struct kafka_ring ring;
	struct kafka_shelf *shelves; /* what is finished of its dead letters */
	struct kafka_shelved {
		char *name; /* under which that is kept beside commits, too */
		char *kept; /* its text; NULL: nothing */
		int64_t count; /* of that; what is less is not taken */
		char *committed; /* to be kept when the commit is; NULL: not */
		bool again; /* the topic was made again since then */
		bool news; /* to the commit, which it was read into */
	} shelved;
	bool lower_floor; /* what is kept is of a topic that is gone */
	unsigned putting; /* of what is given, in a transaction */
	bool committing; /* one is under way, and what it tells */
	struct kafka_floor committed;
	uint32_t committed_era;
};

enum { KAFKA_WORDS_BYTES = 512 };

/* What a broker refuses something about, the most pressing first. */
enum kafka_subject {
	KAFKA_OF_GROUP, /* its name: "" */
	KAFKA_OF_TOPIC, /* one that is read: it is not there, or not seen */
	KAFKA_OF_READ,  /* the same, and its messages */
	KAFKA_OF_PROOF, /* a partition: whether its topic was made again */
	KAFKA_OF_PLACE, /* one that is put to */
	KAFKA_OF_PART,  /* a partition: "TOPIC/NUMBER" */
	KAFKA_OF_COMMIT, /* "" */
	KAFKA_OF_ELSE,   /* by its words */
};

/* A broker that a connection was not had with, since one last answered. */
enum { KAFKA_TRIED_MAX = 4 };
struct kafka_tried {
	bool login; /* it does not let us in */
	char address[80];
	char why[120];
};

struct kafka {
	struct broker_reader reader; /* first */
	struct loop *loop;
	const struct conf *conf; /* a reference; or NULL */
	const struct conf_source *source;
	char *instance;
	struct broker_events events;
	size_t most_bytes;
	unsigned credit;
	rd_kafka_t *consumer;
	rd_kafka_queue_t *queue; /* of all but messages */
	int fd;                  /* librdkafka writes to it */
	struct watch *watch;
	struct task work;
	struct timer second;
	bool remake; /* it is of no use any more: another one, at that second */
	/* Another gateway has our name in the group, and we have none. */
	bool nameless;
	int64_t fenced_ms; /* when it was the last time; 0: never */
	unsigned wait_s;

	struct kafka_part *parts;
	struct kafka_part *turn; /* whose queue is read first */
	uintptr_t serials;
	/* The group has given what parts are, and waits for our answer. */
	bool given;
	bool assigned; /* it has had it */
	int64_t given_ms;
	rd_kafka_topic_partition_list_t *list;
	struct kafka_ask *ask; /* that of the consumer, which it frees */
	bool asking; /* for what was committed */
	bool looking;        /* at topics */
	uintptr_t asked_for; /* serials was that, then */
	int64_t ask_again_ms;
	bool again; /* what was given back is wanted */
	bool revoking;
	bool revoke_told; /* the last commit before that was begun */
	int64_t revoke_ms;
	unsigned commits; /* under way */
	bool tells; /* there is something to be committed at once */
	struct kafka_doubt doubt;
	uintptr_t commit_serial; /* of the last one */

	struct kafka_puts {
		struct kafka_put *first, **last;
		size_t count;
	} puts, sent; /* that wait, and those of the batch */
	struct kafka_thread *thread;
	struct kafka_batch *batch; /* in a transaction; NULL: none */
	size_t batch_most; /* less, while one of them is not taken */
	bool prepared; /* the thread was told to have a producer */
	bool unanswered; /* a transaction may be open that is to be ended */
	unsigned moves; /* that have ended a transaction, in a row */
	struct timer put_timer;
	struct kafka_letters *letters;

	bool up;
	struct kafka_topics *topics;
	struct kafka_still {
		bool asking;
		bool due; /* the consumer is of no use any more */
		uintptr_t asked_for; /* serials was that, then */
		int64_t look_ms, mended_ms; /* by the loop's clock */
		unsigned rounds; /* so many answers, until one stands still */
	} still;
	struct kafka_trouble *troubles;
	struct kafka_tried tried[KAFKA_TRIED_MAX];
	size_t n_tried;
	bool away; /* none of them answers, and that was told */
	bool changed;
	int64_t lag;
	uint64_t rebalances;
	char message[KAFKA_WORDS_BYTES]; /* why it is not up */

	/* After it was closed. */
	bool leaving;
	int64_t leave_ms;
	bool left_told; /* its last commit was begun */
	enum kafka_leave {
		KAFKA_LEAVE_COMMIT, /* what is finished is told */
		KAFKA_LEAVE_GROUP,  /* the member goes */
		KAFKA_LEAVE_CLOSE,  /* the consumer is closed */
		KAFKA_LEAVE_END,    /* its threads free it */
	} leave;
	unsigned ends; /* of threads that are not over */
	struct kafka *next; /* of those that leave, in this thread */
};

/* --- kafka.c --- */

/* What can be done is done later in this turn. */
void kafka_kick(struct kafka *kafka);
/* The owner is told, later in this turn, to look at the health. */
void kafka_changed(struct kafka *kafka);
/* The broker has answered something. */
void kafka_is_up(struct kafka *kafka);
/* It cannot be reached, or what was asked of it is undone; it is pinged. */
void kafka_is_down(struct kafka *kafka, const char *why);
/* The consumer is good for nothing: another one is made in a while. */
void kafka_remake(struct kafka *kafka, const char *why);
void kafka_lost(struct kafka *kafka, const struct kafka_part *part,
    uint64_t count);

/* --- kafka_trouble.c --- */

/* The broker answers, and refuses something. */
void kafka_trouble_begin(struct kafka *kafka, enum kafka_subject subject,
    const char *name, const char *words);
/* It does not refuse that any more; name NULL: any of that subject. */
void kafka_trouble_end(
    struct kafka *kafka, enum kafka_subject subject, const char *name);
bool kafka_trouble_is(
    const struct kafka *kafka, enum kafka_subject subject, const char *name);
/* Each second. */
void kafka_trouble_look(struct kafka *kafka);
void kafka_trouble_clear(struct kafka *kafka);
/* Whether nothing at all can be read. */
bool kafka_trouble_stands(const struct kafka *kafka);
/* How many topics and partitions cannot be read. */
unsigned kafka_trouble_parts(const struct kafka *kafka);
/* What is refused; "" for nothing. */
const char *kafka_trouble_words(const struct kafka *kafka);
/* Words of librdkafka about one connection. */
void kafka_trouble_broke(struct kafka *kafka, bool login, const char *words);
/* No broker answers: it is down, because of what was said of connections. */
void kafka_trouble_away(struct kafka *kafka);
/* One answers. */
void kafka_trouble_back(struct kafka *kafka);

/* --- kafka_topics.c --- */

void kafka_topics_init(struct kafka *kafka);
void kafka_topics_free(struct kafka *kafka);
/* Asks, when it is time. */
void kafka_topics_look(struct kafka *kafka);
/* It is time. */
void kafka_topics_now(struct kafka *kafka);
/* That topic is not there, and will not be made by the broker. */
void kafka_topics_miss(struct kafka *kafka, const char *name);
/* As kafka_ask says it; arg is the reader. */
void kafka_topics_answered(void *arg, const struct kafka_ask_topics *asked);

/* --- kafka_still.c --- */

void kafka_still_init(struct kafka *kafka);
/* Asks, when it is time. */
void kafka_still_look(struct kafka *kafka);
/* As kafka_ask says it; arg is the reader. */
void kafka_still_answered(void *arg, rd_kafka_topic_partition_list_t *list);
/* Has another consumer made, if it is due. */
void kafka_still_go_on(struct kafka *kafka);
/* The consumer is another one. */
void kafka_still_clear(struct kafka *kafka);

/* --- kafka_make.c --- */

enum { KAFKA_REMAKE_FIRST_S = 1, KAFKA_REMAKE_MOST_S = 30 };
/* False: it cannot be made now, and the timer is set. */
bool kafka_make(struct kafka *kafka);
/* Lets go of the consumer, and has the timer make another one. */
void kafka_make_again(struct kafka *kafka);
/* Frees the consumer's own, but for the consumer itself. */
void kafka_make_let_go(struct kafka *kafka);

/* --- kafka_conf.c --- */

/* NULL: it cannot be made; why is in words. */
rd_kafka_t *kafka_conf_consumer(
    const struct kafka *kafka, char words[KAFKA_WORDS_BYTES]);
/* The configuration of a producer; the same. */
rd_kafka_conf_t *kafka_conf_producer(const struct kafka *kafka);
/* Of any producer with that name and transactional id. */
rd_kafka_conf_t *kafka_conf_transactions(
    const struct conf_broker *broker, const char *client, const char *id);
/* Of a consumer that only asks what a group has committed. */
rd_kafka_conf_t *kafka_conf_asker(
    const struct conf_broker *broker, const char *client, const char *group);
/* That of a consumer without a group, which reads from where it is told. */
rd_kafka_conf_t *kafka_conf_scan(const struct kafka *kafka);

/* --- kafka_group.c --- */

void kafka_group_rebalance(struct kafka *kafka, rd_kafka_event_t *event);
/* What is committed, as kafka_ask says it; arg is the reader. */
void kafka_group_answered(void *arg, rd_kafka_resp_err_t error,
    rd_kafka_topic_partition_list_t *list);
/* What an error of brokers says of our group and topics; false: nothing. */
bool kafka_group_error(struct kafka *kafka, rd_kafka_resp_err_t error);
/* We may not read as our group. */
void kafka_group_forbidden(struct kafka *kafka);
/* Whatever is due. */
void kafka_group_go_on(struct kafka *kafka);
/* Its partitions are read anew, from what is committed. */
void kafka_group_again(struct kafka *kafka);
/* Forgets all partitions: their messages are recalled. */
void kafka_group_clear(struct kafka *kafka);
struct kafka_part *kafka_group_part(
    const struct kafka *kafka, const void *token);
struct kafka_part *kafka_group_part_at(
    const struct kafka *kafka, const char *topic, int32_t number);
/* Asks for what is committed: whether there is an answer at all. */
void kafka_group_ping(struct kafka *kafka);

/* --- kafka_part.c --- */

/* NULL: librdkafka has no such partition. */
struct kafka_part *kafka_part_new(
    struct kafka *kafka, const char *topic, int32_t number);
void kafka_part_free(struct kafka_part **part);
/* What comes next is fetched from that offset on. */
void kafka_part_seek(struct kafka_part *part, int64_t offset);
/* What comes next is fetched again; from there, where no offset is known. */
void kafka_part_fetch_again(struct kafka_part *part, int64_t offset);
/* It is UNPROVEN, below low finished; as it stood before; is it decided on? */
void kafka_part_stand(struct kafka_part *part, const char *why, int64_t low);
int64_t kafka_part_stand_on(struct kafka_part *part);
void kafka_part_ask_again(struct kafka_part *part);
void kafka_part_log(
    const struct kafka_part *part, enum event event, int64_t offset);
/* The group stands above the floor, where somebody else has set it; below. */
void kafka_part_tell_ahead(const struct kafka_part *part);
void kafka_part_tell_rewound(const struct kafka_part *part);
/* Unlike all others, and not the first. */
uint32_t kafka_part_new_era(void);
/* Whether nothing is to be read before its era is committed. */
bool kafka_part_waits(const struct kafka_part *part);
/* The same of a message that has come there; it will be fetched again. */
MUST_USE bool kafka_part_leaves(struct kafka_part *part, int64_t offset);
/* Its era is committed; another one begins with what comes next. */
void kafka_part_era_told(struct kafka_part *part);
void kafka_part_end_era(struct kafka_part *part);
/* Where it is in the log that the broker has; below 0: not known. */
void kafka_part_ends(
    const struct kafka_part *part, int64_t *ret_from, int64_t *ret_to);
void kafka_part_set_floor(
    struct kafka_part *part, struct span floor, bool lowered);
/* Whether that is the end of something kept in this cluster. */
bool kafka_part_is_of_cluster(
    const struct kafka_part *part, struct span cluster);
/* Has the owner keep that, with the cluster; false: it cannot be kept now. */
bool kafka_part_keep(struct kafka_part *part, const char *name,
    const char *text, bool lower);
void kafka_part_tell_floor(
    struct kafka_part *part, const struct kafka_floor *floor);

/* --- kafka_proof.c --- */

/* Where it is to be read from first: an offset, or one of RD_KAFKA_OFFSET_. */
int64_t kafka_proof_begin(struct kafka_part *part);
/*
 * What has come while it is PROVING, a message there with that mark, or the
 * end.  False: it is not to be looked at any more.
 */
MUST_USE bool kafka_proof_meets(
    struct kafka_part *part, int64_t offset, uint32_t mark, bool end);
/* The log is not where it was read: its messages are forgotten.  The same. */
MUST_USE bool kafka_proof_anew(struct kafka_part *part);

/* --- kafka_take.c --- */

/* All queues are to be looked at. */
void kafka_take_again(struct kafka *kafka);
/* Reads as many messages as there is credit for; true: there may be more. */
bool kafka_take_all(struct kafka *kafka);

/* --- kafka_message.c --- */

struct broker_message *kafka_message_read(const struct kafka_part *part,
    const rd_kafka_message_t *message, size_t most_bytes);
/* A dead letter; brief: without what may be long.  For any thread. */
struct broker_message *kafka_message_letter(
    const rd_kafka_message_t *message, struct span id, struct span position,
    bool brief, size_t most_bytes);
uint32_t kafka_message_mark(const rd_kafka_message_t *message);
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
/* Whether nothing is to be committed, or being committed. */
bool kafka_commit_is_over(const struct kafka *kafka);
/* It is committed, or not. */
void kafka_commit_over(struct kafka *kafka, bool good);

/* --- kafka_put.c --- */

void kafka_put_init(struct kafka *kafka);
void kafka_put_finish(struct kafka *kafka, struct broker_finish *finish);
/* Begins a transaction, if it is time. */
void kafka_put_go_on(struct kafka *kafka);
/* What the thread says of a batch; arg is the reader. */
void kafka_put_done(void *arg, struct kafka_batch *batch);
/* Ends all with that error; what is in a transaction goes on for nobody. */
void kafka_put_drop(struct kafka *kafka, int error);
/* There is no transaction any more, and no partitions: frees what it was of. */
void kafka_put_forget(struct kafka *kafka);
/* One more record of the batch: what is put for a message of that partition. */
void kafka_put_record(struct kafka_batch *batch,
    const struct kafka_part *part, const struct broker_put *put);

/* --- kafka_letters.c, kafka_letters_page.c, kafka_letters_end.c --- */

void kafka_letters_init(struct kafka *kafka);
void kafka_letters_free(struct kafka *kafka);
/* Learns what is finished of its letters; returns the partition's own text. */
struct span kafka_letters_learn(
    struct kafka_part *part, struct span metadata);
/* What goes behind its own in a commit that is made now. */
struct span kafka_letters_tell(struct kafka_part *part, bool putting,
    char ret_text[KAFKA_METADATA_MAX + 1]);
/* What that told is committed, or not. */
void kafka_letters_floor_told(struct kafka_part *part, bool good);
/* What is kept of the partition's letters beside its commits. */
void kafka_letters_floor_set(struct kafka_part *part, struct span floor);
/* That or its commit became known: others' commits finish no letters. */
void kafka_letters_floor_recall(struct kafka_part *part);
/* Frees what is the partition's. */
void kafka_letters_floor_forget(struct kafka_part *part);
/* Whether what is being put fits there. */
bool kafka_letters_fit(const struct kafka_part *part);
/* Where a dead letter of that partition goes; RD_KAFKA_PARTITION_UA: to any. */
int32_t kafka_letters_number(const struct kafka_part *part);
void kafka_letters_page(struct kafka *kafka, struct broker_letters *letters);
/* Each second: whether the topics of dead letters are there. */
void kafka_letters_page_look(struct kafka *kafka);
void kafka_letters_end_add(struct kafka *kafka, struct broker_finish *finish);
/* Whether any wait for a transaction. */
bool kafka_letters_end_is_due(const struct kafka *kafka);
/* They go into it, while it has fewer records; true: there are any in it. */
bool kafka_letters_end_move(
    struct kafka *kafka, struct kafka_batch *batch, size_t most);
/* It is over: before anything else is made of that. */
void kafka_letters_end_batch(
    struct kafka *kafka, const struct kafka_batch *batch);
/* As kafka_put_drop and kafka_put_forget; pages too, where it is leaving. */
void kafka_letters_end_drop(struct kafka *kafka, int error);
void kafka_letters_end_forget(struct kafka *kafka);

/* --- kafka_leave.c --- */

void kafka_leave_begin(struct kafka *kafka);
/* Whatever is due. */
void kafka_leave_go_on(struct kafka *kafka);
/* One that goes has the names that this one is to have. */
bool kafka_leave_has_names(const struct kafka *kafka);
