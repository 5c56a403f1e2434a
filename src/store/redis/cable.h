/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/loop/loop.h"
#include "base/span.h"

/*
 * One connection to a Redis, from its socket to its end: it writes what it is
 * given, and reads what comes as replies.  It reports an end and does not make
 * one: its owner frees it, but not from within replied().  It knows no
 * commands, and not who waits for a reply.  The thread of its loop.
 */
struct cable;
struct redisReply;

enum cable_end {
	CABLE_BROKE, /* or was never made */
	CABLE_ODD,   /* what came is no reply that Redis makes for us */
};

struct cable_events {
	/*
	 * A whole reply, valid during this call only.  False: the connection
	 * is about to be freed, and nothing more that has come is looked at.
	 */
	bool (*replied)(void *arg, const struct redisReply *reply);
	/*
	 * Reported once, when the owner may free it; message is valid during
	 * this call.  After replied() said false it is called at once, with an
	 * empty message.
	 */
	void (*ended)(
	    void *arg, enum cable_end how, const char *message);
	void *arg;
};

/*
 * Over a socket that may still be connecting, which is the connection's from
 * here on, with TLS where it is given a session (its own from here on, too).
 * What is given to it before all has left once is a secret: no copy of ours
 * stays in memory.
 */
struct tls_session;
struct cable *cable_new(struct loop *loop, int fd, struct tls_session *tls,
    const struct cable_events *events);
/*
 * Closes it; with a TCP reset, so that the other side drops what it has not
 * read yet.  Nulls the pointer, accepts NULL.
 */
void cable_free(struct cable **cable);

/* Gives it bytes, which are copied. */
void cable_give(struct cable *cable, struct span bytes);
/* Writes that, where it does not wait for room: once in a turn of the loop. */
void cable_flush(struct cable *cable);
/* How much of it the other side has not taken yet. */
int64_t cable_backlog(const struct cable *cable);
/* When the last bytes came (clock_us); 0: none have. */
int64_t cable_read_us(const struct cable *cable);
/*
 * The kernel keeps few of its bytes, each way: for large values, which would
 * fill the queues on the way, in which those of others wait.
 */
void cable_keep_queues_short(struct cable *cable);
