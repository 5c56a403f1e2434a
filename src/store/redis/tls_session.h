/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/span.h"
#include "conf/conf.h"

/*
 * TLS on a socket that leads to a Redis (GnuTLS): its handshake, in which the
 * server and its name are verified, and bytes each way.  The socket may block
 * or not, and stays its owner's.  It knows no loop and no commands.  One thread
 * at a time.
 */
struct tls_session;

/*
 * name: the host that the socket leads to, unless tls has another one that the
 * certificate must have; an IP address is looked for among the certificate's
 * addresses (RFC 9525, 6.2 and 6.5).  Both are copied.
 */
struct tls_session *tls_session_new(
    const struct conf_redis_tls *tls, const char *name, int fd);
/* Sends nothing more (no close_notify); nulls the pointer, accepts NULL. */
void tls_session_free(struct tls_session **session);

enum tls_session_step {
	TLS_SESSION_READY, /* bytes may go over it */
	TLS_SESSION_READS, /* waits until there is something to read, … */
	TLS_SESSION_WRITES, /* … or room to write */
	TLS_SESSION_FAILED, /* tls_session_message says why */
};
/* Goes on with the handshake. */
enum tls_session_step tls_session_shake(struct tls_session *session);

/*
 * As send() and recv(): -1 with EAGAIN where the socket would block; the bytes
 * that were not taken are then given again.  With another errno it is over, and
 * tls_session_message says why.  *ret_more: there is more to get without
 * anything on the socket.
 */
ssize_t tls_session_put(struct tls_session *session, struct span bytes);
ssize_t tls_session_get(
    struct tls_session *session, char *bytes, size_t size, bool *ret_more);
/* It lives as long as the session. */
const char *tls_session_message(const struct tls_session *session);
/* That message where the server wants our certificate. */
extern const char tls_session_lacks_certificate[];
