/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/store_private.h"

/*
 * What becomes of a call that a server of a cluster turned away because its
 * slot is another's, or on its way there: nothing ran, so it is sent to where
 * it belongs, for as long as somebody waits for it.  For src/store/ alone;
 * the store's thread.
 */
struct redisReply;

/*
 * The reply is an error.  True: the call goes on, or has ended.  False: it is
 * refused here, and for good.
 */
bool redirect_call(
    struct store_call *call, const struct redisReply *reply);
