/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "conf/load/certificates.h"
#include "conf/load/complaints_private.h"
#include "conf/load/list_private.h"
#include "conf/load/object_private.h"
#include "conf/load/text_private.h"

/* --- listen --- */

/* An object, or in short its address. */
static void
load_listen(struct loader *l, const struct json_place *at, json_t *value,
    struct conf_listen *listen)
{
	const struct option *address =
	    option_at(GROUP_LISTEN, offsetof(struct conf_listen, address));
	object_load_presets(l, GROUP_LISTEN, listen);
	if (text_is_one(value))
		object_load_option(l, address, at, value, listen);
	else if (json_is_object(value))
		object_load(l, GROUP_LISTEN, at, value, listen);
	else
		complaints_at(l, at,
		    "must be a string like \"127.0.0.1:8080\" or an object");
	certificates_load(l, at, listen);
}

void
object_entries_parse_listens(struct loader *l, const struct given *given)
{
	struct conf *conf = given->base;
	if (!list_is_one(l, given, 1))
		return;
	size_t count = json_array_size(given->value);
	conf->listen = mem_zero(count * sizeof *conf->listen);
	conf->n_listen = count;
	for (size_t i = 0; i < count; i++) {
		struct json_place at = {given->at, NULL, i};
		load_listen(
		    l, &at, json_array_get(given->value, i), &conf->listen[i]);
	}
}

void
object_entries_clear_listens(void *base, void *field)
{
	struct conf *conf = base;
	(void)field;
	for (size_t i = 0; i < conf->n_listen; i++) {
		certificates_clear(&conf->listen[i].tls);
		object_clear(GROUP_LISTEN, &conf->listen[i]);
	}
	free(conf->listen);
	conf->listen = NULL;
	conf->n_listen = 0;
}

/* --- store.encryption_keys --- */

/* Whether one of the keys before it has the same id. */
static bool
repeats_id(const struct conf_store *store, size_t index)
{
	const char *id = store->encryption_keys[index].id;
	for (size_t i = 0; i < index && id != NULL; i++) {
		const char *other = store->encryption_keys[i].id;
		if (other != NULL && !strcmp(other, id))
			return true;
	}
	return false;
}

void
object_entries_parse_encryption_keys(
    struct loader *l, const struct given *given)
{
	struct conf_store *store = &l->conf->store;
	if (!list_is_one(l, given, 1))
		return;
	size_t count = json_array_size(given->value);
	store->encryption_keys =
	    mem_zero(count * sizeof *store->encryption_keys);
	store->n_encryption_keys = count;
	for (size_t i = 0; i < count; i++) {
		struct json_place at = {given->at, NULL, i};
		struct conf_encryption_key *key = &store->encryption_keys[i];
		object_load_presets(l, GROUP_ENCRYPTION_KEY, key);
		object_load(l, GROUP_ENCRYPTION_KEY, &at,
		    json_array_get(given->value, i), key);
		if (repeats_id(store, i))
			complaints_at(l, &at, "another key has this id");
	}
}

void
object_entries_clear_encryption_keys(void *base, void *field)
{
	struct conf_store *store = &((struct conf *)base)->store;
	(void)field;
	for (size_t i = 0; i < store->n_encryption_keys; i++)
		object_clear(GROUP_ENCRYPTION_KEY, &store->encryption_keys[i]);
	free(store->encryption_keys);
	store->encryption_keys = NULL;
	store->n_encryption_keys = 0;
}
