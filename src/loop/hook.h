/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>

/*
 * A hook is what its owner does in every turn of a loop (loop_hook): a member
 * of the owner.
 */
enum hook_kind {
	HOOK_WORK,  /* returns true while it may have more to do */
	HOOK_FLUSH, /* once before blocking; true: do not block this time */
	HOOK_KINDS,
};

struct hook {
	struct hook *next;
	bool (*run)(void *arg);
	void *arg;
};
