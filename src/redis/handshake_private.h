/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * What is said on a link of its own accord: the handshake with a server that
 * was reached, the subscription, the pulse.  For link.c alone, which is told
 * of their ends by link_private.h; the link's thread.
 */
struct link;

/* The connection is there, or on its way: says all of the handshake. */
void handshake_begin(struct link *link);
/* Begins to listen to the link's channels. */
void handshake_subscribe(struct link *link);
/* Asks for a sign of life; the timer limits it. */
void handshake_pulse(struct link *link);
