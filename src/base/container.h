/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stddef.h>

/*
 * The struct that a member stands in: how a callback that was handed a
 * member, such as the operation that has ended, finds its owner.  The pointer
 * is not NULL.
 */
#define CONTAINER_OF(pointer, type, member)                                   \
	((type *)(void *)((char *)(pointer)-offsetof(type, member)))
