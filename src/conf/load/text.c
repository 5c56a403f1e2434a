/* SPDX-License-Identifier: BSD-2-Clause */
#include <sodium.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/secret.h"
#include "conf/address.h"
#include "conf/load/rule_private.h"
#include "conf/load/text_private.h"

/* Longer than any secret, or the name of any certificate. */
enum { TEXT_FILE_MAX = 1 << 20 };

/* --- the environment --- */

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
find_hidden(const char *name)
{
	struct hidden *hidden = all_hidden;
	while (hidden != NULL && strcmp(hidden->name, name) != 0)
		hidden = hidden->next;
	return hidden;
}

/* --- files --- */

void
text_note_secret(struct loader *l, const struct json_place *at,
    const char *path, const char *file)
{
	struct conf_secret **next = &l->conf->secrets;
	for (; *next != NULL; next = &(*next)->next)
		if (!strcmp((*next)->file, file))
			return;
	char *pointer = complaints_pointer(at, path);
	*next = loader_alloc(l, sizeof **next);
	**next = (struct conf_secret){
	    NULL, loader_str(l, pointer), loader_str(l, file)};
	free(pointer);
}

/* --- a string, or where one is --- */

bool
text_is_one(const json_t *value)
{
	return json_is_string(value) || json_object_get(value, "env") ||
	       json_object_get(value, "file");
}

static char *
text_from_file(struct loader *l, const struct json_place *at, const char *name)
{
	char *text, *kept = NULL;
	size_t len;
	int error = secret_read_file(name, TEXT_FILE_MAX, &text, &len);
	if (error != 0) {
		complaints_at(l, at, "%s cannot be read: %s", name,
		    error_of_file(error));
		return NULL;
	}
	if (memchr(text, '\0', len) != NULL) {
		complaints_at(l, at, "%s is not text", name);
	} else if (len > 1 && text[len - 2] == '\r' &&
	    memchr(text, '\n', len) == text + len - 1) {
		/* Of one line; those of a certificate may end as they like. */
		complaints_at(l, at, "%s ends with CR LF, as files of Windows "
		    "do, and the CR would be a part of the value: end it with "
		    "LF alone, or with nothing", name);
	} else {
		size_t end = len > 0 && text[len - 1] == '\n' ? 1 : 0;
		kept = arena_str(l->conf->arena, span_of(text, len - end));
		text_note_secret(l, at, NULL, name);
	}
	secret_wipe(text);
	return kept;
}

char *
text_read(struct loader *l, const struct json_place *at, const json_t *value)
{
	if (json_is_string(value))
		return loader_str(l, json_string_value(value));
	const json_t *env = json_object_get(value, "env");
	const json_t *file = json_object_get(value, "file");
	const char *name = json_string_value(env != NULL ? env : file);
	if (env == NULL && file == NULL && !json_is_object(value)) {
		complaints_at(l, at, "must be a string");
		return NULL;
	}
	if (json_object_size(value) != 1 || name == NULL) {
		complaints_at(l, at,
		    "must be a string, {\"env\": NAME} or {\"file\": PATH}");
		return NULL;
	}
	if (file != NULL)
		return text_from_file(l, at, name);
	const char *text = getenv(name);
	const struct hidden *hidden = find_hidden(name);
	if (text != NULL && *text == '\0' && hidden != NULL)
		text = hidden->value;
	if (text == NULL)
		complaints_at(l, at, "%s is not set in the environment", name);
	return text != NULL ? loader_str(l, text) : NULL;
}

char *
text_read_as(struct loader *l, const struct json_place *at,
    const json_t *value, enum option_type type)
{
	char *text = text_read(l, at, value);
	bool none = text == NULL || (rule_of[type].none && *text == '\0');
	const char *wrong = none ? NULL : rule_of[type].wrong(text);
	if (wrong != NULL)
		complaints_at(l, at, "%s", wrong);
	return wrong == NULL ? text : NULL;
}

void
text_parse(struct loader *l, const struct given *given)
{
	enum option_type type = given->option->type;
	bool none = type == TYPE_OPTIONAL_COLUMN && json_is_null(given->value);
	char *text =
	    none ? NULL : text_read_as(l, given->at, given->value, type);
	if (none || text != NULL)
		*(char **)given->field = text;
}

void
text_parse_address(struct loader *l, const struct given *given)
{
	if (!text_is_one(given->value)) {
		complaints_at(l, given->at,
		    "must be a string like \"127.0.0.1:8080\"");
		return;
	}
	char *text = text_read(l, given->at, given->value);
	const char *wrong = text == NULL
	    ? NULL
	    : address_read(l->conf->arena, text, given->field);
	if (wrong != NULL)
		complaints_at(l, given->at, "%s", wrong);
}

