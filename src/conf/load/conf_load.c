/* SPDX-License-Identifier: BSD-2-Clause */
#include <malloc.h>
#include <sodium.h>
#include <stdlib.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/swappable.h"
#include "conf/jsonc/spots.h"
#include "conf/load/complaints_private.h"
#include "conf/load/conf_load.h"
#include "conf/load/cross_check_private.h"
#include "conf/load/object_private.h"
#include "conf/load/secret_value_private.h"
#include "conf/load/source_private.h"
#include "conf/load/text_private.h"

enum { FILE_MAX = 16 << 20 };

static const struct conf *load_root(struct loader *l, struct span text);
static const struct conf *load_plain(struct loader *l, struct span text);
static const struct conf *load_file(
    const char *file, bool only_admin, struct complaints *complaints);
static const struct conf *load_text(const char *file, struct span text,
    bool only_admin, struct complaints *complaints);
static struct conf *new_conf(const char *file);
static void wipe_what_jansson_frees(void);
static void conf_destroy(struct conf *conf);

const struct conf *
conf_load(const char *file, struct complaints *complaints)
{
	return load_file(file, false, complaints);
}

const struct conf *
conf_load_admin(const char *file, struct complaints *complaints)
{
	return load_file(file, true, complaints);
}

const struct conf *
conf_load_text(
    const char *file, struct span text, struct complaints *complaints)
{
	return load_text(file, text, false, complaints);
}

static const struct conf *
load_file(const char *file, bool only_admin, struct complaints *complaints)
{
	char *text;
	size_t len;
	int error = text_file_read(file, FILE_MAX, &text, &len);
	if (error != 0) {
		complaints_add(complaints, NULL, "cannot be read: %s",
		    error_of_file(error));
		return NULL;
	}
	const struct conf *conf =
	    load_text(file, span_of(text, len), only_admin, complaints);
	sodium_memzero(text, len);
	free(text);
	return conf;
}

static const struct conf *
load_text(const char *file, struct span text, bool only_admin,
    struct complaints *complaints)
{
	wipe_what_jansson_frees();
	struct loader l = {.conf = new_conf(file),
	    .complaints = complaints,
	    .only_admin = only_admin};
	const struct conf *loaded = load_root(&l, text);

	secret_value_set_login(&l, NULL, NULL);
	return loaded;
}

static struct conf *
new_conf(const char *file)
{
	struct conf *conf = mem_zero(sizeof *conf);
	atomic_init(&conf->refs, 1);
	conf->destroy = conf_destroy;
	conf->file = mem_str(span_str(file));
	return conf;
}

static void
conf_destroy(struct conf *conf)
{
	object_clear(GROUP_ROOT, conf);
	swappable_free(&conf->store.redis.tls.credentials);
	swappable_free(&conf->store.redis.login);
	spots_free(&conf->spots);
	free(conf->fixed);
	for (size_t i = 0; i < conf->secrets.count; i++)
		free(conf->secrets.list[i]);
	free(conf->secrets.list);
	free(conf->file);
	free(conf);
}

const struct conf *
conf_load_defaults(void)
{
	static const char least[] =
	    "{\"listen\": [\"127.0.0.1:0\"],"
	    " \"upstreams\": {\"x\": \"http://127.0.0.1\"},"
	    " \"routes\": [{\"path\": \"/\", \"upstream\": \"x\","
	    "   \"idempotency\": {}}]}";
	struct complaints complaints = {0};
	const struct conf *conf = conf_load_text(
	    "", span_of(least, sizeof least - 1), &complaints);
	must(conf != NULL);
	return conf;
}

/* --- JSON --- */

static void
wiping_free(void *ptr)
{
	if (ptr != NULL)
		sodium_memzero(ptr, malloc_usable_size(ptr));
	free(ptr);
}

/*
 * The file may have secrets, and so jansson's memory has them.  For good and
 * only once, at the start: other threads use jansson when a reload comes.
 */
static void
wipe_what_jansson_frees(void)
{
	json_malloc_t present_malloc;
	json_free_t present_free;
	json_get_alloc_funcs(&present_malloc, &present_free);
	if (present_free != wiping_free)
		json_set_alloc_funcs(malloc, wiping_free);
}

/* --- what is wrong, and where --- */

