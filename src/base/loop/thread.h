/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>

#include "base/must.h"

/*
 * A thread of our own beside an event loop, for what may block for long: in the
 * few threads of libuv's pool (loop/work.h) it would keep the journal waiting.
 * Nobody waits for its end, and no signal comes to it: those are the main
 * thread's.  It knows nothing of what the thread does.  Any thread.
 */

/* False: the system has no thread to give now; run is not called. */
MUST_USE bool thread_begin(void *(*run)(void *arg), void *arg);
