/* SPDX-License-Identifier: BSD-2-Clause */
#include <malloc.h>
#include <sodium.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/secret.h"
#include "conf/loader_private.h"

enum { FILE_MAX = 16 << 20 };

static const struct conf *parse(struct loader *l, struct span text);
static void load_members(struct loader *l, enum group group, struct span prefix,
    const struct place *at, json_t *value, void *base);
static void digest_fixed(struct loader *l);
static void wipe_what_jansson_frees(void);

const struct conf *
conf_load(const char *file, struct complaints *complaints)
{
	char *text;
	size_t len;
	int error = file_read(file, FILE_MAX, &text, &len);
	if (error != 0) {
		complain(
		    complaints, NULL, "cannot be read: %s", strerror(error));
		return NULL;
	}
	const struct conf *conf =
	    conf_parse(file, span_of(text, len), complaints);
	sodium_memzero(text, len);
	free(text);
	return conf;
}

const struct conf *
conf_parse(const char *file, struct span text, struct complaints *complaints)
{
	wipe_what_jansson_frees();
	struct conf *conf = mem_zero(sizeof *conf);
	atomic_init(&conf->refs, 1);
	conf->file = mem_str(span_str(file));
	struct loader l = {.conf = conf, .complaints = complaints};
	const struct conf *parsed = parse(&l, text);

	text_free(&l.url_user);
	secret_free(l.url_password);
	return parsed;
}

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

/* What jansson says, less the piece of the file that it quotes. */
static void
complain_syntax(struct loader *l, json_error_t *error)
{
	char *quoted = strstr(error->text, " near '");
	if (quoted != NULL)
		*quoted = '\0';
	complain(l->complaints, NULL, "line %d, column %d: %s", error->line,
	    error->column, error->text);
}

static const struct conf *
parse(struct loader *l, struct span text)
{
	json_error_t error;
	const struct conf *conf = l->conf;
	struct complaints found = {NULL, 0};
	struct complaints *complaints = l->complaints;
	l->root = json_loadb(text.ptr, text.len, 0, &error);
	if (l->root == NULL) {
		complain_syntax(l, &error);
		conf_unref(&conf);
		return NULL;
	}
	l->complaints = &found;
	complain_duplicates(l, text);
	load_presets(l, GROUP_ROOT, l->conf);
	load_object(l, GROUP_ROOT, NULL, l->root, l->conf);
	load_routes(l);
	check_whole(l);
	digest_fixed(l);

	complaints_sort(&found, l->root);
	for (size_t i = 0; i < found.count; i++)
		complain(complaints, found.list[i].pointer, "%s",
		    found.list[i].message);
	if (found.count > 0)
		conf_unref(&conf);
	complaints_free(&found);
	json_decref(l->root);
	return conf;
}

/* --- objects --- */

void
load_option(struct loader *l, const struct option *option,
    const struct place *at, json_t *value, void *base)
{
	static void (*const parsers[])(
	    struct loader * l, const struct given *given) = {
#define TYPE(name, ctype, parse, clear, ...) parse_##parse,
#include "conf/types.h"
#undef TYPE
	};
	struct given given = {option, at, value, base};
	parsers[option->type](l, &given);
}

void
load_presets(struct loader *l, enum group group, void *base)
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

void
load_object(struct loader *l, enum group group, const struct place *at,
    json_t *value, void *base)
{
	load_members(l, group, SPAN(""), at, value, base);
}

static void
load_member(struct loader *l, enum group group, struct span prefix,
    const struct place *at, json_t *value, void *base)
{
	const struct option *option = option_find(group, prefix, at->member);
	struct span section = option_section(group, prefix, at->member);
	if (option != NULL)
		load_option(l, option, at, value, base);
	else if (section.len > 0)
		load_members(l, group, section, at, value, base);
	else
		complain_at(l, at, "there is no such member");
}

/* Complains about what the object that prefix leads to must have. */
static void
complain_missing(struct loader *l, enum group group, struct span prefix,
    const struct place *at, const json_t *value)
{
	for (size_t i = 0; i < n_options; i++) {
		const struct option *option = &options[i];
		if (option->group != group || !option_required(option) ||
		    !span_starts(span_str(option->path), prefix))
			continue;
		const char *name = option->path + prefix.len;
		if (strchr(name, '.') == NULL &&
		    json_object_get(value, name) == NULL)
			complain_at(l, at, "\"%s\" is missing", name);
	}
}

static void
load_members(struct loader *l, enum group group, struct span prefix,
    const struct place *at, json_t *value, void *base)
{
	const char *name;
	json_t *member;
	if (!json_is_object(value)) {
		complain_at(l, at, "must be an object");
		return;
	}
	complain_missing(l, group, prefix, at, value);
	json_object_foreach(value, name, member)
	{
		struct place here = {at, name, 0};
		load_member(l, group, prefix, &here, member, base);
	}
}

json_t *
file_value(const struct loader *l, const struct option *option)
{
	json_t *value = l->root;
	struct span rest = span_str(option->path);
	struct span member;
	while (value != NULL && span_next(&rest, '.', &member)) {
		char *name = mem_str(member);
		value = json_object_get(value, name);
		free(name);
	}
	return value;
}

/* --- what a reload does not change --- */

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

/* Each fixed option of the whole file as one digest of its JSON. */
static void
digest_fixed(struct loader *l)
{
	uint8_t *to = mem_zero(n_options * DIGEST_BYTES);
	l->conf->fixed = to;
	for (size_t i = 0; i < n_options; i++, to += DIGEST_BYTES) {
		const struct option *option = &options[i];
		if (option->group != GROUP_ROOT || !option->restart)
			continue;
		const char *preset = option_preset(option);
		json_t *value = file_value(l, option);
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

void
conf_needs_restart(const struct conf *running, const struct conf *next,
    struct complaints *complaints)
{
	struct loader l = {.complaints = complaints};
	for (size_t i = 0; i < n_options; i++)
		if (memcmp(running->fixed + i * DIGEST_BYTES,
			next->fixed + i * DIGEST_BYTES, DIGEST_BYTES) != 0)
			complain_option(&l, NULL, &options[i],
			    "a reload does not change this; start anew");
}
