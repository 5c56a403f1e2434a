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

	/*
	 * What is sent from: the head, and the front of the body or, where
	 * there is a source, a piece of it.
	 */
	struct body request;
	size_t front_bytes;
	size_t total_bytes;
	size_t taken_bytes;  /* by the connection */
	int64_t source_left; /* bytes to come of it, where that is known */
	bool source_done;    /* all of it is in total_bytes */
	bool send_failed;

	struct head head;
	struct framing framing;
	bool head_read;
	bool rest_is_full; /* nothing is read before it was taken */
	struct task again; /* more may be there to be read */
	struct timer silence;
	int64_t moved_ms; /* when something was last sent or read */
};

/*
 * Sends the request on the transfer's connection and reads the answer, which
 * ends with transfer_finish, perhaps at once.  False where the connection
 * failed before it took a byte: nothing has happened, and the connection is
 * the caller's to close.
 */
MUST_USE bool exchange_begin(struct transfer *t);
/* Reads on, where it had stopped to let others have their turn. */
void exchange_continue(struct transfer *t);
/* There is room in forward->rest again. */
void exchange_drained(void *transfer);
/* The source has more, or has ended. */
void exchange_fed(void *transfer);
/* True while the next move is the other side's of a flow. */
bool exchange_waits_for_flow(const struct transfer *t);

/* Nothing was sent yet, and the time is over in which it may be. */
bool transfer_too_late(const struct transfer *t);
/*
 * The connection came to nothing and has taken nothing, error says why:
 * another one or another target is tried.
 */
void transfer_retry(struct transfer *t, int error);
/* The answer's head stands, and its rest comes through a flow. */
void transfer_answered(struct transfer *t);
/* The result, or how the rest ended, stands; the transfer is gone. */
void transfer_finish(
    struct transfer *t, enum forward_result result, int error);
