/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <librdkafka/rdkafka.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "base/field.h"

/*
 * A producer and its transactions, whose calls block.  It is made when there is
 * something to put, and anew where it was fenced or has broken.  It knows no
 * reader and no loop.  A member of its thread, and for that thread only, but
 * for stop.
 */
/* Something to be put; all of it is the batch's. */
struct kafka_record {
	char *topic;
	int32_t partition; /* or RD_KAFKA_PARTITION_UA: by its key */
	struct span key, body; /* ptr NULL: none */
	struct fields headers; /* values may have no ptr, too */
	struct kafka_batch *batch; /* that it is of */
};

/* A transaction: what is put, and what is committed with it. */
struct kafka_batch {
	struct arena *arena;
	struct kafka_record *records;
	size_t count;
	rd_kafka_topic_partition_list_t *offsets;
	rd_kafka_consumer_group_metadata_t *group;

	/* How it ended. */
	enum kafka_batch_end {
		KAFKA_BATCH_COMMITTED,
		KAFKA_BATCH_ABORTED, /* nothing of it has happened */
		KAFKA_BATCH_UNCLEAR, /* only what is committed tells */
	} end;
	bool refused; /* the broker does not take one of them */
	bool too_large; /* for its size, or for that of all of them */
	bool denied;  /* nor any: we may not do that */
	rd_kafka_resp_err_t code; /* of the call that failed */
	char words[160];
};

void kafka_producer_free_batch(struct kafka_batch **batch);

struct kafka_producer {
	atomic_bool stop; /* any thread says that; what is begun is given up */
	rd_kafka_conf_t *conf;
	rd_kafka_t *client; /* NULL: none */
	bool fenced; /* another has the name in conf */
};

/* conf is the producer's own from now on. */
void kafka_producer_init(
    struct kafka_producer *producer, rd_kafka_conf_t *conf);
/* It has no client any more. */
void kafka_producer_clear(struct kafka_producer *producer);
/*
 * Has a client at once, which ends what one of its name before has left open.
 * Where that does not succeed, the next transaction tries it again.
 */
void kafka_producer_prepare(struct kafka_producer *producer);
/* A transaction, from its begin to how it ended. */
void kafka_producer_run(
    struct kafka_producer *producer, struct kafka_batch *batch);
void kafka_producer_drop(struct kafka_producer *producer);
