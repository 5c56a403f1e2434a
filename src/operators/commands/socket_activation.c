/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "operators/commands/service_manager.h"
#include "operators/commands/socket_activation.h"

union any_address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
};

static socklen_t
address_of(int fd, union any_address *address)
{
	socklen_t len = sizeof *address;
	memset(address, 0, sizeof *address);
	return getsockname(fd, &address->any, &len) == 0 ? len : 0;
}

char *
socket_activation_address(int fd)
{
	union any_address a;
	char host[INET6_ADDRSTRLEN] = "";
	socklen_t len = address_of(fd, &a);
	switch (a.any.sa_family) {
	case AF_INET:
		inet_ntop(AF_INET, &a.in.sin_addr, host, sizeof host);
		return mem_printf("%s:%u", host, ntohs(a.in.sin_port));
	case AF_INET6:
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

static bool
is_local(int fd)
{
	union any_address a;
	address_of(fd, &a);
	if (a.any.sa_family == AF_INET)
		return ntohl(a.in.sin_addr.s_addr) >> 24 == 127;
	if (a.any.sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&a.in6.sin6_addr);
	return a.any.sa_family == AF_UNIX;
}

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

bool
socket_activation_take(
    struct socket_activation *ret_inherited, char **ret_message)
{
	char **names;
	bool ok = true;
	int count = service_manager_sockets(&names);
	struct socket_activation inherited = {
	    mem_zero((count > 0 ? (size_t)count : 0) * sizeof *inherited.list),
	    0};
	for (int i = 0; i < count; i++) {
		int fd = SERVICE_MANAGER_FIRST_FD + i;
		inherited.list[inherited.count++] =
		    (struct socket_activation_entry){
			.fd = fd,
			.text = socket_activation_address(fd),
			.admin = names != NULL && !strcmp(names[i], "admin"),
			.local = is_local(fd),
		    };
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
	if (ok)
		*ret_inherited = inherited;
	else
		socket_activation_free(&inherited);
	return ok;
}

size_t
socket_activation_count(const struct socket_activation *inherited, bool admin)
{
	size_t count = 0;
	for (size_t i = 0; i < inherited->count; i++)
		count += inherited->list[i].admin == admin;
	return count;
}

void
socket_activation_free(struct socket_activation *inherited)
{
	for (size_t i = 0; i < inherited->count; i++) {
		if (inherited->list[i].fd >= 0)
			close(inherited->list[i].fd);
		free(inherited->list[i].text);
	}
	free(inherited->list);
	*inherited = (struct socket_activation){NULL, 0};
}

bool
socket_activation_guards_admin(const struct socket_activation *inherited,
    const struct conf *conf, char **ret_message)
{
	for (size_t i = 0; i < inherited->count; i++) {
		const struct socket_activation_entry *socket =
		    &inherited->list[i];
		if (!socket->admin)
			continue;
		if (conf->admin.text == NULL) {
			*ret_message = mem_printf("%s: a socket was passed for "
			    "\"admin\", but the configuration has no "
			    "admin.listen",
			    socket->text);
			return false;
		}
		if (!socket->local && conf->admin_token == NULL) {
			*ret_message = mem_printf("%s: others can reach this "
			    "address: \"admin.token\" is needed", socket->text);
			return false;
		}
	}
	return true;
}
