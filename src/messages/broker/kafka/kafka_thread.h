/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/loop/loop.h"
#include "messages/broker/kafka/kafka_producer.h"

/*
 * A thread for what of librdkafka blocks: a producer's transactions, and the
 * end of a client.  It makes its producer when there is something to put, and
 * another one where that was fenced or has broken.  It knows no reader.  All
 * functions are for the thread of the loop.
 */
struct kafka_thread;

/*
 * done(arg, batch) is called when a batch is over, unless arg has let go.
 * NULL: the system has no thread to give now.
 */
struct kafka_thread *kafka_thread_new(struct loop *loop,
    rd_kafka_conf_t *producer,
    void (*done)(void *arg, struct kafka_batch *batch), void *arg);
/*
 * A producer is wanted before there is anything to put, and all the time: it
 * ends what one of its name before has left open.
 */
void kafka_thread_prepare(struct kafka_thread *thread);
/* Begins; one at a time.  The batch comes back by done(). */
void kafka_thread_begin(struct kafka_thread *thread, struct kafka_batch *batch);
/*
 * It is not wanted any more: gives up a batch under way, frees its producer and
 * the consumer (or NULL), and then itself.  ended(arg) is called at that; NULL:
 * nobody waits.
 */
void kafka_thread_end(struct kafka_thread **thread, rd_kafka_t *consumer,
    void (*ended)(void *arg));
/*
 * All that have been ended go on without the loop, which is about to be freed;
 * ended() is not called any more.
 */
void kafka_thread_abandon(struct loop *loop);
