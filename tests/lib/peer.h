/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A scripted upstream on raw sockets: for each connection a thread runs the
 * script, which reads requests and sends whatever bytes it likes.  The peer
 * counts the requests that were read to their end.  The test's thread owns the
 * peer; the functions on struct talk are for scripts.
 */
struct peer;
struct talk;

/* Listens on a free port of 127.0.0.1. */
struct peer *peer_new(void (*script)(struct talk *talk), void *arg);
/* Listens on a Unix socket. */
struct peer *peer_new_unix(
    const char *path, void (*script)(struct talk *talk), void *arg);
/* Ends all connections and threads; nulls the pointer, accepts NULL. */
void peer_free(struct peer **peer);

uint16_t peer_port(const struct peer *peer);
unsigned peer_requests(struct peer *peer);
unsigned peer_connections(struct peer *peer);
unsigned peer_ended(struct peer *peer); /* connections, by either side */
/* A NUL-terminated copy of the last request; the caller frees it. */
char *peer_last_request(struct peer *peer);
/* Waits until so many connections have ended, on whichever side. */
void peer_wait_ended(struct peer *peer, unsigned connections);
/* Waits until so many requests have been read. */
void peer_wait_requests(struct peer *peer, unsigned requests);
/* Waits until scripts have sent so many texts. */
void peer_wait_sent(struct peer *peer, unsigned texts);
/* Lets one talk_wait() at that gate go on. */
enum { PEER_GATES = 2 };
void peer_go(struct peer *peer, unsigned gate);

void *talk_arg(struct talk *talk);
unsigned talk_number(const struct talk *talk); /* of the connection, from 0 */
/* Reads a whole request; false at the end of the connection. */
bool talk_read(struct talk *talk);
/* The last request, NUL-terminated. */
const char *talk_request(const struct talk *talk);
/*
 * Reads a request whose body has byte(i) at each place i, with a length or in
 * chunks, and keeps none of it; false where it is cut.
 */
bool talk_read_upload(
    struct talk *talk, char (*byte_at)(size_t i), size_t *ret_size);
/* Reads only the head of a request, which is not counted. */
bool talk_read_head(struct talk *talk);
/* Waits until the other side has closed. */
void talk_wait_end(struct talk *talk);
/* Waits for a peer_go() of that gate. */
void talk_wait(struct talk *talk, unsigned gate);
void talk_send(struct talk *talk, const void *bytes, size_t len);
void talk_say(struct talk *talk, const char *text);
/* Ends the connection: FIN, RST. */
void talk_close(struct talk *talk);
void talk_reset(struct talk *talk);

/* --- places where nobody answers --- */

/* A port of 127.0.0.1 where nobody listens. */
uint16_t peer_closed_port(void);

/* A listening socket whose queue is full: connecting to it hangs. */
struct full {
	int listener;
	int clients[4];
	uint16_t port;
};

/* On a port of 127.0.0.1, or on that port of ::1; false: there is no ::1. */
bool full_open(struct full *full, bool v6, uint16_t port);
void full_close(struct full *full);
