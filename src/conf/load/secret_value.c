/* SPDX-License-Identifier: BSD-2-Clause */
#include <sodium.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/secret.h"
#include "conf/load/complaints_private.h"
#include "conf/load/secret_value_private.h"
#include "conf/load/text_private.h"

char *
secret_value_of(char **text)
{
	char *secret = *text ? secret_str(span_str(*text)) : NULL;
	text_free(text);
	return secret;
}

void
secret_value_set_login(struct loader *l, char *user, char *password)
{
	text_free(&l->url_user);
	secret_free(l->url_password);
	l->url_user = user;
	l->url_password = password;
}

/* Nobody sees it any more; the file itself is one with a secret, too. */
static void
hide(struct loader *l, const struct json_place *at, const json_t *value)
{
	text_env_hide(value);
	if (json_is_string(value))
		text_note_secret(l, at, NULL, l->conf->file);
}

void
secret_value_parse(struct loader *l, const struct given *given)
{
	char *text = text_read(l, given->at, given->value);
	if (text == NULL)
		return;
	hide(l, given->at, given->value);
	if (*text == '\0') {
		complaints_at(l, given->at, "must not be empty");
		text_free(&text);
		return;
	}
	secret_value_clear(given->base, given_field(given));
	*(char **)given_field(given) = secret_value_of(&text);
}

void
secret_value_clear(void *base, void *field)
{
	char **secret = field;
	(void)base;
	secret_free(*secret);
	*secret = NULL;
}

void
secret_value_parse_key_bytes(struct loader *l, const struct given *given)
{
	uint8_t *key = secret_alloc(CONF_ENCRYPTION_KEY_BYTES);
	size_t len = 0;
	char *text = text_read(l, given->at, given->value);
	if (text != NULL)
		hide(l, given->at, given->value);
	if (text != NULL &&
	    sodium_base642bin(key, CONF_ENCRYPTION_KEY_BYTES, text,
		strlen(text), NULL, &len, NULL,
		sodium_base64_VARIANT_ORIGINAL) == 0 &&
	    len == CONF_ENCRYPTION_KEY_BYTES) {
		secret_value_clear(given->base, given_field(given));
		*(uint8_t **)given_field(given) = key;
		key = NULL;
	} else if (text != NULL) {
		complaints_at(l, given->at, "must be 32 bytes in base64");
	}
	secret_free(key);
	text_free(&text);
}

/* --- what webhooks are signed with --- */

enum {
	HMAC_LEAST = 24, /* bytes */
	HMAC_MOST = 64,
	SEED_BYTES = crypto_sign_SEEDBYTES,
};

static bool
read_signing(const char *text, struct conf_webhook_secret *ret_secret)
{
	struct conf_webhook_secret secret = {.key = secret_alloc(HMAC_MOST)};
	struct span all = span_str(text);
	secret.ed25519 = span_starts(all, SPAN("whsk_"));
	bool ok = (secret.ed25519 || span_starts(all, SPAN("whsec_"))) &&
	    sodium_base642bin(secret.key, HMAC_MOST,
		strchr(text, '_') + 1, strlen(strchr(text, '_') + 1), NULL,
		&secret.len, NULL, sodium_base64_VARIANT_ORIGINAL) == 0 &&
	    (secret.ed25519 ? secret.len == SEED_BYTES
			    : secret.len >= HMAC_LEAST);
	if (ok)
		*ret_secret = secret;
	else
		secret_free(secret.key);
	return ok;
}

static void
add_signing(struct loader *l, const struct json_place *at,
    const json_t *value, struct conf_relay *relay)
{
	char *text = text_read(l, at, value);
	if (text == NULL)
		return;
	hide(l, at, value);
	if (read_signing(text, &relay->secrets[relay->n_secrets]))
		relay->n_secrets++;
	else
		complaints_at(l, at,
		    "must be \"whsec_\" and 24 to 64 bytes in base64 "
		    "(HMAC-SHA256), or \"whsk_\" and the 32 bytes of a seed "
		    "in base64 (Ed25519)");
	text_free(&text);
}

void
secret_value_parse_signing(struct loader *l, const struct given *given)
{
	struct conf_relay *relay = given->base;
	size_t count = json_array_size(given->value);
	if (!json_is_array(given->value)) {
		complaints_at(l, given->at, "must be a list");
		return;
	}
	if (count == 0)
		complaints_at(l, given->at, "must not be empty");
	relay->secrets = mem_zero((count + 1) * sizeof *relay->secrets);
	for (size_t i = 0; i < count; i++) {
		struct json_place at = {given->at, NULL, i};
		add_signing(l, &at, json_array_get(given->value, i), relay);
	}
}

void
secret_value_clear_signing(void *base, void *field)
{
	struct conf_relay *relay = base;
	(void)field;
	for (size_t i = 0; i < relay->n_secrets; i++)
		secret_free(relay->secrets[i].key);
	free(relay->secrets);
	relay->secrets = NULL;
	relay->n_secrets = 0;
}
