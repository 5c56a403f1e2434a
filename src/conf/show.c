/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "conf/amount.h"
#include "conf/kinds.h"
#include "conf/show.h"
#include "conf/words.h"

/* A function for each way in which the types of conf/types.h are written. */
typedef json_t *show_value(
    const struct option *option, const void *base, const void *field);

#define UNUSED __attribute__((unused))
#define SHOW(name)                                                     \
	static json_t *show_##name(const struct option *option UNUSED, \
	    const void *base UNUSED, const void *field UNUSED)

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
append_to(json_t *list, json_t *value)
{
	must(json_array_append_new(list, value) == 0);
}

/* --- one value --- */

SHOW(boolean)
{
	return json_boolean(*(const bool *)field);
}

/* Where nothing is the default, that is 0. */
SHOW(number)
{
	int64_t number = *(const int64_t *)field;
	enum option_type type = option->type;
	bool preset = option_preset(option) != NULL;
	if (number == 0 && !preset && type != TYPE_SIZE)
		return NULL;
	if (type == TYPE_MODE)
		return taken(mem_printf("%04o", (unsigned)number));
	if (type == TYPE_DURATION)
		return json_string(amount_words(number, AMOUNT_DURATION).text);
	return type == TYPE_SIZE && number != 0 && number % 1024 == 0
	    ? json_string(amount_words(number, AMOUNT_SIZE).text)
	    : json_integer(number);
}

/* One of the words, or none where there may be none. */
SHOW(choice)
{
	enum option_type type = option->type;
	bool none = type == TYPE_PRESET || type == TYPE_CERTIFICATE_PART ||
	    type == TYPE_ONLY_WORD;
	unsigned value = type == TYPE_TOGGLE || type == TYPE_OVERFLOW ||
		type == TYPE_ONLY_WORD
	    ? *(const bool *)field
	    : *(const unsigned *)field;
	if ((none && value == 0) ||
	    (type == TYPE_OVERFLOW &&
		((const struct conf *)base)->store.events_maxlen == 0))
		return NULL;
	return taken(words_at(option->words, value - none));
}

/* Also of a struct that begins with it; a header's "" may be the default. */
SHOW(text)
{
	const char *text = *(void *const *)field;
	bool none = text == NULL ||
	    (*text == '\0' && option->type == TYPE_FIELD &&
		option_preset(option) == NULL);
	return none ? NULL : json_string(text);
}

/* What the object is called that it points to. */
SHOW(name)
{
	void *const *named = *(void *const *)field;
	return named != NULL ? show_text(option, base, named) : NULL;
}

SHOW(secret)
{
	return *(void *const *)field != NULL ? json_string(hidden) : NULL;
}

/* --- lists --- */

