/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/call.h"
#include "store/redis/link.h"

/*
 * Claims of one turn of the loop leave together, in one run of a script, and so
 * do answers that are stored: what Redis does for a run besides its commands
 * costs it more than they do.  It does the usual ones (lua/claims.lua,
 * lua/completes.lua), each by itself: each has its own verdict, error and
 * deadline.  One that is not usual is sent again alone, as a call of its own
 * script, and so is each where Redis refuses all.  In a cluster each leaves by
 * itself, because its keys must be of one slot.
 *
 * It knows how such a run is asked for and answered, and nothing of records.
 * For src/store/ alone; the store's thread.  A joint belongs to its line, or
 * where it was sent to that line's link, and frees itself.
 *
 * Circle: call, joint.  A call that is sent may become one of a joint, which
 * gives each of its calls the reply.
 */
struct joint;

/* The line's link was freed: what was not sent yet is lost. */
void joint_end(struct line *line);

/* Whether a call that is about to be sent may leave together with others. */
bool joint_takes(const struct store_call *call);
/* Such a call leaves at the end of the turn at the latest. */
void joint_add(struct store_call *call);
/* As what the call was sent; NULL: it leaves at the end of this turn. */
struct link_call *joint_link_call(struct store_call *call);
