/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>

#include "base/list.h"

/*
 * A hook is a function that runs in every turn of a loop (loop_hook), a member
 * of its owner, which unhooks it before it is gone.  The loop's own thread.
 */
enum hook_kind {
	HOOK_WORK,  /* returns true while it may have more to do */
	HOOK_FLUSH, /* once before blocking; true: do not block this time */
	HOOK_KINDS,
};

struct hook {
	struct list link; /* in the loop's hooks of its kind */
	bool (*run)(void *arg);
	void *arg;
};
