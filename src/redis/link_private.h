/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <hiredis/async.h>

#include "redis/link.h"

/*
 * The fields of a link, for its three files: link.c has its life, from down to
 * up and back; handshake.c has what it says to a server by itself; silence.c
 * says when the server is silent.
 *
 * Circle: handshake, link, silence.  A link begins its handshake, whose replies
 * decide what becomes of the link, and asks whether it is silent; one file
 * would be too long.
 */
enum { LINK_MESSAGE_BYTES = 160 };

enum link_state {
	LINK_DOWN,       /* until the timer fires, for the next try */
	LINK_CONNECTING, /* until the handshake is over, or the timer fires */
	LINK_UP,         /* the timer is the pulse's */
};

struct link {
	struct loop *loop;
	const struct conf *conf;
	char *socket;   /* NULL: TCP, to host and port */
	char *host;     /* NULL: not yet known */
	uint16_t port;
	char *address;  /* of host, as last resolved; NULL: never */
	bool sentinel;  /* it leads to a Sentinel */
	bool large;
	char *channels; /* NULL: it sends and does not listen */
	struct link_events events;

	enum link_state state;
	bool finding;       /* find was called and not yet answered */
	bool tried_in_vain; /* an attempt has failed since it was last up */
	bool said_down;     /* the log has it that it is down */
	struct link_call *pulse; /* on its way; NULL: none is */
	int64_t backoff_ms;
	struct timer timer;
	struct resolve_lookup *lookup;

	redisAsyncContext *ac; /* NULL once on_cleanup was called */
	struct watch *watch;
	bool want_write; /* hiredis has bytes to write */
	bool armed;      /* and watches for room to write */
	struct hook flush;
	int64_t given;   /* bytes handed to hiredis on this connection */
	int64_t read_us; /* when the last bytes came */

	unsigned handshake; /* replies of the handshake still to come */
	bool logging_in;   /* the bytes to write may hold a password */
	bool doomed;       /* to be reset once hiredis has returned */
	char message[LINK_MESSAGE_BYTES]; /* why it went down */
	struct redis_clock clock;
};

/* The handshake is over, and went well. */
void link_came_up(struct link *link);
/* The pulse was answered. */
void link_lives(struct link *link);
/* Keeps the message that says why the link went or will go down (copied). */
void link_set_message(struct link *link, const char *message);
