/* SPDX-License-Identifier: BSD-2-Clause */
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <time.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/loop/clock.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/swappable.h"
#include "conf/load/certificates.h"
#include "conf/load/loader_private.h"
#include "conf/load/text_private.h"

enum {
	/* A chain of certificates is shorter. */
	PEM_MAX = 1 << 20,
	SOON_S = 14 * 86400,
};

/* What names the files, of an entry of listen, a Redis or an upstream. */
struct files {
	struct loader *l;
	const struct json_place *at; /* of the object that has the options */
	const char *ca, *certificate, *key;  /* paths of the members */
	struct digest *digest; /* gets what they have; NULL: nobody asks */
};

/* The bytes of a file; false after complaining. */
static bool
read_pem(const struct files *files, const char *path, const char *name,
    gnutls_datum_t *ret_pem)
{
	char *text;
	size_t len;
	int error = secret_read_file(name, PEM_MAX, &text, &len);
	if (error != 0) {
		complaints_at_member(files->l, files->at, path,
		    "%s cannot be read: %s", name, error_of_file(error));
		return false;
	}
	*ret_pem = (gnutls_datum_t){(unsigned char *)text, (unsigned)len};
	if (files->digest != NULL)
		digest_part(files->digest, span_of(text, len));
	return true;
}

/* Whether there are any; notes when they are all valid. */
static bool
has_certificates(const gnutls_datum_t *pem, struct conf_tls *tls)
{
	gnutls_x509_crt_t *list = NULL;
	unsigned count = 0;
	tls->valid_from_s = 0;
	tls->valid_until_s = INT64_MAX;
	if (gnutls_x509_crt_list_import2(
		&list, &count, pem, GNUTLS_X509_FMT_PEM, 0) < 0)
		return false;
	for (unsigned i = 0; i < count; i++) {
		int64_t from = gnutls_x509_crt_get_activation_time(list[i]);
		int64_t until = gnutls_x509_crt_get_expiration_time(list[i]);
		/* Clients look at no root at the end of a chain. */
		bool counts = i == 0 ||
		    !gnutls_x509_crt_check_issuer(list[i], list[i]);
		if (counts && from > tls->valid_from_s)
			tls->valid_from_s = from;
		if (counts && until < tls->valid_until_s)
			tls->valid_until_s = until;
		gnutls_x509_crt_deinit(list[i]);
	}
	gnutls_free(list);
	return count > 0;
}

static bool
is_key(const gnutls_datum_t *pem)
{
	gnutls_x509_privkey_t key;
	must(gnutls_x509_privkey_init(&key) == 0);
	int error = gnutls_x509_privkey_import2(
	    key, pem, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN);
	gnutls_x509_privkey_deinit(key);
	return error == 0;
}

/* What a file has instead: the two may have been swapped. */
static const char *
instead(const gnutls_datum_t *pem, const char *mark, const char *words)
{
	return memmem(pem->data, pem->size, mark, strlen(mark)) != NULL ? words
									: "";
}

/* The certificate and its key. */
static void
load_pair(const struct files *files, struct conf_tls *tls)
{
	gnutls_datum_t certificate = {NULL, 0};
	gnutls_datum_t key = {NULL, 0};
	struct loader *l = files->l;
	bool read = read_pem(files, files->certificate, tls->certificate,
	    &certificate);
	if (read && !has_certificates(&certificate, tls)) {
		complaints_at_member(l, files->at, files->certificate,
		    "%s contains no PEM certificate%s", tls->certificate,
		    instead(&certificate, " KEY-----", "; it has a key"));
		read = false;
	}
	text_note_secret(l, files->at, files->key, tls->key);
	if (!read_pem(files, files->key, tls->key, &key)) {
		read = false;
	} else if (!is_key(&key)) {
		complaints_at_member(l, files->at, files->key,
		    "%s contains no PEM key, or one with a password%s",
		    tls->key,
		    instead(&key, "BEGIN CERT", "; it has a certificate"));
		read = false;
	}
	int error = read ? gnutls_certificate_set_x509_key_mem(
			       tls->credentials, &certificate, &key,
			       GNUTLS_X509_FMT_PEM)
			 : 0;
	if (error == GNUTLS_E_CERTIFICATE_KEY_MISMATCH)
		complaints_at_member(l, files->at, files->key,
		    "%s is not the key of the certificate in %s", tls->key,
		    tls->certificate);
	else if (error < 0)
		complaints_at_member(l, files->at, files->certificate,
		    "%s cannot be used: %s", tls->certificate,
		    gnutls_strerror(error));
	secret_wipe(certificate.data);
	secret_wipe(key.data);
}

