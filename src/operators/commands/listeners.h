/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <sys/types.h>

#include "conf/conf.h"
#include "operators/commands/socket_activation.h"

/*
 * The listening sockets of the gateway: one per address and worker for TCP
 * (SO_REUSEPORT: the kernel spreads connections over them), one per address
 * for Unix sockets and those that the service manager has passed, which all
 * workers share.  It knows no HTTP.  Main thread.
 */
struct listeners {
	struct listening {
		int *fds;     /* one for each worker, its own to close */
		size_t entry; /* of conf->listen, what it is served as */
		bool passed;  /* the service manager keeps it */
		char *text;   /* the real address, for `ready` */
		char *remove; /* path of a Unix socket to unlink at the end, */
		dev_t device; /* if it still is this file */
		ino_t inode;
	} *list;
	size_t count;
	size_t workers;
};

/*
 * Opens them all, or takes those that were passed instead: each as the entry
 * of its own address, else as the entry at its own place, else as the only
 * one there is.  False with a sentence in *ret_message (the caller frees it)
 * when one cannot be, and then none is open.
 */
MUST_USE bool listeners_open(const struct conf *conf,
    struct socket_activation *inherited, struct listeners *ret_listeners,
    char **ret_message);
/* The same for admin.listen, as the one address of one worker. */
MUST_USE bool listeners_open_admin(const struct conf *conf,
    struct socket_activation *inherited, struct listeners *ret_listeners,
    char **ret_message);
/* Closes those that no worker has taken, and frees. */
void listeners_close(struct listeners *listeners);
/* Forgets them and removes the paths of Unix sockets; workers close fds. */
void listeners_free(struct listeners *listeners);
