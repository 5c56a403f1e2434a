/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "http/upstream/transfer_private.h"

/*
 * How a transfer reads its answer: nothing is read from the connection that
 * has no room, be it in memory or in the flow that it goes to, so what has
 * none waits in the kernel, and the upstream with it.  It knows nothing of how
 * requests are sent.  The worker's thread only.
 */

/* The next byte that is read begins an answer. */
void transfer_answer_begin(struct transfer *t);
/*
 * Reads all that has come, also when it seems to be no more: a watch tells
 * of a reset once only.  False when that was the end of the transfer.
 */
bool transfer_answer_read(struct transfer *t);
/* Its head is in, and what follows waits for memory. */
bool transfer_answer_is_unread(const struct transfer *t);
