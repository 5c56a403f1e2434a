/* SPDX-License-Identifier: BSD-2-Clause */
#include <dlfcn.h>
#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/trust.h"
#include "http/upstream/connection.h"

enum {
	/* Changes of DNS are followed within so many seconds. */
	DNS_CACHE_S = 5, /* where max_age is not less */
	/*
	 * libcurl closes what it believes idle for longer, whenever another
	 * handle connects: a long payment would be cut in the middle.
	 */
	NEVER_S = 2000000000,
	/* One TLS record (RFC 8446, section 5.1). */
	RECORD_BYTES = 16384,
};

#define SET(easy, option, value)                                               \
	must(curl_easy_setopt((easy), CURLOPT_##option, (value)) == CURLE_OK)

/* --- how a target is dialled --- */

static CURL *
new_handle(const struct dialler *dialler)
{
	CURL *easy = curl_easy_init();
	must(easy != NULL);
	SET(easy, URL, dialler->url);
	SET(easy, PROTOCOLS_STR, "http,https");
	SET(easy, PROXY, ""); /* nor the one of the environment */
	SET(easy, CONNECT_ONLY, 1L);
	SET(easy, FRESH_CONNECT, 1L);
	SET(easy, CONNECTTIMEOUT_MS,
	    (long)dialler->upstream->connect_timeout_ms);
	long age_s = (long)(dialler->upstream->max_age_ms / 1000);
	SET(easy, DNS_CACHE_TIMEOUT,
	    age_s < DNS_CACHE_S ? age_s : (long)DNS_CACHE_S);
	SET(easy, MAXAGE_CONN, (long)NEVER_S);
	SET(easy, NOSIGNAL, 1L);
	/* Giving up must not wait for a resolver that does not answer. */
	SET(easy, QUICK_EXIT, 1L);
	if (dialler->target->unix_path != NULL)
		SET(easy, UNIX_SOCKET_PATH, dialler->target->unix_path);
	if (!dialler->target->tls)
		return easy;
	const struct conf_upstream *upstream = dialler->upstream;
	trust_set(easy, upstream->ca);
	if (upstream->certificate != NULL)
		SET(easy, SSLCERT, upstream->certificate);
	if (upstream->key != NULL)
		SET(easy, SSLKEY, upstream->key);
	return easy;
}

void
connection_dialler_init(struct dialler *dialler, struct connector *connector,
    const struct conf_upstream *upstream, const struct conf_target *target)
{
	bool v6 = strchr(target->host, ':') != NULL;
	char port[8] = "";
	if (target->unix_path == NULL)
		snprintf(port, sizeof port, ":%u", (unsigned)target->port);
	*dialler = (struct dialler){
	    .connector = connector,
	    .upstream = upstream,
	    .target = target,
	    .url = mem_printf("%s://%s%s%s%s/", target->tls ? "https" : "http",
		v6 ? "[" : "", target->host, v6 ? "]" : "", port),
	};
}

void
connection_dialler_end(struct dialler *dialler)
{
	while (dialler->n_handles > 0)
		curl_easy_cleanup(dialler->handles[--dialler->n_handles]);
	free(dialler->url);
	dialler->url = NULL;
}

/* --- a connection --- */

/*
 * Why the handshake failed, by what OpenSSL found wrong with the certificate
 * (X509_V_ERR_...); another library below libcurl has other numbers.
 */
static int
error_of_certificate(const struct connection *c)
{
	enum { EARLY = 9, OVER = 10 };
	long found = 0;
	if (strncmp(curl_version_info(CURLVERSION_NOW)->ssl_version, "OpenSSL",
		7) != 0)
		return E_TLS;
	curl_easy_getinfo(c->easy, CURLINFO_SSL_VERIFYRESULT, &found);
	switch (found) {
	case 0:
	case 1: /* OpenSSL was not asked: libcurl compares names itself */
		return E_TLS_NAME;
	case EARLY:
		return E_TLS_EARLY;
	case OVER:
		return E_TLS_OVER;
	case 2:  /* its issuer is not there */
	case 18: /* it is of nobody but itself */
	case 19: /* so is the last of its chain */
	case 20:
	case 21:
		return E_TLS_AUTHORITY;
	}
	return E_TLS;
}

static int
error_of(CURLcode result, const struct connection *c)
{
	switch ((int)result) {
	case CURLE_OK:
		return 0;
	case CURLE_COULDNT_RESOLVE_HOST:
		return E_RESOLVE;
	case CURLE_COULDNT_CONNECT:
		return E_UNREACHABLE;
	case CURLE_OPERATION_TIMEDOUT:
		return E_TIMEOUT;
	case CURLE_PEER_FAILED_VERIFICATION:
		return error_of_certificate(c);
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CERTPROBLEM:
		return E_TLS_FILES;
	}
	if (!c->tls)
		return E_UNREACHABLE;
	/* No record of TLS came, such as an answer in plain HTTP (OpenSSL). */
	return strstr(c->why, "wrong version number") ? E_TLS_NONE : E_TLS;
}

static void
on_socket_ready(void *arg, unsigned events)
{
	struct connection *c = arg;
	c->ready(c->arg, events);
}

/* libcurl has closed it on its own: the owner finds out by reading. */
static void
on_socket_lost(void *arg)
{
	struct connection *c = arg;
	if (c->ready != NULL)
		c->ready(c->arg, WATCH_READ);
}

/* CURLOPT_CLOSESOCKETFUNCTION: no watch outlives its descriptor. */
static int
close_socket(void *arg, curl_socket_t fd)
{
	struct connection *c = arg;
	if (c->fd != fd)
		return close(fd);
	if (c->kept)
		return 0;
	watch_free(&c->watch);
	c->fd = -1;
	if (!c->closing)
		task_ready(c->dialler->connector->loop, &c->lost);
	return close(fd);
}

/* libcurl closes what it has of the connection, and its handle rests. */
static void
give_handle_back(struct connection *c)
{
	struct dialler *dialler = c->dialler;
	size_t most = sizeof dialler->handles / sizeof *dialler->handles;
	connector_remove(dialler->connector, &c->dial);
	SET(c->easy, ERRORBUFFER, NULL);
	if (dialler->n_handles < most)
		dialler->handles[dialler->n_handles++] = c->easy;
	else
		curl_easy_cleanup(c->easy);
	c->easy = NULL;
}

static void
on_dialled(void *arg, CURLcode result)
{
	struct connection *c = arg;
	struct loop *loop = c->dialler->connector->loop;
	int error = error_of(result, c);
	if (error != 0 && c->dial.no_descriptor)
		error = E_DESCRIPTORS;
	curl_socket_t fd = CURL_SOCKET_BAD;
	if (error == 0) {
		curl_easy_getinfo(c->easy, CURLINFO_ACTIVESOCKET, &fd);
		if (fd == CURL_SOCKET_BAD)
			error = E_UNREACHABLE;
	}
	if (error == 0) {
		c->fd = fd;
		c->made_ms = loop_now_ms(loop);
		if (!c->tls) {
			c->kept = true;
			give_handle_back(c);
		}
		c->watch = watch_new(loop, fd, 0, on_socket_ready, c);
	}
	c->made(c->arg, error);
}

struct connection *
connection_open(
    struct dialler *dialler, void (*made)(void *arg, int error), void *arg)
{
	struct connection *c = mem_zero(sizeof *c);
	c->dialler = dialler;
	c->tls = dialler->target->tls;
	c->fd = -1;
	c->made = made;
	c->arg = arg;
	c->lost = (struct task){.run = on_socket_lost, .arg = c};
	c->easy = dialler->n_handles > 0
	    ? dialler->handles[--dialler->n_handles]
	    : new_handle(dialler);
	SET(c->easy, CLOSESOCKETFUNCTION, close_socket);
	SET(c->easy, CLOSESOCKETDATA, c);
	SET(c->easy, ERRORBUFFER, c->why);
	c->dial.done = on_dialled;
	c->dial.arg = c;
	if (dialler->connector->connections != NULL)
		counter_add(dialler->connector->connections, 1);
	connector_add(dialler->connector, c->easy, &c->dial);
	return c;
}

void
connection_watch(struct connection *c,
    void (*ready)(void *arg, unsigned events), void *arg)
{
	c->ready = ready;
	c->arg = arg;
	connection_want(c, true, false);
}

void
connection_want(struct connection *c, bool read, bool write)
{
	if (c->watch != NULL)
		watch_want(c->watch,
		    (read ? WATCH_READ : 0) | (write ? WATCH_WRITE : 0));
}

/* --- its bytes --- */

ssize_t
connection_send(struct connection *c, const char *bytes, size_t len)
{
	must(len > 0);
	c->used = true;
	if (c->fd < 0)
		return IO_FAILED;
	if (c->tls) {
		/* A record at a time, so that the same call is made again. */
		size_t record = len < RECORD_BYTES ? len : RECORD_BYTES;
		size_t sent = 0;
		CURLcode code = curl_easy_send(c->easy, bytes, record, &sent);
		if (code == CURLE_OK)
			return (ssize_t)sent;
		return code == CURLE_AGAIN ? IO_AGAIN : IO_FAILED;
	}
	ssize_t n;
	do
		n = send(c->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return n;
	return errno == EAGAIN ? IO_AGAIN : IO_FAILED;
}

/*
 * libcurl 7.88 with OpenSSL takes any end of the connection for the end of
 * what was sent over it.  Only close_notify is one (RFC 8446, section 6.1):
 * without it anybody on the way, or a crash, may have cut the answer short.
 * libcurl does not tell, so OpenSSL is asked, which libcurl has brought
 * along; GnuTLS tells it itself.
 */
static bool
was_notified(const struct connection *c)
{
	enum { RECEIVED_SHUTDOWN = 2 };
	struct curl_tlssessioninfo *session = NULL;
	int (*get_shutdown)(const void *ssl);
	if (curl_easy_getinfo(c->easy, CURLINFO_TLS_SSL_PTR, &session) !=
		CURLE_OK ||
	    session->internals == NULL)
		return false;
	if (session->backend == CURLSSLBACKEND_GNUTLS)
		return true;
	void *symbol = dlsym(RTLD_DEFAULT, "SSL_get_shutdown");
	if (session->backend != CURLSSLBACKEND_OPENSSL || symbol == NULL)
		return false;
	memcpy(&get_shutdown, &symbol, sizeof get_shutdown);
	return get_shutdown(session->internals) & RECEIVED_SHUTDOWN;
}

ssize_t
connection_receive(struct connection *c, char *buffer, size_t size)
{
	if (c->fd < 0)
		return IO_FAILED;
	if (c->tls) {
		size_t received = 0;
		CURLcode code =
		    curl_easy_recv(c->easy, buffer, size, &received);
		if (code == CURLE_AGAIN)
			return IO_AGAIN;
		if (code == CURLE_OK && received > 0)
			return (ssize_t)received;
		return code == CURLE_OK && was_notified(c) ? IO_END : IO_FAILED;
	}
	ssize_t n;
	do
		n = recv(c->fd, buffer, size, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		return n;
	if (n == 0)
		return IO_END;
	return errno == EAGAIN ? IO_AGAIN : IO_FAILED;
}

bool
connection_is_silent(struct connection *c)
{
	if (c->fd < 0)
		return false;
	if (c->tls && !c->used) {
		/* Session tickets wait behind the handshake: read those. */
		char byte;
		return connection_receive(c, &byte, 1) == IO_AGAIN;
	}
	struct pollfd pollfd = {c->fd, POLLIN | POLLRDHUP, 0};
	return poll(&pollfd, 1, 0) == 0;
}

bool
connection_has_unsent(const struct connection *c)
{
	int bytes = 0;
	return ioctl(c->fd, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

void
connection_reset(struct connection *c)
{
	/* At once, whatever libcurl still does with a TLS connection. */
	const struct sockaddr none = {.sa_family = AF_UNSPEC};
	if (c->fd >= 0)
		(void)!connect(c->fd, &none, sizeof none);
}

void
connection_close(struct connection **connection)
{
	struct connection *c = *connection;
	*connection = NULL;
	if (c == NULL)
		return;
	c->closing = true;
	if (c->dialler->connector->connections != NULL)
		counter_add(c->dialler->connector->connections, (uint64_t)-1);
	watch_free(&c->watch);
	timer_clear(&c->idle_end);
	task_cancel(&c->lost);
	if (c->easy != NULL)
		give_handle_back(c);
	else if (c->fd >= 0)
		close(c->fd);
	free(c);
}
