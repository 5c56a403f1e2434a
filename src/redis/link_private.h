/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <hiredis/async.h>

#include "redis/link.h"

/*
 * The inside of a link, for its two files: link.c has its life, from down to
 * up and back; handshake.c what is said to a server that was reached.
 *
 * Circle: handshake, link.  A link begins its handshake, whose replies say
 * what becomes of the link; they are two files because two things are said.
 */
enum { LINK_MESSAGE_BYTES = 160 };

enum link_state {
	LINK_DOWN,       /* until the timer says to try again */
	LINK_CONNECTING, /* up to the last reply; the timer limits it */
	LINK_UP,         /* the timer is that of the pulse */
};

struct link {
	struct loop *loop;
	const struct conf *conf;
	char *socket;   /* NULL: TCP, to host and port */
	char *host;     /* NULL: nobody has said it yet */
	uint16_t port;
	bool sentinel;  /* it is to one */
	char *channels; /* NULL: it sends and does not listen */
	struct link_events events;

	enum link_state state;
	bool finding;       /* its owner was asked where to */
	bool tried_in_vain; /* since it was last up */
	bool said_down;     /* the log has it */
	bool pulsing;       /* a pulse is on its way */
	int64_t backoff_ms;
	struct timer timer;
	struct resolve_lookup *lookup;

	redisAsyncContext *ac; /* gone once on_cleanup was called */
	struct watch *watch;
	bool want_write; /* hiredis has bytes to write */
	bool armed;      /* and waits for the descriptor */
	struct hook flush;

	unsigned handshake; /* replies of the handshake to come */
	bool logging_in;   /* a password may be among what is to be written */
	bool doomed;       /* to be reset once hiredis has returned */
	char message[LINK_MESSAGE_BYTES]; /* why it went down */
	struct redis_clock clock;
};

/* The handshake is over. */
void link_came_up(struct link *link);
/* The pulse was answered. */
void link_lives(struct link *link);
void link_set_message(struct link *link, const char *message);
