/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <sys/types.h>

#include "base/must.h"
#include "conf/conf.h"

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
 * The sockets that a service manager has opened before it started us
 * (sd_listen_fds(3), systemd.socket(5)).  One of the name "admin"
 * (FileDescriptorName=) is the admin interface's; all others are what clients
 * connect to.
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
 * Takes them off the environment, so that no child has them; false with a
 * sentence in *ret_message (the caller frees it) where one is not a listening
 * stream socket, or is a way around what admin.listen must keep to.
 */
MUST_USE bool listeners_inherit(const struct conf *conf,
    struct inherited *ret_inherited, char **ret_message);
/* Closes those that nobody has taken. */
void listeners_drop_inherited(struct inherited *inherited);

/*
 * Opens them all, or takes those that were passed instead: each as the entry
 * of its own address, else as the entry at its own place, else as the only
 * one there is.  False with a sentence in *ret_message (the caller frees it)
 * when one cannot be, and then none is open.
 */
MUST_USE bool listeners_open(const struct conf *conf,
    struct inherited *inherited, struct listeners *ret_listeners,
    char **ret_message);
/* The same for admin.listen, as the one address of one worker. */
MUST_USE bool listeners_open_admin(const struct conf *conf,
    struct inherited *inherited, struct listeners *ret_listeners,
    char **ret_message);
/* Closes those that no worker has taken, and frees. */
void listeners_close(struct listeners *listeners);
/* Forgets them and removes the paths of Unix sockets; workers close fds. */
void listeners_free(struct listeners *listeners);
