/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "operators/commands/listeners.h"
#include "operators/commands/service_manager.h"

enum {
	BACKLOG = 4096,
	SOCKET_MODE = 0660, /* of a Unix socket, where none is said */
	STREAM = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
};

/* Says "ADDRESS: WHAT: ERRNO", and what to do about some; returns false. */
static bool
failed(const struct address *address, const char *what, char **ret_message)
{
	const char *cure = "";
	bool binds = !strcmp(what, "cannot bind");
	if (binds && address->kind == ADDRESS_TCP && errno == EACCES)
		cure = " (a port below 1024: let systemd open it, "
		       "onceproxy(8), SYSTEMD)";
	else if (binds && address->kind == ADDRESS_TCP && errno == EADDRINUSE)
		cure = " (ss -ltnp says by whom)";
	else if (binds && errno == EADDRNOTAVAIL)
		cure = " (ip address says which ones this machine has)";
	*ret_message = mem_printf("%s: %s: %s%s", address->text, what,
	    strerror(errno), cure);
	return false;
}

/* --- a socket's address --- */

union any_address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
};

/*
 * Makes "HOST:PORT", "[V6]:PORT" or "unix:/path"; the caller frees it.
 * *ret_local: only this machine reaches it.
 */
static char *
address_text(int fd, bool *ret_local)
{
	union any_address a;
	char host[INET6_ADDRSTRLEN] = "";
	socklen_t len = sizeof a;
	memset(&a, 0, sizeof a);
	if (getsockname(fd, &a.any, &len) != 0)
		len = 0;
	*ret_local = a.any.sa_family == AF_UNIX;
	switch (a.any.sa_family) {
	case AF_INET:
		*ret_local = ntohl(a.in.sin_addr.s_addr) >> 24 == 127;
		inet_ntop(AF_INET, &a.in.sin_addr, host, sizeof host);
		return mem_printf("%s:%u", host, ntohs(a.in.sin_port));
	case AF_INET6:
		*ret_local = IN6_IS_ADDR_LOOPBACK(&a.in6.sin6_addr);
		inet_ntop(AF_INET6, &a.in6.sin6_addr, host, sizeof host);
		return mem_printf("[%s]:%u", host, ntohs(a.in6.sin6_port));
	default:
		break;
	}
	size_t head = offsetof(struct sockaddr_un, sun_path);
	size_t room = len > head ? len - head : 0;
	if (room > 0 && a.un.sun_path[0] == '\0')
		return mem_printf(
		    "unix:@%.*s", (int)room - 1, a.un.sun_path + 1);
	return mem_printf("unix:%.*s", (int)room, a.un.sun_path);
}

/* --- TCP --- */

/*
 * Opens a socket bound to sa, which listens where it is shared; -1 with errno
 * where it cannot.  One for all addresses of IPv6 takes those of IPv4, too,
 * where `all` says so.
 */
