/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/list.h"
#include "base/loop/loop.h"
#include "conf/conf.h"
#include "store/redis/redis_clock.h"
#include "store/redis/resp.h"

/*
 * A connection to a Redis, kept on a loop: it connects, with TLS where the
 * configuration says so, shakes hands, notices silence and connects again, by
 * itself.  All commands of one turn of the loop leave with one write at its
 * end, and replies come in the order of the commands.  It knows nothing of
 * records or scripts.  Its owner's thread only.  A call belongs to whoever
 * sends it, and must live until its done is called.
 */
struct link;
struct master;
struct redisReply;

/* The server that a link leads to; copied. */
struct link_to {
	const char *socket; /* a Unix socket's path; NULL: host and port */
	const char *host;   /* name or address */
	const char *name; /* that its certificate must have; NULL: host */
	uint16_t port;
	/*
	 * Followed where there is neither socket nor host: the link leads to
	 * where that master is, and moves with it.  It outlives the link.
	 */
	struct master *master;
	bool sentinel; /* a Redis Sentinel, which has no records and no clock */
	/*
	 * It is logged in to and no more, whatever else our user may not: for
	 * those who find out what that is.
	 */
	bool bare;
	/*
	 * For large values: the kernel keeps few of its bytes, so that they do
	 * not fill the queues on the way, in which those of others wait.
	 */
	bool large;
	/*
	 * The link asks for no signs of life: its commands may block, and its
	 * owner sends all the time and notices silence by link_left_ms.
	 */
	bool unpulsed;
};

struct link_call {
	/*
	 * Redis' reply, valid during this call only, or NULL: the connection
	 * was lost, and whether the command was executed is not known.  It may
	 * send, and may reset the link, which then lives until it returns.
	 */
	void (*done)(struct link_call *call, const struct redisReply *reply);
	int64_t sent_us; /* clock_us() when it was handed over */
	/* The link's own: */
	struct list of_link; /* among those without a reply */
	/* For link_left_ms: */
	int64_t end;      /* bytes given to the connection, up to its last */
	int64_t untaken;  /* of those, not yet taken at the last look */
	int64_t moved_us; /* when something of it was last seen to move */
};

enum link_change {
	LINK_CAME_UP,
	LINK_WENT_DOWN,
	LINK_FAILED, /* an attempt to connect: it is still down */
};

struct link_events {
	/* It must not be reset when it goes down. */
	void (*changed)(void *arg, enum link_change change);
	/*
	 * With channels set (a pattern of PSUBSCRIBE) the link only listens:
	 * heard is called for each message on those channels.  Such a link has
	 * no pulse, and nothing may be sent on it.
	 */
	void (*heard)(void *arg, struct span message);
	const char *channels; /* copied */
	/* Redis does not let us listen, for that reason; NULL: as it may. */
	void (*refused)(void *arg, const char *error);
	/*
	 * Several links tell of one Redis: this decides whether the log hears
	 * that the link is down, for the reason in message (NULL: that it is up
	 * again, or freed).  It is called once for each.  NULL: the log hears
	 * neither, as somebody else says so.
	 */
	bool (*tells)(void *arg, const char *message);
	void *arg;
};

/*
 * Connects in the loop's next turn; redis, a part of conf, says how to log in,
 * and how long to wait.
 */
struct link *link_new(struct loop *loop, const struct conf *conf,
    const struct conf_redis *redis, const struct link_to *to,
    const struct link_events *events);
/*
 * All open calls end with NULL; nulls the pointer, accepts NULL.  Not from
 * within done().
 */
void link_free(struct link **link);

/* True where its master has moved, and it has not gone there yet. */
bool link_is_behind(const struct link *link);

/* True where calls can be sent: it is connected, and has shaken hands. */
bool link_is_up(const struct link *link);
/*
 * True while the link is down but may be up in a moment: its first attempt
 * since it was last up, or since the start, is still under way.
 */
bool link_is_hopeful(const struct link *link);

/* Sends one whole command, whose bytes are copied; the link must be up. */
void link_send(
    struct link *link, struct link_call *call, const struct resp *command);
/*
 * The time, in ms, for which a call that was sent may still go without a reply
 * before the connection counts as silent; 0: its time is up.  store.timeout is
 * for silence, not for bytes that flow: it begins anew whenever a byte of any
 * reply has come, and while the other side takes the bytes of this call, or of
 * those ahead of it, from our socket.
 */
int64_t link_left_ms(struct link *link, struct link_call *call);
/*
 * Cuts the connection with a TCP reset, so that Redis drops what it has not
 * read yet; every call without a reply ends with NULL.  message is for the log.
 */
void link_reset(struct link *link, const char *message);

/*
 * For done() and heard(), of a reply that cannot be true, so that nothing that
 * comes behind it can be believed: the link is cut as soon as they have
 * returned, and the log is told why.
 */
void link_distrust(struct link *link, const char *message);
/*
 * The reason why it last went down; "" where it never did.  It lives until the
 * next time.
 */
const char *link_message(const struct link *link);
/*
 * The server that the link leads to now, by address where it is connected or
 * was: another link made with it leads to the same one.  The strings are the
 * link's.
 */
struct link_to link_where(const struct link *link);
/* Redis' clock as the link has last learnt it; it lives as long as the link. */
struct redis_clock *link_clock(struct link *link);