/* An empty list is left out where it has no default: it is no choice. */
SHOW(strings)
{
	const struct strings *strings = field;
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

SHOW(pointer)
{
	const struct json_pointer *pointer = field;
	return pointer->count > 0 ? taken(json_pointer_text(pointer)) : NULL;
}

SHOW(pointers)
{
	const struct json_pointers *pointers = field;
	json_t *list = json_array();
	for (size_t i = 0; i < pointers->count; i++)
		append_to(list, taken(json_pointer_text(&pointers->list[i])));
	return list;
}

SHOW(statuses)
{
	const bool *statuses = field;
	json_t *list = json_array();
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
	for (unsigned bit = 1; span_next(&rest, ' ', &word); bit <<= 1)
		if (parts & bit)
			append_to(list, json_stringn(word.ptr, word.len));
	return list;
}

/* --- what an outcome means --- */

/* Each class in which not all is stored, and the statuses that differ. */
SHOW(outcomes)
{
	const uint8_t *outcomes = field;
	json_t *object = json_object();
	for (unsigned first = 200; first < 600; first += 100) {
		uint8_t usual = conf_usual_outcome(outcomes + first);
		unsigned others = 0;
		char name[16];
		for (unsigned i = first; i < first + 100; i++) {
			if (outcomes[i] == usual)
				continue;
			others++;
			snprintf(name, sizeof name, "%u", i);
			json_object_set_new(object, name,
			    taken(words_at(option->words, outcomes[i])));
		}
		/* Said in any case where the defaults may say otherwise. */
		snprintf(name, sizeof name, "%uxx", first / 100);
		if (usual != DISPOSITION_STORE || first >= 400)
			json_object_set_new(object, name,
			    taken(words_at(option->words, usual)));
	}
	return object;
}

SHOW(then)
{
	return *(const bool *)field
	    ? json_pack(
		  "{s:o}", "reconcile", show_group(GROUP_RECONCILE, base))
	    : taken(words_at(option->words, 0));
}

SHOW(on_unknown)
{
	const struct conf_idempotency *policy = base;
	bool reconciles = policy->on_unknown == UNKNOWN_RECONCILE;
	if (!reconciles && policy->on_unknown != UNKNOWN_WITNESS)
		return show_choice(option, base, field);
	return json_pack("{s:o}", reconciles ? "reconcile" : "witness",
	    show_group(reconciles ? GROUP_RECONCILE : GROUP_WITNESS, base));
}

/* --- addresses --- */

/* User and password, which the URL may have had, are members of their own. */
SHOW(redis)
{
	const struct address *address = field;
	const struct conf_redis *redis = (const struct conf_redis *)(
	    const void *)((const char *)field -
	    offsetof(struct conf_redis, address));
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
	return taken(url);
}

SHOW(targets)
{
	const struct conf_upstream *upstream = base;
	json_t *list = json_array();
	for (size_t i = 0; i < upstream->n_targets; i++)
		append_to(list, json_string(upstream->targets[i].url));
	return list;
}

SHOW(own_path)
{
	const struct conf_route *own = *(struct conf_route *const *)field;
	return own != NULL ? json_string(own->path) : NULL;
}

/* --- objects within the file --- */

/* Where there is nothing, the file need not say so. */
static json_t *
unless_empty(json_t *json, bool needed)
{
	if (needed || json_object_size(json) + json_array_size(json) > 0)
		return json;
	json_decref(json);
	return NULL;
}

SHOW(list)
{
	const struct option_list *list = &option_lists[option->type];
	struct option_entries all;
	json_t *json = list->named ? json_object() : json_array();
	memcpy(&all, field, sizeof all);
	for (size_t i = 0; i < all.count; i++) {
		const char *entry =
		    (const char *)all.entries + i * list->size;
		json_t *shown = show_group(list->group, entry);
		if (list->named)
			json_object_set_new(
			    json, *(char *const *)(const void *)entry, shown);
		else
			append_to(json, shown);
	}
	return unless_empty(json, option_required(option));
}

SHOW(idempotency)
{
	const struct conf_idempotency *policy =
	    *(const struct conf_idempotency *const *)field;
	return policy != NULL ? show_group(GROUP_IDEMPOTENCY, policy) : NULL;
}

/* --- what a request says of its key --- */

SHOW(word)
{
	const struct conf_idempotency *policy = base;
	const struct json_pointers *pointers = field;
	bool label = option->type == TYPE_LABEL;
	bool whole = label ? policy->label_key : policy->derive_from_body;
	if (whole)
		return json_string(label ? "key" : "body");
	return label || pointers->count > 0
	    ? show_pointers(option, base, field)
	    : NULL;
}

SHOW(entity)
{
	const struct conf_entity *entity = field;
	if (entity->path != NULL)
		return json_pack("{s:s}", "path", entity->path);
	return entity->pointers.count > 0
	    ? show_pointers(option, base, &entity->pointers)
	    : NULL;
}

SHOW(scopes)
{
	const struct conf_scopes *scopes = field;
	json_t *list = json_array();
	for (size_t i = 0; i < scopes->count; i++) {
		const struct conf_scope *scope = &scopes->list[i];
		append_to(list, scope->kind == SCOPE_HEADER
			? json_string(scope->header)
			: show_group(GROUP_SCOPE, scope));
	}
	return list;
}

SHOW(problems)
{
	const int64_t *statuses = field;
	json_t *object = json_object();
	for (int i = 0; i < ROUTE_PROBLEM_COUNT_; i++)
		if (statuses[i] != 0)
			json_object_set_new(object, conf_route_problems[i],
			    json_integer(statuses[i]));
	return object;
}

SHOW(ignored)
{
	const struct conf_idempotency *policy = base;
	const struct strings *names = &policy->fingerprint_ignore_query;
	json_t *list = show_pointers(option, base, field);
	for (size_t i = 0; i < names->count; i++)
		json_array_append_new(
		    list, json_pack("{s:s}", "query", names->list[i]));
	return list;
}

/* --- brokers, sources and relays --- */

/* Its path may be all that keeps others from sending there. */
SHOW(receiver)
{
	const struct conf_upstream *receiver = field;
	if (receiver->n_targets == 0)
		return NULL;
	const struct conf_target *target = &receiver->targets[0];
	if (target->unix_path != NULL)
		return json_string(target->url);
	return json_sprintf("%s://%s/%s", target->tls ? "https" : "http",
	    target->authority, target->base_path[0] != '\0' ? hidden : "");
}

SHOW(signing)
{
	const struct conf_relay *relay = base;
	json_t *list = relay->n_secrets > 0 ? json_array() : NULL;
	for (size_t i = 0; i < relay->n_secrets; i++)
		append_to(list, json_string(hidden));
	return list;
}

SHOW(finish)
{
	const struct conf_finish *finish = field;
	return finish->column == NULL
	    ? taken(words_at(option->words, 0))
	    : json_pack("{s:s, s:s*, s:s*}", "set", finish->column, "from",
		  finish->from, "to", finish->to);
}

SHOW(place)
{
	const struct conf_source *source = base;
	const char *name = *(char *const *)field;
	return name != NULL
	    ? json_pack("{s:s}", kinds_all[source->broker->kind].put, name)
	    : NULL;
}

SHOW(chosen)
{
	const struct conf_source *source = base;
	bool key = option->type == TYPE_SOURCE_KEY;
	const char *header = key ? source->key_header : source->order_header;
	const struct json_pointers *pointers =
	    key ? &source->key_pointers : &source->order_pointers;
	if (pointers->count > 0)
		return show_pointers(option, base, pointers);
	if (header != NULL)
		return json_pack("{s:s}", "header", header);
	return taken(words_at(option->words, *(const unsigned *)field));
}

SHOW(headers)
{
	struct option_entries all;
	json_t *object = json_object();
	memcpy(&all, field, sizeof all);
	for (size_t i = 0; i < all.count; i++) {
		const struct conf_header *header =
		    &((const struct conf_header *)all.entries)[i];
		json_object_set_new(object, header->name,
		    json_string(header->secret != NULL ? hidden
						       : header->value.text));
	}
	return unless_empty(object, false);
}

SHOW(settings)
{
	const struct conf_settings *settings = field;
	json_t *object = json_object();
	for (size_t i = 0; i < settings->count; i++) {
		const struct conf_setting *setting = &settings->list[i];
		json_object_set_new(object, setting->name,
		    json_string(
			setting->shown ? setting->value : hidden));
	}
	return unless_empty(object, false);
}

/* --- what has values --- */

json_t *
show_option(const struct option *option, const void *base)
{
	static show_value *const shows[] = {
#define TYPE(name, ctype, parse, show, ...) show,
#include "conf/types.h"
#undef TYPE
	};
	return shows[option->type](
	    option, base, (const char *)base + option->offset);
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

json_t *
show_group(enum group group, const void *base)
{
	enum broker_kind kind = BROKER_STREAMS;
	json_t *object = json_object();
	if (group == GROUP_BROKER)
		kind = ((const struct conf_broker *)base)->kind;
	else if (group == GROUP_SOURCE)
		kind = ((const struct conf_source *)base)->broker->kind;
	else if (group == GROUP_RELAY &&
	    ((const struct conf_relay *)base)->broker != NULL)
		kind = ((const struct conf_relay *)base)->broker->kind;
	for (size_t i = 0; i < n_options; i++)
		if (options[i].group == group && kinds_fit(&options[i], kind)) {
			json_t *value = show_option(&options[i], base);
			if (value != NULL)
				put_at_path(object, options[i].path, value);
		}
	return object;
}