/* All that the files are for, with credentials of their own. */
static void
load_files(const struct files *files, struct conf_tls *tls)
{
	gnutls_datum_t pem = {NULL, 0};
	must(gnutls_certificate_allocate_credentials(&tls->credentials) == 0);
	if (tls->certificate != NULL && tls->key != NULL)
		load_pair(files, tls);
	if (tls->ca == NULL || !read_pem(files, files->ca, tls->ca, &pem))
		return;
	if (gnutls_certificate_set_x509_trust_mem(
		tls->credentials, &pem, GNUTLS_X509_FMT_PEM) <= 0)
		complaints_at_member(files->l, files->at, files->ca,
		    "%s contains no PEM certificate", tls->ca);
	secret_wipe(pem.data);
}

static void
free_credentials(void *credentials)
{
	gnutls_certificate_free_credentials(credentials);
}

void
certificates_load(
    struct loader *l, const struct json_place *at, struct conf_listen *listen)
{
	struct conf_tls *tls = &listen->tls;
	const struct files files = {
	    l, at, "tls.client_ca", "tls.certificate", "tls.key", NULL};
	if (tls->certificate == NULL || tls->key == NULL)
		return;
	load_files(&files, tls);
	loader_own(l, tls->credentials, free_credentials);
}

void
certificates_load_redis(struct loader *l, const struct json_place *at,
    const char *prefix, struct conf_redis_tls *redis)
{
	struct digest digest;
	const struct files files = {
	    l, at, "tls.ca", "tls.certificate", "tls.key", &digest};
	struct conf_tls *tls = &redis->files;
	digest_begin(&digest, SPAN("certificates"), SPAN(""));
	load_files(&files, tls);
	if (tls->ca == NULL &&
	    gnutls_certificate_set_x509_system_trust(tls->credentials) < 0)
		complaints_at(l, at,
		    "the system has no list of authorities: install "
		    "ca-certificates, or set \"%stls.ca\"", prefix);
	digest_end(&digest, redis->digest);
	redis->credentials =
	    loader_swappable(l, tls->credentials, free_credentials);
	tls->credentials = NULL;
}

void
certificates_check_upstream(struct loader *l, const struct json_place *at,
    const struct conf_upstream *upstream)
{
	struct conf_tls tls = {.certificate = upstream->certificate,
	    .key = upstream->key,
	    .ca = upstream->ca};
	const struct files files = {l, at, "ca", "certificate", "key", NULL};
	bool speaks = false;
	for (size_t i = 0; i < upstream->n_targets; i++)
		speaks |= upstream->targets[i].tls;
	if (!speaks)
		return;
	load_files(&files, &tls);
	gnutls_certificate_free_credentials(tls.credentials);
}

/* --- their time --- */

enum certificates_time
certificates_time(const struct conf_tls *tls, int64_t now_ms)
{
	int64_t now_s = now_ms / 1000;
	if (now_s < tls->valid_from_s)
		return CERTIFICATES_EARLY;
	if (now_s > tls->valid_until_s)
		return CERTIFICATES_OVER;
	return tls->valid_until_s - now_s < SOON_S ? CERTIFICATES_END_SOON
						   : CERTIFICATES_VALID;
}

char *
certificates_words(const struct conf_tls *tls, int64_t now_ms)
{
	static const char *const words[] = {
	    [CERTIFICATES_VALID] = "is valid until",
	    [CERTIFICATES_END_SOON] = "ends soon, on",
	    [CERTIFICATES_EARLY] = "is not valid before",
	    [CERTIFICATES_OVER] = "is over: it ended on",
	};
	enum certificates_time when = certificates_time(tls, now_ms);
	time_t at = (time_t)(when == CERTIFICATES_EARLY ? tls->valid_from_s
							: tls->valid_until_s);
	struct tm tm;
	char text[40] = "?";
	if (gmtime_r(&at, &tm) != NULL)
		strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
	return mem_printf("the certificate in %s %s %s", tls->certificate,
	    words[when], text);
}

void
certificates_log(const struct conf *conf)
{
	int64_t now_ms = clock_wall_ms();
	for (size_t i = 0; i < conf->n_listen; i++) {
		const struct conf_tls *tls = &conf->listen[i].tls;
		if (tls->credentials == NULL ||
		    certificates_time(tls, now_ms) < CERTIFICATES_EARLY)
			continue;
		char *words = certificates_words(tls, now_ms);
		struct logline line = log_begin(EV_certificate_invalid);
		log_str(&line, "listen", conf->listen[i].address.text);
		log_str(&line, "error", words);
		log_end(&line);
		free(words);
	}
}
