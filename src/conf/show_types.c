/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "conf/loader_private.h"
#include "conf/show_types.h"

#define SHOW(name)                                               \
	json_t *show_##name(const struct option *option,         \
	    const void *base, const void *field)

static const char hidden[] = "(hidden)";

/* Takes the text over. */
static json_t *
taken(char *text)
{
	json_t *json = json_string(text);
	must(json != NULL);
	free(text);
	return json;
}

static void
append(json_t *list, json_t *value)
{
	must(json_array_append_new(list, value) == 0);
}

/* The word at a place in a list of words. */
static char *
word_at(const char *words, unsigned index)
{
	struct span rest = span_str(words), word = SPAN("");
	for (unsigned i = 0; i <= index; i++)
		must(span_next(&rest, ' ', &word));
	return mem_str(word);
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
	(void)option;
	(void)base;
	return taken(duration_text(*(const int64_t *)field));
}

SHOW(size)
{
	int64_t bytes = *(const int64_t *)field;
	(void)option;
	(void)base;
	return bytes % 1024 != 0 || bytes == 0 ? json_integer(bytes)
					       : taken(size_text(bytes));
}

SHOW(choice)
{
	(void)base;
	return taken(word_at(option->words, *(const unsigned *)field));
}

SHOW(toggle)
{
	(void)base;
	return taken(word_at(option->words, *(const bool *)field));
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
	return *(char *const *)field != NULL ? json_string(hidden) : NULL;
}

SHOW(mode)
{
	int64_t mode = *(const int64_t *)field;
	(void)option;
	(void)base;
	return mode != 0 ? taken(mem_printf("%04o", (unsigned)mode)) : NULL;
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
		append(list, json_string(strings->list[i]));
	return list;
}

SHOW(one_or_more)
{
	const struct strings *strings = field;
	return strings->count == 1 ? json_string(strings->list[0])
				   : show_strings(option, base, field);
}

static json_t *
show_pointer(const struct pointer *pointer)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	must(out != NULL);
	for (size_t i = 0; i < pointer->count; i++)
		pointer_write(out, pointer->segments[i]);
	must(fclose(out) == 0);
	return taken(text);
}

SHOW(pointers)
{
	const struct pointers *pointers = field;
	json_t *list = json_array();
	(void)option;
	(void)base;
	for (size_t i = 0; i < pointers->count; i++)
		append(list, show_pointer(&pointers->list[i]));
	return list;
}

SHOW(derive_key)
{
	const struct conf_idempotency *policy = base;
	const struct pointers *pointers = field;
	if (policy->derive_from_body)
		return json_string("body");
	return pointers->count > 0 ? show_pointers(option, base, field)
				   : NULL;
}

SHOW(parts)
{
	unsigned parts = *(const unsigned *)field;
	struct span rest = span_str(option->words), word;
	json_t *list = json_array();
	(void)base;
	for (unsigned bit = 1; span_next(&rest, ' ', &word); bit <<= 1)
		if (parts & bit)
			append(list, json_stringn(word.ptr, word.len));
	return list;
}

/* --- what an outcome means --- */

/* The outcome that most statuses of a class have. */
static uint8_t
usual_outcome(const uint8_t *class)
{
	unsigned counts[STATUS_UNKNOWN + 1] = {0};
	uint8_t usual = STATUS_STORE;
	for (unsigned i = 0; i < 100; i++)
		counts[class[i]]++;
	for (uint8_t i = 0; i <= STATUS_UNKNOWN; i++)
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
			    taken(word_at(option->words, outcomes[i])));
		}
		/* Said in any case where the defaults may say otherwise. */
		snprintf(name, sizeof name, "%uxx", first / 100);
		if (usual != STATUS_STORE || first >= 400)
			json_object_set_new(object, name,
			    taken(word_at(option->words, usual)));
	}
	return object;
}

SHOW(on_unknown)
{
	const struct conf_idempotency *policy = base;
	if (policy->reconcile != NULL)
		return json_pack("{s:s}", "reconcile", policy->reconcile);
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
	const struct conf_store *store = &((const struct conf *)base)->store;
	const struct address *address = field;
	(void)option;
	if (store->managed)
		return json_string("managed");
	if (address->text == NULL)
		return NULL;
	bool local = address->kind == ADDRESS_UNIX;
	char *db = store->db == 0
	    ? mem_str(SPAN(""))
	    : mem_printf("%s%" PRId64, local ? "?db=" : "/", store->db);
	char *url = mem_printf(
	    "%s%s%s", local ? "" : "redis://", address->text, db);
	free(db);
	return taken(url);
}

SHOW(targets)
{
	const struct conf_upstream *upstream = base;
	json_t *list = json_array();
	(void)option;
	(void)field;
	for (size_t i = 0; i < upstream->n_targets; i++)
		append(list, json_string(upstream->targets[i].url));
	return list;
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
		append(list, group_show(GROUP_LISTEN, &conf->listen[i]));
	return list;
}

SHOW(encryption_keys)
{
	const struct conf_store *store = &((const struct conf *)base)->store;
	json_t *list = json_array();
	(void)option;
	(void)field;
	for (size_t i = 0; i < store->n_encryption_keys; i++)
		append(list,
		    json_pack("{s:s, s:s}", "id",
			store->encryption_keys[i].id, "key", hidden));
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
		    group_show(GROUP_UPSTREAM, &conf->upstreams[i]));
	return object;
}

SHOW(routes)
{
	const struct conf *conf = base;
	json_t *list = json_array();
	(void)option;
	(void)field;
	for (size_t i = 0; i < conf->n_routes; i++)
		append(list, group_show(GROUP_ROUTE, &conf->routes[i]));
	return list;
}

SHOW(idempotency)
{
	const struct conf_idempotency *policy =
	    *(const struct conf_idempotency *const *)field;
	(void)option;
	(void)base;
	return policy != NULL ? group_show(GROUP_IDEMPOTENCY, policy) : NULL;
}
