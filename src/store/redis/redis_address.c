/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "store/redis/redis_address.h"

enum { HOST_MAX = 255 };

bool
redis_address_is_host(struct span host)
{
	for (size_t i = 0; i < host.len; i++)
		if (host.ptr[i] <= ' ' || host.ptr[i] > '~')
			return false;
	return host.len > 0 && host.len <= HOST_MAX &&
	    !span_eq(host, SPAN("?"));
}

bool
redis_address_split(struct span text, struct span *ret_host, uint16_t *ret_port)
{
	int64_t port;
	const char *colon =
	    text.len ? memrchr(text.ptr, ':', text.len) : NULL;
	if (colon == NULL)
		return false;
	size_t len = (size_t)(colon - text.ptr);
	if (!digits_read(span_from(text, len + 1), UINT16_MAX, &port) ||
	    port == 0)
		return false;
	*ret_port = (uint16_t)port;
	*ret_host = span_of(text.ptr, len);
	if (len >= 2 && text.ptr[0] == '[' && colon[-1] == ']')
		*ret_host = span_of(text.ptr + 1, len - 2);
	return true;
}

bool
redis_address_eq(const struct redis_address *a, const struct redis_address *b)
{
	return a->port == b->port && strcmp(a->host, b->host) == 0;
}

void
redis_address_clear(struct redis_address *address)
{
	free(address->host);
	*address = (struct redis_address){0};
}
