/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "conf/amount.h"
#include "conf/show_private.h"
#include "conf/words.h"

#define SHOW(name)                                               \
	static json_t *show_##name(const struct option *option,  \
	    const void *base, const void *field)

static json_t *show_group(enum group group, const void *base);

const char show_hidden[] = "(hidden)";

json_t *
show_taken(char *text)
{
	json_t *json = json_string(text);
	must(json != NULL);
	free(text);
	return json;
}

static void
append_to(json_t *list, json_t *value)
{
	must(json_array_append_new(list, value) == 0);
}

/* --- one value --- */

SHOW(boolean)
{
	(void)option;
	(void)base;
	return json_boolean(*(const bool *)field);
}

/* What must be said where its object is there: 0 is no object. */
SHOW(count)
{
	int64_t count = *(const int64_t *)field;
	(void)base;
	return count == 0 && option_required(option) ? NULL
						     : json_integer(count);
}

SHOW(duration)
{
	int64_t ms = *(const int64_t *)field;
	(void)base;
	return ms == 0 && option_preset(option) == NULL
	    ? NULL
	    : show_taken(amount_text(ms, AMOUNT_DURATION));
}

SHOW(size)
{
	int64_t bytes = *(const int64_t *)field;
	(void)option;
	(void)base;
	return bytes % 1024 != 0 || bytes == 0
	    ? json_integer(bytes)
	    : show_taken(amount_text(bytes, AMOUNT_SIZE));
}

SHOW(choice)
{
	(void)base;
	return show_taken(words_at(option->words, *(const unsigned *)field));
}

SHOW(toggle)
{
	(void)base;
	return show_taken(words_at(option->words, *(const bool *)field));
}

SHOW(text)
{
	const char *text = *(char *const *)field;
	(void)option;
	(void)base;
	return text != NULL ? json_string(text) : NULL;
}

SHOW(secret)
{
	(void)option;
	(void)base;
	return *(char *const *)field != NULL ? json_string(show_hidden) : NULL;
}

SHOW(mode)
{
	int64_t mode = *(const int64_t *)field;
	(void)option;
	(void)base;
	return mode != 0
	    ? show_taken(mem_printf("%04o", (unsigned)mode))
	    : NULL;
}

/* --- lists --- */

/* An empty list is left out where it has no default: it is no choice. */
SHOW(strings)
{
	const struct strings *strings = field;
	(void)base;
	if (strings->count == 0 && option_preset(option) == NULL)
		return NULL;
	json_t *list = json_array();
	for (size_t i = 0; i < strings->count; i++)
		append_to(list, json_string(strings->list[i]));
	return list;
}

SHOW(one_or_more)
{
	const struct strings *strings = field;
	return strings->count == 1 ? json_string(strings->list[0])
				   : show_strings(option, base, field);
}

static json_t *
show_one_pointer(const struct json_pointer *pointer)
{
	return show_taken(json_pointer_text(pointer));
}

SHOW(pointer)
{
	const struct json_pointer *pointer = field;
	(void)option;
	(void)base;
	return pointer->count > 0 ? show_one_pointer(pointer) : NULL;
}

json_t *
show_pointers(
    const struct option *option, const void *base, const void *field)
{
	const struct json_pointers *pointers = field;
	json_t *list = json_array();
	(void)option;
	(void)base;
	for (size_t i = 0; i < pointers->count; i++)
		append_to(list, show_one_pointer(&pointers->list[i]));
	return list;
}

SHOW(template)
{
	const struct template *t = field;
	(void)option;
	(void)base;
	return t->text != NULL ? json_string(t->text) : NULL;
}

SHOW(statuses)
{
	const bool *statuses = field;
	json_t *list = json_array();
	(void)option;
	(void)base;
	for (int status = 200; status < 600; status++)
		if (statuses[status])
			append_to(list, json_integer(status));
	return list;
}

SHOW(parts)
{
	unsigned parts = *(const unsigned *)field;
	struct span rest = span_str(option->words), word;
	json_t *list = json_array();
	(void)base;
	for (unsigned bit = 1; span_next(&rest, ' ', &word); bit <<= 1)
		if (parts & bit)
			append_to(list, json_stringn(word.ptr, word.len));
	return list;
}

/* --- what an outcome means --- */

/* The outcome that most statuses of a class have. */
static uint8_t
usual_outcome(const uint8_t *class)
{
	unsigned counts[DISPOSITION_UNKNOWN + 1] = {0};
	uint8_t usual = DISPOSITION_STORE;
	for (unsigned i = 0; i < 100; i++)
		counts[class[i]]++;
	for (uint8_t i = 0; i <= DISPOSITION_UNKNOWN; i++)
		if (counts[i] > counts[usual])
			usual = i;
	return usual;
}