static void
complain_at(struct complaints *complaints, struct spot at, const char *words)
{
	complaints_add(complaints, NULL, "%s", words);
	struct complaint *last = &complaints->list[complaints->count - 1];
	last->line = at.line;
	last->column = at.column;
}

/* Where a bracket is open that may lack its own, that is said, too. */
static void
complain_fault(struct loader *l, const struct spots_fault *fault)
{
	char *words = fault->opened.line == 0
	    ? mem_text(fault->words)
	    : mem_printf("%s (what is open here begins at %zu:%zu)",
		  fault->words, fault->opened.line, fault->opened.column);
	complain_at(l->complaints, fault->at, words);
	free(words);
}

/* What is JSON, and is too much for jansson, which has read to its end. */
static void
complain_number(struct loader *l, struct span text, size_t end)
{
	size_t at = end < text.len ? end : text.len;
	while (at > 0 && strchr(" \t\r\n,:[", text.ptr[at - 1]) == NULL)
		at--;
	complain_at(l->complaints, spots_of_byte(text, at),
	    "this number is too large");
}

static void
complain_twice(void *arg, const char *pointer, struct spot first)
{
	struct complaints *found = arg;
	complaints_add(found, pointer, "appears twice (first at %zu:%zu)",
	    first.line, first.column);
	found->list[found->count - 1].of_name = true;
}

void
conf_load_place(const struct conf *conf, struct complaints *complaints)
{
	for (size_t i = 0; i < complaints->count; i++) {
		struct complaint *c = &complaints->list[i];
		if (c->line > 0 || c->pointer == NULL)
			continue;
		struct spot at =
		    spots_find(conf->spots, c->pointer, c->of_name);
		c->line = at.line;
		c->column = at.column;
	}
}

void
conf_load_log(const struct conf *conf, struct complaints *complaints,
    enum event event)
{
	conf_load_place(conf, complaints);
	complaints_log(complaints, conf->file, event);
}

/* Lists whose entries have a name, and the word for an entry. */
static const struct {
	const char *list, *member, *word;
} named[] = {
    {"/routes/", "name", "route"},
    {"/store/encryption_keys/", "id", "key"},
};

/* The name of the entry that a pointer leads to or through; NULL: none. */
static const char *
entry_name(const char *pointer, json_t *root, const char **ret_word)
{
	for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
		size_t len = strlen(named[i].list);
		if (strncmp(pointer, named[i].list, len) != 0)
			continue;
		struct span rest = span_of(named[i].list + 1, len - 2);
		struct span member;
		json_t *value = root;
		while (span_next(&rest, '/', &member)) {
			char *name = mem_str(member);
			value = json_object_get(value, name);
			free(name);
		}
		value = json_array_get(
		    value, strtoul(pointer + len, NULL, 10));
		*ret_word = named[i].word;
		return json_string_value(
		    json_object_get(value, named[i].member));
	}
	return NULL;
}

/* Whether the words say already which it is; an upstream may be called so. */
static bool
is_named(const char *words, const char *word, const char *name)
{
	char *quoted = mem_printf("%s \"%s\"", word, name);
	bool has = strstr(words, quoted) != NULL;
	free(quoted);
	return has;
}

/* Begins the words of each with the name of the entry that it is about. */
static void
name_entries(struct complaints *complaints, json_t *root)
{
	for (size_t i = 0; i < complaints->count; i++) {
		struct complaint *c = &complaints->list[i];
		const char *word = NULL;
		const char *name = entry_name(c->pointer, root, &word);
		if (name == NULL || is_named(c->message, word, name))
			continue;
		char *longer =
		    mem_printf("%s \"%s\": %s", word, name, c->message);
		free(c->message);
		c->message = longer;
	}
}

/* Of the addresses to listen on, what their sockets are made from. */
static char *
sockets_text(const struct conf *conf)
{
	json_t *list = json_array();
	for (size_t i = 0; i < conf->n_listen; i++) {
		const struct conf_listen *listen = &conf->listen[i];
		must(json_array_append_new(list,
			 json_pack("[s?Is?]", listen->address.text,
			     (json_int_t)listen->mode, listen->group)) == 0);
	}
	char *text = json_dumps(list, JSON_COMPACT);
	json_decref(list);
	must(text != NULL);
	return text;
}

static void
free_login(void *object)
{
	struct conf_login *login = object;
	secret_free(login->password);
	free(login->user);
	free(login);
}

