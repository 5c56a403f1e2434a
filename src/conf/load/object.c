/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/mem.h"
#include "conf/load/certificates.h"
#include "conf/load/cross_check_private.h"
#include "conf/load/list_private.h"
#include "conf/load/object_private.h"
#include "conf/load/text_private.h"
#include "conf/load/unknown_private.h"
#include "conf/load/url_private.h"
#include "conf/name.h"
#include "conf/words.h"

/*
 * An object has values, and a value may be an object or a list of some: that
 * circle is closed here, and no file that reads one value knows this one.
 */

enum { HEALTH_INTERVAL_MS = 5000 };

/* --- any object --- */

/* What is read entry by entry, or member by member, must have them. */
static const struct {
	json_type type;
	const char *words; /* NULL: another shape will do as well */
	bool some;         /* one at least */
} shapes[TYPE_COUNT_] = {
	[TYPE_SCOPES] = {JSON_ARRAY, "a list of headers' names and of objects, "
	    "like [\"Authorization\"] or [{...}]", false},
	[TYPE_IGNORED] = {JSON_ARRAY,
	    "a list of JSON pointers like [\"/sent_at\"]", false},
	[TYPE_PARTS] = {JSON_ARRAY,
	    "a list like [\"method\", \"body\"]", false},
	[TYPE_STATUSES] = {JSON_ARRAY,
	    "a list of statuses like [404, 410]", false},
	[TYPE_TARGETS] = {JSON_ARRAY,
	    "a list of URLs like [\"http://127.0.0.1:9000\"]", true},
	[TYPE_WEBHOOK_SECRETS] = {JSON_ARRAY, "a list", true},
	[TYPE_OUTCOMES] = {JSON_OBJECT, "an object", false},
	[TYPE_PROBLEMS] = {JSON_OBJECT, "an object", false},
	[TYPE_RECONCILE_HEADERS] = {JSON_OBJECT, "an object", true},
	[TYPE_MESSAGE_HEADERS] = {JSON_OBJECT, "an object", false},
	[TYPE_SETTINGS] = {JSON_OBJECT, "an object", false},
};

static void
load_option(struct loader *l, const struct option *option,
    const struct json_place *at, json_t *value, void *base)
{
	static void (*const parse[])(
	    struct loader *l, const struct given *given) = {
#define TYPE(name, ctype, parse, show, ...) parse,
#include "conf/types.h"
#undef TYPE
	};
	const struct given given = {
	    option, at, value, base, (char *)base + option->offset};
	const char *words = shapes[option->type].words;
	if (words != NULL && json_typeof(value) != shapes[option->type].type)
		complaints_at(l, at, "must be %s", words);
	else if (shapes[option->type].some &&
	    json_array_size(value) + json_object_size(value) == 0)
		complaints_at(l, at, "must not be empty");
	else
		parse[option->type](l, &given);
}

