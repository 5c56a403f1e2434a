/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

/*
 * Networks as texts: "10.0.0.0/8", "2001:db8::/32", or one address.  Pure; any
 * thread.
 */

/* What is wrong with one; NULL: nothing. */
const char *network_wrong(const char *text);
/*
 * Whether an address is in one that is well-formed; an IPv4 address in IPv6
 * (::ffff:0:0/96) counts as that of IPv4.
 */
bool network_has(const char *text, const struct sockaddr *address);
