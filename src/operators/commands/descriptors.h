/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

struct conf;

/*
 * How many files and sockets this process may have open, and who may have
 * them.  It opens none.  Main thread.
 */
struct descriptors {
	int64_t limit;   /* of the process */
	int64_t needed;  /* what the configuration asks for */
	int64_t held;    /* open all the time, whatever clients do */
	int64_t reserve; /* for what comes and goes (loop/fd_reserve.h) */
	int64_t idle;    /* for idle connections to upstreams */
	int64_t idle_each; /* of those, for each pool: a worker's to a target */
	int64_t clients; /* two each: its own, and one to the upstream */
};

/*
 * Raises the soft limit to the hard one, which is what counts: the soft one
 * is low for programs that use select(), and we do not.  Returns the limit.
 */
int64_t descriptors_raise(void);
/* Shares that limit out. */
struct descriptors descriptors_share(const struct conf *conf, int64_t limit);
/* Says in the log that it does not suffice for all clients. */
void descriptors_log(const struct descriptors *d);
