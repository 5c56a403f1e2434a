/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/secret.h"
#include "conf/jsonc/spots.h"
#include "conf/load/asks_private.h"
#include "conf/load/brokers_private.h"
#include "conf/load/conf_load.h"
#include "conf/load/cross_check_private.h"
#include "conf/load/object_private.h"
#include "conf/load/source_private.h"
#include "conf/load/text_private.h"

enum { FILE_MAX = 16 << 20 };

/* --- memory --- */

static void
conf_destroy(struct conf *conf)
{
	struct arena *arena = conf->arena;
	for (struct conf_owned *o = conf->owned; o != NULL; o = o->next)
		o->free_it(o->what);
	arena_wipe(arena);
	arena_free(&arena);
}

static struct conf *
new_conf(const char *file)
{
	struct arena *arena = arena_new();
	struct conf *conf = arena_alloc(arena, sizeof *conf);
	atomic_init(&conf->refs, 1);
	conf->destroy = conf_destroy;
	conf->arena = arena;
	conf->file = arena_str(arena, span_str(file));
	return conf;
}

/* --- what is wrong, and where --- */

/* Where a bracket is open that may lack its own, that is said, too. */
static void
complain_fault(struct complaints *complaints, const struct spots_fault *fault)
{
	struct complaint *added = fault->opened.line == 0
	    ? complaints_add(complaints, NULL, "%s", fault->words)
	    : complaints_add(complaints, NULL, "%s (what is open here begins "
		  "at %zu:%zu)", fault->words, fault->opened.line,
		  fault->opened.column);
	added->line = fault->at.line;
	added->column = fault->at.column;
}

/* Of what is JSON, and too much for jansson, which has read to its end. */
static struct spots_fault
fault_of_number(struct span text, size_t end)
{
	size_t at = end < text.len ? end : text.len;
	while (at > 0 && strchr(" \t\r\n,:[", text.ptr[at - 1]) == NULL)
		at--;
	return (struct spots_fault){
	    spots_of_byte(text, at), "this number is too large", {0, 0}};
}

static void
complain_twice(void *arg, const char *pointer, struct spot first)
{
	complaints_add(arg, mem_text(pointer),
	    "appears twice (first at %zu:%zu)", first.line, first.column)
	    ->of_name = true;
}

/* The entry of a list that a pointer leads to or through; NULL: no such. */
static char *
entry_name(const struct conf *conf, const char *pointer)
{
	const struct conf_store *store = &conf->store;
	const struct conf_route *routes = conf->routes;
	size_t i;
	if (sscanf(pointer, "/routes/%zu", &i) == 1 && i < conf->n_routes &&
	    routes[i].name != routes[i].path)
		return mem_printf("route \"%s\"", routes[i].name);
	if (sscanf(pointer, "/store/encryption_keys/%zu", &i) == 1 &&
	    i < store->n_encryption_keys &&
	    store->encryption_keys[i].id != NULL)
		return mem_printf("key \"%s\"", store->encryption_keys[i].id);
	return NULL;
}

void
conf_load_place(const struct conf *conf, struct complaints *complaints)
{
	struct complaint *list = complaints->list;
	for (size_t i = 0; i < complaints->count; i++) {
		struct complaint *c = &list[i];
		if (c->line > 0 || c->pointer == NULL)
			continue;
		struct spot at =
		    spots_find(conf->spots, c->pointer, c->of_name);
		c->line = at.line;
		c->column = at.column;
		char *name = entry_name(conf, c->pointer);
		const char *said = name ? strstr(c->message, name) : NULL;
		/* A warning may have it as the name of what is in its way. */
		if (name != NULL &&
		    (said == NULL || (c->warning && said != c->message))) {
			char *longer = mem_printf("%s: %s", name, c->message);
			free(c->message);
			c->message = longer;
		}
		free(name);
	}
	/* They come nearly in their order, and equals keep theirs. */
	for (size_t i = 1; i < complaints->count; i++) {
		struct complaint moved = list[i];
		size_t to = i;
		while (to > 0 && (list[to - 1].line > moved.line ||
				     (list[to - 1].line == moved.line &&
					 list[to - 1].column > moved.column))) {
			list[to] = list[to - 1];
			to--;
		}
		list[to] = moved;
	}
}

