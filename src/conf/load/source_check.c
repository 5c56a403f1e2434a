/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf/kinds.h"
#include "conf/load/complaints_private.h"
#include "conf/load/source_private.h"

/* One source on its way. */
struct checked {
	struct loader *l;
	const struct json_place *at;
	json_t *object; /* as the file has it */
	struct conf_source *source;
};

#define COMPLAIN(c, field, ...) \
	complaints_at_option((c)->l, (c)->at, SOURCE_OPTION(field), __VA_ARGS__)

static bool
reads_table(const struct checked *c)
{
	return c->source->broker->kind == BROKER_POSTGRES;
}

static bool
reads_topics(const struct checked *c)
{
	return c->source->broker->kind == BROKER_KAFKA;
}

/* --- members of other kinds --- */

/* What a source reads that has the option. */
static const char *
read_words(const struct option *option)
{
	unsigned kinds = kinds_of(option);
	if (kinds == 1u << BROKER_POSTGRES)
		return "a table";
	if (kinds == 1u << BROKER_KAFKA)
		return "topics";
	if (kinds == 1u << BROKER_STREAMS)
		return "a stream";
	return (kinds & 1u << BROKER_POSTGRES) != 0 ? "a table or topics"
						    : "a stream or topics";
}

static bool
has_option(const struct checked *c, const struct option *option)
{
	return loader_value_in(c->object, option) != NULL;
}

/* What is read of a broker of another kind, and is there; NULL: nothing. */
static const struct option *
option_read_elsewhere(const struct checked *c)
{
	enum broker_kind kind = c->source->broker->kind;
	for (unsigned k = 0; k < BROKER_KIND_COUNT_; k++) {
		const struct option *read = kinds_read((enum broker_kind)k);
		if (k != kind && has_option(c, read))
			return read;
	}
	return NULL;
}

/* other: what stands in the place of what is to be read; NULL: nothing. */
static void
check_read(const struct checked *c, const struct option *other)
{
	const struct conf_broker *broker = c->source->broker;
	const struct option *read = kinds_read(broker->kind);
	const char *kind = kinds_name(broker->kind);
	if (other != NULL)
		complaints_at_option(c->l, c->at, other,
		    "\"%s\" is for a broker of %s; \"%s\" is one of %s, "
		    "where it is \"%s\"",
		    other->path, kinds_words(other), broker->name, kind,
		    read->path);
	else if (!has_option(c, read))
		complaints_at(c->l, c->at,
		    "\"%s\" is missing: \"%s\" is a broker of %s",
		    read->path, broker->name, kind);
}

static void
check_members(const struct checked *c)
{
	enum broker_kind kind = c->source->broker->kind;
	const struct option *other = has_option(c, kinds_read(kind))
	    ? NULL
	    : option_read_elsewhere(c);
	check_read(c, other);
	for (size_t i = 0; i < n_options; i++) {
		const struct option *option = &options[i];
		if (option->group != GROUP_SOURCE ||
		    kinds_fit(option, kind) || !has_option(c, option))
			continue;
		/* What goes with the other one is no mistake of its own. */
		if (other == NULL || (kinds_of(option) & kinds_of(other)) == 0)
			complaints_at_option(c->l, c->at, option,
			    "only a source that reads %s has this",
			    read_words(option));
	}
}

/* --- what a message has --- */

static const char *
missing_variable(const struct checked *c, enum template_kind kind)
{
	switch (kind) {
	case TEMPLATE_KEY:
		return reads_topics(c)
		    ? NULL
		    : "{key}: the messages of this broker have no key";
	case TEMPLATE_ENTITY:
		if (!reads_table(c))
			return "{entity}: only the rows of a table have one";
		return c->source->columns.entity != NULL
		    ? NULL
		    : "{entity}: \"columns.entity\" must not be null";
	case TEMPLATE_TYPE:
		if (!reads_table(c))
			return "{type}: only the rows of a table have one";
		return c->source->columns.type != NULL
		    ? NULL
		    : "{type}: \"columns.type\" must not be null";
	case TEMPLATE_HEADER:
		return reads_table(c) && c->source->columns.headers == NULL
		    ? "{header:NAME}: \"columns.headers\" is needed too"
		    : NULL;
	case TEMPLATE_TEXT:
	case TEMPLATE_PATH:
	case TEMPLATE_JSON:
	case TEMPLATE_BARE:
	case TEMPLATE_ID:
		break;
	}
	return NULL;
}

