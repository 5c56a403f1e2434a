/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

struct loop;

/*
 * A watch calls its owner, level-triggered, while a descriptor can be read or
 * written (errors and hang-ups count as everything that is wanted).  The
 * descriptor stays the caller's, who frees the watch before closing it.  The
 * loop's own thread.
 */
struct watch;

enum {
	WATCH_READ = 1,
	WATCH_WRITE = 2,
	WATCH_HANG_UP = 4, /* the other end has closed its half, or all */
};

/* events is what is wanted: flags of WATCH_, or 0. */
struct watch *watch_new(struct loop *loop, int fd, unsigned events,
    void (*ready)(void *arg, unsigned events), void *arg);
/* Sets what is wanted from now on. */
void watch_want(struct watch *watch, unsigned events);
/*
 * Its owner is not called any more; nulls the caller's pointer, accepts NULL.
 */
void watch_free(struct watch **watch);
