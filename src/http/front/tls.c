/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <gnutls/x509.h>
#include <sodium.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/hex.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "http/front/client_certificate.h"
#include "http/front/client_connection_private.h"
#include "http/front/client_io_private.h"
#include "http/front/front_private.h"
#include "http/front/problem.h"
#include "http/front/tls_private.h"

enum {
	RECORD_OF_HANDSHAKE = 22,
	ASCII_MOST = 127, /* the first byte of SSL 2 is above it */
	PLAIN_READS_MOST = 32,
};

/* --- waiting for the client --- */

static void
on_handshake_ready(struct client_connection *c, unsigned events)
{
	(void)events;
	client_io_watch(c, 0, NULL);
	client_io_release(c);
}

/* --- clients that speak no TLS --- */

/*
 * The first bytes: a record of TLS, whose handshake fails by itself if it is
 * a wrong one, or something else.  A method of HTTP begins with a capital: it
 * is answered in plain text, on the socket itself.  What has come of the
 * request is read away: a socket that is closed with unread bytes resets, and
 * the client might lose the answer.
 */
static void
hear_greeting(struct client_connection *c, struct span first)
{
	uint8_t byte = (uint8_t)*first.ptr;
	char rest[4096];
	unsigned reads = 0;
	int64_t count;
	c->greeted = true;
	if (byte == RECORD_OF_HANDSHAKE || byte > ASCII_MOST)
		return;
	if (log_rate_is_due(&c->front->plain_refused, &count)) {
		struct logline line = log_begin(EV_client_plain);
		log_int(&line, "connections", count);
		log_span(&line, "began", first);
		log_str(&line, "client", c->client);
		log_end(&line);
	}
	if (byte < 'A' || byte > 'Z')
		return;
	struct arena *arena = arena_new();
	struct span text = problem_text(arena, c->front->conf,
	    PROBLEM_BAD_REQUEST,
	    SPAN("This address speaks TLS: use https://. Nothing was "
		 "forwarded."));
	while (reads < PLAIN_READS_MOST &&
	    recv(c->fd, rest, sizeof rest, MSG_DONTWAIT) > 0)
		reads++;
	(void)send(c->fd, text.ptr, text.len, MSG_DONTWAIT | MSG_NOSIGNAL);
	arena_free(&arena);
}

/* --- the socket --- */

/*
 * The socket would block: behind a handshake libmicrohttpd knows what to do.
 * GnuTLS wants its own note of what errno says.
 */
static ssize_t
said(struct client_connection *c, ssize_t n, unsigned wanted)
{
	int error = errno;
	if (n >= 0)
		return n;
	if (!c->tls_is_up) {
		/* It describes a session whose handshake has ended well. */
		char *message = gnutls_session_get_desc(c->session);
		c->tls_is_up = message != NULL;
		gnutls_free(message);
	}
	if (error == EAGAIN && !c->tls_is_up && !c->held &&
	    !c->front->ending) {
		client_io_hold(c);
		client_io_watch(c, wanted, on_handshake_ready);
	}
	gnutls_transport_set_errno(c->session, error);
	return -1;
}

static ssize_t
pull(gnutls_transport_ptr_t arg, void *data, size_t len)
{
	struct client_connection *c = arg;
	ssize_t n = recv(c->fd, data, len, MSG_DONTWAIT);
	if (n > 0 && !c->greeted)
		hear_greeting(c, span_of(data, (size_t)n));
	return said(c, n, WATCH_READ);
}

static ssize_t
push(gnutls_transport_ptr_t arg, const giovec_t *pieces, int count)
{
	struct client_connection *c = arg;
	struct msghdr message = {
	    .msg_iov = (struct iovec *)(uintptr_t)pieces,
	    .msg_iovlen = (size_t)count,
	};
	return said(c,
	    sendmsg(c->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL),
	    WATCH_WRITE);
}

/* --- life --- */

int
tls_no_certificate(gnutls_session_t session,
    const struct gnutls_cert_retr_st *info, gnutls_pcert_st **ret_certificates,
    unsigned *ret_count, gnutls_ocsp_data_st **ret_ocsp,
    unsigned *ret_ocsp_count, gnutls_privkey_t *ret_key, unsigned *ret_flags)
{
	(void)session;
	(void)info;
	(void)ret_certificates;
	(void)ret_count;
	(void)ret_ocsp;
	(void)ret_ocsp_count;
	(void)ret_key;
	(void)ret_flags;
	return -1;
}

