/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/call_reply.h"
#include "store/channel.h"

/*
 * store.wait_replicas: what a script wrote counts only when so many replicas
 * have it.  The reply of such a script is delayed until WAIT, which covers
 * all that the connection has sent before it, says so.  There is one WAIT for
 * all scripts of a turn of the loop, sent right after them, and never more than
 * one under way, because the connection answers nothing else meanwhile.  With
 * too few replicas the reply counts as lost (E_STORE_REFUSED); the claim is
 * then given back, the outcome stored again, by whoever waits for it.
 *
 * Of the scripts it knows only which of them write what must not be lost.  For
 * src/store/ alone; the store's thread.
 */

/* A reply that is delayed; a member of whatever waits for it. */
struct replicas_delayed {
	struct list in_channel;
	struct call_reply reply; /* set where it is delayed … */
	struct redisReply *kept; /* … with what comes with it */
	/* 0: enough replicas have it; E_STORE_REFUSED: too few do. */
	void (*end)(struct replicas_delayed *delayed, int error);
};

/*
 * The hook of a channel, where store.wait_replicas is set: sends WAIT if that
 * is wanted, before the link writes out what this turn has sent.
 */
bool replicas_on_flush(void *channel);
/* That script was just sent on the channel. */
void replicas_sent(struct channel *channel, enum script script);
/*
 * True: the script's reply has to wait.  It is kept in delayed, whose end,
 * which is set, is called later.
 */
MUST_USE bool replicas_delay(struct channel *channel, enum script script,
    const struct call_reply *reply, struct replicas_delayed *delayed);
/* The link is down: delayed replies are lost. */
void replicas_link_down(struct channel *channel);
