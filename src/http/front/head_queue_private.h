/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/span.h"
#include "http/head/wire.h"

struct client_connection;
struct front;

/*
 * The heads of a connection's requests, in the order in which they came.  In
 * the place of each libmicrohttpd is shown a short one of our own, with no more
 * than the method, the version and how long the body is, so that it has nothing
 * to take apart, to keep, or to read in another way than we do; and its pool,
 * which it zeroes for each request, may be small.  The client's own waits here
 * until the exchange takes it.  The size of a chunk is written anew, too: of an
 * extension some versions of libmicrohttpd make another size.  Empty lines in
 * front of a request, extensions and trailers, which nobody reads, are shown to
 * nobody.  It judges nothing: that is for the wire.  The front's thread.
 */
enum {
	/*
	 * Behind so much that waits, a head of our own has as many bytes as the
	 * client's, or so many: libmicrohttpd reads ahead until its buffer is
	 * full, and would have hundreds of heads wait here.
	 */
	HEAD_QUEUE_FULL_BYTES = 8192,
	HEAD_QUEUE_FILL_BYTES = 4096,
	/* What a front keeps for the next head. */
	HEAD_QUEUE_SPARE_BYTES = 1024,
	/* Of a head of our own that ends one that was wrong, at most. */
	HEAD_QUEUE_END_MAX = 64,
};
struct queued_head;

/*
 * Bytes that came on the connection: how many of them are right.  What
 * libmicrohttpd is shown of those is put to that place, which has this room, at
 * least one byte; what has no room there is for head_queue_spilled.
 */
size_t head_queue_take(struct client_connection *c, const char *bytes,
    size_t len, char *to, size_t room, size_t *ret_shown);
/* Puts what had no room the last time, if there is room now: how much. */
size_t head_queue_spilled(
    struct client_connection *c, char *bytes, size_t room);
/*
 * What ends the head for libmicrohttpd that was found wrong, so that it sees a
 * small whole one, and the request is answered like any other; empty where the
 * wrong is behind the head.  It is kept as long as the connection.
 */
struct span head_queue_finish(struct client_connection *c);

/*
 * The head of the request with which libmicrohttpd has begun, from its first
 * byte to its last, or as far as it is right: a copy in the arena, which may be
 * written to.  It is taken off the queue.  How many lines of fields it has, the
 * last of which may be wrong.  NULL: there is nothing of it that was right.
 */
char *head_queue_pop(struct client_connection *c, struct arena *arena,
    size_t *ret_len, size_t *ret_fields);
/* The connection has ended; all of them have, and their front does. */
void head_queue_end(struct client_connection *c);
void head_queue_end_front(struct front *front);