/* The handshake fails for that; nobody else would say so. */
static void
note_refused(struct client_connection *c, const char *why)
{
	int64_t count;
	if (!log_rate_is_due(&c->front->certificates_refused, &count))
		return;
	struct logline line = log_begin(EV_client_certificate);
	log_int(&line, "connections", count);
	log_str(&line, "why", why);
	log_str(&line, "client", c->client);
	log_end(&line);
}

/* GnuTLS' call with the client's message; one without certificates is zeros. */
static int
on_certificates(gnutls_session_t session, unsigned type, unsigned when,
    unsigned incoming, const gnutls_datum_t *message)
{
	unsigned i = 0;
	(void)type;
	(void)when;
	while (i < message->size && message->data[i] == 0)
		i++;
	if (incoming && i == message->size)
		note_refused(gnutls_transport_get_ptr(session),
		    "the client has presented none");
	return 0;
}

/* Of a certificate for clients from those authorities; 0: it is one. */
static int
verify_certificate(gnutls_session_t session)
{
	static char purpose[] = GNUTLS_KP_TLS_WWW_CLIENT;
	static gnutls_typed_vdata_st wanted = {
	    GNUTLS_DT_KEY_PURPOSE_OID, (unsigned char *)purpose, 0};
	unsigned status;
	gnutls_datum_t words = {NULL, 0};
	if (gnutls_certificate_verify_peers(session, &wanted, 1, &status) != 0)
		return GNUTLS_E_CERTIFICATE_ERROR;
	if (status == 0)
		return 0;
	bool said = gnutls_certificate_verification_status_print(
			status, GNUTLS_CRT_X509, &words, 0) == 0;
	note_refused(gnutls_transport_get_ptr(session),
	    said ? (const char *)words.data : "it does not verify");
	gnutls_free(words.data);
	return GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR;
}

void
tls_begin(struct client_connection *c)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
	    c->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	must(info != NULL);
	gnutls_session_t session = info->tls_session;
	c->session = session;
	must(gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE,
		 c->tls->credentials) == 0);
	c->demands = c->tls->ca != NULL;
	if (c->demands) {
		gnutls_certificate_server_set_request(
		    session, GNUTLS_CERT_REQUIRE);
		gnutls_handshake_set_hook_function(session,
		    GNUTLS_HANDSHAKE_CERTIFICATE_PKT, GNUTLS_HOOK_PRE,
		    on_certificates);
		gnutls_session_set_verify_function(
		    session, verify_certificate);
	}
	gnutls_transport_set_ptr(session, c);
	gnutls_transport_set_pull_function(session, pull);
	gnutls_transport_set_vec_push_function(session, push);
}

/* --- the client's certificate --- */

/* Without a name the client has an empty one, which names nobody. */
static char *
subject_of(const gnutls_datum_t *der)
{
	gnutls_x509_crt_t certificate;
	gnutls_datum_t name = {NULL, 0};
	char *subject = NULL;
	must(gnutls_x509_crt_init(&certificate) == 0);
	if (gnutls_x509_crt_import(
		certificate, der, GNUTLS_X509_FMT_DER) == 0 &&
	    gnutls_x509_crt_get_dn3(certificate, &name, 0) == 0)
		subject = mem_str(span_of(name.data, name.size));
	gnutls_free(name.data);
	gnutls_x509_crt_deinit(certificate);
	return subject != NULL ? subject : mem_text("");
}

/* The handshake has verified it, by what the connection was accepted with. */
void
tls_certificate(struct client_connection *c, struct arena *arena,
    struct client_certificate *ret_certificate)
{
	unsigned count = 0;
	if (c->session == NULL || !c->demands)
		return;
	if (c->fingerprint == NULL) {
		const gnutls_datum_t *list =
		    gnutls_certificate_get_peers(c->session, &count);
		if (list == NULL || count == 0)
			return;
		unsigned char hash[crypto_hash_sha256_BYTES];
		char hex[2 * sizeof hash + 1];
		crypto_hash_sha256(hash, list->data, list->size);
		hex_encode(hash, sizeof hash, hex);
		c->fingerprint = mem_text(hex);
		c->subject = subject_of(&list[0]);
	}
	*ret_certificate = (struct client_certificate){
	    arena_dup(arena, span_str(c->fingerprint)),
	    arena_dup(arena, span_str(c->subject))};
}
