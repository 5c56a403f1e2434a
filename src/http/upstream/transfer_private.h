/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "http/upstream/answer_framing.h"
#include "http/upstream/answer_memory.h"
#include "http/upstream/forward.h"
#include "http/upstream/target.h"

struct upstreams;

/*
 * A transfer is the inner half of a pending forward: forward.c finds it a
 * connection (upstream/forward_private.h), transfer.c sends the request on it,
 * and transfer_answer.c reads the answer.  One that is done rests, with its
 * buffers, until the next forward takes it.  The worker's thread only.
 */
struct transfer {
	struct transfer *next_spare;
	struct upstreams *upstreams;
	struct forward *forward;
	struct message message;
	struct forward_limits limits;
	const struct conf_upstream *upstream;

	struct target_round round;
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
	struct timer lease_end; /* when nothing more may be sent */

	struct head head;
	struct answer_framing framing;
	bool head_read;
	struct body early; /* what came with the head and has no room yet */
	size_t early_at;   /* how much of that was taken */
	struct answer_memory memory;
	bool is_full; /* nothing is read now: what came has no room */
	struct task again; /* more may be there to be read */
	struct timer silence;
	int64_t moved_ms; /* when something was last sent or read */
};

struct transfer *transfer_new(struct upstreams *upstreams);
/*
 * Sends the request on the transfer's connection and reads the answer, which
 * ends with forward_finish, perhaps at once.  False where the connection
 * failed before it took a byte: nothing has happened, and the connection is
 * the caller's to close.
 */
MUST_USE bool transfer_begin(struct transfer *t);
/* Says again what it waits for on its connection. */
void transfer_want(struct transfer *t);
/* There is room in forward->rest again. */
void transfer_drained(void *transfer);
/* The source has more, or has ended. */
void transfer_fed(void *transfer);
/* True while the next move is the other side's of a flow. */
bool transfer_waits_for_flow(const struct transfer *t);
/*
 * It is given up: where a part of the request is still to go out, the kernel
 * drops that too, and the other side sees a reset.
 */
void transfer_abandon(struct transfer *t);

/* Frees it and what it keeps. */
void transfer_free(struct transfer *t);
