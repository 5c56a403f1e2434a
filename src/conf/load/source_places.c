/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "conf/load/complaints_private.h"
#include "conf/load/source_private.h"

/* Streams, tables or topics of a broker, as their names. */
struct message_place {
	const struct conf_source *source;
	const struct option *option;
	const char *name; /* NULL: none, or those of its topics */
	const char *end;  /* behind the names of topics; NULL: none */
};

enum { READ, RESULTS, DEAD_LETTERS, PLACES };

/* What one of them is called in the file. */
static const char *
word_of(enum broker_kind kind)
{
	static const char *const words[BROKER_KIND_COUNT_] = {
	    [BROKER_STREAMS] = "stream",
	    [BROKER_POSTGRES] = "table",
	    [BROKER_KAFKA] = "topic",
	};
	return words[kind];
}

static bool
is_table(const struct conf_source *source)
{
	return source->broker->kind == BROKER_POSTGRES;
}

static bool
is_kafka(const struct conf_source *source)
{
	return source->broker->kind == BROKER_KAFKA;
}

static void
set_read(struct message_place *place)
{
	const struct conf_source *source = place->source;
	if (is_kafka(source)) {
		place->option = SOURCE_OPTION(topics);
		place->end = "";
		return;
	}
	place->option =
	    is_table(source) ? SOURCE_OPTION(table) : SOURCE_OPTION(stream);
	place->name = is_table(source) ? source->table : source->stream;
}

static struct message_place
place_of(const struct conf_source *source, unsigned which)
{
	struct message_place place = {source, NULL, NULL, NULL};
	switch (which) {
	case READ:
		set_read(&place);
		break;
	case RESULTS:
		place.option = SOURCE_OPTION(results);
		place.name = source->results;
		break;
	default:
		place.option = SOURCE_OPTION(dead_letters);
		place.name = source->dead_letters;
		if (is_kafka(source) && place.name == NULL)
			place.end = ".dead";
		break;
	}
	return place;
}

/* The name of that number; NULL: there are no more.  The caller frees it. */
static char *
name_at(const struct message_place *place, size_t i)
{
	const struct strings *topics = &place->source->topics;
	if (place->end != NULL)
		return i < topics->count
		    ? mem_printf("%s%s", topics->list[i], place->end)
		    : NULL;
	return i == 0 && place->name != NULL ? mem_str(span_str(place->name))
					     : NULL;
}

/* --- whether two are one --- */

