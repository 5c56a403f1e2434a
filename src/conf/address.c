/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/un.h>

#include "base/mem.h"
#include "conf/loader_private.h"

static const char unix_scheme[] = "unix:";
static const char words_socket[] =
    "the path of a Unix socket must be absolute and shorter than 108 bytes";
static const char words_port[] = "the port must be between 0 and 65535";

static bool
is_ip(int family, struct span text)
{
	char copy[INET6_ADDRSTRLEN];
	uint8_t address[sizeof(struct in6_addr)];
	if (text.len >= sizeof copy)
		return false;
	memcpy(copy, text.ptr, text.len);
	copy[text.len] = '\0';
	return inet_pton(family, copy, address) == 1;
}

/* A name or an IPv4 address; what looks like the latter must be one. */
static bool
is_host(struct span text)
{
	bool numeric = true;
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		bool digit = (c >= '0' && c <= '9') || c == '.';
		if (!digit && !(c >= 'a' && c <= 'z') &&
		    !(c >= 'A' && c <= 'Z') && c != '-' && c != '_')
			return false;
		numeric = numeric && digit;
	}
	return text.len > 0 && (!numeric || is_ip(AF_INET, text));
}

static bool
read_port(struct span text, uint16_t *ret_port)
{
	unsigned port = 0;
	if (text.len == 0 || text.len > 5)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] < '0' || text.ptr[i] > '9')
			return false;
		port = 10 * port + (unsigned)(text.ptr[i] - '0');
	}
	if (port > UINT16_MAX)
		return false;
	*ret_port = (uint16_t)port;
	return true;
}

/*
 * Takes HOST, HOST:PORT, [V6] or [V6]:PORT apart; the host is new memory and
 * has no brackets.
 */
const char *
host_port_parse(
    struct span text, char **ret_host, uint16_t *ret_port, bool *ret_has_port)
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
	if (v6 ? !is_ip(AF_INET6, host) : !is_host(host))
		return "this is not the name or the address of a host";
	if (rest.len > 0 && rest.ptr[0] != ':')
		return "only a port may follow the bracket";
	uint16_t port = 0;
	if (rest.len > 0 && !read_port(span_from(rest, 1), &port))
		return words_port;
	*ret_host = mem_str(host);
	*ret_port = port;
	*ret_has_port = rest.len > 0;
	return NULL;
}

void
host_port_split(const char *text, char **ret_host, uint16_t *ret_port)
{
	bool has_port;
	const char *wrong =
	    host_port_parse(span_str(text), ret_host, ret_port, &has_port);
	must(wrong == NULL && has_port);
}

static bool
is_socket_path(struct span path)
{
	struct sockaddr_un un;
	return path.len > 1 && path.ptr[0] == '/' &&
	       path.len < sizeof un.sun_path;
}

const char *
address_parse(const char *text, struct address *ret_address)
{
	struct address address = {.kind = ADDRESS_TCP};
	struct span s = span_str(text);
	bool has_port = false;
	const char *wrong = wrong_name(text);
	if (wrong != NULL)
		return wrong;
	if (span_starts(s, span_str(unix_scheme))) {
		s = span_from(s, strlen(unix_scheme));
		if (!is_socket_path(s))
			return words_socket;
		address.kind = ADDRESS_UNIX;
		address.host = mem_str(s);
	} else {
		wrong =
		    host_port_parse(s, &address.host, &address.port, &has_port);
		if (wrong != NULL)
			return wrong;
		if (!has_port) {
			free(address.host);
			return "the port is missing";
		}
	}
	address.text = mem_str(span_str(text));
	*ret_address = address;
	return NULL;
}

bool
address_is_local(const struct address *address)
{
	return address->kind == ADDRESS_UNIX ||
	       !strcasecmp(address->host, "localhost") ||
	       !strcmp(address->host, "::1") ||
	       (is_ip(AF_INET, span_str(address->host)) &&
		   !strncmp(address->host, "127.", 4));
}

const char *
wrong_host_port(const char *text)
{
	struct address address;
	const char *wrong = address_parse(text, &address);
	if (wrong != NULL)
		return wrong;
	if (address.kind != ADDRESS_TCP)
		wrong = "must be HOST:PORT";
	else if (address.port == 0)
		wrong = "the port must be between 1 and 65535";
	clear_address(NULL, &address);
	return wrong;
}

void
parse_address(struct loader *l, const struct given *given)
{
	struct address address;
	char *text = text_of(l, given->at, given->value);
	if (text == NULL)
		return;
	const char *wrong = address_parse(text, &address);
	text_free(&text);
	if (wrong != NULL) {
		complain_at(l, given->at, "%s", wrong);
		return;
	}
	clear_address(NULL, given_field(given));
	*(struct address *)given_field(given) = address;
}

void
clear_address(void *base, void *field)
{
	struct address *address = field;
	(void)base;
	text_free(&address->text);
	text_free(&address->host);
	*address = (struct address){0};
}
