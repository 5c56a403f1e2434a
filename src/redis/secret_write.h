/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * A password on its way through hiredis, which keeps what is to be sent in
 * memory that it moves and frees as it is.  From secret_write_begin() to the
 * end of secret_write_send() those bytes lie in one place, and are wiped there.
 * It knows nothing of loops and replies.  The connection's thread.
 */
struct redisContext;

/* Before the first command: what is put now does not move any more. */
void secret_write_begin(struct redisContext *redis);
/*
 * In the place of hiredis' own writing: sends what there is and wipes it.
 * True: all is gone; false: not yet, or the connection is broken, of which
 * hiredis will hear by itself.
 */
bool secret_write_send(struct redisContext *redis);
/* What was not sent is wiped; the connection is about to be freed. */
void secret_write_end(struct redisContext *redis);