static void
check_variables(const struct checked *c, const struct json_place *at,
    const struct template *t)
{
	unsigned said = 0;
	for (size_t i = 0; i < t->count; i++) {
		enum template_kind kind = t->pieces[i].kind;
		const char *wrong = missing_variable(c, kind);
		if (wrong != NULL && (said & 1u << kind) == 0)
			complaints_at(c->l, at, "%s", wrong);
		said |= 1u << kind;
	}
}

static void
check_templates(const struct checked *c)
{
	const struct conf_source *source = c->source;
	struct json_place request = {c->at, "request", 0};
	struct json_place path = {&request, "path", 0};
	struct json_place headers = {&request, "headers", 0};
	check_variables(c, &path, &source->request.path);
	for (size_t i = 0; i < source->request.n_headers; i++) {
		struct json_place at = {
		    &headers, source->request.headers[i].name, 0};
		check_variables(c, &at, &source->request.headers[i].value);
	}
}

static void
check_identity(const struct checked *c)
{
	static const char headers[] = "\"columns.headers\" is needed too";
	const struct conf_source *source = c->source;
	bool has_headers =
	    !reads_table(c) || source->columns.headers != NULL;
	if (source->key == SOURCE_KEY_HEADER && !has_headers)
		COMPLAIN(c, key, "%s", headers);
	if (source->order_by == SOURCE_ORDER_HEADER && !has_headers)
		COMPLAIN(c, order_by, "%s", headers);
	if (source->order_by == SOURCE_ORDER_KEY && !reads_topics(c))
		COMPLAIN(c, order_by,
		    "the messages of this broker have no key");
	if (source->order_by == SOURCE_ORDER_ENTITY && !reads_table(c))
		COMPLAIN(c, order_by,
		    "only the rows of a table have an entity");
	else if (source->order_by == SOURCE_ORDER_ENTITY &&
	    source->columns.entity == NULL)
		COMPLAIN(c, order_by,
		    "\"columns.entity\" must not be null");
}

/* What a finished row is told by must not be what the message says. */
static void
check_finish(const struct checked *c)
{
	const struct conf_columns *columns = &c->source->columns;
	const char *const others[] = {columns->id, columns->entity,
	    columns->type, columns->payload, columns->headers, columns->order};
	const char *set = c->source->finish.column;
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
		if (set != NULL && others[i] != NULL && !strcmp(set, others[i]))
			COMPLAIN(c, finish,
			    "the message itself is in the column \"%s\"", set);
}

static void
check_times(const struct checked *c)
{
	if (c->source->retry_first_ms > c->source->retry_most_ms)
		COMPLAIN(c, retry_first_ms, "must not be longer than \"%s\"",
		    SOURCE_OPTION(retry_most_ms)->path);
}

static void
check_one(const struct checked *c)
{
	/* What its object must have is only found where that is there. */
	if (json_is_object(c->object) &&
	    json_object_get(c->object, "request") == NULL)
		complaints_at(c->l, c->at, "\"request\" is missing");
	check_times(c);
	source_route_check(c->l, c->at, c->source);
	if (c->source->broker == NULL)
		return;
	check_members(c);
	check_templates(c);
	check_identity(c);
	check_finish(c);
}

void
source_check(struct loader *l)
{
	const struct option *option =
	    option_at(GROUP_ROOT, offsetof(struct conf, sources));
	struct json_place list = {NULL, option->path, 0};
	json_t *objects = loader_value(l, option);
	for (size_t i = 0; i < l->conf->n_sources; i++) {
		struct conf_source *source = &l->conf->sources[i];
		struct json_place at = {&list, source->name, 0};
		struct checked c = {
		    l, &at, json_object_get(objects, source->name), source};
		check_one(&c);
	}
	source_places_check(l, &list, objects);
}
