/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/must.h"
#include "base/swappable.h"
#include "store/redis/tls_session.h"

enum { MESSAGE_BYTES = 160 };

struct tls_session {
	gnutls_session_t gnutls;
	struct swappable_object *credentials;
	char *name;
	bool putting; /* GnuTLS keeps bytes that it has not sent */
	char message[MESSAGE_BYTES];
};

const char tls_session_lacks_certificate[] =
    "TLS: the server wants a client certificate, and was given none: "
    "certificate and key in tls";

struct tls_session *
tls_session_new(const struct conf_redis_tls *tls, const char *name, int fd)
{
	struct tls_session *session = mem_zero(sizeof *session);
	struct in6_addr binary;
	if (tls->server_name != NULL)
		name = tls->server_name;
	session->name = mem_str(span_str(name));
	session->credentials = swappable_acquire(tls->credentials);
	must(gnutls_init(&session->gnutls, GNUTLS_CLIENT | GNUTLS_NO_SIGNAL) ==
	    0);
	must(gnutls_priority_set_direct(
		 session->gnutls, conf_tls_priorities, NULL) == 0);
	must(gnutls_credentials_set(session->gnutls, GNUTLS_CRD_CERTIFICATE,
		 session->credentials->object) == 0);
	/* An address is no name to ask a server for (RFC 6066, 3). */
	if (inet_pton(AF_INET, session->name, &binary) != 1 &&
	    inet_pton(AF_INET6, session->name, &binary) != 1)
		must(gnutls_server_name_set(session->gnutls, GNUTLS_NAME_DNS,
			 session->name, strlen(session->name)) == 0);
	gnutls_session_set_verify_cert(session->gnutls, session->name, 0);
	gnutls_transport_set_int(session->gnutls, fd);
	gnutls_handshake_set_timeout(
	    session->gnutls, GNUTLS_INDEFINITE_TIMEOUT);
	return session;
}

void
tls_session_free(struct tls_session **session)
{
	struct tls_session *s = *session;
	*session = NULL;
	if (s == NULL)
		return;
	gnutls_deinit(s->gnutls);
	swappable_release(&s->credentials);
	free(s->name);
	free(s);
}

/* --- what went wrong --- */

/*
 * The first is the cause: GnuTLS says nothing new of a session that is over.  A
 * server that was given no certificate ends it with TLS 1.2 in the handshake,
 * and with 1.3 behind it (RFC 8446, 4.4.2.4 and 6.2).
 */
static void
note_error(struct tls_session *session, int error)
{
	gnutls_session_t gnutls = session->gnutls;
	gnutls_datum_t words = {NULL, 0};
	if (session->message[0] != '\0')
		return;
	if (error == GNUTLS_E_FATAL_ALERT_RECEIVED) {
		gnutls_alert_description_t alert = gnutls_alert_get(gnutls);
		bool asked = alert == GNUTLS_A_CERTIFICATE_REQUIRED ||
		    (alert == GNUTLS_A_HANDSHAKE_FAILURE &&
			gnutls_certificate_client_get_request_status(gnutls) ==
			    1 &&
			gnutls_certificate_get_ours(gnutls) == NULL);
		if (asked)
			snprintf(session->message, sizeof session->message,
			    "%s", tls_session_lacks_certificate);
		else
			snprintf(session->message, sizeof session->message,
			    "TLS: the server said: %s",
			    gnutls_alert_get_name(alert));
		return;
	}
	snprintf(session->message, sizeof session->message, "TLS: %s",
	    gnutls_strerror(error));
	/* Of a certificate that it does not believe it says why, in words. */
	unsigned status = error == GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR
	    ? gnutls_session_get_verify_cert_status(gnutls)
	    : 0;
	if (status == 0 ||
	    gnutls_certificate_verification_status_print(
		status, GNUTLS_CRT_X509, &words, 0) < 0)
		return;
	while (words.size > 0 && strchr(" .", words.data[words.size - 1]))
		words.size--;
	snprintf(session->message, sizeof session->message, "%s: %.*s",
	    session->name, (int)words.size, (const char *)words.data);
	gnutls_free(words.data);
}

/* True for those of GnuTLS' errors behind which it goes on. */
static bool
goes_on(const struct tls_session *session, int error)
{
	if (error != GNUTLS_E_WARNING_ALERT_RECEIVED)
		return error == GNUTLS_E_INTERRUPTED;
	return gnutls_alert_get(session->gnutls) != GNUTLS_A_CLOSE_NOTIFY;
}

/* Sets errno, and the message where it is over; always -1. */
static ssize_t
fail(struct tls_session *session, int error)
{
	if (error == GNUTLS_E_AGAIN || goes_on(session, error)) {
		errno = EAGAIN;
		return -1;
	}
	note_error(session, error);
	errno = EPROTO;
	return -1;
}

const char *
tls_session_message(const struct tls_session *session)
{
	return session->message;
}

/* --- the handshake and bytes --- */

enum tls_session_step
tls_session_shake(struct tls_session *session)
{
	int error;
	do
		error = gnutls_handshake(session->gnutls);
	while (error < 0 && goes_on(session, error));
	if (error == 0)
		return TLS_SESSION_READY;
	if (error == GNUTLS_E_AGAIN)
		return gnutls_record_get_direction(session->gnutls) == 0
		    ? TLS_SESSION_READS
		    : TLS_SESSION_WRITES;
	note_error(session, error);
	return TLS_SESSION_FAILED;
}

ssize_t
tls_session_put(struct tls_session *session, struct span bytes)
{
	/* It has a copy of what it could not send, however that has moved. */
	ssize_t put = session->putting
	    ? gnutls_record_send(session->gnutls, NULL, 0)
	    : gnutls_record_send(session->gnutls, bytes.ptr, bytes.len);
	session->putting = put == GNUTLS_E_AGAIN || put == GNUTLS_E_INTERRUPTED;
	if (put >= 0)
		return put;
	/* A server that closes may have said why, which no write will tell. */
	if (!session->putting) {
		unsigned char number[8];
		char byte;
		ssize_t got = gnutls_record_recv_seq(
		    session->gnutls, &byte, sizeof byte, number);
		if (got == GNUTLS_E_FATAL_ALERT_RECEIVED)
			put = got;
	}
	return fail(session, (int)put);
}

ssize_t
tls_session_get(
    struct tls_session *session, char *bytes, size_t size, bool *ret_more)
{
	unsigned char number[8];
	/* gnutls_record_recv is the front's (front/client_io.c). */
	ssize_t got = gnutls_record_recv_seq(
	    session->gnutls, bytes, size, number);
	/* Many servers close without a word (RFC 8446, 6.1). */
	if (got == GNUTLS_E_PREMATURE_TERMINATION)
		return 0;
	if (got < 0)
		return fail(session, (int)got);
	*ret_more = gnutls_record_check_pending(session->gnutls) > 0;
	return got;
}