void
object_load_presets(struct loader *l, enum group group, void *base)
{
	size_t before = l->complaints->count;
	for (size_t i = 0; i < n_options; i++) {
		const char *text = option_preset(&options[i]);
		if (options[i].group != group || text == NULL)
			continue;
		json_t *value = json_loads(
		    text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
		must(value != NULL);
		load_option(l, &options[i], NULL, value, base);
		json_decref(value);
	}
	must(l->complaints->count == before);
}

/* Complains about what the object that prefix leads to must have. */
static void
complain_missing(struct loader *l, enum group group, struct span prefix,
    const struct json_place *at, json_t *value)
{
	for (size_t i = 0; i < n_options; i++) {
		const struct option *option = &options[i];
		if (option->group != group || !option_required(option) ||
		    !span_starts(span_str(option->path), prefix))
			continue;
		const char *name = option->path + prefix.len, *given;
		if (strchr(name, '.') != NULL ||
		    json_object_get(value, name) != NULL)
			continue;
		/* One that is nearly that is told to be wrong. */
		struct nearest nearest = nearest_to(span_str(name));
		json_t *member;
		json_object_foreach(value, given, member)
			nearest_try(&nearest, span_str(given));
		if (nearest.found.ptr == NULL || nearest.distance > 2)
			complaints_at(l, at, "\"%s\" is missing", name);
	}
}

/* What needs others that may stand behind it in the file. */
static const bool is_late[TYPE_COUNT_] = {
    [TYPE_DEFAULTS] = true,
    [TYPE_ROUTES] = true,
    [TYPE_SOURCES] = true,
    [TYPE_RELAYS] = true,
};

/*
 * The option that a member of that name has in the object of the group that
 * prefix leads to ("" or "store.").  NULL, and the prefix of the object that
 * such a member is ("store." for "store"), which is empty where there is none.
 */
static const struct option *
find_option(enum group group, struct span prefix, const char *name,
    struct span *ret_section)
{
	size_t len = strlen(name);
	*ret_section = SPAN("");
	for (size_t i = 0; i < n_options; i++) {
		const char *path = options[i].path;
		if (options[i].group != group ||
		    !span_starts(span_str(path), prefix) ||
		    strncmp(path + prefix.len, name, len) != 0 ||
		    strchr(name, '.') != NULL || len == 0)
			continue;
		if (path[prefix.len + len] == '\0')
			return &options[i];
		if (path[prefix.len + len] == '.')
			*ret_section = span_of(path, prefix.len + len + 1);
	}
	return NULL;
}

/* The members of the object that prefix leads to. */
static void
read_members(struct loader *l, enum group group, struct span prefix,
    const struct json_place *at, json_t *value, void *base)
{
	const char *name;
	json_t *member;
	if (!json_is_object(value)) {
		unknown_shape(l, group, prefix, at);
		return;
	}
	complain_missing(l, group, prefix, at, value);
	json_object_foreach(value, name, member)
	{
		struct json_place here = {at, name, 0};
		struct span section;
		const struct option *option =
		    find_option(group, prefix, name, &section);
		if (option == NULL && section.len > 0)
			read_members(l, group, section, &here, member, base);
		else if (option == NULL)
			unknown_member(l, group, prefix, &here, member);
		else if (!is_late[option->type])
			load_option(l, option, &here, member, base);
	}
}

void
object_load(struct loader *l, enum group group, const struct json_place *at,
    json_t *value, void *base)
{
	object_load_presets(l, group, base);
	read_members(l, group, SPAN(""), at, value, base);
	for (size_t i = 0; i < n_options && group == GROUP_ROOT; i++) {
		struct json_place late = {at, options[i].path, 0};
		json_t *found = json_object_get(value, options[i].path);
		if (is_late[options[i].type] && found != NULL)
			load_option(l, &options[i], &late, found, base);
	}
}

/* --- lists of objects, and objects of them by name --- */

/* An object, or in short the URL of its one target. */
static void
load_upstream(struct loader *l, const struct json_place *at, json_t *value,
    struct conf_upstream *upstream)
{
	if (text_is_one(value)) {
		char *text = text_read(l, at, value);
		object_load_presets(l, GROUP_UPSTREAM, upstream);
		upstream->targets = loader_alloc(l, sizeof *upstream->targets);
		if (text != NULL)
			url_add_target(l, at, text, upstream);
	} else if (json_is_object(value)) {
		object_load(l, GROUP_UPSTREAM, at, value, upstream);
		if (upstream->health_path != NULL &&
		    upstream->health_interval_ms == 0)
			upstream->health_interval_ms = HEALTH_INTERVAL_MS;
		certificates_check_upstream(l, at, upstream);
	} else {
		complaints_at(l, at, "must be a string or an object%s",
		    json_is_array(value)
			? "; several URLs are {\"targets\": [\"http://...\"]}"
			: "");
	}
	cross_check_pairs(l, GROUP_UPSTREAM, at, value);
}

/* An object; one of idempotency that names no methods gets the usual ones. */
static void
load_route(struct loader *l, const struct json_place *at, json_t *value,
    struct conf_route *route)
{
	object_load(l, GROUP_ROUTE, at, value, route);
	if (route->name == NULL)
		route->name = route->path;
	if (route->idempotency == NULL || route->methods.count > 0)
		return;
	json_t *usual = json_pack("[ssss]", "POST", "PUT", "PATCH", "DELETE");
	load_option(l, option_of_path(GROUP_ROUTE, "methods"), NULL, usual,
	    route);
	json_decref(usual);
}

/* The structs of those that have a name or an index begin with both. */
struct entry_head {
	char *name;
	unsigned index;
};
#define BEGINS_WITH_HEAD(type)                                          \
	_Static_assert(offsetof(struct type, name) ==                   \
		    offsetof(struct entry_head, name) &&                \
		offsetof(struct type, index) ==                         \
		    offsetof(struct entry_head, index),                 \
	    "its name and its index stand first")
BEGINS_WITH_HEAD(conf_admin_token);
BEGINS_WITH_HEAD(conf_upstream);
BEGINS_WITH_HEAD(conf_route);
BEGINS_WITH_HEAD(conf_broker);
BEGINS_WITH_HEAD(conf_source);
BEGINS_WITH_HEAD(conf_relay);

static void
load_entry(struct loader *l, enum option_type type,
    const struct json_place *at, json_t *value, void *entry)
{
	const struct option_list *list = &option_lists[type];
	const char *name = at->member, *wrong = NULL;
	if (list->own != NULL)
		name = json_string_value(json_object_get(value, list->own));
	else if (list->named)
		wrong = type == TYPE_UPSTREAMS ? name_wrong(name)
					       : name_wrong_plain(name);
	if (wrong != NULL)
		complaints_at(l, at, "its name %s", wrong);
	/* One that is wrong tells all the same which entry it is. */
	if (name != NULL)
		*(char **)entry = loader_str(l, name);
	if (list->named || type == TYPE_ROUTES)
		*(unsigned *)((char *)entry +
		    offsetof(struct entry_head, index)) = (unsigned)at->index;
	/* In short an address is all there is to say, or a token. */
	const char *alone = type == TYPE_LISTENS ? "address"
	    : type == TYPE_ADMIN_TOKENS		 ? "token"
						 : NULL;
	if (type == TYPE_UPSTREAMS)
		load_upstream(l, at, value, entry);
	else if (type == TYPE_ROUTES)
		load_route(l, at, value, entry);
	else if (alone != NULL && text_is_one(value))
		load_option(l, option_of_path(list->group, alone), at, value,
		    entry);
	else if (type == TYPE_LISTENS && !json_is_object(value))
		complaints_at(l, at, "must be a string like "
		    "\"127.0.0.1:8080\" or an object");
	else
		object_load(l, list->group, at, value, entry);
	if (type == TYPE_LISTENS && json_is_object(value))
		certificates_load(l, at, entry);
}

void
object_parse_list(struct loader *l, const struct given *given)
{
	enum option_type type = given->option->type;
	const struct option_list *list = &option_lists[type];
	json_t *all = given->value;
	size_t count = list->named ? json_object_size(all)
				   : json_array_size(all);
	if (list->named && !json_is_object(all))
		complaints_at(l, given->at, "must be an object%s",
		    type == TYPE_UPSTREAMS ? " of names: "
			"{\"NAME\": \"http://127.0.0.1:9000\"}" : "");
	else if (!list->named && !json_is_array(all))
		complaints_at(l, given->at, "must be a list like %s",
		    type == TYPE_LISTENS ? "[\"127.0.0.1:8080\"]"
					 : "[{...}, {...}]");
	else if (count == 0 && !list->named && type != TYPE_ROUTES)
		complaints_at(l, given->at, "must not be empty");
	char *entries = loader_alloc(l, count * list->size);
	void *next = json_object_iter(all);
	for (size_t i = 0; i < count; i++) {
		struct json_place at = {given->at, NULL, i};
		json_t *value = json_array_get(all, i);
		if (next != NULL) {
			at.member = json_object_iter_key(next);
			value = json_object_iter_value(next);
			next = json_object_iter_next(all, next);
		}
		load_entry(l, type, &at, value, entries + i * list->size);
	}
	const struct option_entries found = {entries, count};
	memcpy(given->field, &found, sizeof found);
}

/* --- what names another object --- */

void
object_parse_named(struct loader *l, const struct given *given)
{
	bool broker = given->option->type == TYPE_BROKER_NAME;
	const struct option *all =
	    option_of_path(GROUP_ROOT, broker ? "brokers" : "upstreams");
	size_t size = option_lists[all->type].size;
	struct option_entries from;
	char *name = text_read(l, given->at, given->value);
	if (name == NULL)
		return;
	memcpy(&from, (char *)l->conf + all->offset, sizeof from);
	for (size_t i = 0; i < from.count; i++) {
		char *entry = (char *)from.entries + i * size;
		if (!strcmp(*(char **)(void *)entry, name)) {
			*(void **)given->field = entry;
			return;
		}
	}
	struct nearest nearest = nearest_to(span_str(name));
	for (size_t i = 0; i < from.count; i++)
		nearest_try(&nearest,
		    span_str(*(char **)(void *)((char *)from.entries +
			i * size)));
	/* Where there are none that could be named, that is the mistake. */
	if (!broker && !json_is_object(loader_value(l->root, all->path)))
		return;
	if (!broker && strstr(name, "://") != NULL)
		complaints_at(l, given->at, "must be a name in \"%s\", not a "
		    "URL: {\"%s\": {\"NAME\": URL}}", all->path, all->path);
	else
		unknown_name(l, given->at, broker ? "broker" : "upstream",
		    &nearest, from.count == 1
			? *(char **)from.entries
			: NULL);
}

/* --- idempotency --- */

/* A route's starts from the file's `defaults`, wherever these stand. */
void
object_parse_idempotency(struct loader *l, const struct given *given)
{
	struct conf_idempotency *policy = loader_alloc(l, sizeof *policy);
	enum group group = GROUP_IDEMPOTENCY;
	struct json_place at = {given->at, "preset", 0};
	json_t *preset = json_object_get(given->value, "preset");
	size_t before = l->complaints->count;
	if (given->option->type == TYPE_DEFAULTS)
		object_load_presets(l, group, policy);
	else
		*policy = *l->conf->defaults;
	if (preset != NULL)
		load_option(l, option_of_path(group, "preset"), &at, preset,
		    policy);
	/* What it stands for is beaten by the members beside it. */
	if (preset != NULL && l->complaints->count == before) {
		json_t *members = api_preset_members(policy->preset);
		read_members(l, group, SPAN(""), NULL, members, policy);
		json_decref(members);
	}
	read_members(l, group, SPAN(""), given->at, given->value, policy);
	*(const struct conf_idempotency **)given->field = policy;
}

/* --- on_unknown --- */

/* The path alone, or an object with it; what is not said has its default. */
static void
read_reconcile(struct loader *l, const struct json_place *at, json_t *value,
    struct conf_idempotency *policy)
{
	policy->reconcile = (struct conf_reconcile){
	    .says_absent = json_object_get(value, "absent") != NULL};
	object_load_presets(l, GROUP_RECONCILE, policy);
	if (text_is_one(value))
		load_option(l, option_of_path(GROUP_RECONCILE, "path"), at,
		    value, policy);
	else if (json_is_object(value))
		read_members(
		    l, GROUP_RECONCILE, SPAN(""), at, value, policy);
	else
		complaints_at(l, at, "must be a path, or an object with one");
}

/* A word, or an object: how to ask the upstream. */
void
object_parse_then(struct loader *l, const struct given *given)
{
	struct conf_idempotency *policy = given->base;
	const char *text = json_string_value(given->value);
	json_t *asked = json_object_get(given->value, "reconcile");
	struct json_place at = {given->at, "reconcile", 0};
	policy->witness.then_reconcile = asked != NULL;
	if (asked != NULL && json_object_size(given->value) == 1)
		read_reconcile(l, &at, asked, policy);
	else if (text == NULL || words_index(given->option->words, text) != 0)
		complaints_at(l, given->at,
		    "must be \"hold\", or {\"reconcile\": {...}} as in "
		    "\"on_unknown\"");
}

/* A word, or an object with whom to ask. */
void
object_parse_on_unknown(struct loader *l, const struct given *given)
{
	static const char example[] =
	    "{\"witness\": {\"broker\": NAME}}, or {\"reconcile\": {\"path\": "
	    "\"/v1/charges/by-key/{key}\", \"absent\": [404, 410]}}";
	struct conf_idempotency *policy = given->base;
	const char *text = json_string_value(given->value), *name;
	int choice = text ? words_index(given->option->words, text) : -1;
	size_t before = l->complaints->count;
	enum on_unknown found = choice < 0 ? UNKNOWN_HOLD
					   : (enum on_unknown)choice;
	bool both = json_object_get(given->value, "witness") != NULL &&
	    json_object_get(given->value, "reconcile") != NULL;
	json_t *value;
	policy->reconcile = (struct conf_reconcile){.settle_ms = 0};
	policy->witness = (struct conf_witness){.wait_ms = 0};
	if (both)
		complaints_at(l, given->at,
		    "only one can be asked, \"reconcile\" or \"witness\"");
	else if (choice < 0 && json_object_size(given->value) == 0)
		complaints_at(l, given->at,
		    "must be \"hold\", \"retry\" or an object: %s", example);
	json_object_foreach(given->value, name, value)
	{
		struct json_place at = {given->at, name, 0};
		found = strcmp(name, "witness") ? UNKNOWN_RECONCILE
						: UNKNOWN_WITNESS;
		if (!strcmp(name, "witness"))
			object_load(l, GROUP_WITNESS, &at, value, policy);
		else if (!strcmp(name, "reconcile"))
			read_reconcile(l, &at, value, policy);
		else
			complaints_at_name(l, &at, "there is no such member "
			    "here, only \"witness\" and \"reconcile\", as in "
			    "%s", example);
	}
	if (l->complaints->count == before)
		policy->on_unknown = found;
}