/* --- secrets --- */

char *
text_secret(struct loader *l, char *text)
{
	char *secret = secret_str(span_str(text));
	loader_own(l, secret, secret_free);
	sodium_memzero(text, strlen(text));
	return secret;
}

/*
 * In place: what begins a process stands in its memory, and for everybody of
 * its user in /proc.  The name stays, so that no list changes that another
 * thread may read.
 */
char *
text_read_hidden(
    struct loader *l, const struct json_place *at, const json_t *value)
{
	char *text = text_read(l, at, value);
	const char *name = json_string_value(json_object_get(value, "env"));
	char *there = name != NULL ? getenv(name) : NULL;
	if (text == NULL || there == NULL || *there == '\0')
		return text;
	struct hidden *hidden = find_hidden(name);
	if (hidden == NULL) {
		hidden = mem_zero(sizeof *hidden);
		hidden->name = mem_str(span_str(name));
		hidden->next = all_hidden;
		all_hidden = hidden;
	}
	secret_free(hidden->value);
	hidden->value = secret_str(span_str(there));
	sodium_memzero(there, strlen(there));
	return text;
}

/* Nobody sees it any more; the file itself is one with a secret, too. */
static char *
read_secret(
    struct loader *l, const struct json_place *at, const json_t *value)
{
	char *text = text_read_hidden(l, at, value);
	if (text != NULL && json_is_string(value))
		text_note_secret(l, at, NULL, l->conf->file);
	return text;
}

void
text_parse_secret(struct loader *l, const struct given *given)
{
	char *text = read_secret(l, given->at, given->value);
	if (text == NULL)
		return;
	if (*text == '\0')
		complaints_at(l, given->at, "must not be empty");
	else
		*(char **)given->field = text_secret(l, text);
}

/* The bytes of an encryption key, in base64. */
void
text_parse_key_bytes(struct loader *l, const struct given *given)
{
	size_t len = 0;
	char *text = read_secret(l, given->at, given->value);
	if (text == NULL)
		return;
	uint8_t *key = secret_alloc(CONF_ENCRYPTION_KEY_BYTES);
	loader_own(l, key, secret_free);
	if (sodium_base642bin(key, CONF_ENCRYPTION_KEY_BYTES, text,
		strlen(text), NULL, &len, NULL,
		sodium_base64_VARIANT_ORIGINAL) == 0 &&
	    len == CONF_ENCRYPTION_KEY_BYTES)
		*(uint8_t **)given->field = key;
	else
		complaints_at(l, given->at, "must be 32 bytes in base64");
	sodium_memzero(text, strlen(text));
}

enum {
	HMAC_LEAST = 24, /* bytes */
	HMAC_MOST = 64,
	SEED_BYTES = crypto_sign_SEEDBYTES,
};

static bool
read_signing(struct loader *l, const char *text,
    struct conf_webhook_secret *ret_secret)
{
	struct conf_webhook_secret secret = {.key = secret_alloc(HMAC_MOST)};
	struct span all = span_str(text);
	secret.ed25519 = span_starts(all, SPAN("whsk_"));
	loader_own(l, secret.key, secret_free);
	if ((!secret.ed25519 && !span_starts(all, SPAN("whsec_"))) ||
	    sodium_base642bin(secret.key, HMAC_MOST, strchr(text, '_') + 1,
		strlen(strchr(text, '_') + 1), NULL, &secret.len, NULL,
		sodium_base64_VARIANT_ORIGINAL) != 0 ||
	    (secret.ed25519 ? secret.len != SEED_BYTES
			    : secret.len < HMAC_LEAST))
		return false;
	*ret_secret = secret;
	return true;
}

/* What webhooks are signed with. */
void
text_parse_signing(struct loader *l, const struct given *given)
{
	struct conf_relay *relay = given->base;
	size_t count = json_array_size(given->value);
	relay->secrets = loader_alloc(l, count * sizeof *relay->secrets);
	for (size_t i = 0; i < count; i++) {
		struct json_place at = {given->at, NULL, i};
		char *text =
		    read_secret(l, &at, json_array_get(given->value, i));
		if (text == NULL)
			continue;
		if (read_signing(l, text, &relay->secrets[relay->n_secrets]))
			relay->n_secrets++;
		else
			complaints_at(l, &at, "must be \"whsec_\" and 24 to 64 "
			    "bytes in base64 (HMAC-SHA256), or \"whsk_\" and "
			    "the 32 bytes of a seed in base64 (Ed25519)");
		sodium_memzero(text, strlen(text));
	}
}