void
conf_load_log(const struct conf *conf, struct complaints *complaints,
    enum event event)
{
	conf_load_place(conf, complaints);
	complaints_log(complaints, conf->file, event);
}

/* --- what a reload compares --- */

static void
free_login(void *object)
{
	struct conf_login *login = object;
	secret_free(login->password);
	free(login->user);
	free(login);
}

/* Each fixed option of the whole file as one digest of its JSON. */
static void
digest_fixed_options(struct loader *l)
{
	uint8_t *to = loader_alloc(l, n_options * DIGEST_BYTES);
	l->conf->fixed = to;
	for (size_t i = 0; i < n_options; i++, to += DIGEST_BYTES) {
		const struct option *option = &options[i];
		bool listens = option->type == TYPE_LISTENS;
		if (option->group != GROUP_ROOT || !option->restart)
			continue;
		json_t *value = loader_value(l->root, option->path);
		char *text = value != NULL && !listens
		    ? json_dumps(value, JSON_ENCODE_ANY | JSON_SORT_KEYS)
		    : NULL;
		struct digest digest;
		digest_begin(&digest, SPAN("option"), SPAN(""));
		digest_part(
		    &digest, span_str(text ? text : option_preset(option)));
		/* What their sockets are made from. */
		for (size_t k = 0; listens && k < l->conf->n_listen; k++) {
			const struct conf_listen *at = &l->conf->listen[k];
			digest_part(&digest, span_str(at->address.text));
			digest_part(
			    &digest, span_of(&at->mode, sizeof at->mode));
			digest_part(&digest, span_str(at->group));
		}
		/*
		 * A token that stands elsewhere counts as what it is: whoever
		 * replaces one takes the old one for over.
		 */
		if (option->offset == offsetof(struct conf, admin_token))
			digest_part(&digest, span_str(l->conf->admin_token));
		size_t tokens = option->type == TYPE_ADMIN_TOKENS
		    ? l->conf->n_admin_tokens
		    : 0;
		for (size_t k = 0; k < tokens; k++)
			digest_part(&digest,
			    span_str(l->conf->admin_tokens[k].token));
		digest_end(&digest, to);
		secret_wipe(text);
	}
}

/* --- all of it --- */

/*
 * Whether there is an admin.listen, and nothing wrong is about admin but its
 * tokens, of which one may stand elsewhere.
 */
static bool
has_admin(const struct conf *conf, const struct complaints *found)
{
	for (size_t i = 0; i < found->count; i++) {
		struct span pointer = span_str(found->list[i].pointer);
		if (span_eq(pointer, SPAN("/admin")) ||
		    (span_starts(pointer, SPAN("/admin/")) &&
			!span_starts(pointer, SPAN("/admin/token"))))
			return false;
	}
	return conf->admin.text != NULL;
}

/* All brokers, sources or relays, where they are in the file. */
static void
check_each(struct loader *l, const char *path,
    void (*check)(struct loader *l, const struct json_place *at,
	json_t *value, void *entry))
{
	const struct option *option = option_of_path(GROUP_ROOT, path);
	struct json_place list = {NULL, path, 0};
	json_t *object = loader_value(l->root, path);
	struct option_entries all;
	memcpy(&all, (char *)l->conf + option->offset, sizeof all);
	for (size_t i = 0; i < all.count; i++) {
		char *entry = (char *)all.entries +
		    i * option_lists[option->type].size;
		const char *name = *(char **)(void *)entry;
		struct json_place at = {&list, name, 0};
		check(l, &at, json_object_get(object, name), entry);
	}
}

/*
 * Reads what the file has; all that is wrong with it is found, in the order of
 * the file.
 */
