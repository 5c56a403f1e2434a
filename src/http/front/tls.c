/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <gnutls/x509.h>
#include <sodium.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/hex.h"
#include "base/loop/clock.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "http/front/client_certificate.h"
#include "http/front/client_connection_private.h"
#include "http/front/front_private.h"
#include "http/front/refusal.h"
#include "http/front/spin_private.h"
#include "http/front/tls_private.h"

enum {
	TELL_EVERY_US = 10 * 1000 * 1000,
	RECORD_OF_HANDSHAKE = 22,
	ASCII_MOST = 127, /* the first byte of SSL 2 is above it */
	PLAIN_READS_MOST = 32,
};

/* Forward secrecy and AEAD alone, in both versions. */
const char tls_priorities[] =
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:"
    "-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:"
    "-CIPHER-ALL:+AES-256-GCM:+CHACHA20-POLY1305:+AES-128-GCM:"
    "-MAC-ALL:+AEAD";

/* --- waiting for the client --- */

static void
stop_waiting(struct client_connection *c)
{
	watch_free(&c->handshake);
	*c->link = c->next;
	if (c->next != NULL)
		c->next->link = c->link;
	client_connection_release(c, HELD_BY_TLS);
}

static void
on_handshake_ready(void *arg, unsigned events)
{
	(void)events;
	stop_waiting(arg);
}

/* GnuTLS describes a session only once its handshake has ended well. */
static bool
is_up(struct client_connection *c)
{
	if (c->tls_is_up)
		return true;
	char *message = gnutls_session_get_desc(c->session);
	c->tls_is_up = message != NULL;
	gnutls_free(message);
	return c->tls_is_up;
}

/* The socket would block; behind a handshake libmicrohttpd knows what to do. */
static void
on_would_block(struct client_connection *c, unsigned wanted)
{
	if (is_up(c) || c->handshake != NULL || c->front->ending)
		return;
	client_connection_hold(c, HELD_BY_TLS);
	c->handshake = watch_new(c->front->loop, c->fd, on_handshake_ready, c);
	watch_want(c->handshake, wanted);
	c->next = c->front->shaking_hands;
	c->link = &c->front->shaking_hands;
	if (c->next != NULL)
		c->next->link = &c->next;
	c->front->shaking_hands = c;
}

void
tls_let_go(struct front *front)
{
	front->ending = true;
	while (front->shaking_hands != NULL)
		stop_waiting(front->shaking_hands);
}

/* --- what the log hears of many --- */

/* True, and noted, where it last heard of them long enough ago. */
static bool
may_tell(int64_t *told_us)
{
	int64_t now_us = clock_us();
	if (*told_us != 0 && now_us - *told_us < TELL_EVERY_US)
		return false;
	*told_us = now_us;
	return true;
}

/* --- clients that speak no TLS --- */

static void
note_plain(struct client_connection *c, struct span began)
{
	struct front *front = c->front;
	front->plain_refused++;
	if (!may_tell(&front->plain_told_us))
		return;
	struct logline line = log_begin(EV_client_plain);
	log_int(&line, "connections", front->plain_refused);
	log_span(&line, "began", began);
	log_str(&line, "client", c->client);
	log_end(&line);
	front->plain_refused = 0;
}

/*
 * In plain text, on the socket itself.  What has come of the request is read
 * away: a socket that is closed with unread bytes resets, and the client might
 * lose the answer.
 */
static void
answer_plain(struct client_connection *c)
{
	char rest[4096];
	unsigned reads = 0;
	struct arena *arena = arena_new();
	struct span text = refusal_text(arena, c->front->conf,
	    PROBLEM_BAD_REQUEST,
	    SPAN("This address speaks TLS: use https://. Nothing was "
		 "forwarded."));
	while (reads < PLAIN_READS_MOST &&
	    recv(c->fd, rest, sizeof rest, MSG_DONTWAIT) > 0)
		reads++;
	(void)send(c->fd, text.ptr, text.len, MSG_DONTWAIT | MSG_NOSIGNAL);
	arena_free(&arena);
}

/*
 * The first bytes: a record of TLS, whose handshake fails by itself if it is
 * a wrong one, or something else.  A method of HTTP begins with a capital.
 */
static void
hear_greeting(struct client_connection *c, struct span first)
{
	uint8_t byte = (uint8_t)*first.ptr;
	c->greeted = true;
	if (byte == RECORD_OF_HANDSHAKE || byte > ASCII_MOST)
		return;
	note_plain(c, first);
	if (byte >= 'A' && byte <= 'Z')
		answer_plain(c);
}

/* --- the socket --- */

/* GnuTLS wants its own note of what errno says. */
static ssize_t
said(struct client_connection *c, ssize_t n, unsigned wanted)
{
	int error = errno;
	if (n > 0)
		spin_moved(c);
	if (n >= 0)
		return n;
	if (error == EAGAIN)
		on_would_block(c, wanted);
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
	struct front *front = c->front;
	front->certificates_refused++;
	if (!may_tell(&front->certificates_told_us))
		return;
	struct logline line = log_begin(EV_client_certificate);
	log_int(&line, "connections", front->certificates_refused);
	log_str(&line, "why", why);
	log_str(&line, "client", c->client);
	log_end(&line);
	front->certificates_refused = 0;
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

static void
demand_certificate(gnutls_session_t session)
{
	gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUIRE);
	gnutls_handshake_set_hook_function(session,
	    GNUTLS_HANDSHAKE_CERTIFICATE_PKT, GNUTLS_HOOK_PRE,
	    on_certificates);
	gnutls_session_set_verify_function(session, verify_certificate);
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
	if (c->demands)
		demand_certificate(session);
	gnutls_transport_set_ptr(session, c);
	gnutls_transport_set_pull_function(session, pull);
	gnutls_transport_set_vec_push_function(session, push);
}

/* --- the client's certificate --- */

static char *
fingerprint_of(const gnutls_datum_t *der)
{
	unsigned char hash[crypto_hash_sha256_BYTES];
	char hex[2 * sizeof hash + 1];
	crypto_hash_sha256(hash, der->data, der->size);
	hex_encode(hash, sizeof hash, hex);
	return mem_text(hex);
}

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
		c->fingerprint = fingerprint_of(&list[0]);
		c->subject = subject_of(&list[0]);
	}
	*ret_certificate = (struct client_certificate){
	    arena_dup(arena, span_str(c->fingerprint)),
	    arena_dup(arena, span_str(c->subject))};
}

void
tls_end(struct client_connection *c)
{
	must(c->handshake == NULL);
	free(c->fingerprint);
	free(c->subject);
	conf_unref(&c->conf);
}
