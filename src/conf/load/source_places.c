/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf/kinds.h"
#include "conf/load/rule_private.h"
#include "conf/load/source_private.h"
#include "conf/name.h"

enum which { READ, RESULTS, DEAD_LETTERS, OUTCOMES };

/* A stream, table or topic of a broker. */
struct message_place {
	struct json_place at; /* of the source, or of the relay */
	const struct conf_broker *broker;
	const struct conf_source *source; /* NULL: a relay brings OUTCOMES */
	enum which which;
	const char *path; /* of the member that has it */
	const char *name;
};

struct message_places {
	struct message_place *list;
	size_t count;
};

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

/* The schema that a table has by default is not written by everybody. */
static const char *
table_name(const char *name)
{
	static const char usual[] = "public.";
	size_t len = sizeof usual - 1;
	return !strncmp(name, usual, len) ? name + len : name;
}

/* As far as the file shows it. */
static bool
is_same_place(
    const struct message_place *one, const struct message_place *other)
{
	const struct conf_broker *a = one->broker, *b = other->broker;
	bool table = a->kind == BROKER_POSTGRES;
	if (a->kind != b->kind ||
	    strcmp(table ? table_name(one->name) : one->name,
		table ? table_name(other->name) : other->name) != 0)
		return false;
	if (a == b)
		return true;
	if (a->kind == BROKER_STREAMS)
		return same_redis(&a->redis, &b->redis);
	if (a->kind == BROKER_POSTGRES)
		return a->postgres != NULL && b->postgres != NULL &&
		    !strcmp(a->postgres, b->postgres);
	/* Each of Kafka's servers leads to all of them. */
	for (size_t i = 0; i < a->kafka.count; i++)
		for (size_t k = 0; k < b->kafka.count; k++)
			if (!strcasecmp(a->kafka.list[i], b->kafka.list[k]))
				return true;
	return false;
}

/* --- what each source reads and writes, and each relay writes --- */

/* A name of NULL: there is none. */
static void
add_place(struct message_places *places, const struct json_place *at,
    const struct conf_source *source, enum which which, const char *name)
{
	const char *const paths[] = {
	    [READ] = kinds_all[source->broker->kind].read,
	    [RESULTS] = "results",
	    [DEAD_LETTERS] = "dead_letters"};
	if (name != NULL)
		places->list[places->count++] = (struct message_place){
		    *at, source->broker, source, which, paths[which], name};
}

/* Where it does not say where its dead letters go, it is filled in. */
static void
add_places(struct loader *l, struct message_places *places,
    const struct json_place *at, struct conf_source *source)
{
	bool kafka = source->broker->kind == BROKER_KAFKA;
	bool table = source->broker->kind == BROKER_POSTGRES;
	const char *read = table ? source->table : source->stream;
	if (source->dead_letters == NULL && !kafka && read != NULL) {
		source->dead_letters =
		    conf_usual_dead_letters(l->conf->arena, source);
		/* PostgreSQL would cut a longer name, and meet another one. */
		const char *dot = strchr(source->dead_letters, '.');
		if (table &&
		    strlen(dot ? dot + 1 : source->dead_letters) >
			IDENTIFIER_MAX)
			complaints_at_member(l, at, "table",
			    "\"%s\" is needed too: \"%s\" is too long",
			    "dead_letters", source->dead_letters);
	}
	if (!kafka)
		add_place(places, at, source, READ, read);
	/* Without a place of their own, they go to "TOPIC.dead" of each. */
	for (size_t i = 0; kafka && i < source->topics.count; i++) {
		const char *topic = source->topics.list[i];
		add_place(places, at, source, READ, topic);
		if (source->dead_letters == NULL)
			add_place(places, at, source, DEAD_LETTERS,
			    loader_printf(l, "%s.dead", topic));
	}
	add_place(places, at, source, RESULTS, source->results);
	add_place(places, at, source, DEAD_LETTERS, source->dead_letters);
}

/* --- what must differ --- */

