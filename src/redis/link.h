/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"
#include "loop/loop.h"
#include "redis/redis_clock.h"
#include "redis/resp.h"

/*
 * One connection to Redis (hiredis) on a loop: connects, shakes hands,
 * notices silence and connects again, by itself.  Writes of one turn leave
 * in one go at its end.  It knows nothing of records or scripts.  Its
 * owner's thread only; a call belongs to who sends it and must live until
 * done is called.
 */
struct link;
struct redisReply;

/* Whom a link is to; copied. */
struct link_to {
	const char *socket; /* a Unix socket's path; NULL: host and port */
	const char *host;   /* a name or an address; NULL: see find below */
	uint16_t port;
	bool sentinel; /* a Redis Sentinel, which has no records and no clock */
};

struct link_call {
	/*
	 * Redis' reply, valid during the call only, or NULL: the connection
	 * was lost, and whether the command was executed is not known.  It
	 * runs within hiredis, so it may send, but must not reset the link.
	 */
	void (*done)(struct link_call *call, const struct redisReply *reply);
	int64_t sent_us; /* clock_us() when it was handed over */
};

struct link_events {
	/*
	 * Where the owner alone knows where to: asks it, each time that the
	 * link is about to connect.  It answers with link_found, at once or
	 * later, but within store.timeout.  NULL: the link was told.
	 */
	void (*find)(void *arg);
	/* The link went up or down; from within hiredis, as above. */
	void (*changed)(void *arg, bool up);
	/* An attempt to connect failed; nothing changed otherwise. */
	void (*failed)(void *arg);
	/*
	 * Where channels is set, a pattern, the link only listens, and is
	 * told of each message on those channels; it has no pulse, and
	 * nothing may be sent on it.
	 */
	void (*heard)(void *arg, struct span message);
	const char *channels; /* copied */
	void *arg;
};

/* Connects at once; conf says how to log in, and how long to wait. */
struct link *link_new(struct loop *loop, const struct conf *conf,
    const struct link_to *to, const struct link_events *events);
/* All calls end with NULL; nulls the pointer.  Not from within done(). */
void link_free(struct link **link);

/* The answer to find; nothing happens where nobody asked. */
void link_found(struct link *link, const char *host, uint16_t port);

bool link_is_up(const struct link *link);
/*
 * True while the link is down and it is too early to say so: its first
 * attempt since it was up, or since the start, is still under way.
 */
bool link_is_hopeful(const struct link *link);

/* Sends one whole command; the link is up. */
void link_send(
    struct link *link, struct link_call *call, const struct resp *command);
/*
 * Cuts the connection with a TCP reset, so that Redis drops what it has not
 * read yet; every call that has no reply ends with NULL.
 */
void link_reset(struct link *link, const char *message);

/* The same, because Redis is elsewhere now: connects again at once. */
void link_move(struct link *link);
/* Why it went down last; "" where it never did. */
const char *link_message(const struct link *link);
/* Redis' clock, as far as the link has heard of it. */
struct redis_clock *link_clock(struct link *link);
