/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "cmd/listen.h"

enum { BACKLOG = 4096 };

/* Sets *ret_words to "ADDRESS: WHAT: errno's words". */
static bool
fail(const struct address *address, const char *what, char **ret_words)
{
	*ret_words =
	    mem_printf("%s: %s: %s", address->text, what, strerror(errno));
	return false;
}

static int
open_socket(int family)
{
	return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/* --- TCP --- */

/* A listening socket bound to sa; -1 with errno where it cannot be. */
static int
bind_tcp(const struct sockaddr *sa, socklen_t len, bool shared)
{
	int fd = open_socket(sa->sa_family);
	if (fd < 0)
		return -1;
	const int on = 1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (shared)
		setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
	if (sa->sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
	if (bind(fd, sa, len) == 0 &&
	    (!shared || listen(fd, BACKLOG) == 0))
		return fd;
	int saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

/*
 * With SO_REUSEPORT alone a second gateway would silently share the port of
 * the first, so the address is bound once without it.  A port of 0 becomes
 * the one that the kernel chose for the first socket.
 */
static bool
open_tcp(const struct address *address, struct sockaddr_storage *sa,
    socklen_t len, struct listening *l, size_t workers, char **ret_words)
{
	const struct sockaddr *generic = (const void *)sa;
	int probe = bind_tcp(generic, len, false);
	if (probe < 0)
		return fail(address, "cannot bind", ret_words);
	close(probe);
	for (size_t i = 0; i < workers; i++) {
		l->fds[i] = bind_tcp(generic, len, true);
		if (l->fds[i] < 0)
			return fail(address, "cannot listen", ret_words);
		if (getsockname(l->fds[i], (struct sockaddr *)sa, &len) != 0)
			return fail(address, "getsockname", ret_words);
	}
	return true;
}

static char *
tcp_text(const struct sockaddr_storage *sa)
{
	char host[INET6_ADDRSTRLEN] = "";
	if (sa->ss_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)sa;
		inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
		return mem_printf("%s:%u", host, ntohs(in->sin_port));
	}
	const struct sockaddr_in6 *in6 = (const void *)sa;
	inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof host);
	return mem_printf("[%s]:%u", host, ntohs(in6->sin6_port));
}

static bool
listen_tcp(const struct address *address, struct listening *l, size_t workers,
    char **ret_words)
{
	char port[8];
	snprintf(port, sizeof port, "%u", address->port);
	struct addrinfo hints = {
	    .ai_socktype = SOCK_STREAM,
	    .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
	};
	struct addrinfo *info = NULL;
	int error = getaddrinfo(address->host, port, &hints, &info);
	if (error != 0) {
		*ret_words = mem_printf(
		    "%s: %s", address->text, gai_strerror(error));
		return false;
	}
	struct sockaddr_storage sa = {0};
	socklen_t len = info->ai_addrlen;
	memcpy(&sa, info->ai_addr, len);
	freeaddrinfo(info);
	if (!open_tcp(address, &sa, len, l, workers, ret_words))
		return false;
	l->text = tcp_text(&sa);
	return true;
}

/* --- Unix sockets --- */

/* A path that nobody listens on any more is left by a gateway that died. */
static bool
remove_stale(const struct sockaddr_un *un)
{
	struct stat st;
	if (lstat(un->sun_path, &st) != 0)
		return true;
	if (!S_ISSOCK(st.st_mode)) {
		errno = EEXIST;
		return false;
	}
	int fd = open_socket(AF_UNIX);
	if (fd < 0)
		return false;
	bool alive =
	    connect(fd, (const struct sockaddr *)un, sizeof *un) == 0 ||
	    errno == EAGAIN;
	close(fd);
	if (alive) {
		errno = EADDRINUSE;
		return false;
	}
	return unlink(un->sun_path) == 0;
}

static bool
listen_unix(const struct address *address, struct listening *l, size_t workers,
    char **ret_words)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	if (strlen(address->host) >= sizeof un.sun_path) {
		errno = ENAMETOOLONG;
		return fail(address, "cannot bind", ret_words);
	}
	strcpy(un.sun_path, address->host);
	if (!remove_stale(&un))
		return fail(address, "cannot bind", ret_words);
	l->fds[0] = open_socket(AF_UNIX);
	if (l->fds[0] < 0 ||
	    bind(l->fds[0], (const struct sockaddr *)&un, sizeof un) != 0)
		return fail(address, "cannot bind", ret_words);
	l->remove = mem_str(span_str(address->host));
	if (listen(l->fds[0], BACKLOG) != 0)
		return fail(address, "cannot listen", ret_words);
	for (size_t i = 1; i < workers; i++) {
		l->fds[i] = fcntl(l->fds[0], F_DUPFD_CLOEXEC, 3);
		if (l->fds[i] < 0)
			return fail(address, "cannot listen", ret_words);
	}
	l->text = mem_printf("unix:%s", address->host);
	return true;
}

/* --- all of them --- */

void
listeners_close(struct listeners *listeners)
{
	for (size_t i = 0; i < listeners->count; i++)
		for (size_t k = 0; k < listeners->workers; k++)
			if (listeners->list[i].fds[k] >= 0)
				close(listeners->list[i].fds[k]);
	listeners_free(listeners);
}

/* The next of them; all is empty where it cannot be opened. */
static bool
open_next(struct listeners *all, const struct address *address,
    char **ret_words)
{
	struct listening *l = &all->list[all->count++];
	l->fds = mem_zero(all->workers * sizeof *l->fds);
	for (size_t k = 0; k < all->workers; k++)
		l->fds[k] = -1;
	bool ok = address->kind == ADDRESS_UNIX
	    ? listen_unix(address, l, all->workers, ret_words)
	    : listen_tcp(address, l, all->workers, ret_words);
	if (!ok)
		listeners_close(all);
	return ok;
}

bool
listeners_open(
    const struct conf *conf, struct listeners *ret_listeners, char **ret_words)
{
	struct listeners all = {
	    .list = mem_zero(conf->n_listen * sizeof *all.list),
	    .workers = (size_t)conf->workers,
	};
	for (size_t i = 0; i < conf->n_listen; i++)
		if (!open_next(&all, &conf->listen[i].address, ret_words))
			return false;
	*ret_listeners = all;
	return true;
}

bool
listeners_open_admin(
    const struct conf *conf, struct listeners *ret_listeners, char **ret_words)
{
	struct listeners all = {
	    .list = mem_zero(sizeof *all.list),
	    .workers = 1,
	};
	if (!open_next(&all, &conf->admin, ret_words))
		return false;
	*ret_listeners = all;
	return true;
}

void
listeners_free(struct listeners *listeners)
{
	for (size_t i = 0; i < listeners->count; i++) {
		struct listening *l = &listeners->list[i];
		if (l->remove != NULL)
			unlink(l->remove);
		free(l->remove);
		free(l->text);
		free(l->fds);
	}
	free(listeners->list);
	*listeners = (struct listeners){0};
}
