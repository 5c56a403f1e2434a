/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/span.h"

/*
 * Takes replies out of the bytes that came from a server (hiredis' parser) and
 * believes no length that they announce: memory is taken for what was received,
 * and what no Redis would say to us, or is too large for any reply of ours, is
 * a fault, behind which nothing is read.  It knows no connection and no
 * commands.  One thread.
 */
struct reply_reader;
struct redisReply;

struct reply_reader *reply_reader_new(void);
/* Nulls the pointer, accepts NULL. */
void reply_reader_free(struct reply_reader **reader);
void reply_reader_feed(struct reply_reader *reader, struct span bytes);
/*
 * The next whole reply, which lives until this is called again, or the reader
 * is freed; NULL: it has not come yet, or there was a fault.  *ret_fault, which
 * lives as long as the reader; NULL: there was none.
 */
const struct redisReply *reply_reader_next(
    struct reply_reader *reader, const char **ret_fault);
