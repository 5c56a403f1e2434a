/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

/*
 * The address of a server of a cluster, as the cluster names it.  It resolves
 * nothing.  Pure; any thread.
 */
struct redis_address {
	char *host; /* without brackets; freed by redis_address_clear */
	uint16_t port;
};

/*
 * Splits "HOST:PORT", an IPv6 address with or without brackets, at its last
 * colon; the host may be empty, and points into text.  False: no port of 1 to
 * 65535 stands behind it.
 */
bool redis_address_split(
    struct span text, struct span *ret_host, uint16_t *ret_port);
/*
 * True where it can be a host's name or address: up to 255 printable
 * characters, and not "?", which Redis says of a name that was never
 * configured.
 */
bool redis_address_is_host(struct span host);
/* Compares bytes: two names of one server are two addresses. */
bool redis_address_eq(
    const struct redis_address *a, const struct redis_address *b);
/* Frees the host, and makes it all zeros. */
void redis_address_clear(struct redis_address *address);
