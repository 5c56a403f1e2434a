/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/loop/loop.h"
#include "http/front/acceptor.h"
#include "http/front/places.h"
#include "http/front/log_rate.h"

/*
 * Which client a proxy before us speaks for: the header of the PROXY protocol,
 * version 1 or 2 (haproxy.org, proxy-protocol.txt), with which a connection
 * begins that comes from where listen.proxy_protocol says.  What is behind it,
 * TLS or HTTP, stays in the socket.  It knows no HTTP.  The front's thread.
 */

/* Connections whose header has not come; a member of its owner. */
struct proxy_protocol {
	struct loop *loop;
	struct places *places;
	void (*taken)(void *arg, const struct arrival *arrival);
	void *arg;
	struct list list;
	struct log_rate refused;
};

/* Whether a connection from there must begin with such a header. */
bool proxy_protocol_expects(
    const struct conf_listen *listen, const struct sockaddr *from);
/*
 * Reads the header of a connection that has a place, within header_timeout,
 * and calls taken() with whom it speaks for; or closes it and gives the place
 * back.  Both may have been done when this returns.
 */
void proxy_protocol_begin(
    struct proxy_protocol *all, const struct arrival *arrival);
/* Closes those whose header has not come. */
void proxy_protocol_end(struct proxy_protocol *all);
