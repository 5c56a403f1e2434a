/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Sends a password through hiredis without leaving copies of it in memory:
 * hiredis moves and frees its output buffer without wiping it.  From
 * secret_write_begin() to the end of secret_write_send() the buffer stays where
 * it is, and is wiped there.  It knows nothing of loops and replies.  The
 * connection's thread.
 */
struct redisContext;

/* Before the first command: makes the buffer so large that it need not move. */
void secret_write_begin(struct redisContext *redis);
/*
 * Sends what is in the buffer, in place of hiredis' own writing, and wipes it.
 * True: all has left; false: not yet, or the connection is broken, which
 * hiredis will notice by itself.
 */
bool secret_write_send(struct redisContext *redis);
/* Wipes what was not sent, when the connection is about to be freed. */
void secret_write_end(struct redisContext *redis);
