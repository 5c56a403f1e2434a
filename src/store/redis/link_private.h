/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/redis/cable.h"
#include "store/redis/link.h"

/*
 * The fields of a link, for its four files: link.c has its life, from down to
 * up and back; handshake.c has what it says to a server by itself; silence.c
 * says when the server is silent, and news.c what the log hears.
 *
 * Circle: handshake, link, news, silence.  A link begins its handshake, whose
 * replies decide what becomes of the link, asks whether it is silent and says
 * what has become of it; one file would be too long.
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
	const struct conf_redis *redis; /* of that */
	char *socket;   /* NULL: TCP, to host and port */
	char *host;     /* NULL: not yet known */
	uint16_t port;
	char *address;  /* of host, as last resolved; NULL: never */
	char *name; /* that its certificate must have; NULL: host */
	bool sentinel;  /* it leads to a Sentinel */
	bool large;
	bool unpulsed;
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

	struct cable *cable; /* NULL: there is none */
	struct hook flush;
	int64_t given; /* bytes handed to this connection */
	/* The calls without a reply, as they were sent; the first is the next
	 * to have one. */
	struct link_call *calls;
	struct link_call **calls_end;

	unsigned handshake; /* replies of the handshake still to come */
	bool subscribed;    /* Redis has confirmed that it listens */
	bool telling;       /* a done() is told of its reply, or heard() */
	bool doomed;        /* to be cut when that has returned */
	bool said_odd;      /* the log has it that it was told nonsense */
	char message[LINK_MESSAGE_BYTES]; /* why it went down */
	struct redis_clock clock;
};

/* The handshake is over, and went well. */
void link_came_up(struct link *link);
/* The pulse was answered. */
void link_lives(struct link *link);
/* Redis has confirmed that it listens: it was worth connecting. */
void link_listens(struct link *link);
/* Cuts the link, for that reason (copied), once done() has returned. */
void link_doom(struct link *link, const char *message);