static bool
same_strings(const struct strings *a, const struct strings *b)
{
	if (a->count == 0 || a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (strcasecmp(a->list[i], b->list[i]) != 0)
			return false;
	return true;
}

static bool
shares_server(const struct strings *a, const struct strings *b)
{
	for (size_t i = 0; i < a->count; i++)
		for (size_t k = 0; k < b->count; k++)
			if (!strcasecmp(a->list[i], b->list[k]))
				return true;
	return false;
}

static bool
same_redis(const struct conf_redis *one, const struct conf_redis *other)
{
	if (one->address.text != NULL && other->address.text != NULL)
		return one->db == other->db &&
		    !strcmp(one->address.text, other->address.text);
	if (same_strings(&one->sentinels, &other->sentinels))
		return one->master != NULL && other->master != NULL &&
		    !strcmp(one->master, other->master);
	return same_strings(&one->cluster, &other->cluster);
}

/* As far as the file shows it. */
static bool
same_server(const struct conf_broker *a, const struct conf_broker *b)
{
	if (a == b)
		return true;
	if (a->kind != b->kind)
		return false;
	if (a->kind == BROKER_KAFKA)
		return shares_server(&a->kafka, &b->kafka);
	if (a->kind == BROKER_POSTGRES)
		return a->postgres != NULL && b->postgres != NULL &&
		    !strcmp(a->postgres, b->postgres);
	return same_redis(&a->redis, &b->redis);
}

/* The schema that a table has by default is not written by everybody. */
static const char *
table_name(const char *name)
{
	static const char usual[] = "public.";
	size_t len = sizeof usual - 1;
	return !strncmp(name, usual, len) ? name + len : name;
}

static bool
has_place_name(const struct message_place *place, const char *name)
{
	bool has = false;
	char *other;
	for (size_t i = 0; !has && (other = name_at(place, i)) != NULL; i++) {
		has = is_table(place->source)
		    ? !strcmp(table_name(name), table_name(other))
		    : !strcmp(name, other);
		free(other);
	}
	return has;
}

/* The first name that both have; NULL: none.  The caller frees it. */
static char *
name_of_both(const struct message_place *a, const struct message_place *b)
{
	char *name;
	if (!same_server(a->source->broker, b->source->broker))
		return NULL;
	for (size_t i = 0; (name = name_at(a, i)) != NULL; i++) {
		if (has_place_name(b, name))
			return name;
		free(name);
	}
	return NULL;
}

/* --- what must differ --- */

/*
 * Complains where two places are one.  Only what the file has can be wrong; the
 * default has its source's place.
 */
static void
check_differ(struct loader *l, const struct json_place *list,
    const struct message_place *place, const struct message_place *other,
    const char *words)
{
	struct json_place at = {list, place->source->name, 0};
	char *name = name_of_both(place, other);
	if (name != NULL)
		complaints_at_option(l, &at, place->option,
		    "\"%s\" %s \"%s\"", name, words, other->source->name);
	free(name);
}

/* What one source reads, and what another one (or itself) puts there. */
static void
check_loop(struct loader *l, const struct json_place *list,
    const struct conf_source *writer, const struct conf_source *reader)
{
	struct message_place read = place_of(reader, READ);
	for (unsigned which = RESULTS; which < PLACES; which++) {
		struct message_place put = place_of(writer, which);
		check_differ(l, list, &put, &read, "is read by the source");
	}
}

static void
check_mixed(struct loader *l, const struct json_place *list,
    const struct conf_source *a, const struct conf_source *b)
{
	struct message_place results = place_of(a, RESULTS);
	struct message_place dead = place_of(b, DEAD_LETTERS);
	check_differ(l, list, &results, &dead, "has the dead letters of");
}

static void
check_twice(struct loader *l, const struct json_place *list,
    const struct conf_source *a, const struct conf_source *b)
{
	struct message_place read = place_of(a, READ);
	struct message_place other = place_of(b, READ);
	if (!is_table(a) && strcmp(a->group, b->group) != 0)
		return;
	check_differ(l, list, &read, &other,
	    is_table(a) ? "is read already by the source"
			: "is read already, by the same group, by the source");
}

/* Whether the store names its own keys so: PREFIX:{12}:... */
static bool
is_name_of_store(const struct conf_store *store, const char *name)
{
	size_t len = strlen(store->prefix);
	if (strncmp(name, store->prefix, len) != 0 ||
	    strncmp(name + len, ":{", 2) != 0)
		return false;
	const char *shard = name + len + 2;
	size_t digits = strspn(shard, "0123456789");
	return digits > 0 && !strncmp(shard + digits, "}:", 2);
}

/*
 * The store's own streams tell of each execution: a source that reads them
 * would make one of each of its own, without an end.
 */
static void
check_store(struct loader *l, const struct json_place *list,
    const struct conf_source *source)
{
	const struct conf_store *store = &l->conf->store;
	if (source->broker->kind != BROKER_STREAMS || store->prefix == NULL ||
	    !same_redis(&source->broker->redis, &store->redis))
		return;
	for (unsigned which = READ; which < PLACES; which++) {
		struct message_place place = place_of(source, which);
		struct json_place at = {list, source->name, 0};
		if (place.name == NULL || !is_name_of_store(store, place.name))
			continue;
		complaints_at_option(l, &at, place.option,
		    "\"%s\" is one of the store's own keys", place.name);
		return; /* what is left out follows from what is read */
	}
}

/* --- slots --- */

/* What the slot of a key is made from (the Cluster specification). */
static struct span
hash_tag(const char *key)
{
	struct span all = span_str(key);
	const char *open = strchr(key, '{');
	const char *close = open ? strchr(open + 1, '}') : NULL;
	if (close == NULL || close == open + 1)
		return all;
	return span_of(open + 1, (size_t)(close - open) - 1);
}

/* A name in the slot of the stream, for the cure; the caller frees it. */
static char *
name_beside(const struct conf_source *source, unsigned which)
{
	struct span tag = hash_tag(source->stream);
	const char *end = which == RESULTS ? ":results" : ":dead";
	if (memchr(tag.ptr, '}', tag.len) != NULL)
		return mem_str(SPAN("{TAG}:dead\" of a stream \"{TAG}"));
	return mem_printf("{%.*s}%s", SPAN_FMT(tag), end);
}

static void
check_slots(struct loader *l, const struct json_place *list,
    const struct conf_source *source)
{
	if (source->stream == NULL || source->broker->redis.cluster.count == 0)
		return;
	struct json_place at = {list, source->name, 0};
	for (unsigned which = RESULTS; which < PLACES; which++) {
		struct message_place put = place_of(source, which);
		if (put.name == NULL ||
		    span_eq(hash_tag(put.name), hash_tag(source->stream)))
			continue;
		char *beside = name_beside(source, which);
		complaints_at_option(l, &at, put.option,
		    "on a cluster \"%s\" must share the slot of the stream, as "
		    "\"%s\" does",
		    put.name, beside);
		free(beside);
	}
}

/* --- one source --- */

static bool
has_other_word(const json_t *value, enum broker_kind kind)
{
	for (unsigned k = 0; k < BROKER_KIND_COUNT_; k++)
		if (k != kind &&
		    json_object_get(value, word_of((enum broker_kind)k)) !=
			NULL)
			return true;
	return false;
}

/* {"stream"} is for streams, {"table"} for tables, {"topic"} for topics. */
static void
check_kind(struct loader *l, const struct json_place *list, json_t *object,
    const struct conf_source *source)
{
	enum broker_kind kind = source->broker->kind;
	struct json_place at = {list, source->name, 0};
	for (unsigned which = RESULTS; which < PLACES; which++) {
		const struct option *option = place_of(source, which).option;
		json_t *value = loader_value_in(object, option);
		if (place_of(source, which).name != NULL &&
		    has_other_word(value, kind))
			complaints_at_option(l, &at, option,
			    "must be {\"%s\": NAME}", word_of(kind));
	}
}

/* PostgreSQL would cut a name that is too long, and might meet another one. */
static bool
fits_identifier(const char *table)
{
	const char *dot = strchr(table, '.');
	return strlen(dot != NULL ? dot + 1 : table) <= IDENTIFIER_MAX;
}

static void
fill_in_dead_letters(struct loader *l, const struct json_place *list,
    struct conf_source *source)
{
	struct message_place read = place_of(source, READ);
	struct json_place at = {list, source->name, 0};
	if (source->dead_letters != NULL || read.name == NULL)
		return; /* or "TOPIC.dead" of each topic */
	source->dead_letters = conf_usual_dead_letters(source);
	if (is_table(source) && !fits_identifier(source->dead_letters))
		complaints_at_option(l, &at, read.option,
		    "\"%s\" is needed too: \"%s\" is too long",
		    SOURCE_OPTION(dead_letters)->path, source->dead_letters);
}

void
source_places_check(
    struct loader *l, const struct json_place *list, json_t *objects)
{
	struct conf *conf = l->conf;
	for (size_t i = 0; i < conf->n_sources; i++) {
		struct conf_source *source = &conf->sources[i];
		if (source->broker == NULL)
			continue;
		fill_in_dead_letters(l, list, source);
		check_kind(l, list, json_object_get(objects, source->name),
		    source);
		check_store(l, list, source);
		check_slots(l, list, source);
	}
	for (size_t i = 0; i < conf->n_sources; i++)
		for (size_t k = 0; k < conf->n_sources; k++) {
			const struct conf_source *a = &conf->sources[i];
			const struct conf_source *b = &conf->sources[k];
			if (a->broker == NULL || b->broker == NULL)
				continue;
			check_loop(l, list, a, b);
			check_mixed(l, list, a, b);
			if (k < i)
				check_twice(l, list, a, b);
		}
}
