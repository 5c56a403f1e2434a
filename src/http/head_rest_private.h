/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/field.h"
#include "head/wire.h"

struct client_connection;

/*
 * libmicrohttpd zeroes a connection's pool for each request, and that must have
 * room for the longest head that it reads: with 16 KiB of it that was a fifth
 * of all the time that a small request took.  So it is shown the beginning of a
 * long head, with an end that fits, and a body just as long; the rest of the
 * head waits here for the exchange.  It is not shown empty lines in front of a
 * request, and no trailers, which nobody reads.  It judges nothing: that is for
 * the wire.  The front's thread.
 */
enum {
	/*
	 * So much of a head libmicrohttpd is shown.  Of what it reads ahead,
	 * two heads that are cut fill its buffer, so no more of them wait here.
	 */
	HEAD_REST_FROM_BYTES = 4096,
	/* What is put in the place of the rest, at most. */
	HEAD_REST_END_MAX = 128,
};
struct head_rest;

/*
 * Bytes that came on the connection, in a place that has room for so many: how
 * many of them are right.  What libmicrohttpd is shown of those stands there
 * then; what has no room there, because an end is longer than what it ends, is
 * for head_rest_spilled.
 */
size_t head_rest_take(struct client_connection *c, char *bytes, size_t len,
    size_t room, size_t *ret_shown);
/* Puts what had no room the last time, if there is room now: how much. */
size_t head_rest_spilled(
    struct client_connection *c, char *bytes, size_t room);
/*
 * What ends the head for libmicrohttpd that was found wrong, as wire_finish();
 * as long as the connection.
 */
struct span head_rest_finish(struct client_connection *c);

/* The rest of the request with which libmicrohttpd has begun; NULL: none. */
const struct head_rest *head_rest_of(const struct client_connection *c);
/* The target, of which libmicrohttpd has the beginning. */
struct span head_rest_target(const struct head_rest *rest,
    struct arena *arena, struct span shown);
/* All fields, of which libmicrohttpd had the first; false: it has fewer. */
bool head_rest_fields(
    const struct head_rest *rest, struct arena *arena, struct fields *fields);
/* The exchange has its rest, if there was one. */
void head_rest_drop(struct client_connection *c);
/* The connection has ended. */
void head_rest_end(struct client_connection *c);
