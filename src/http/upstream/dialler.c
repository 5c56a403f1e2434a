/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/must.h"
#include "http/upstream/dialler.h"

enum {
	/* Changes of DNS are followed within so many seconds. */
	DNS_CACHE_S = 5,
	/* A changed file of CAs is read again after so many seconds. */
	CA_CACHE_S = 60,
	/*
	 * libcurl closes what it believes idle for longer, whenever another
	 * handle connects: a long payment would be cut in the middle.
	 */
	NEVER_S = 2000000000,
};

#define SET(easy, option, value)                                               \
	must(curl_easy_setopt((easy), CURLOPT_##option, (value)) == CURLE_OK)

/*
 * What the upstream's certificate is verified with.  A folder of CAs, which
 * libcurl may have been built with, would be asked besides the file: those of
 * the whole system where the operator has named his own, and each connection
 * would read the whole file again, for only a file alone is cached.
 */
static void
set_trust(CURL *easy, const struct conf_upstream *upstream)
{
	const char *system = curl_version_info(CURLVERSION_NOW)->cainfo;
	SET(easy, SSL_VERIFYPEER, 1L);
	SET(easy, SSL_VERIFYHOST, 2L);
	SET(easy, SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	SET(easy, CA_CACHE_TIMEOUT, (long)CA_CACHE_S);
	/* The upstream might speak HTTP/2, which we do not. */
	SET(easy, SSL_ENABLE_ALPN, 0L);
	if (upstream->ca != NULL)
		SET(easy, CAINFO, upstream->ca);
	if (upstream->ca != NULL ||
	    (system != NULL && access(system, R_OK) == 0))
		SET(easy, CAPATH, NULL);
	if (upstream->certificate != NULL)
		SET(easy, SSLCERT, upstream->certificate);
	if (upstream->key != NULL)
		SET(easy, SSLKEY, upstream->key);
}

static CURL *
handle_new(const struct dialler *dialler)
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
	SET(easy, DNS_CACHE_TIMEOUT, (long)DNS_CACHE_S);
	SET(easy, MAXAGE_CONN, (long)NEVER_S);
	SET(easy, NOSIGNAL, 1L);
	/* Giving up must not wait for a resolver that does not answer. */
	SET(easy, QUICK_EXIT, 1L);
	if (dialler->target->unix_path != NULL)
		SET(easy, UNIX_SOCKET_PATH, dialler->target->unix_path);
	if (dialler->target->tls)
		set_trust(easy, dialler->upstream);
	return easy;
}

CURL *
dialler_take(struct dialler *dialler)
{
	return dialler->n_handles > 0
	    ? dialler->handles[--dialler->n_handles]
	    : handle_new(dialler);
}

void
dialler_give(struct dialler *dialler, CURL **easy)
{
	enum { MOST = sizeof dialler->handles / sizeof *dialler->handles };
	if (dialler->n_handles < MOST)
		dialler->handles[dialler->n_handles++] = *easy;
	else
		curl_easy_cleanup(*easy);
	*easy = NULL;
}

void
dialler_init(struct dialler *dialler, struct connector *connector,
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
dialler_end(struct dialler *dialler)
{
	while (dialler->n_handles > 0)
		curl_easy_cleanup(dialler->handles[--dialler->n_handles]);
	free(dialler->url);
	dialler->url = NULL;
}
