/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/digits.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "conf/network.h"
#include "http/front/proxy_protocol.h"

enum {
	LINE_MAX_BYTES = 107, /* of version 1, with its end */
	HEAD_BYTES = 16,      /* of version 2 */
	SIGNATURE_BYTES = 12,
	ADDRESSES_BYTES = 36, /* of IPv6, the longest that counts */
};

static const uint8_t signature[SIGNATURE_BYTES + 1] =
    "\r\n\r\n\0\r\nQUIT\n";
static const uint8_t word[] = "PROXY ";

/* A header on its way; zeroed memory at first. */
struct proxy_header {
	size_t have; /* bytes of it that were taken */
	size_t need; /* of version 2, once that is known; else 0 */
	uint8_t bytes[108]; /* the first of them */
	/* Once it is whole: whom it speaks for; AF_UNSPEC: the proxy itself. */
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} client;
};

enum taken {
	TAKEN_MORE,  /* it goes on */
	TAKEN_WHOLE, /* what is behind *ret_used is not its own */
	TAKEN_WRONG, /* it is none */
};
struct proxied {
	struct list link;
	struct proxy_protocol *all;
	struct watch *watch;
	struct timer deadline;
	struct arrival arrival; /* of the proxy, until that has said whose */
	struct sockaddr_storage from;
	struct proxy_header header;
};

/* --- version 1: a line --- */

static bool
read_port(struct span text, in_port_t *ret_port)
{
	int64_t port;
	if (text.len > 5 || !digits_read_exact(text, UINT16_MAX, &port))
		return false;
	*ret_port = htons((uint16_t)port);
	return true;
}

static bool
read_host(int family, struct span text, void *ret_address)
{
	char host[INET6_ADDRSTRLEN];
	if (text.len >= sizeof host || memchr(text.ptr, '\0', text.len))
		return false;
	memcpy(host, text.ptr, text.len);
	host[text.len] = '\0';
	return inet_pton(family, host, ret_address) == 1;
}

/*
 * "TCP4 FROM TO PORT PORT", or "UNKNOWN" and whatever; each blank but one makes
 * an empty word.
 */
static bool
read_line(struct proxy_header *h, struct span line)
{
	struct in6_addr to;
	in_port_t port, to_port;
	struct span family, piece;
	if (span_eq(line, SPAN("UNKNOWN")) ||
	    span_starts(line, SPAN("UNKNOWN ")))
		return true;
	if (!span_cut(&line, ' ', &family))
		return false;
	bool four = span_eq(family, SPAN("TCP4"));
	if (!four && !span_eq(family, SPAN("TCP6")))
		return false;
	h->client.any.sa_family = four ? AF_INET : AF_INET6;
	void *host = four ? (void *)&h->client.in.sin_addr
			  : (void *)&h->client.in6.sin6_addr;
	if (!span_cut(&line, ' ', &piece) ||
	    !read_host(h->client.any.sa_family, piece, host) ||
	    !span_cut(&line, ' ', &piece) ||
	    !read_host(h->client.any.sa_family, piece, &to) ||
	    !span_cut(&line, ' ', &piece) || !read_port(piece, &port) ||
	    !read_port(line, &to_port))
		return false;
	if (four)
		h->client.in.sin_port = port;
	else
		h->client.in6.sin6_port = port;
	return true;
}

static enum taken
take_of_line(struct proxy_header *h, uint8_t byte)
{
	size_t at = h->have - 1;
	if (at < sizeof word - 1 && byte != word[at])
		return TAKEN_WRONG;
	if (byte != '\n')
		return h->have == LINE_MAX_BYTES ? TAKEN_WRONG
						 : TAKEN_MORE;
	struct span line = span_of((const char *)h->bytes, at);
	if (line.len < sizeof word || line.ptr[line.len - 1] != '\r')
		return TAKEN_WRONG;
	line.len--;
	return read_line(h, span_from(line, sizeof word - 1))
	    ? TAKEN_WHOLE
	    : TAKEN_WRONG;
}

/* --- version 2: bytes --- */

/* Of a connection that is the proxy's own no address counts. */
static bool
read_addresses(struct proxy_header *h)
{
	const uint8_t *at = h->bytes + HEAD_BYTES;
	size_t len = h->need - HEAD_BYTES;
	if ((h->bytes[12] & 0x0f) == 0)
		return true;
	switch (h->bytes[13]) {
	case 0x11: /* TCP over IPv4 */
		if (len < 12)
			return false;
		h->client.in.sin_family = AF_INET;
		memcpy(&h->client.in.sin_addr, at, 4);
		memcpy(&h->client.in.sin_port, at + 8, 2);
		return true;
	case 0x21: /* TCP over IPv6 */
		if (len < ADDRESSES_BYTES)
			return false;
		h->client.in6.sin6_family = AF_INET6;
		memcpy(&h->client.in6.sin6_addr, at, 16);
		memcpy(&h->client.in6.sin6_port, at + 32, 2);
		return true;
	case 0x00: /* not said */
	case 0x31: /* a Unix socket */
		return true;
	default:
		return false;
	}
}

