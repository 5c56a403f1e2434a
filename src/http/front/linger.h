/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/list.h"
#include "base/loop/loop.h"
#include "http/front/places.h"

/*
 * Connections that have had their answer, and that are closed for sending: what
 * their clients still send is read and dropped for a while, because one that is
 * closed before takes the answer with it.  One thread.
 */
struct lingering {
	struct loop *loop; /* its owner sets it, and an empty list */
	struct list list;  /* the oldest first */
	unsigned count;
};

struct linger_limits {
	int64_t ms;
	size_t bytes;
	struct places *places; /* it has one there, to give back; or NULL */
};

/* Closes the descriptor in the end. */
void linger_begin(struct lingering *all, int fd,
    const struct linger_limits *limits);
/* Ends the oldest that has had so long; false: there is none. */
bool linger_make_way(struct lingering *all, int64_t ms);
void linger_end(struct lingering *all);
