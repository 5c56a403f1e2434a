/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "source/inquiry.h"

/*
 * What the sources of one worker say to an inquiry.  It changes nothing, but for
 * a message that is dropped.  The worker's thread.
 */

/*
 * The part of that worker, which may have ended.  False: its answer comes
 * later, by inquiry_go_on.
 */
MUST_USE bool sources_view(struct inquiry *inquiry, struct worker *worker);
