/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * The commands that a link sends on its own account: the handshake with a
 * server that it has reached, the subscription, the pulse.  It knows no calls
 * of others; it reports to link.c through link_private.h, on the link's thread.
 */
struct link;
struct link_call;
struct redisReply;

/* Queues the whole handshake; the connection may still be under way. */
void handshake_begin(struct link *link);
/* Subscribes to the link's channels (PSUBSCRIBE). */
void handshake_subscribe(struct link *link);
/* What came on a link that has subscribed. */
void handshake_heard(struct link *link, const struct redisReply *message);
/* Asks for a sign of life; the call ends with link_lives, or with the link. */
struct link_call *handshake_pulse(struct link *link);
