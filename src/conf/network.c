/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

#include "base/digits.h"
#include "conf/network.h"

/* An address, or a network of so many bits. */
struct network {
	int family;
	uint8_t bytes[16];
	unsigned bits;
};

static bool
read_network(const char *text, struct network *ret_network)
{
	char host[INET6_ADDRSTRLEN];
	size_t len = strcspn(text, "/");
	struct network n = {.family = memchr(text, ':', len) != NULL
		? AF_INET6
		: AF_INET};
	if (len >= sizeof host)
		return false;
	memcpy(host, text, len);
	host[len] = '\0';
	int64_t bits = n.family == AF_INET ? 32 : 128;
	if (inet_pton(n.family, host, n.bytes) != 1 ||
	    (text[len] == '/' &&
		(strlen(text + len + 1) > 3 ||
		    !digits_read(span_str(text + len + 1), bits, &bits))))
		return false;
	n.bits = (unsigned)bits;
	*ret_network = n;
	return true;
}

/* Whether the first bits of both are the same. */
static bool
same_bits(const uint8_t *one, const uint8_t *other, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;
	return memcmp(one, other, whole) == 0 &&
	    (rest == 0 || (one[whole] ^ other[whole]) >> (8 - rest) == 0);
}

const char *
network_wrong(const char *text)
{
	static const uint8_t zeros[16];
	struct network n;
	if (!read_network(text, &n))
		return "must be a network like \"10.0.0.0/8\", or an address";
	for (unsigned bit = n.bits; bit < (n.family == AF_INET ? 32 : 128);
	     bit++)
		if (n.bytes[bit / 8] & 0x80 >> bit % 8)
			return "has bits behind its length that are not zero";
	if (n.family == AF_INET6 && n.bits >= 96 &&
	    same_bits(n.bytes, zeros, 80) && n.bytes[10] == 0xff)
		return "must be written as the IPv4 network that it is";
	return NULL;
}

bool
network_has(const char *text, const struct sockaddr *address)
{
	const struct sockaddr_in *in = (const void *)address;
	const struct sockaddr_in6 *in6 = (const void *)address;
	struct network n;
	const uint8_t *bytes;
	int family = address->sa_family;
	if (family == AF_INET) {
		bytes = (const uint8_t *)&in->sin_addr;
	} else if (family == AF_INET6) {
		bytes = in6->sin6_addr.s6_addr;
		if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
			family = AF_INET;
			bytes += 12;
		}
	} else {
		return false;
	}
	return read_network(text, &n) && n.family == family &&
	    same_bits(n.bytes, bytes, n.bits);
}
