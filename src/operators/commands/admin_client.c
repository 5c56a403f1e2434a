/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "operators/commands/admin_client.h"

enum { TIMEOUT_S = 30, ANSWER_MAX = 256 * 1024 * 1024 };

/* --- connecting --- */

static int
connect_socket(int family, const struct sockaddr *sa, socklen_t len)
{
	const struct timeval timeout = {.tv_sec = TIMEOUT_S};
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
	if (connect(fd, sa, len) == 0)
		return fd;
	int saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

static int
connect_unix(const struct address *address)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	if (strlen(address->host) >= sizeof un.sun_path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(un.sun_path, address->host);
	return connect_socket(
	    AF_UNIX, (const struct sockaddr *)&un, sizeof un);
}

/* A gateway that listens on all interfaces is reached at this machine's own. */
static int
connect_tcp(const struct address *address)
{
	char port[8];
	snprintf(port, sizeof port, "%u", address->port);
	const struct addrinfo hints = {
	    .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	struct addrinfo *list = NULL;
	const char *host = *address->host != '\0' ? address->host : NULL;
	if (getaddrinfo(host, port, &hints, &list) != 0) {
		errno = EADDRNOTAVAIL;
		return -1;
	}
	int fd = -1;
	for (struct addrinfo *at = list; at != NULL && fd < 0;
	     at = at->ai_next)
		fd = connect_socket(at->ai_family, at->ai_addr, at->ai_addrlen);
	freeaddrinfo(list);
	return fd;
}

/* --- talking --- */

static bool
send_all(int fd, const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		bytes += n;
		len -= (size_t)n;
	}
	return true;
}

/* Reads until the other side closes, and adds a NUL. */
static bool
read_to_end(int fd, char **ret_bytes, size_t *ret_len)
{
	size_t len = 0, size = 16 * 1024;
	char *bytes = mem_grow(NULL, size);
	for (;;) {
		if (size - len < 2)
			bytes = mem_grow(bytes, size *= 2);
		ssize_t n = recv(fd, bytes + len, size - len - 1, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			break;
		if (n < 0 || len + (size_t)n > ANSWER_MAX) {
			free(bytes);
			return false;
		}
		len += (size_t)n;
	}
	bytes[len] = '\0';
	*ret_bytes = bytes;
	*ret_len = len;
	return true;
}

/*
 * Takes the answer apart; it was closed behind its end, and is whole where its
 * body is as long as Content-Length says.
 */
static bool
split_response(char *bytes, size_t len, struct admin_response *ret_response)
{
	static const char name[] = "content-length:";
	int status;
	long long told = -1;
	char *end = strstr(bytes, "\r\n\r\n");
	if (end == NULL || sscanf(bytes, "HTTP/1.%*1[01] %3d", &status) != 1)
		return false;
	*end = '\0';
	size_t body_len = len - (size_t)(end + 4 - bytes);
	for (const char *line = strstr(bytes, "\r\n");
	     line != NULL && told < 0; line = strstr(line + 2, "\r\n"))
		if (!strncasecmp(line + 2, name, strlen(name)))
			told = atoll(line + 2 + strlen(name));
	if (told != (long long)body_len)
		return false;
	ret_response->status = status;
	ret_response->body = mem_str(span_of(end + 4, body_len));
	ret_response->len = body_len;
	return true;
}

const char *
admin_client_token(const struct conf *conf)
{
	const char *token = getenv("ONCEPROXY_TOKEN");
	return token != NULL && *token != '\0' ? token : conf->admin_token;
}

bool
admin_client_ask(const struct address *address, const char *token,
    const char *method, const char *target, struct span body,
    struct admin_response *ret_response, char **ret_message)
{
	bool is_unix = address->kind == ADDRESS_UNIX;
	int fd = is_unix ? connect_unix(address) : connect_tcp(address);
	if (fd < 0) {
		*ret_message = mem_printf("%s: cannot reach the gateway: %s",
		    address->text, strerror(errno));
		return false;
	}
	char *head = mem_printf(
	    "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n"
	    "Content-Length: %zu\r\n%s%s%s%s\r\n",
	    method, target, is_unix ? "localhost" : address->text, body.len,
	    body.len > 0 ? "Content-Type: application/json\r\n" : "",
	    token ? "Authorization: Bearer " : "", token ? token : "",
	    token ? "\r\n" : "");
	char *bytes = NULL;
	size_t len = 0;
	/* Where not all could be sent, the answer says why. */
	if (send_all(fd, head, strlen(head)))
		(void)send_all(fd, body.ptr, body.len);
	free(head);
	bool came = read_to_end(fd, &bytes, &len);
	bool whole = came && split_response(bytes, len, ret_response);
	if (!came)
		*ret_message = mem_printf(
		    "%s: no answer: %s", address->text, strerror(errno));
	else if (!whole)
		*ret_message = mem_printf(
		    "%s: no complete answer came", address->text);
	close(fd);
	free(bytes);
	return whole;
}
