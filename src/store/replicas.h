/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/must.h"
#include "store/node.h"

/*
 * store.wait_replicas: what a script wrote counts only when so many replicas
 * have it.  The reply of such a script is held back until WAIT, which covers
 * all that the connection has sent before it, says so.  There is one WAIT for
 * all scripts of a turn of the loop, sent right after them, and never more than
 * one under way, because the connection answers nothing else meanwhile.  With
 * too few replicas the reply counts as lost (E_STORE_REFUSED); the claim is
 * then given back, the outcome stored again, by whoever waits for it.
 *
 * Of the scripts it knows only which of them write what must not be lost.  For
 * src/store/ alone; the store's thread.
 */

/* A reply that is held back; a member of whatever waits for it. */
struct replicas_held {
	struct replicas_held *next;
	struct redisReply *reply; /* a copy, freed after end */
	/*
	 * Called at the end: with the reply, valid during the call, where
	 * enough replicas have it; or NULL, and E_STORE_REFUSED (too few) or
	 * E_STORE_DOWN.
	 */
	void (*end)(struct replicas_held *held, const struct redisReply *reply,
	    int error);
};

/* For a new line, after its link was made. */
void replicas_init(struct line *line);
/* After the line's link was freed. */
void replicas_end(struct line *line);
/* That script was just sent on the line. */
void replicas_sent(struct line *line, enum script script);
/*
 * Whether the script's reply has to wait.  Then the reply is copied, and
 * held->end, which is set, is called later.
 */
MUST_USE bool replicas_hold(struct line *line, enum script script,
    enum verdict verdict, const struct redisReply *reply,
    struct replicas_held *held);
/* The link is down: held replies are lost. */
void replicas_link_down(struct line *line);