static void
keep_login(struct conf_redis *redis)
{
	struct conf_login *login = mem_zero(sizeof *login);
	login->user = mem_text(redis->user);
	if (redis->password != NULL)
		login->password = secret_str(span_str(redis->password));
	redis->login = swappable_new(login, free_login);
}

/* Each fixed option of the whole file as one digest of its JSON. */
static void
digest_fixed_options(struct loader *l)
{
	uint8_t *to = mem_zero(n_options * DIGEST_BYTES);
	l->conf->fixed = to;
	for (size_t i = 0; i < n_options; i++, to += DIGEST_BYTES) {
		const struct option *option = &options[i];
		if (option->group != GROUP_ROOT || !option->restart)
			continue;
		const char *preset = option_preset(option);
		json_t *value = loader_value(l, option);
		char *text =
		    option->type == TYPE_LISTENS ? sockets_text(l->conf)
		    : value
		    ? json_dumps(value, JSON_ENCODE_ANY | JSON_SORT_KEYS)
		    : mem_str(span_str(preset));
		struct digest digest;
		digest_begin(&digest, SPAN("option"), SPAN(""));
		digest_part(&digest, span_str(text));
		digest_end(&digest, to);
		text_free(&text);
	}
}

/* --- the values --- */

/* What is found wrong with the values, in the order of the file. */
static void
load_values(struct loader *l)
{
	object_load_presets(l, GROUP_ROOT, l->conf);
	object_load(l, GROUP_ROOT, NULL, l->root, l->conf);
	object_load_routes(l);
	l->n_alone = l->complaints->count;
	source_load(l);
	cross_check_conf(l);
	digest_fixed_options(l);
	keep_login(&l->conf->store.redis);
	name_entries(l->complaints, l->root);
	conf_load_place(l->conf, l->complaints);
	complaints_sort(l->complaints);
}

/* --- where the gateway is --- */

static bool
is_of_admin(const struct complaint *complaint)
{
	struct span pointer = span_str(complaint->pointer);
	return span_eq(pointer, SPAN("/admin")) ||
	    span_starts(pointer, SPAN("/admin/"));
}

/* Takes it out of what is not valid; NULL: it is wrong, or not there. */
static const struct conf *
kept_admin(struct conf *from, const struct complaints *found)
{
	for (size_t i = 0; i < found->count; i++)
		if (is_of_admin(&found->list[i]))
			return NULL;
	if (from->admin.text == NULL)
		return NULL;
	struct conf *conf = new_conf(from->file);
	conf->admin = from->admin;
	conf->admin_token = from->admin_token;
	from->admin = (struct address){0};
	from->admin_token = NULL;
	return conf;
}

/* --- all of it --- */

/* The text has no comments any more, and its places are known. */
static const struct conf *
load_plain(struct loader *l, struct span text)
{
	json_error_t error;
	const struct conf *conf = l->conf;
	struct complaints found = {NULL, 0};
	struct complaints *complaints = l->complaints;
	l->root = json_loadb(text.ptr, text.len, 0, &error);
	if (l->root == NULL) {
		complain_number(l, text, (size_t)error.position);
		conf_unref(&conf);
		return NULL;
	}
	l->complaints = &found;
	spots_each_twice(l->conf->spots, complain_twice, &found);
	load_values(l);
	if (found.count > 0) {
		const struct conf *wrong = conf;
		conf = l->only_admin ? kept_admin(l->conf, &found) : NULL;
		conf_unref(&wrong);
	} else {
		source_digest_all(l->conf);
	}
	complaints_move(complaints, &found);
	json_decref(l->root);
	return conf;
}

static const struct conf *
load_root(struct loader *l, struct span text)
{
	struct spots_fault fault;
	const struct conf *conf = l->conf;
	char *plain = mem_copy(text.ptr, text.len);
	l->conf->spots = spots_read(text, plain, &fault);
	if (l->conf->spots == NULL) {
		complain_fault(l, &fault);
		conf_unref(&conf);
	} else {
		conf = load_plain(l, span_of(plain, text.len));
	}
	sodium_memzero(plain, text.len);
	free(plain);
	return conf;
}

void
conf_load_presets(enum group group, void *base)
{
	struct complaints none = {NULL, 0};
	struct loader l = {.complaints = &none};
	object_load_presets(&l, group, base);
}

void
conf_load_clear(enum group group, void *base)
{
	object_clear(group, base);
}