static int
bind_tcp(const struct sockaddr *sa, socklen_t len, bool shared, bool all)
{
	int fd = socket(sa->sa_family, STREAM, 0);
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

/* Makes the address of all of IPv6 and IPv4, or of IPv4 alone. */
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

/* Finds the address to listen on; false, with a sentence: there is none. */
static bool
find_address(const struct address *address, struct sockaddr_storage *ret_sa,
    socklen_t *ret_len, char **ret_message)
{
	char port[8];
	if (*address->host == '\0') {
		*ret_len = all_addresses(address->port, ret_sa);
		return true;
	}
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
	for (; one->ai_next != NULL; one = one->ai_next) {
		int fd = bind_tcp(one->ai_addr, one->ai_addrlen, false, false);
		if (fd < 0)
			continue;
		close(fd);
		break;
	}
	*ret_len = one->ai_addrlen;
	memcpy(ret_sa, one->ai_addr, one->ai_addrlen);
	freeaddrinfo(info);
	return true;
}

/*
 * With SO_REUSEPORT alone a second gateway would silently share the port of
 * the first, so the address is bound once without it.  A port of 0 becomes
 * the one that the kernel chose for the first socket.
 */
static bool
listen_tcp(const struct address *address, struct listening *l, size_t workers,
    char **ret_message)
{
	struct sockaddr_storage sa = {0};
	struct sockaddr *generic = (struct sockaddr *)&sa;
	socklen_t len;
	bool all = *address->host == '\0', local;
	if (!find_address(address, &sa, &len, ret_message))
		return false;
	int probe = bind_tcp(generic, len, false, all);
	if (probe < 0)
		return failed(address, "cannot bind", ret_message);
	close(probe);
	for (size_t i = 0; i < workers; i++) {
		l->fds[i] = bind_tcp(generic, len, true, all);
		if (l->fds[i] < 0)
			return failed(address, "cannot listen", ret_message);
		if (getsockname(l->fds[i], generic, &len) != 0)
			return failed(address, "getsockname", ret_message);
	}
	l->text = address_text(l->fds[0], &local);
	return true;
}

/* --- Unix sockets --- */

/*
 * A path that nobody listens on any more is left by a gateway that died: it is
 * removed.  False where something else is there.
 */
static bool
make_way(const struct address *address, const struct sockaddr_un *un,
    char **ret_message)
{
	struct stat st;
	const char *why = NULL;
	bool exists = lstat(un->sun_path, &st) == 0;
	if (exists && S_ISLNK(st.st_mode)) {
		why = "it is a symbolic link, and a socket is to be made "
		      "there: remove it, or name what it leads to";
	} else if (exists && !S_ISSOCK(st.st_mode)) {
		why = "there is a file that is no socket";
	} else if (exists) {
		int fd = socket(AF_UNIX, STREAM, 0);
		if (fd >= 0 &&
		    (connect(fd, (const struct sockaddr *)un, sizeof *un) ==
			    0 ||
			errno == EAGAIN))
			why = strerror(EADDRINUSE);
		if (fd >= 0)
			close(fd);
	}
	if (why != NULL) {
		*ret_message =
		    mem_printf("%s: cannot bind: %s", address->text, why);
		return false;
	}
	if (unlink(un->sun_path) == 0 || errno == ENOENT)
		return true;
	return failed(address, "cannot bind", ret_message);
}

/*
 * Until here the socket has been its owner's alone, whatever the umask.  It is
 * opened as a socket, should another file have its name by now.
 */
static bool
set_permissions(
    const struct conf_listen *listen, const char *path, char **ret_message)
{
	static const char what[] = "cannot set mode and group";
	char name[32];
	struct stat st;
	errno = 0;
	const struct group *group =
	    listen->group != NULL ? getgrnam(listen->group) : NULL;
	if (listen->group != NULL && group == NULL) {
		if (errno != 0 && errno != ESRCH)
			return failed(&listen->address, what, ret_message);
		*ret_message =
		    mem_printf("%s: there is no group \"%s\" (\"group\")",
			listen->address.text, listen->group);
		return false;
	}
	gid_t gid = group != NULL ? group->gr_gid : (gid_t)-1;
	int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return failed(&listen->address, what, ret_message);
	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	bool well = fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) &&
	    (group == NULL ||
		fchownat(fd, "", (uid_t)-1, gid, AT_EMPTY_PATH) == 0) &&
	    chmod(name, (mode_t)(listen->mode ? listen->mode : SOCKET_MODE)) ==
		0;
	if (!well)
		(void)failed(&listen->address, what, ret_message);
	close(fd);
	return well;
}

/*
 * By which it is known at the end.  Its number alone may be another file's by
 * then, that of a gateway which has taken the path over.
 */
static void
note_file(struct listening *l, const char *path)
{
	struct stat st;
	if (lstat(path, &st) != 0)
		return;
	free(l->remove);
	l->remove = mem_str(span_str(path));
	l->device = st.st_dev;
	l->inode = st.st_ino;
	l->changed = st.st_ctim;
}

/* Gives the same socket to all workers. */
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

static bool
listen_unix(const struct conf_listen *listen_on, struct listening *l,
    size_t workers, char **ret_message)
{
	const struct address *address = &listen_on->address;
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	if (strlen(address->host) >= sizeof un.sun_path) {
		errno = ENAMETOOLONG;
		return failed(address, "cannot bind", ret_message);
	}
	strcpy(un.sun_path, address->host);
	if (!make_way(address, &un, ret_message))
		return false;
	l->fds[0] = socket(AF_UNIX, STREAM, 0);
	/* A socket's file has the mode of the socket that is bound to it. */
	if (l->fds[0] < 0 || fchmod(l->fds[0], 0600) != 0 ||
	    bind(l->fds[0], (const struct sockaddr *)&un, sizeof un) != 0)
		return failed(address, "cannot bind", ret_message);
	note_file(l, address->host);
	if (!set_permissions(listen_on, address->host, ret_message))
		return false;
	note_file(l, address->host);
	if (listen(l->fds[0], BACKLOG) != 0 || !share_socket(l, workers))
		return failed(address, "cannot listen", ret_message);
	l->text = mem_printf("unix:%s", address->host);
	return true;
}

/* --- all listeners --- */

void
listeners_free(struct listeners *listeners)
{
	for (size_t i = 0; i < listeners->count; i++) {
		struct listening *l = &listeners->list[i];
		struct stat st;
		/* Another gateway may have its own there by now. */
		if (l->remove != NULL && lstat(l->remove, &st) == 0 &&
		    st.st_dev == l->device && st.st_ino == l->inode &&
		    st.st_ctim.tv_sec == l->changed.tv_sec &&
		    st.st_ctim.tv_nsec == l->changed.tv_nsec)
			unlink(l->remove);
		free(l->remove);
		free(l->text);
		free(l->fds);
	}
	free(listeners->list);
	*listeners = (struct listeners){0};
}

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