/* Each class in which not all is stored, and the statuses that differ. */
SHOW(outcomes)
{
	const uint8_t *outcomes = field;
	json_t *object = json_object();
	(void)base;
	for (unsigned first = 200; first < 600; first += 100) {
		uint8_t usual = usual_outcome(outcomes + first);
		unsigned others = 0;
		char name[16];
		for (unsigned i = first; i < first + 100; i++) {
			if (outcomes[i] == usual)
				continue;
			others++;
			snprintf(name, sizeof name, "%u", i);
			json_object_set_new(object, name,
			    show_taken(words_at(option->words, outcomes[i])));
		}
		/* Said in any case where the defaults may say otherwise. */
		snprintf(name, sizeof name, "%uxx", first / 100);
		if (usual != DISPOSITION_STORE || first >= 400)
			json_object_set_new(object, name,
			    show_taken(words_at(option->words, usual)));
	}
	return object;
}

SHOW(on_unknown)
{
	const struct conf_idempotency *policy = base;
	if (policy->on_unknown == UNKNOWN_RECONCILE)
		return json_pack("{s:o}", "reconcile",
		    show_group(GROUP_RECONCILE, policy));
	return show_choice(option, base, field);
}

/* --- addresses --- */

SHOW(address)
{
	const struct address *address = field;
	(void)option;
	(void)base;
	return address->text != NULL ? json_string(address->text) : NULL;
}

/* User and password, which the URL may have had, are members of their own. */
SHOW(redis)
{
	const struct address *address = field;
	const struct conf_redis *redis = (const struct conf_redis *)(
	    const void *)((const char *)field -
	    offsetof(struct conf_redis, address));
	(void)option;
	(void)base;
	if (redis->managed)
		return json_string("managed");
	if (address->text == NULL)
		return NULL;
	bool local = address->kind == ADDRESS_UNIX;
	char *db = redis->db == 0
	    ? mem_str(SPAN(""))
	    : mem_printf("%s%" PRId64, local ? "?db=" : "/", redis->db);
	const char *scheme = redis->tls.on ? "rediss://" : "redis://";
	char *url =
	    mem_printf("%s%s%s", local ? "" : scheme, address->text, db);
	free(db);
	return show_taken(url);
}

SHOW(targets)
{
	const struct conf_upstream *upstream = base;
	json_t *list = json_array();
	(void)option;
	(void)field;
	for (size_t i = 0; i < upstream->n_targets; i++)
		append_to(list, json_string(upstream->targets[i].url));
	return list;
}

SHOW(own_path)
{
	const struct conf_route *own = *(struct conf_route *const *)field;
	(void)option;
	(void)base;
	return own != NULL ? json_string(own->path) : NULL;
}

SHOW(upstream_name)
{
	const struct conf_upstream *upstream =
	    *(const struct conf_upstream *const *)field;
	(void)option;
	(void)base;
	return json_string(upstream->name);
}

/* --- objects within the file --- */

SHOW(listens)
{
	const struct conf *conf = base;
	json_t *list = json_array();
	(void)option;
	(void)field;
	for (size_t i = 0; i < conf->n_listen; i++)
		append_to(list, show_group(GROUP_LISTEN, &conf->listen[i]));
	return list;
}

SHOW(encryption_keys)
{
	const struct conf_store *store = &((const struct conf *)base)->store;
	json_t *list = json_array();
	(void)option;
	(void)field;
	for (size_t i = 0; i < store->n_encryption_keys; i++)
		append_to(list,
		    json_pack("{s:s, s:s}", "id",
			store->encryption_keys[i].id, "key", show_hidden));
	if (store->n_encryption_keys > 0)
		return list;
	json_decref(list);
	return NULL;
}

SHOW(upstreams)
{
	const struct conf *conf = base;
	json_t *object = json_object();
	(void)option;
	(void)field;
	for (size_t i = 0; i < conf->n_upstreams; i++)
		json_object_set_new(object, conf->upstreams[i].name,
		    show_group(GROUP_UPSTREAM, &conf->upstreams[i]));
	return object;
}

SHOW(routes)
{
	const struct conf *conf = base;
	json_t *list = json_array();
	(void)option;
	(void)field;
	for (size_t i = 0; i < conf->n_routes; i++)
		append_to(list, show_group(GROUP_ROUTE, &conf->routes[i]));
	return list;
}

SHOW(idempotency)
{
	const struct conf_idempotency *policy =
	    *(const struct conf_idempotency *const *)field;
	(void)option;
	(void)base;
	return policy != NULL ? show_group(GROUP_IDEMPOTENCY, policy) : NULL;
}

/* --- what has values --- */

