/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/machine.h"

/*
 * Without a key: what the client sends goes on to the upstream as it comes,
 * and what that answers goes back.  A flow each way joins the two, which
 * know each other's pace by it and nothing else of one another.  The worker's
 * thread only.
 */

/* A body without a key up to this length is read before it is passed on. */
enum { REQUEST_PASS_SMALL_BYTES = 16 * 1024 };

enum after request_pass(struct machine *machine);
enum after request_pass_answered(struct machine *machine);
