/* SPDX-License-Identifier: BSD-2-Clause */
#include <unistd.h>

#include "base/must.h"
#include "base/test_build.h"
#include "base/trust.h"

/* A changed file of CAs is read again after so many seconds. */
enum { CA_CACHE_S = 60 };

#define SET(easy, option, value)                                               \
	must(curl_easy_setopt((easy), CURLOPT_##option, (value)) == CURLE_OK)

/*
 * libcurl may have been built with a folder of CAs, which it would ask besides
 * the file: the whole system's, where the operator has named his own; and each
 * connection would read the whole file again, for only a file alone is cached.
 */
void
trust_set(CURL *easy, const char *ca)
{
	const char *system = curl_version_info(CURLVERSION_NOW)->cainfo;
	SET(easy, SSL_VERIFYPEER, INVARIANT(server_verified) ? 1L : 0L);
	SET(easy, SSL_VERIFYHOST, INVARIANT(server_verified) ? 2L : 0L);
	SET(easy, SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	SET(easy, CA_CACHE_TIMEOUT, (long)CA_CACHE_S);
	/* The server might speak HTTP/2, which we do not. */
	SET(easy, SSL_ENABLE_ALPN, 0L);
	if (ca != NULL)
		SET(easy, CAINFO, ca);
	if (ca != NULL || (system != NULL && access(system, R_OK) == 0))
		SET(easy, CAPATH, NULL);
}
