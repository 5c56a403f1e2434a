/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * The listening sockets of the gateway: one per address and worker for TCP
 * (SO_REUSEPORT: the kernel spreads connections over them), one per address
 * for Unix sockets, which all workers share.  It knows no HTTP.  Main thread.
 */
struct listeners {
	struct listening {
		int *fds;     /* one for each worker, its own to close */
		char *text;   /* the real address, for `ready` */
		char *remove; /* path of a Unix socket to unlink at the end */
	} *list;
	size_t count;
	size_t workers;
};

/*
 * Opens them all; false with a sentence in *ret_words (the caller frees it)
 * when one cannot be, and then none is open.
 */
MUST_USE bool listeners_open(
    const struct conf *conf, struct listeners *ret_listeners, char **ret_words);
/* The same for admin.listen, as the one address of one worker. */
MUST_USE bool listeners_open_admin(
    const struct conf *conf, struct listeners *ret_listeners, char **ret_words);
/* Closes those that no worker has taken, and frees. */
void listeners_close(struct listeners *listeners);
/* Forgets them and removes the paths of Unix sockets; workers close fds. */
void listeners_free(struct listeners *listeners);
