/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
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
#include "operators/commands/address_failed.h"
#include "operators/commands/listeners.h"

enum {
	BACKLOG = 4096,
	SOCKET_MODE = 0660, /* of a Unix socket, where none is said */
};

static int
open_stream_socket(int family)
{
	return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/* --- TCP --- */

/*
 * A listening socket bound to sa; -1 with errno where it cannot be.  One for
 * all addresses of IPv6 takes those of IPv4 too, where `all` says so.
 */
static int
bind_tcp(const struct sockaddr *sa, socklen_t len, bool shared, bool all)
{
	int fd = open_stream_socket(sa->sa_family);
	if (fd < 0)
		return -1;
	const int on = 1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (shared)
		setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
	const int only = !all;
	if (sa->sa_family == AF_INET6)
		setsockopt(
		    fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only);
	if (bind(fd, sa, len) == 0 &&
	    (!shared || listen(fd, BACKLOG) == 0))
		return fd;
	int saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

/* Says what to do, too, of what errno has. */
static bool
cannot_bind(const struct address *address, char **ret_message)
{
	const char *cure = "";
	if (address->kind == ADDRESS_TCP && errno == EACCES)
		cure = " (a port below 1024: let systemd open it, "
		       "onceproxy(8), SYSTEMD)";
	else if (address->kind == ADDRESS_TCP && errno == EADDRINUSE)
		cure = " (ss -ltnp says by whom)";
	else if (errno == EADDRNOTAVAIL)
		cure = " (ip address says which ones this machine has)";
	(void)address_failed(address, "cannot bind", ret_message);
	char *failed = *ret_message;
	*ret_message = mem_printf("%s%s", failed, cure);
	free(failed);
	return false;
}

/*
 * With SO_REUSEPORT alone a second gateway would silently share the port of
 * the first, so the address is bound once without it.  A port of 0 becomes
 * the one that the kernel chose for the first socket.
 */
static bool
open_tcp(const struct address *address, struct sockaddr_storage *sa,
    socklen_t len, struct listening *l, size_t workers, char **ret_message)
{
	const struct sockaddr *generic = (const void *)sa;
	bool all = *address->host == '\0';
	int probe = bind_tcp(generic, len, false, all);
	if (probe < 0)
		return cannot_bind(address, ret_message);
	close(probe);
	for (size_t i = 0; i < workers; i++) {
		l->fds[i] = bind_tcp(generic, len, true, all);
		if (l->fds[i] < 0)
			return address_failed(
			    address, "cannot listen", ret_message);
		if (getsockname(l->fds[i], (struct sockaddr *)sa, &len) != 0)
			return address_failed(
			    address, "getsockname", ret_message);
	}
	return true;
}

static bool
can_bind(const struct addrinfo *info)
{
	int fd = bind_tcp(info->ai_addr, info->ai_addrlen, false, false);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* All addresses: of IPv6 and IPv4, or of IPv4 where there is no other. */
static socklen_t
all_addresses(uint16_t port, struct sockaddr_storage *ret_sa)
{
	struct sockaddr_in6 in6 = {
	    .sin6_family = AF_INET6, .sin6_port = htons(port)};
	struct sockaddr_in in = {
	    .sin_family = AF_INET, .sin_port = htons(port)};
	int fd = bind_tcp(
	    (const struct sockaddr *)&in6, sizeof in6, false, true);
	bool has_ipv6 = fd >= 0 ||
	    (errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL);
	if (fd >= 0)
		close(fd);
	if (has_ipv6)
		memcpy(ret_sa, &in6, sizeof in6);
	else
		memcpy(ret_sa, &in, sizeof in);
	return has_ipv6 ? sizeof in6 : sizeof in;
}

static bool
listen_all(const struct address *address, struct listening *l, size_t workers,
    char **ret_message)
{
	struct sockaddr_storage sa = {0};
	socklen_t len = all_addresses(address->port, &sa);
	if (!open_tcp(address, &sa, len, l, workers, ret_message))
		return false;
	l->text = socket_activation_address(l->fds[0]);
	return true;
}

static bool
listen_tcp(const struct address *address, struct listening *l, size_t workers,
    char **ret_message)
{
	char port[8];
	if (*address->host == '\0')
		return listen_all(address, l, workers, ret_message);
	snprintf(port, sizeof port, "%u", address->port);
	struct addrinfo hints = {
	    .ai_socktype = SOCK_STREAM,
	    .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
	};
	struct addrinfo *info = NULL;
	int error = getaddrinfo(address->host, port, &hints, &info);
	if (error != 0) {
		*ret_message = mem_printf(
		    "%s: %s", address->text, gai_strerror(error));
		return false;
	}
	/* A name may have addresses of a kind that this machine lacks. */
	struct addrinfo *one = info;
	while (one->ai_next != NULL && !can_bind(one))
		one = one->ai_next;
	struct sockaddr_storage sa = {0};
	socklen_t len = one->ai_addrlen;
	memcpy(&sa, one->ai_addr, len);
	freeaddrinfo(info);
	if (!open_tcp(address, &sa, len, l, workers, ret_message))
		return false;
	l->text = socket_activation_address(l->fds[0]);
	return true;
}

/* --- Unix sockets --- */

/* Whether somebody listens at that path. */
static bool
is_alive(const struct sockaddr_un *un)
{
	int fd = open_stream_socket(AF_UNIX);
	bool alive = fd >= 0 &&
	    (connect(fd, (const struct sockaddr *)un, sizeof *un) == 0 ||
		errno == EAGAIN);
	if (fd >= 0)
		close(fd);
	return alive;
}

/* What the path is, in words; NULL: nothing, or a socket of nobody. */
static const char *
occupied_by(const struct sockaddr_un *un)
{
	struct stat st;
	if (lstat(un->sun_path, &st) != 0)
		return NULL;
	if (S_ISLNK(st.st_mode))
		return "it is a symbolic link, and a socket is to be made "
		       "there: remove it, or name what it leads to";
	if (!S_ISSOCK(st.st_mode))
		return "there is a file that is no socket";
	return is_alive(un) ? strerror(EADDRINUSE) : NULL;
}

/* A path that nobody listens on any more is left by a gateway that died. */
static bool
make_way(const struct address *address, const struct sockaddr_un *un,
    char **ret_message)
{
	const char *why = occupied_by(un);
	if (why != NULL) {
		*ret_message =
		    mem_printf("%s: cannot bind: %s", address->text, why);
		return false;
	}
	if (unlink(un->sun_path) == 0 || errno == ENOENT)
		return true;
	return cannot_bind(address, ret_message);
}

static bool
find_group(const char *name, gid_t *ret_gid)
{
	errno = 0;
	const struct group *group = getgrnam(name);
	if (group == NULL) {
		errno = errno ? errno : ESRCH;
		return false;
	}
	*ret_gid = group->gr_gid;
	return true;
}

/*
 * Until here the socket has been its owner's alone, whatever the umask.  What
 * is opened is the socket itself, should another file have its name by now.
 */
static bool
set_permissions(const struct conf_listen *listen, const char *path)
{
	char name[32];
	struct stat st;
	gid_t gid = (gid_t)-1;
	if (listen->group != NULL && !find_group(listen->group, &gid))
		return false;
	int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return false;
	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	bool ok = fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) &&
	    (listen->group == NULL ||
		fchownat(fd, "", (uid_t)-1, gid, AT_EMPTY_PATH) == 0) &&
	    chmod(name, (mode_t)(listen->mode ? listen->mode : SOCKET_MODE)) ==
		0;
	int error = errno;
	close(fd);
	errno = error;
	return ok;
}

static bool
no_permissions(const struct conf_listen *listen, char **ret_message)
{
	gid_t gid;
	int error = errno;
	bool missing = listen->group != NULL &&
	    !find_group(listen->group, &gid) && errno == ESRCH;
	errno = error;
	if (!missing)
		return address_failed(&listen->address,
		    "cannot set mode and group", ret_message);
	*ret_message = mem_printf("%s: there is no group \"%s\" (\"group\")",
	    listen->address.text, listen->group);
	return false;
}

/* The same socket for all workers. */
static bool
share_socket(struct listening *l, size_t workers)
{
	for (size_t i = 1; i < workers; i++) {
		l->fds[i] = fcntl(l->fds[0], F_DUPFD_CLOEXEC, 3);
		if (l->fds[i] < 0)
			return false;
	}
	return true;
}

/* Another gateway may have its own there when this one ends. */
static void
remember_path(struct listening *l, const char *path)
{
	struct stat st;
	if (lstat(path, &st) != 0)
		return;
	l->remove = mem_str(span_str(path));
	l->device = st.st_dev;
	l->inode = st.st_ino;
}

static void
remove_own(const struct listening *l)
{
	struct stat st;
	if (l->remove != NULL && lstat(l->remove, &st) == 0 &&
	    st.st_dev == l->device && st.st_ino == l->inode)
		unlink(l->remove);
}

static bool
listen_unix(const struct conf_listen *listen_on, struct listening *l,
    size_t workers, char **ret_message)
{
	const struct address *address = &listen_on->address;
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	if (strlen(address->host) >= sizeof un.sun_path) {
		errno = ENAMETOOLONG;
		return cannot_bind(address, ret_message);
	}
	strcpy(un.sun_path, address->host);
	if (!make_way(address, &un, ret_message))
		return false;
	l->fds[0] = open_stream_socket(AF_UNIX);
	/* A socket's file has the mode of the socket that is bound to it. */
	if (l->fds[0] < 0 || fchmod(l->fds[0], 0600) != 0 ||
	    bind(l->fds[0], (const struct sockaddr *)&un, sizeof un) != 0)
		return cannot_bind(address, ret_message);
	remember_path(l, address->host);
	if (!set_permissions(listen_on, address->host))
		return no_permissions(listen_on, ret_message);
	if (listen(l->fds[0], BACKLOG) != 0 || !share_socket(l, workers))
		return address_failed(address, "cannot listen", ret_message);
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

static struct listening *
add_listening(struct listeners *all, size_t entry)
{
	struct listening *l = &all->list[all->count++];
	l->entry = entry;
	l->fds = mem_zero(all->workers * sizeof *l->fds);
	for (size_t k = 0; k < all->workers; k++)
		l->fds[k] = -1;
	return l;
}

/* The next of them; all is empty where it cannot be opened. */
static bool
open_next(struct listeners *all, const struct conf_listen *listen_on,
    size_t entry, char **ret_message)
{
	struct listening *l = add_listening(all, entry);
	bool ok = listen_on->address.kind == ADDRESS_UNIX
	    ? listen_unix(listen_on, l, all->workers, ret_message)
	    : listen_tcp(&listen_on->address, l, all->workers, ret_message);
	if (!ok)
		listeners_close(all);
	return ok;
}

/* --- those that were passed --- */

/* The entry of conf->listen that an inherited socket is served as. */
static bool
find_entry(const struct conf *conf,
    const struct socket_activation_entry *socket, size_t place,
    size_t *ret_entry)
{
	for (size_t i = 0; i < conf->n_listen; i++)
		if (!strcmp(conf->listen[i].address.text, socket->text)) {
			*ret_entry = i;
			return true;
		}
	if (place >= conf->n_listen && conf->n_listen > 1)
		return false;
	*ret_entry = place < conf->n_listen ? place : 0;
	return true;
}

/* The socket is ours from here on. */
static bool
take_next(struct listeners *all, struct socket_activation_entry *socket,
    size_t entry, char **ret_message)
{
	struct listening *l = add_listening(all, entry);
	l->fds[0] = socket->fd;
	l->passed = true;
	socket->fd = -1;
	l->text = mem_str(span_str(socket->text));
	if (share_socket(l, all->workers))
		return true;
	*ret_message = mem_printf("%s: %s", l->text, strerror(errno));
	listeners_close(all);
	return false;
}

static bool
take_inherited(const struct conf *conf, struct socket_activation *inherited,
    struct listeners *all, char **ret_message)
{
	size_t place = 0;
	for (size_t i = 0; i < inherited->count; i++) {
		struct socket_activation_entry *socket = &inherited->list[i];
		size_t entry;
		if (socket->admin)
			continue;
		if (!find_entry(conf, socket, place++, &entry)) {
			*ret_message =
			    mem_printf("%s: more sockets were passed "
				       "than \"listen\" has entries",
				socket->text);
			listeners_close(all);
			return false;
		}
		if (!take_next(all, socket, entry, ret_message))
			return false;
	}
	return true;
}

bool
listeners_open(const struct conf *conf, struct socket_activation *inherited,
    struct listeners *ret_listeners, char **ret_message)
{
	size_t n_inherited = socket_activation_count(inherited, false);
	size_t count = n_inherited > 0 ? n_inherited : conf->n_listen;
	struct listeners all = {
	    .list = mem_zero(count * sizeof *all.list),
	    .workers = (size_t)conf->workers,
	};
	if (n_inherited > 0 &&
	    !take_inherited(conf, inherited, &all, ret_message))
		return false;
	for (size_t i = 0; i < conf->n_listen && n_inherited == 0; i++)
		if (!open_next(&all, &conf->listen[i], i, ret_message))
			return false;
	*ret_listeners = all;
	return true;
}

bool
listeners_open_admin(const struct conf *conf,
    struct socket_activation *inherited, struct listeners *ret_listeners,
    char **ret_message)
{
	const struct conf_listen admin = {.address = conf->admin};
	struct listeners all = {
	    .list = mem_zero(sizeof *all.list),
	    .workers = 1,
	};
	for (size_t i = 0; i < inherited->count && all.count == 0; i++)
		if (inherited->list[i].admin &&
		    !take_next(&all, &inherited->list[i], 0, ret_message))
			return false;
	if (all.count == 0 && !open_next(&all, &admin, 0, ret_message))
		return false;
	*ret_listeners = all;
	return true;
}

void
listeners_free(struct listeners *listeners)
{
	for (size_t i = 0; i < listeners->count; i++) {
		struct listening *l = &listeners->list[i];
		remove_own(l);
		free(l->remove);
		free(l->text);
		free(l->fds);
	}
	free(listeners->list);
	*listeners = (struct listeners){0};
}