/* Why no place may be the other one; NULL: it may. */
static const char *
words_of_same(const struct message_place *a, const struct message_place *b)
{
	if (b->which == OUTCOMES)
		return NULL;
	if (a->which != READ && b->which == READ)
		return "is read by the source";
	if (a->which == OUTCOMES && b->which == RESULTS)
		return "has the results of the source";
	if (a->which == OUTCOMES)
		return "has the dead letters of the source";
	if (a->which == RESULTS && b->which == DEAD_LETTERS)
		return "has the dead letters of";
	if (a->which != READ || b->which != READ ||
	    a->source->index <= b->source->index)
		return NULL;
	if (a->broker->kind == BROKER_POSTGRES)
		return "is read already by the source";
	return !strcmp(a->source->group, b->source->group)
	    ? "is read already, by the same group, by the source"
	    : NULL;
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
 * Whether it is the store's, which tells of each execution there: a source that
 * reads it would make one of each of its own, without an end.
 */
static bool
is_of_store(const struct conf_store *store, const struct message_place *place)
{
	const struct conf_source *source = place->source;
	if (source == NULL || source->broker->kind != BROKER_STREAMS ||
	    store->prefix == NULL ||
	    !same_redis(&source->broker->redis, &store->redis))
		return false;
	/* What is left out follows from what is read. */
	bool follows = place->which != READ && source->stream != NULL &&
	    is_name_of_store(store, source->stream);
	return !follows && is_name_of_store(store, place->name);
}

/* --- all of them --- */

static void
check_place(struct loader *l, const struct message_place *place,
    const struct message_places *all)
{
	const struct conf_source *source = place->source;
	for (size_t i = 0; i < all->count; i++) {
		const struct message_place *other = &all->list[i];
		const char *words = words_of_same(place, other);
		if (words != NULL && is_same_place(place, other))
			complaints_at_member(l, &place->at, place->path,
			    "\"%s\" %s \"%s\"", place->name, words,
			    other->source->name);
	}
	if (is_of_store(&l->conf->store, place))
		complaints_at_member(l, &place->at, place->path,
		    "\"%s\" is one of the store's own keys", place->name);
	if (source == NULL || place->which == READ)
		return;
	/* {"stream"} is for streams, {"table"} for tables, and so on. */
	const json_t *value = json_object_get(
	    json_object_get(loader_value(l->root, "sources"), place->at.member),
	    place->path);
	bool of_other = false;
	for (unsigned k = 0; k < BROKER_KIND_COUNT_; k++)
		of_other |= k != place->broker->kind &&
		    json_object_get(value, kinds_all[k].put) != NULL;
	if (of_other)
		complaints_at_member(l, &place->at, place->path,
		    "must be {\"%s\": NAME}",
		    kinds_all[place->broker->kind].put);
	if (source->stream == NULL || source->broker->redis.cluster.count == 0)
		return;
	struct span tag = name_slot_tag(span_str(source->stream));
	/* A name in the slot of the stream, where there may be one. */
	const char *beside = tag.len > 0 && memchr(tag.ptr, '}', tag.len)
	    ? "{TAG}:dead\" of a stream \"{TAG}"
	    : loader_printf(l, "{%.*s}%s", SPAN_FMT(tag),
		  place->which == RESULTS ? ":results" : ":dead");
	if (!span_eq(name_slot_tag(span_str(place->name)), tag))
		complaints_at_member(l, &place->at, place->path,
		    "on a cluster \"%s\" must share the slot of the stream, as "
		    "\"%s\" does", place->name, beside);
}

void
source_places_check(struct loader *l)
{
	struct conf *conf = l->conf;
	struct json_place sources = {NULL, "sources", 0};
	struct json_place relays = {NULL, "relays", 0};
	struct message_places all = {NULL, 0};
	size_t most = conf->n_relays;
	for (size_t i = 0; i < conf->n_sources; i++)
		most += 3 + 2 * conf->sources[i].topics.count;
	all.list = loader_alloc(l, most * sizeof *all.list);
	for (size_t i = 0; i < conf->n_sources; i++) {
		struct conf_source *source = &conf->sources[i];
		struct json_place at = {&sources, source->name, 0};
		if (source->broker != NULL)
			add_places(l, &all, &at, source);
	}
	for (size_t i = 0; i < conf->n_relays; i++) {
		const struct conf_relay *relay = &conf->relays[i];
		const struct conf_broker *broker = relay->broker;
		bool kafka = broker != NULL && broker->kind == BROKER_KAFKA;
		const char *name = kafka ? relay->topic : relay->table;
		if (relay->kind != RELAY_WEBHOOK && broker != NULL &&
		    name != NULL)
			all.list[all.count++] = (struct message_place){
			    {&relays, relay->name, 0}, broker, NULL, OUTCOMES,
			    kafka ? "topic" : "table", name};
	}
	for (size_t i = 0; i < all.count; i++)
		check_place(l, &all.list[i], &all);
}
