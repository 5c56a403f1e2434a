/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "lib/sender.h"

/*
 * The other side of a call's two flows: sends a body as fast as there is room,
 * and reads the rest of an answer as fast as it comes.  The byte at each place
 * of both is client_byte().  The test's thread only.
 */
struct client {
	struct sender *sender;
	struct flow up;
	size_t size;   /* of the body */
	size_t put;    /* of it, so far */
	struct flow *rest;
	size_t got;    /* of it, so far */
	size_t most;   /* most memory in use at any time */
	bool running;  /* the loop, until the rest has ended */
};

char client_byte(size_t i);
/* A body of such bytes, NUL-terminated; the caller frees it. */
char *client_body(size_t size);

void client_init(struct client *client, struct sender *sender);
/*
 * Makes the client the source of a message's body: size bytes, announced as
 * length; -1: in chunks.
 */
void client_upload(
    struct client *client, struct call *call, size_t size, int64_t length);
/* Reads the rest of the call's answer, which must be such bytes, to its end. */
void client_read(struct client *client, struct call *call);
/* The client leaves: it sends nothing more. */
void client_leave(struct client *client);
void client_end(struct client *client);
