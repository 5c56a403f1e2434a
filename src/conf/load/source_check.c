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
reads(const struct checked *c, enum broker_kind kind)
{
	return c->source->broker->kind == kind;
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

static void
check_members(const struct checked *c)
{
	const struct conf_broker *broker = c->source->broker;
	const struct option *read = kinds_read(broker->kind);
	const char *kind = kinds_name(broker->kind);
	/* What stands in the place of what is to be read. */
	const struct option *other = NULL;
	for (unsigned k = BROKER_KIND_COUNT_; k-- > 0;)
		if (!has_option(c, read) &&
		    has_option(c, kinds_read((enum broker_kind)k)))
			other = kinds_read((enum broker_kind)k);
	if (other != NULL)
		complaints_at_option(c->l, c->at, other, "\"%s\" is for a "
		    "broker of %s; \"%s\" is one of %s, where it is \"%s\"",
		    other->path, kinds_words(other), broker->name, kind,
		    read->path);
	else if (!has_option(c, read))
		complaints_at(c->l, c->at,
		    "\"%s\" is missing: \"%s\" is a broker of %s", read->path,
		    broker->name, kind);
	for (size_t i = 0; i < n_options; i++) {
		const struct option *option = &options[i];
		if (option->group != GROUP_SOURCE ||
		    kinds_fit(option, broker->kind) || !has_option(c, option))
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
	const struct conf_columns *columns = &c->source->columns;
	bool table = reads(c, BROKER_POSTGRES);
	if (kind == TEMPLATE_KEY && !reads(c, BROKER_KAFKA))
		return "{key}: the messages of this broker have no key";
	if (kind == TEMPLATE_ENTITY && !table)
		return "{entity}: only the rows of a table have one";
	if (kind == TEMPLATE_ENTITY && columns->entity == NULL)
		return "{entity}: \"columns.entity\" must not be null";
	if (kind == TEMPLATE_TYPE && !table)
		return "{type}: only the rows of a table have one";
	if (kind == TEMPLATE_TYPE && columns->type == NULL)
		return "{type}: \"columns.type\" must not be null";
	return kind == TEMPLATE_HEADER && table && columns->headers == NULL
	    ? "{header:NAME}: \"columns.headers\" is needed too"
	    : NULL;
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
	bool table = reads(c, BROKER_POSTGRES);
	bool has_headers = !table || source->columns.headers != NULL;
	if (source->key == SOURCE_KEY_HEADER && !has_headers)
		COMPLAIN(c, key, "%s", headers);
	if (source->order_by == SOURCE_ORDER_HEADER && !has_headers)
		COMPLAIN(c, order_by, "%s", headers);
	if (source->order_by == SOURCE_ORDER_KEY && !reads(c, BROKER_KAFKA))
		COMPLAIN(c, order_by,
		    "the messages of this broker have no key");
	if (source->order_by == SOURCE_ORDER_ENTITY && !table)
		COMPLAIN(c, order_by,
		    "only the rows of a table have an entity");
	else if (source->order_by == SOURCE_ORDER_ENTITY &&
	    source->columns.entity == NULL)
		COMPLAIN(c, order_by,
		    "\"columns.entity\" must not be null");
}

static void
check_one(const struct checked *c)
{
	const struct conf_source *source = c->source;
	const struct conf_columns *columns = &source->columns;
	const char *const all[] = {columns->id, columns->entity,
	    columns->type, columns->payload, columns->headers, columns->order};
	const char *set = source->finish.column;
	/* What its object must have is only found where that is there. */
	if (json_is_object(c->object) &&
	    json_object_get(c->object, "request") == NULL)
		complaints_at(c->l, c->at, "\"request\" is missing");
	if (source->retry_first_ms > source->retry_most_ms)
		COMPLAIN(c, retry_first_ms, "must not be longer than \"%s\"",
		    SOURCE_OPTION(retry_most_ms)->path);
	source_route_check(c->l, c->at, source);
	if (source->broker == NULL)
		return;
	check_members(c);
	check_templates(c);
	check_identity(c);
	/* What a finished row is told by is not what the message says. */
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (set != NULL && all[i] != NULL && !strcmp(set, all[i]))
			COMPLAIN(c, finish,
			    "the message itself is in the column \"%s\"", set);
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
