/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "upstream/forward.h"
#include "upstream/framing.h"
#include "upstream/target.h"

/*
 * A transfer is the inside of a pending forward: forward.c finds it a
 * connection, exchange.c sends the request on it and reads the answer.  For
 * these two only; the worker's thread.
 */
enum { READ_BYTES = 65536 };

struct upstreams {
	struct loop *loop;
	const struct conf *conf;
	struct budget *budget;
	struct connector *connector;
	struct targets *targets; /* of each upstream, by its index */
	struct histogram *const *took; /* likewise; NULL: nobody asks */
	size_t pending;
	struct transfer *spare;
	size_t n_spare;
	char buffer[READ_BYTES];
};

/* What a pending forward needs besides; kept for the next one. */
struct transfer {
	struct transfer *next_spare;
	struct upstreams *upstreams;
	struct forward *forward;
	struct message message;
	struct forward_limits limits;
	const struct conf_upstream *upstream;

	struct round round;
	struct target *target; /* that is tried; NULL: the next is to be */
	struct connection *connection;
	bool connecting;
	bool fresh; /* nothing was asked on the connection before */
	int error;  /* why the last target failed */

	struct body request; /* the head, and the front of the body */
	size_t front_bytes;
	size_t total_bytes;
	size_t taken_bytes; /* by the connection */
	bool send_failed;

	struct head head;
	struct framing framing;
	bool head_read;
	struct task again; /* more may be there to be read */
};

/*
 * Sends the request on the transfer's connection and reads the answer, which
 * ends with transfer_finish, perhaps at once.  False where the connection
 * failed before it took a byte: nothing has happened, and the connection is
 * the caller's to close.
 */
MUST_USE bool exchange_begin(struct transfer *t);
/* Reads on, where it had stopped only to let others have their turn. */
void exchange_continue(struct transfer *t);

/*
 * The connection came to nothing and has taken nothing, error says why:
 * another one or another target is tried.
 */
void transfer_retry(struct transfer *t, int error);
/* The result stands; the transfer is gone afterwards. */
void transfer_finish(
    struct transfer *t, enum forward_result result, int error);
