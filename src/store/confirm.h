/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/call.h"

/*
 * Notes in a COMPLETED record that store.wait_replicas have it, once WAIT has
 * said so, so that later replays need not ask again, and are given while
 * replicas are away.  Nobody waits for that note, and without it nothing is
 * lost but time.  For src/store/ alone; the store's thread.
 */

/* The confirmed of a call that completes or claims (call.h). */
void confirm_record(
    struct store_call *call, const struct redisReply *reply);
