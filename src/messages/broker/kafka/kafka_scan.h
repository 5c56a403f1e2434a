/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <librdkafka/rdkafka.h>

#include "messages/broker/broker.h"
#include "messages/broker/kafka/kafka_ring.h"

/*
 * A thread that reads dead letters, from where they are not finished, by a
 * consumer of its own that joins no group.  The consumer is made when it is
 * needed, and let go of when nobody has asked for a while.  It knows no reader:
 * a job has all that it needs, and all that was found.  All functions are for
 * the thread of the loop; kafka_scan_part is for any.
 */
struct kafka_scan;

/* Where a letter stands; as text "TOPIC-NUMBER-OFFSET", all numbers. */
struct kafka_place {
	unsigned topic; /* of the job's */
	int32_t number;
	int64_t offset;
};

/* What is known of the letters of a source's partition in another one. */
struct kafka_known {
	struct kafka_known *next;
	struct span part; /* "TOPIC/NUMBER" of the source */
	unsigned topic;
	int32_t number;
	struct kafka_stand stand;
	bool pending; /* its anchor has not been seen yet */
	bool wrong;   /* another message is there: nothing of it holds */
};

/* A letter of a partition that is ours, finished or not. */
struct kafka_seen {
	struct kafka_seen *next;
	struct span part;
	struct kafka_place place;
	uint32_t mark;
};

/* What was read from the one offset to the other. */
struct kafka_swept {
	struct kafka_swept *next;
	unsigned topic;
	int32_t number;
	int64_t from, to;
};

struct kafka_scan_topic {
	const char *name;
	int32_t count; /* the answer: of partitions; 0: there is none */
};

struct kafka_scan_job {
	struct arena *arena; /* all of it, but messages */
	void (*done)(void *arg, struct kafka_scan_job *job);
	void *arg; /* NULL: nobody waits any more */

	/* What is asked. */
	struct kafka_scan_topic *topics; /* of dead letters, each once */
	size_t n_topics;
	/* Those of the source, and where each one's letters are, of those. */
	struct kafka_scan_topic *sources;
	unsigned *letters_of;
	size_t n_sources;
	struct span *ours; /* the source's partitions that we have */
	size_t n_ours;
	struct kafka_known *known; /* of these */
	struct span source;   /* its name: others' letters are not looked at */
	struct span position; /* only of that one; "": all */
	struct kafka_place after;
	bool goes_on; /* only what is behind that */
	bool brief;
	bool look; /* only whether the topics are there, which may make them */
	size_t limit;
	size_t most_bytes;

	/* The answer; words is not "" where it failed. */
	struct broker_message *messages, **last;
	size_t count;
	char next[BROKER_LETTER_ID_BYTES];
	bool open; /* more may come that was put before */
	struct kafka_seen *seen, **last_seen;
	struct kafka_swept *swept;
	char words[160];
	const char *denied; /* a topic that may not be read */

	/* The thread's own. */
	int64_t until_ms;
	size_t records, bytes;
	struct kafka_scan_job *queue;
};

/* conf is its own from now on: that of the consumer. */
struct kafka_scan *kafka_scan_new(struct loop *loop, rd_kafka_conf_t *conf);
/* Jobs are done one after the other: job->done(arg, job), which frees it. */
void kafka_scan_begin(struct kafka_scan *scan, struct kafka_scan_job *job);
void kafka_scan_job_free(struct kafka_scan_job **job);
/* No job is done any more; the thread ends by itself. */
void kafka_scan_end(struct kafka_scan **scan);

/* The place in a letter's id, or in a cursor; false: it is none. */
MUST_USE bool kafka_scan_place(struct span id, struct kafka_place *ret_place);
/*
 * The partition in a position, "TOPIC/NUMBER/OFFSET@TIME": its first two; "" if
 * it is none.
 */
struct span kafka_scan_part(struct span position);
/* Whether the stand has it finished. */
bool kafka_scan_is_finished(const struct kafka_stand *stand, int64_t offset);
