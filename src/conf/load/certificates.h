/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

struct conf;
struct conf_listen;
struct conf_redis_tls;
struct conf_tls;
struct conf_upstream;
struct json_place;
struct loader;

/*
 * The certificates and keys that an entry of listen names, a Redis or an
 * upstream.  The files are read when the configuration is loaded: what `check`
 * said is well is what is served, and a reload takes them all or none.  Main
 * thread.
 */

/* Reads them as they are now; they are freed with the configuration. */
void certificates_load(struct loader *l, const struct json_place *at,
    struct conf_listen *listen);
/*
 * The same of a Redis that TLS leads to; prefix: what stands before its members
 * in words.
 */
void certificates_load_redis(struct loader *l, const struct json_place *at,
    const char *prefix, struct conf_redis_tls *redis);
/*
 * Complains where those of an upstream with TLS cannot be used.  libcurl reads
 * them itself when it connects, so nothing of them is kept.
 */
void certificates_check_upstream(struct loader *l, const struct json_place *at,
    const struct conf_upstream *upstream);

/*
 * Whether clients accept the certificate at that time, as far as its time goes.
 * One that is over, or not valid yet, is still served: others may be well, and
 * the clock may be wrong.
 */
enum certificates_time {
	CERTIFICATES_VALID,
	CERTIFICATES_END_SOON, /* within 14 days */
	CERTIFICATES_EARLY,
	CERTIFICATES_OVER,
};
enum certificates_time certificates_time(
    const struct conf_tls *tls, int64_t now_ms);
/* A sentence about what that says; the caller frees it. */
char *certificates_words(const struct conf_tls *tls, int64_t now_ms);
/* Logs of each that is over or not valid yet. */
void certificates_log(const struct conf *conf);