static void
load_values(struct loader *l)
{
	struct conf_redis *redis = &l->conf->store.redis;
	spots_each(
	    l->conf->spots, SPOTS_TWICE, complain_twice, l->complaints);
	object_load(l, GROUP_ROOT, NULL, l->root, l->conf);
	l->n_alone = l->complaints->count;
	check_each(l, "brokers", brokers_check);
	cross_check_conf(l);
	check_each(l, "sources", source_check);
	check_each(l, "relays", source_relay_check);
	bool messages = l->conf->n_sources + l->conf->n_relays > 0;
	if (messages)
		source_places_check(l);
	digest_fixed_options(l);
	if (redis->password != NULL) {
		struct conf_login *login = mem_zero(sizeof *login);
		login->user = mem_text(redis->user);
		login->password = secret_str(span_str(redis->password));
		redis->login = loader_swappable(l, login, free_login);
	}
	conf_load_place(l->conf, l->complaints);
	if (l->complaints->count > 0)
		return;
	if (messages)
		source_digest_all(l->conf);
	asks_mark(l->conf);
	conf_share_keys(l->conf, l->conf);
}

const struct conf *
conf_load_text(const char *file, struct span text, bool only_admin,
    struct complaints *complaints)
{
	struct spots_fault fault;
	json_error_t error;
	struct loader l = {.conf = new_conf(file), .complaints = complaints};
	const struct conf *conf = l.conf;
	char *plain = mem_copy(text.ptr, text.len);
	/*
	 * The file may have secrets, and so jansson's memory has them.  For
	 * good and only once, at the start: other threads use jansson when a
	 * reload comes.
	 */
	json_malloc_t present_malloc;
	json_free_t present_free;
	json_get_alloc_funcs(&present_malloc, &present_free);
	if (present_free != secret_wipe)
		json_set_alloc_funcs(malloc, secret_wipe);
	l.conf->spots = spots_read(l.conf->arena, text, plain, &fault);
	if (l.conf->spots != NULL)
		l.root = json_loadb(plain, text.len, 0, &error);
	if (l.conf->spots != NULL && l.root == NULL)
		fault = fault_of_number(
		    span_of(plain, text.len), (size_t)error.position);
	if (l.root == NULL)
		complain_fault(complaints, &fault);
	else
		load_values(&l);
	if (complaints->count > 0 &&
	    (l.root == NULL || !only_admin || !has_admin(conf, complaints)))
		conf_unref(&conf);
	else if (complaints->count > 0)
		l.conf->n_routes = 0; /* what they say may be wrong */
	json_decref(l.root);
	secret_wipe(plain);
	return conf;
}

const struct conf *
conf_load(const char *file, bool only_admin, struct complaints *complaints)
{
	char *text;
	size_t len;
	int error = secret_read_file(file, FILE_MAX, &text, &len);
	if (error != 0) {
		complaints_add(complaints, NULL, "cannot be read: %s",
		    error_of_file(error));
		return NULL;
	}
	const struct conf *conf = conf_load_text(
	    file, span_of(text, len), only_admin, complaints);
	secret_wipe(text);
	return conf;
}

/* --- defaults --- */

static void *
entry_of_presets(struct loader *l, enum option_type type)
{
	const struct option_list *list = &option_lists[type];
	void *entry = loader_alloc(l, list->size);
	object_load_presets(l, list->group, entry);
	return entry;
}

const struct conf *
conf_load_defaults(void)
{
	struct complaints none = {NULL, 0};
	struct loader l = {.conf = new_conf(""), .complaints = &none};
	object_load_presets(&l, GROUP_ROOT, l.conf);
	cross_check_fill_in(&l);
	l.conf->upstreams = entry_of_presets(&l, TYPE_UPSTREAMS);
	l.conf->brokers = entry_of_presets(&l, TYPE_BROKERS);
	l.conf->sources = entry_of_presets(&l, TYPE_SOURCES);
	l.conf->relays = entry_of_presets(&l, TYPE_RELAYS);
	return l.conf;
}