/* Opens one more; where that fails, all of them are closed. */
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

/* --- sockets that were passed --- */

static bool
is_usable(int fd)
{
	int type = 0, listens = 0, flags = fcntl(fd, F_GETFL);
	socklen_t len = sizeof type;
	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 &&
	    type == SOCK_STREAM &&
	    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == 0 &&
	    listens && flags >= 0 &&
	    fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

void
listeners_drop_inherited(struct inherited *inherited)
{
	for (size_t i = 0; i < inherited->count; i++) {
		if (inherited->list[i].fd >= 0)
			close(inherited->list[i].fd);
		free(inherited->list[i].text);
	}
	free(inherited->list);
	*inherited = (struct inherited){NULL, 0};
}

/* A socket that was passed does not get around the rules for admin.listen. */
static bool
guards_admin(const struct inherited *inherited, const struct conf *conf,
    char **ret_message)
{
	for (size_t i = 0; i < inherited->count; i++) {
		const struct inherited_socket *socket = &inherited->list[i];
		if (!socket->admin)
			continue;
		if (conf->admin.text == NULL) {
			*ret_message = mem_printf("%s: a socket was passed for "
			    "\"admin\", but the configuration has no "
			    "admin.listen",
			    socket->text);
			return false;
		}
		if (!socket->local && conf->admin_token == NULL &&
		    conf->n_admin_tokens == 0) {
			*ret_message = mem_printf("%s: others can reach this "
			    "address: \"admin.token\" is needed", socket->text);
			return false;
		}
	}
	return true;
}

bool
listeners_inherit(const struct conf *conf, struct inherited *ret_inherited,
    char **ret_message)
{
	char **names;
	bool ok = true;
	int count = service_manager_sockets(&names);
	struct inherited inherited = {
	    mem_zero((count > 0 ? (size_t)count : 0) * sizeof *inherited.list),
	    0};
	for (int i = 0; i < count; i++) {
		int fd = SERVICE_MANAGER_FIRST_FD + i;
		struct inherited_socket *one =
		    &inherited.list[inherited.count++];
		one->fd = fd;
		one->text = address_text(fd, &one->local);
		one->admin = names != NULL && !strcmp(names[i], "admin");
		if (ok && !is_usable(fd)) {
			*ret_message =
			    mem_printf("descriptor %d was passed, but is not a "
				       "listening stream socket",
				fd);
			ok = false;
		}
		if (names != NULL)
			free(names[i]);
	}
	free(names);
	if (count < 0) {
		*ret_message = mem_printf(
		    "cannot take the sockets that were passed: %s",
		    strerror(-count));
		ok = false;
	}
	ok = ok && guards_admin(&inherited, conf, ret_message);
	if (ok)
		*ret_inherited = inherited;
	else
		listeners_drop_inherited(&inherited);
	return ok;
}

/* Finds the entry of conf->listen that an inherited socket is served as. */
static bool
find_entry(const struct conf *conf,
    const struct inherited_socket *socket, size_t place,
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

/* Takes the socket, which is ours from here on. */
static bool
take_next(struct listeners *all, struct inherited_socket *socket,
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

bool
listeners_open(const struct conf *conf, struct inherited *inherited,
    struct listeners *ret_listeners, char **ret_message)
{
	size_t n_inherited = 0, place = 0;
	for (size_t i = 0; i < inherited->count; i++)
		n_inherited += !inherited->list[i].admin;
	size_t count = n_inherited > 0 ? n_inherited : conf->n_listen;
	struct listeners all = {
	    .list = mem_zero(count * sizeof *all.list),
	    .workers = (size_t)conf->workers,
	};
	for (size_t i = 0; i < inherited->count; i++) {
		struct inherited_socket *socket = &inherited->list[i];
		size_t entry;
		if (socket->admin)
			continue;
		if (!find_entry(conf, socket, place++, &entry)) {
			*ret_message =
			    mem_printf("%s: more sockets were passed "
				       "than \"listen\" has entries",
				socket->text);
			listeners_close(&all);
			return false;
		}
		if (!take_next(&all, socket, entry, ret_message))
			return false;
	}
	for (size_t i = 0; i < conf->n_listen && n_inherited == 0; i++)
		if (!open_next(&all, &conf->listen[i], i, ret_message))
			return false;
	*ret_listeners = all;
	return true;
}

bool
listeners_open_admin(const struct conf *conf,
    struct inherited *inherited, struct listeners *ret_listeners,
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
