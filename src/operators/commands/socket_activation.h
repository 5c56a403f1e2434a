/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/must.h"
#include "conf/conf.h"

/*
 * The listening sockets that a service manager has opened before it started
 * us (sd_listen_fds(3), systemd.socket(5)).  A socket of the name "admin"
 * (FileDescriptorName=) is the admin interface's; all others are what clients
 * connect to.  Main thread.
 */
struct socket_activation {
	struct socket_activation_entry {
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
 * stream socket.
 */
MUST_USE bool socket_activation_take(
    struct socket_activation *ret_inherited, char **ret_message);
/* How many are the admin interface's, or are not. */
size_t socket_activation_count(
    const struct socket_activation *inherited, bool admin);
/*
 * A socket that was passed is no way around what admin.listen must keep to;
 * false with a sentence in *ret_message (the caller frees it) where one is.
 */
MUST_USE bool socket_activation_guards_admin(
    const struct socket_activation *inherited, const struct conf *conf,
    char **ret_message);
/* Closes those that nobody has taken. */
void socket_activation_free(struct socket_activation *inherited);

/* The address of a socket, "HOST:PORT", "[V6]:PORT" or "unix:/path". */
char *socket_activation_address(int fd);
