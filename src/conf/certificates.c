/* SPDX-License-Identifier: BSD-2-Clause */
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <limits.h>
#include <sodium.h>
#include <stdlib.h>

#include "conf/certificates_private.h"
#include "conf/complaints_private.h"
#include "conf/file_private.h"

/* A chain of certificates is shorter. */
enum { PEM_MAX = 1 << 20 };

#define TLS_OPTION(field)                                                      \
	option_at(GROUP_LISTEN, offsetof(struct conf_listen, tls.field))

/* One entry of listen on its way. */
struct files {
	struct loader *l;
	const struct json_place *at;
};

/* The bytes of a file; false after complaining. */
static bool
read_pem(const struct files *files, const struct option *option,
    const char *name, gnutls_datum_t *ret_pem)
{
	char *text;
	size_t len;
	int error = file_read(name, PEM_MAX, &text, &len);
	if (error != 0) {
		complaints_at_option(files->l, files->at, option,
		    "%s cannot be read: %s", name, strerror(error));
		return false;
	}
	*ret_pem = (gnutls_datum_t){(unsigned char *)text, (unsigned)len};
	return true;
}

static void
wipe(gnutls_datum_t *pem)
{
	if (pem->data != NULL)
		sodium_memzero(pem->data, pem->size);
	free(pem->data);
}

static bool
has_certificates(const gnutls_datum_t *pem)
{
	gnutls_x509_crt_t *list = NULL;
	unsigned count = 0;
	if (gnutls_x509_crt_list_import2(
		&list, &count, pem, GNUTLS_X509_FMT_PEM, 0) < 0)
		return false;
	for (unsigned i = 0; i < count; i++)
		gnutls_x509_crt_deinit(list[i]);
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

/* The certificate and its key. */
static void
load_pair(const struct files *files, struct conf_tls *tls)
{
	gnutls_datum_t certificate = {NULL, 0};
	gnutls_datum_t key = {NULL, 0};
	struct loader *l = files->l;
	bool read = read_pem(files, TLS_OPTION(certificate), tls->certificate,
	    &certificate);
	if (read && !has_certificates(&certificate)) {
		complaints_at_option(l, files->at, TLS_OPTION(certificate),
		    "%s contains no PEM certificate", tls->certificate);
		read = false;
	}
	if (!read_pem(files, TLS_OPTION(key), tls->key, &key)) {
		read = false;
	} else if (!is_key(&key)) {
		complaints_at_option(l, files->at, TLS_OPTION(key),
		    "%s contains no PEM key, or one with a password", tls->key);
		read = false;
	}
	int error = read ? gnutls_certificate_set_x509_key_mem(
			       tls->credentials, &certificate, &key,
			       GNUTLS_X509_FMT_PEM)
			 : 0;
	if (error == GNUTLS_E_CERTIFICATE_KEY_MISMATCH)
		complaints_at_option(l, files->at, TLS_OPTION(key),
		    "%s is not the key of the certificate in %s", tls->key,
		    tls->certificate);
	else if (error < 0)
		complaints_at_option(l, files->at, TLS_OPTION(certificate),
		    "%s cannot be used: %s", tls->certificate,
		    gnutls_strerror(error));
	wipe(&certificate);
	wipe(&key);
}

static void
load_client_ca(const struct files *files, struct conf_tls *tls)
{
	gnutls_datum_t pem = {NULL, 0};
	if (!read_pem(files, TLS_OPTION(client_ca), tls->client_ca, &pem))
		return;
	if (gnutls_certificate_set_x509_trust_mem(
		tls->credentials, &pem, GNUTLS_X509_FMT_PEM) <= 0)
		complaints_at_option(files->l, files->at, TLS_OPTION(client_ca),
		    "%s contains no PEM certificate", tls->client_ca);
	wipe(&pem);
}

void
certificates_load(
    struct loader *l, const struct json_place *at, struct conf_listen *listen)
{
	struct conf_tls *tls = &listen->tls;
	const struct files files = {l, at};
	if (tls->certificate == NULL || tls->key == NULL)
		return;
	must(gnutls_certificate_allocate_credentials(&tls->credentials) == 0);
	load_pair(&files, tls);
	if (tls->client_ca != NULL)
		load_client_ca(&files, tls);
}

void
certificates_clear(struct conf_tls *tls)
{
	if (tls->credentials != NULL)
		gnutls_certificate_free_credentials(tls->credentials);
	tls->credentials = NULL;
}
