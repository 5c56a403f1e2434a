/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

struct conf;

/*
 * This process may have so many files and sockets open, which are shared out
 * here.  Nothing is opened.  Main thread.
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
/* Shares out that limit. */
struct descriptors descriptors_share(const struct conf *conf, int64_t limit);
/* Logs that the limit does not suffice for all clients. */
void descriptors_log(const struct descriptors *d);
