/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/source/delivery.h"
#include "store/records.h"

/*
 * A letter's replay: an operator has it executed again, under its own key, or
 * dropped; or it comes back because the one before it in its lane is done with.
 * Its way is that of a message (source/delivery.h), of which it is a part; here
 * is what is only of a letter's.  Its broker has acknowledged it long ago: so
 * it ends with a result and a mark in the broker's own place, and then in the
 * store, which names the next of its lane.  It stays a letter where it cannot
 * be executed.  Also here is the end of one whose acknowledgement nobody has
 * confirmed.  It needs a reader to put something with, and any gateway's will
 * do.  The worker's thread only.
 */
enum replay_act {
	REPLAY_TO_EXECUTE,
	REPLAY_TO_DROP,    /* it is only finished */
	REPLAY_TO_CONFIRM, /* its broker is to acknowledge it first */
};

struct replay {
	struct delivery *delivery;
	enum replay_act act;
	struct letter_name name;
	struct owner owner;
	int64_t until_us; /* it is ours, by clock_us */
	struct timer renew;
	struct letter_op renewal;
	bool shut;  /* it does not open */
	bool tried; /* its record was executed, or released */
	struct records_op record;
};

/*
 * It is begun, or taken over, if nobody has it; nothing happens where one of
 * that letter runs here already.
 */
void replay_new(struct source *source, const struct letter_name *name,
    enum replay_act act);

/* Its broker has answered: the step after that. */
enum after replay_finished(struct delivery *d);
