/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "replay/world.h"

/*
 * What may happen next in the world, and making it happen.  Between two events
 * the loops can only wait, unless the scheduler lets two events happen in one
 * turn.
 */
enum happening {
	HAPPENS_EXECUTE, /* Redis executes the next command of a gateway */
	HAPPENS_REPLY,   /* its reply arrives */
	HAPPENS_TELL,    /* what was published arrives */
	HAPPENS_WRITE,   /* the disk has what a gateway writes */
	HAPPENS_FORWARD, /* the upstream does something */
	HAPPENS_ROW,     /* its database answers */
	HAPPENS_BODY,
	HAPPENS_ARRIVE,
	HAPPENS_ACT,
	HAPPENS_UP,
	HAPPENS_MEMORY, /* there is some again */
	HAPPENS_GO_ON,
	HAPPENS_START,
	HAPPENS_GHOST,
	HAPPENS_DELETE, /* the operator deletes what is damaged */
	HAPPENS_TAKE,   /* a message is given to a reader */
	HAPPENS_FINISH, /* the broker acknowledges */
	HAPPENS_BROKER, /* it is up again */
	HAPPENS_PROOF,  /* an operator has a source go on, unproven */
	HAPPENS_ROOM,   /* or drops a letter, as there is no room for more */
	HAPPENS_TIME, /* the clock moves to the next timer that matters */
	/* Faults, from here on. */
	HAPPENS_CUT,
	HAPPENS_DEAFEN,
	HAPPENS_REFUSE,
	HAPPENS_LEAVE,
	HAPPENS_DOWN,
	HAPPENS_KILL,
	HAPPENS_STALL,
	HAPPENS_DISK,
	HAPPENS_FEW,
	HAPPENS_FAILOVER,
	HAPPENS_SHORT,
	HAPPENS_FORGET,
	HAPPENS_LOSE,
	HAPPENS_DAMAGE,
	HAPPENS_PUT, /* and so on: enum fault */
	HAPPENS_ACK,
	HAPPENS_UNHEARD,
	HAPPENS_AWAY,
	HAPPENS_TRIM,
	HAPPENS_STEAL,
	HAPPENS_TURN,
};

struct chance {
	enum happening what;
	struct gateway *gateway;
	unsigned index; /* of client, act or forward */
	enum doing doing;
	unsigned *budget; /* the allowance that it uses up; NULL: none */
	unsigned weight;  /* its weight when choices are drawn */
};

enum { EVENTS_MAX = 128 };

/* For event_messages.c: another event; a fault only where one may happen. */
struct chance *events_add(
    enum happening what, struct gateway *gateway, unsigned index);
void events_add_fault(enum fault fault, enum happening what,
    struct gateway *gateway, unsigned index);
/* What may happen to messages; and making it happen. */
void event_messages_list(void);
void event_messages_list_faults(void);
void event_messages_happen(const struct chance *event);

/* All that may happen now. */
unsigned events_list(struct chance list[EVENTS_MAX]);
/* Of those, the events that may share a turn with the last one. */
unsigned events_close(struct chance *list, unsigned count);
void events_happen(const struct chance *event);
/* Makes happen what needs no choice; true: something did. */
bool events_settle(void);
/* Whether anything will happen as time passes. */
bool events_time_matters(void);
