/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "base/ascii.h"
#include "base/digits.h"
#include "base/mem.h"
#include "conf/address.h"
#include "conf/name.h"

static const char message_port[] = "the port must be between 1 and 65535";

/*
 * An IPv6 address; or a name or an IPv4 address, and what looks like the latter
 * must be one.
 */
static bool
is_host(struct span text, bool v6)
{
	char copy[INET6_ADDRSTRLEN];
	uint8_t address[sizeof(struct in6_addr)];
	bool name = false;
	for (size_t i = 0; i < text.len && !v6; i++) {
		char c = text.ptr[i];
		bool letter = ascii_is_alpha(c) || c == '-' || c == '_';
		if (!letter && !ascii_is_digit(c) && c != '.')
			return false;
		name |= letter;
	}
	if (name || text.len >= sizeof copy)
		return name;
	*span_put(copy, text) = '\0';
	return inet_pton(v6 ? AF_INET6 : AF_INET, copy, address) == 1;
}

static bool
read_port(struct span text, uint16_t *ret_port)
{
	int64_t port;
	if (text.len > 5 || !digits_read(text, UINT16_MAX, &port))
		return false;
	*ret_port = (uint16_t)port;
	return true;
}

const char *
address_read_host_port(struct span text, struct span *ret_host,
    uint16_t *ret_port, bool *ret_has_port)
{
	struct span host = text;
	struct span rest = SPAN("");
	bool v6 = text.len > 0 && text.ptr[0] == '[';
	const char *end =
	    text.len ? memchr(text.ptr, v6 ? ']' : ':', text.len) : NULL;
	if (v6 && end == NULL)
		return "the bracket is not closed";
	if (end != NULL) {
		size_t len = (size_t)(end - text.ptr);
		host = v6 ? span_of(text.ptr + 1, len - 1)
			  : span_of(text.ptr, len);
		rest = span_from(text, len + (v6 ? 1 : 0));
	}
	if (span_eq(host, SPAN("*")))
		return "to listen on all addresses, write \":8080\"";
	/* Nothing else has two colons. */
	bool bare = !v6 && rest.len > 0 && span_has(span_from(rest, 1), ':');
	for (size_t i = 0; i < text.len && bare; i++)
		bare = strchr("0123456789abcdefABCDEF:.", text.ptr[i]) != NULL;
	if (bare)
		return "an IPv6 address stands in brackets: \"[::1]:8080\"";
	/* "8080" is no host: a number is written as four in IPv4. */
	int64_t number;
	if (end == NULL && digits_read(text, UINT16_MAX, &number))
		return "a port alone begins with a colon: \":8080\"";
	if (!is_host(host, v6))
		return "the host must be a name or an IP address";
	if (rest.len > 0 && rest.ptr[0] != ':')
		return "only a port may follow the bracket";
	uint16_t port = 0;
	if (rest.len > 0 && !read_port(span_from(rest, 1), &port))
		return message_port;
	*ret_host = host;
	*ret_port = port;
	*ret_has_port = rest.len > 0;
	return NULL;
}

void
address_split(const char *text, char **ret_host, uint16_t *ret_port)
{
	struct span host;
	bool has_port;
	const char *wrong = address_read_host_port(
	    span_str(text), &host, ret_port, &has_port);
	must(wrong == NULL && has_port);
	*ret_host = mem_str(host);
}

/* The host of an address, or the path of a socket, and its port. */
static const char *
take_apart(const char *text, enum address_kind *ret_kind,
    struct span *ret_host, uint16_t *ret_port)
{
	struct sockaddr_un un;
	struct span s = span_str(text);
	bool has_port = false;
	const char *wrong = name_wrong(text);
	*ret_kind = ADDRESS_TCP;
	if (wrong != NULL)
		return wrong;
	if (*text == '/' || span_starts(s, SPAN("unix:"))) {
		struct span path = span_from(s, *text == '/' ? 0 : 5);
		*ret_kind = ADDRESS_UNIX;
		*ret_host = path;
		*ret_port = 0;
		return *text == '/' || path.len < 2 || path.ptr[0] != '/' ||
			path.len >= sizeof un.sun_path
		    ? "a Unix socket is \"unix:/path\", shorter than 108 bytes"
		    : NULL;
	}
	if (strstr(text, "://") != NULL)
		return "must be HOST:PORT, not a URL";
	if (strrchr(text, ':') == text) {
		*ret_host = SPAN("");
		return read_port(span_from(s, 1), ret_port) ? NULL
							    : message_port;
	}
	wrong = address_read_host_port(s, ret_host, ret_port, &has_port);
	return wrong == NULL && !has_port ? "the port is missing" : wrong;
}

const char *
address_read(
    struct arena *arena, const char *text, struct address *ret_address)
{
	struct address address = {.kind = ADDRESS_TCP};
	struct span host;
	const char *wrong =
	    take_apart(text, &address.kind, &host, &address.port);
	if (wrong == message_port)
		return "the port must be between 0 and 65535";
	if (wrong != NULL)
		return wrong;
	address.text = arena_str(arena, span_str(text));
	address.host = arena_str(arena, host);
	*ret_address = address;
	return NULL;
}

bool
address_is_local(const struct address *address)
{
	return address->kind == ADDRESS_UNIX ||
	       !strcasecmp(address->host, "localhost") ||
	       !strcmp(address->host, "::1") ||
	       (!strncmp(address->host, "127.", 4) &&
		   address->host[strspn(address->host, "0123456789.")] == '\0');
}

const char *
address_wrong_host_port(const char *text)
{
	enum address_kind kind;
	struct span host;
	uint16_t port;
	const char *wrong = take_apart(text, &kind, &host, &port);
	if (wrong != NULL)
		return wrong;
	if (kind != ADDRESS_TCP)
		return "must be HOST:PORT";
	if (host.len == 0)
		return "the host is missing";
	return port == 0 ? message_port : NULL;
}
