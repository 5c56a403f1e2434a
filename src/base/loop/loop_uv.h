/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <uv.h>

#include "base/loop/loop_state.h"

/*
 * A loop as libuv drives it; for loop.c, and for watch.c, whose descriptors
 * libuv watches.  The loop's own thread, but for what the mutex guards.
 */
struct loop {
	struct loop_state state; /* first: see loop/loop_state.h */
	uv_loop_t uv;
	uv_prepare_t turn_end;
	uv_idle_t unfinished;
	uv_timer_t alarm;
	uv_async_t wakeup; /* something was posted */
	int64_t alarm_at_ms; /* what the alarm is set to; -1: not set */
	enum due {
		DUE_NONE,
		DUE_POLL,   /* a timer is due; first what has come is read */
		DUE_POLLED, /* the poll is done, and its turn about to end */
	} due;
	int64_t polled_ms; /* what is due by then fires after that poll */
	uv_mutex_t mutex; /* guards what was posted, and only that */
	struct list posted;
};
