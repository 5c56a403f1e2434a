/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/redis/link_private.h"
#include "store/redis/silence_private.h"

/*
 * Bytes of a reply that come are a sign of life for every call.  Bytes of a
 * command that leave are one for that command and those behind it alone, and
 * only until the other side has taken them: the kernel of a server that is
 * frozen takes small commands all the same.
 */
enum { UNSEEN = -1 }; /* untaken, before the first look */

void
silence_begin(const struct link *link, struct link_call *call)
{
	call->end = link->given;
	call->untaken = UNSEEN;
	call->moved_us = call->sent_us;
}

int64_t
silence_left_since(const struct link *link, int64_t moved_us)
{
	int64_t left_us =
	    moved_us + link->redis->timeout_ms * 1000 - clock_us();
	return left_us > 0 ? (left_us + 999) / 1000 : 0;
}

/* At the first look, what is not yet taken is still on its way. */
static void
look(const struct link *link, struct link_call *call)
{
	int64_t before = call->untaken;
	int64_t untaken = call->end - link->given +
	    cable_backlog(link->cable);
	call->untaken = untaken > 0 ? untaken : 0;
	if (before == UNSEEN ? untaken > 0 : untaken < before)
		call->moved_us = clock_us();
}

int64_t
silence_left_ms(const struct link *link, struct link_call *call)
{
	if (link->cable == NULL)
		return 0;
	int64_t read_us = cable_read_us(link->cable);
	if (call->untaken != 0)
		look(link, call);
	if (call->moved_us < read_us)
		call->moved_us = read_us;
	return silence_left_since(link, call->moved_us);
}