/* How each type of conf/types.h is written. */
static show_value *const shows[TYPE_COUNT_] = {
    [TYPE_BOOLEAN] = show_boolean,
    [TYPE_COUNT] = show_count,
    [TYPE_DURATION] = show_duration,
    [TYPE_SIZE] = show_size,
    [TYPE_CHOICE] = show_choice,
    [TYPE_TOGGLE] = show_toggle,
    [TYPE_OVERFLOW] = show_messages_overflow,
    [TYPE_TEXT] = show_text,
    [TYPE_SECRET] = show_secret,
    [TYPE_PLAIN_NAME] = show_text,
    [TYPE_PREFIX] = show_text,
    [TYPE_URI_PREFIX] = show_text,
    [TYPE_FIELD] = show_text,
    [TYPE_FIELDS] = show_strings,
    [TYPE_SCOPES] = show_key_scopes,
    [TYPE_CERTIFICATE_PART] = show_key_certificate,
    [TYPE_KEY_FIELDS] = show_one_or_more,
    [TYPE_METHODS] = show_strings,
    [TYPE_HOST_PORTS] = show_strings,
    [TYPE_NETWORKS] = show_strings,
    [TYPE_POINTERS] = show_pointers,
    [TYPE_IGNORED] = show_key_ignored,
    [TYPE_DERIVE_KEY] = show_key_derive,
    [TYPE_LABEL] = show_key_label,
    [TYPE_PARTS] = show_parts,
    [TYPE_OUTCOMES] = show_outcomes,
    [TYPE_PRESET] = show_key_preset,
    [TYPE_PROBLEMS] = show_key_problems,
    [TYPE_ON_UNKNOWN] = show_on_unknown,
    [TYPE_RECONCILE_PATH] = show_template,
    [TYPE_NAMESPACE] = show_template,
    [TYPE_STATUSES] = show_statuses,
    [TYPE_POINTER] = show_pointer,
    [TYPE_ENTITY] = show_key_entity,
    [TYPE_ADDRESS] = show_address,
    [TYPE_REDIS] = show_redis,
    [TYPE_REDIS_URL] = show_redis,
    [TYPE_POSTGRES] = show_text,
    [TYPE_MODE] = show_mode,
    [TYPE_PATH] = show_text,
    [TYPE_TARGET_PATH] = show_text,
    [TYPE_OWN_PATH] = show_own_path,
    [TYPE_UPSTREAM_NAME] = show_upstream_name,
    [TYPE_TARGETS] = show_targets,
    [TYPE_KEY_BYTES] = NULL, /* a secret, shown by its list */
    [TYPE_LISTENS] = show_listens,
    [TYPE_ENCRYPTION_KEYS] = show_encryption_keys,
    [TYPE_UPSTREAMS] = show_upstreams,
    [TYPE_ROUTES] = show_routes,
    [TYPE_IDEMPOTENCY] = show_idempotency,
    [TYPE_DEFAULTS] = show_idempotency,
    [TYPE_BROKERS] = show_messages_brokers,
    [TYPE_SOURCES] = show_messages_sources,
    [TYPE_RELAYS] = show_messages_relays,
    [TYPE_RECEIVER] = show_messages_receiver,
    [TYPE_WEBHOOK_SECRETS] = show_messages_secrets,
    [TYPE_ROUTE_NAMES] = show_strings,
    [TYPE_BROKER_NAME] = show_messages_broker_name,
    [TYPE_SETTINGS] = show_messages_settings,
    [TYPE_TOPICS] = show_strings,
    [TYPE_TOPIC] = show_text,
    [TYPE_TABLE] = show_text,
    [TYPE_COLUMN] = show_text,
    [TYPE_OPTIONAL_COLUMN] = show_text,
    [TYPE_FINISH] = show_messages_finish,
    [TYPE_SOURCE_KEY] = show_messages_key,
    [TYPE_SOURCE_ORDER] = show_messages_order,
    [TYPE_PLACE] = show_messages_place,
    [TYPE_METHOD] = show_text,
    [TYPE_MESSAGE_PATH] = show_template,
    [TYPE_MESSAGE_HEADERS] = show_messages_headers,
    [TYPE_FIELD_VALUE] = show_text,
    [TYPE_ONLY_WORD] = show_messages_only_word,
};

json_t *
show_option(const struct option *option, const void *base)
{
	show_value *show = shows[option->type];
	must(show != NULL);
	return show(option, base, (const char *)base + option->offset);
}

/* Puts a value where the dots of the path lead. */
static void
put_at_path(json_t *object, const char *path, json_t *value)
{
	const char *dot = strchr(path, '.');
	if (dot == NULL) {
		must(json_object_set_new(object, path, value) == 0);
		return;
	}
	char *name = mem_str(span_of(path, (size_t)(dot - path)));
	json_t *inner = json_object_get(object, name);
	if (inner == NULL) {
		inner = json_object();
		must(json_object_set_new(object, name, inner) == 0);
	}
	put_at_path(inner, dot + 1, value);
	free(name);
}

void
show_put(json_t *object, const struct option *option, const void *base)
{
	json_t *value = show_option(option, base);
	if (value != NULL)
		put_at_path(object, option->path, value);
}

static json_t *
show_group(enum group group, const void *base)
{
	json_t *object = json_object();
	for (size_t i = 0; i < n_options; i++)
		if (options[i].group == group)
			show_put(object, &options[i], base);
	return object;
}

json_t *
show_conf(const struct conf *conf)
{
	return show_group(GROUP_ROOT, conf);
}
