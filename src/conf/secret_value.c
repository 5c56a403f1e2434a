/* SPDX-License-Identifier: BSD-2-Clause */
#include <sodium.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/secret.h"
#include "conf/loader_private.h"

/*
 * What the environment had, so that a reload finds it again: for as long as
 * the process lives.  Main thread.
 */
static struct hidden {
	struct hidden *next;
	char *name;
	char *value; /* of base/secret.h */
} *all_hidden;

static struct hidden *
find(const char *name)
{
	struct hidden *hidden = all_hidden;
	while (hidden != NULL && strcmp(hidden->name, name) != 0)
		hidden = hidden->next;
	return hidden;
}

const char *
env_value(const char *name)
{
	const char *value = getenv(name);
	const struct hidden *hidden = find(name);
	bool taken = value != NULL && *value == '\0' && hidden != NULL;
	return taken ? hidden->value : value;
}

/*
 * In place: what begins a process stands in its memory, and for everybody of
 * its user in /proc.  The name stays, so that no list changes that another
 * thread may read.
 */
void
env_hide(const json_t *value)
{
	const char *name = json_string_value(json_object_get(value, "env"));
	char *text = name ? getenv(name) : NULL;
	if (text == NULL || *text == '\0')
		return;
	struct hidden *hidden = find(name);
	if (hidden == NULL) {
		hidden = mem_zero(sizeof *hidden);
		hidden->name = mem_str(span_str(name));
		hidden->next = all_hidden;
		all_hidden = hidden;
	}
	secret_free(hidden->value);
	hidden->value = secret_str(span_str(text));
	sodium_memzero(text, strlen(text));
}

char *
secret_of(char **text)
{
	char *secret = *text ? secret_str(span_str(*text)) : NULL;
	text_free(text);
	return secret;
}

void
parse_secret(struct loader *l, const struct given *given)
{
	char *text = text_of(l, given->at, given->value);
	if (text == NULL)
		return;
	env_hide(given->value);
	if (*text == '\0') {
		complain_at(l, given->at, "must not be empty");
		text_free(&text);
		return;
	}
	clear_secret(given->base, given_field(given));
	*(char **)given_field(given) = secret_of(&text);
}

void
clear_secret(void *base, void *field)
{
	char **secret = field;
	(void)base;
	secret_free(*secret);
	*secret = NULL;
}

void
parse_key_bytes(struct loader *l, const struct given *given)
{
	uint8_t *key = secret_alloc(CONF_ENCRYPTION_KEY_BYTES);
	size_t len = 0;
	char *text = text_of(l, given->at, given->value);
	if (text != NULL)
		env_hide(given->value);
	if (text != NULL &&
	    sodium_base642bin(key, CONF_ENCRYPTION_KEY_BYTES, text,
		strlen(text), NULL, &len, NULL,
		sodium_base64_VARIANT_ORIGINAL) == 0 &&
	    len == CONF_ENCRYPTION_KEY_BYTES) {
		clear_secret(given->base, given_field(given));
		*(uint8_t **)given_field(given) = key;
		key = NULL;
	} else if (text != NULL) {
		complain_at(l, given->at, "must be 32 bytes in base64");
	}
	secret_free(key);
	text_free(&text);
}
