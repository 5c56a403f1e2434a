/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/call.h"

/*
 * Reads what the scripts of a record say, by the head of each, into the
 * operation that waits for it (struct store_op), and fetches an answer that is
 * too large to come with a verdict.  It knows the record, and none of the
 * operations in particular.  For src/store/ alone; the store's thread.
 */

/* The usual done of a call. */
void record_reply_done(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply);
/*
 * The same of a call whose extras are others: read takes them in, where it was
 * answered, and returns 0 or an error; E_MALFORMED makes the record BROKEN.
 */
void record_reply_read(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply,
    int (*read)(struct store_call *call, const struct call_reply *reply));
/*
 * The confirmed of a call that completes or claims: notes in a COMPLETED record
 * that enough replicas have it, so that later replays need not ask again, and
 * are given while replicas are away.  Nobody waits for that note, and without
 * it nothing is lost but time.
 */
void record_reply_confirmed(
    struct store_call *call, const struct call_reply *reply);
