/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "store/redis/open_socket.h"

static int
close_failed(int fd)
{
	int error = errno;
	close(fd);
	errno = error;
	return -1;
}

static int
connect_to(const struct sockaddr *to, socklen_t size)
{
	int fd = socket(
	    to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (connect(fd, to, size) != 0 && errno != EINPROGRESS)
		return close_failed(fd);
	return fd;
}

int
open_socket_tcp(const char *address, uint16_t port)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
	    .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
	struct addrinfo *list = NULL;
	char digits[sizeof "65535"];
	const int on = 1;
	snprintf(digits, sizeof digits, "%u", (unsigned)port);
	if (getaddrinfo(address, digits, &hints, &list) != 0) {
		errno = EADDRNOTAVAIL;
		return -1;
	}
	int fd = connect_to(list->ai_addr, list->ai_addrlen);
	freeaddrinfo(list);
	/* Commands are small, and each turn of the loop writes but once. */
	if (fd >= 0)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	return fd;
}

int
open_socket_unix(const char *path)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	size_t len = strlen(path);
	if (len >= sizeof name.sun_path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(name.sun_path, path, len);
	return connect_to((struct sockaddr *)&name, sizeof name);
}

int
open_socket_error(int fd)
{
	int error = 0;
	socklen_t size = sizeof error;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
		return errno;
	return error;
}
