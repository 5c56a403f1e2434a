/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/body.h"
#include "base/loop/loop.h"

/*
 * An answer is read into a body, for which memory is got here.  A request that
 * was sent cannot be refused any more: so an answer for which there is no
 * memory waits, and tries again every few milliseconds, as any thread may have
 * freed some.  Nothing here knows connections or HTTP; whoever has a struct
 * answer_memory as a member ends it.  The worker's thread only.
 *
 * Several that wait cannot block one another.  While less than half of the
 * budget is in use, a body grows as its bytes come.  Beyond that it takes at
 * once all that it can ever need, and reads on without waiting again; or,
 * where that is too much and nobody knows the answer's length, it takes piece
 * by piece, one such answer at a time.  So those that have read a part and
 * wait hold no more than half of it, and the others that hold memory finish,
 * or are ended by a deadline.  Meanwhile requests find less memory than there
 * is, and are refused before an answer is given up.
 */
struct answer_memory {
	/* The owner's to set: */
	struct budget *budget;
	struct timer again; /* fires some time after it had to wait */

	bool waits;
	bool has_turn;
	size_t wanted; /* bytes that are kept free for it */
};

/*
 * Makes room for least bytes in body, or for more.  The body will have most
 * bytes in the end, or, where exact is false, no more than that.  False: it
 * waits now, and again will fire.
 */
MUST_USE bool answer_memory_get(struct answer_memory *memory,
    struct body *body, size_t least, size_t most, bool exact);
/* It needs no more: gives up the turn, and what is kept free for it. */
void answer_memory_end(struct answer_memory *memory);