static enum taken
take_of_bytes(struct proxy_header *h, uint8_t byte)
{
	size_t at = h->have - 1;
	if (at < SIGNATURE_BYTES && byte != signature[at])
		return TAKEN_WRONG;
	/* Version 2; LOCAL or PROXY. */
	if (at == SIGNATURE_BYTES && byte != 0x20 && byte != 0x21)
		return TAKEN_WRONG;
	if (h->have == HEAD_BYTES)
		h->need = HEAD_BYTES +
		    ((size_t)h->bytes[14] << 8 | h->bytes[15]);
	if (h->need == 0 || h->have < h->need)
		return TAKEN_MORE;
	return read_addresses(h) ? TAKEN_WHOLE : TAKEN_WRONG;
}

/* Takes the next bytes, as many as belong to it. */
static enum taken
take(struct proxy_header *h, const uint8_t *bytes, size_t len,
    size_t *ret_used)
{
	enum taken state = TAKEN_MORE;
	size_t used = 0;
	while (used < len && state == TAKEN_MORE) {
		uint8_t byte = bytes[used++];
		if (h->have < sizeof h->bytes)
			h->bytes[h->have] = byte;
		h->have++;
		state = h->bytes[0] == word[0] ? take_of_line(h, byte)
					       : take_of_bytes(h, byte);
	}
	*ret_used = used;
	return state;
}

/* --- connections --- */

bool
proxy_protocol_expects(
    const struct conf_listen *listen, const struct sockaddr *from)
{
	for (size_t i = 0; i < listen->proxies.count; i++)
		if (network_has(listen->proxies.list[i], from))
			return true;
	return false;
}

/* Its socket is somebody else's from now on, or closed. */
static void
forget_proxied(struct proxied *p)
{
	list_remove(&p->link);
	timer_clear(&p->deadline);
	watch_free(&p->watch);
	conf_unref(&p->arrival.conf);
	task_rest(p->all->loop, p, free);
}

/* Refused, if there is a reason to tell. */
static void
drop(struct proxied *p, const char *why)
{
	int64_t count;
	if (why != NULL && log_rate_is_due(&p->all->refused, &count)) {
		struct logline line = log_begin(EV_proxy_refused);
		log_int(&line, "connections", count);
		log_str(&line, "why", why);
		log_end(&line);
	}
	close(p->arrival.fd);
	places_give(p->all->places);
	forget_proxied(p);
}

/* Only what belongs to the header is taken out of the socket. */
static void
on_bytes(void *arg, unsigned events)
{
	struct proxied *p = arg;
	uint8_t bytes[512];
	enum taken state = TAKEN_MORE;
	size_t used;
	(void)events;
	while (state != TAKEN_WHOLE) {
		ssize_t n = recv(p->arrival.fd, bytes, sizeof bytes,
		    MSG_PEEK | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			drop(p, NULL);
			return;
		}
		state = take(&p->header, bytes, (size_t)n, &used);
		if (state == TAKEN_WRONG) {
			drop(p, "malformed");
			return;
		}
		if (recv(p->arrival.fd, bytes, used, MSG_DONTWAIT) !=
		    (ssize_t)used) {
			drop(p, NULL);
			return;
		}
	}
	if (p->header.client.any.sa_family != AF_UNSPEC) {
		p->arrival.address = &p->header.client.any;
		p->arrival.address_len = sizeof p->header.client;
	}
	/* Of two watches of one descriptor the first must be gone. */
	watch_free(&p->watch);
	p->all->taken(p->all->arg, &p->arrival);
	forget_proxied(p);
}

static void
on_deadline(void *arg)
{
	drop(arg, "late");
}

void
proxy_protocol_begin(
    struct proxy_protocol *all, const struct arrival *arrival)
{
	struct proxied *p = mem_zero(sizeof *p);
	p->all = all;
	p->arrival = *arrival;
	p->arrival.conf = conf_ref(arrival->conf);
	p->arrival.address = (struct sockaddr *)&p->from;
	memcpy(&p->from, arrival->address, arrival->address_len);
	list_add_first(&all->list, &p->link);
	timer_init(&p->deadline, all->loop, on_deadline, p);
	timer_set(&p->deadline, arrival->conf->header_timeout_ms);
	p->watch = watch_new(all->loop, arrival->fd, WATCH_READ, on_bytes, p);
	/* It is there already, mostly. */
	on_bytes(p, WATCH_READ);
}

void
proxy_protocol_end(struct proxy_protocol *all)
{
	struct proxied *p;
	LIST_EACH(p, &all->list, link)
		drop(p, NULL);
}
