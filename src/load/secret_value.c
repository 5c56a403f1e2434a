/* SPDX-License-Identifier: BSD-2-Clause */
#include <sodium.h>

#include "base/secret.h"
#include "load/complaints_private.h"
#include "load/secret_value_private.h"
#include "load/text_private.h"

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

void
secret_value_parse(struct loader *l, const struct given *given)
{
	char *text = text_read(l, given->at, given->value);
	if (text == NULL)
		return;
	text_env_hide(given->value);
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
		text_env_hide(given->value);
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
