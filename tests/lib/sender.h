/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/body.h"
#include "http/upstream/forward.h"
#include "http/upstream/upstreams.h"
#include "lib/peer.h"

/*
 * A loop, a configuration with one upstream, and calls to it as a worker would
 * make them.  The test's thread only.
 */
enum { SENDER_TARGETS = 4 };

struct sender {
	struct loop *loop;
	struct conf conf;
	struct conf_upstream upstream;
	struct conf_target targets[SENDER_TARGETS];
	struct budget budget;
	struct upstreams *upstreams; /* made at the first call */
	unsigned pending;
	struct timer timer;
};

/*
 * It has no target yet; the configuration may be changed up to the first call.
 */
void sender_init(struct sender *sender);
void sender_end(struct sender *sender);
/* Adds a target: http://127.0.0.1:PORT of a peer, or any other. */
struct conf_target *sender_add(struct sender *sender, const struct peer *peer);
struct conf_target *sender_add_port(
    struct sender *sender, const char *host, uint16_t port);

/* One call: zeroed memory, then call_init(). */
struct call {
	struct sender *sender;
	struct forward forward;
	struct message message;
	struct forward_limits limits;
	bool done;
};

/* A POST of /v1/charges with a body of 20 bytes and reuse. */
void call_init(struct call *call, struct sender *sender);
void sender_start(struct call *call);
void call_clear(struct call *call);
/* Runs the loop until no call is pending. */
void sender_wait(struct sender *sender);
/* Runs the loop until the peer has read so many requests. */
void sender_wait_requests(
    struct sender *sender, struct peer *peer, unsigned requests);
/* Runs the loop until so many connections have ended at the peer. */
void sender_wait_ended(
    struct sender *sender, struct peer *peer, unsigned connections);
/* Runs the loop until something stops it. */
void sender_turn(struct sender *sender);
/* Runs the loop for that long. */
void sender_run(struct sender *sender, int64_t ms);
/* Starts a call and waits for its end. */
enum forward_result call_make(struct call *call);
/* The same with a new POST, cleared again; only its result. */
enum forward_result sender_post(struct sender *sender);
/* Makes so many POSTs at once, all of which must be answered. */
void sender_post_at_once(struct sender *sender, unsigned count);
