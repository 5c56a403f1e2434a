/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

/*
 * Opens a socket to a Redis without blocking: the connection may still be under
 * way, and whether it was made is known when the socket can be written
 * (open_socket_error).  It knows neither loops nor what is said on it.  Any
 * thread; the caller closes it.
 */

/* To an IP address, as text; -1: not possible, and errno says why. */
int open_socket_tcp(const char *address, uint16_t port);
/* To a Unix socket; the same. */
int open_socket_unix(const char *path);
/* Why the connection was not made; 0: it was. */
int open_socket_error(int fd);
