/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <time.h>

#include "base/must.h"
#include "conf/conf.h"

/*
 * The gateway listens on one socket per address and worker for TCP
 * (SO_REUSEPORT: the kernel spreads connections over them).  A Unix socket, or
 * one that the service manager has passed, is one per address, which all
 * workers share.  Nothing here knows HTTP.  Main thread.
 */
struct listeners {
	struct listening {
		int *fds;     /* one for each worker, its own to close */
		size_t entry; /* of conf->listen, which it is served as */
		bool passed;  /* the service manager keeps it */
		char *text;   /* the real address, for `ready` */
		/*
		 * The path of a Unix socket is unlinked at the end, where it
		 * still is this file; NULL: there is none.
		 */
		char *remove;
		dev_t device;
		ino_t inode;
		struct timespec changed;
	} *list;
	size_t count;
	size_t workers;
};

/*
 * A service manager may pass sockets that it opened before it started us
 * (sd_listen_fds(3), systemd.socket(5)).  One of the name "admin"
 * (FileDescriptorName=) is the admin interface's; clients connect to all
 * others.
 */
struct inherited {
	struct inherited_socket {
		int fd;     /* -1: somebody has taken it */
		char *text; /* its address as the configuration writes one */
		bool admin;
		bool local; /* only this machine can reach it */
	} *list;
	size_t count;
};

/*
 * Takes them off the environment, so that no child has them.  False with a
 * sentence in *ret_message (the caller frees it) where one is not a listening
 * stream socket, or would get around the rules for admin.listen.
 */
MUST_USE bool listeners_inherit(const struct conf *conf,
    struct inherited *ret_inherited, char **ret_message);
/* Closes those that nobody has taken. */
void listeners_drop_inherited(struct inherited *inherited);

/*
 * Opens all sockets, or takes those that were passed instead: each as the entry
 * of its own address, else as the entry at its own place, else as the only one
 * there is.  False with a sentence in *ret_message (the caller frees it) where
 * one cannot be opened, and then none is open.
 */
MUST_USE bool listeners_open(const struct conf *conf,
    struct inherited *inherited, struct listeners *ret_listeners,
    char **ret_message);
/* Does the same for admin.listen, as the one address of one worker. */
MUST_USE bool listeners_open_admin(const struct conf *conf,
    struct inherited *inherited, struct listeners *ret_listeners,
    char **ret_message);
/* Closes those that no worker has taken, and frees. */
void listeners_close(struct listeners *listeners);
/* Frees the list, and unlinks Unix sockets; workers close the fds. */
void listeners_free(struct listeners *listeners);
