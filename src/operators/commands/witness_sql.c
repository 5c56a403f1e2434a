/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "operators/commands/print.h"
#include "operators/commands/witness_sql.h"

#ifdef HAVE_POSTGRES
#include "store/postgres/postgres_name.h"

/* One witness, its names quoted. */
struct witness_names {
	const char *table, *enforced_by;
	/*
	 * Who we are.  Where that is not known, its lines are comments: what is
	 * granted to somebody else is for a person to name.
	 */
	const char *gateway, *comment;
	/* What the gateway must be let into to see them; NULL: as it is. */
	const char *schema, *schema_by;
};

/* As whom the gateway logs in, by the URL; "" where another way says it. */
static struct span
user_of(const struct conf_broker *broker)
{
	const char *begin = strstr(broker->postgres, "://");
	if (begin == NULL)
		return SPAN("");
	begin += strlen("://");
	size_t len = strcspn(begin, "@/?");
	bool plain = begin[len] == '@' && memchr(begin, '%', len) == NULL;
	return plain ? span_of(begin, strcspn(begin, "@:")) : SPAN("");
}

/* The schema that the configuration names with a table; NULL: none. */
static const char *
schema_of(struct arena *arena, const char *table)
{
	struct span text = span_str(table), schema;
	return span_cut(&text, '.', &schema)
	    ? postgres_name_quoted(arena, schema, '"').ptr
	    : NULL;
}

static void
print_schema(const struct witness_names *n, const char *schema)
{
	if (schema != NULL)
		printf("%sGRANT USAGE ON SCHEMA %s TO %s;\n", n->comment,
		    schema, n->gateway);
}

static void
print_table(const struct witness_names *n)
{
	printf("CREATE TABLE %s (\n"
	       "  key_id text,\n"
	       "  attempt integer,\n"
	       "  verdict text NOT NULL DEFAULT 'done',\n"
	       "  status integer,\n"
	       "  headers jsonb,\n"
	       "  body bytea,\n"
	       "  at timestamptz NOT NULL DEFAULT now(),\n"
	       "  PRIMARY KEY (key_id, attempt),\n"
	       "  UNIQUE (key_id, attempt, verdict)\n"
	       ");\n\n"
	       "-- The gateway asks by inserting, and deletes what was revoked "
	       "when nobody needs\n-- it any more; it updates what was "
	       "started, and never what is done.\n"
	       "%sGRANT SELECT, INSERT, UPDATE (verdict), DELETE ON %s TO %s;"
	       "\n",
	    n->table, n->comment, n->table, n->gateway);
	print_schema(n, n->schema);
	printf("\n-- The API inserts. If it owns the table, let another role "
	       "own it. The second line\n-- is for an API that begins with "
	       "\"started\"; it needs no other right.\n"
	       "-- GRANT INSERT ON %s TO the_apis_role;\n"
	       "-- GRANT SELECT, UPDATE (verdict, status, headers, body) ON %s "
	       "TO the_apis_role;\n",
	    n->table, n->table);
}

/*
 * Payments that are there get a row each; no gateway asks of these.  An API
 * that writes no rows yet goes on with the columns, and not with the key: it is
 * exchanged in between.
 */
static void
print_enforced(const struct witness_names *n)
{
	const char *by = n->enforced_by;
	printf("\n-- The columns, with which the API that is there goes on; "
	       "this writes the table anew.\n"
	       "ALTER TABLE %s\n"
	       "  ADD COLUMN key_id text,\n"
	       "  ADD COLUMN attempt integer,\n"
	       "  ADD COLUMN verdict text GENERATED ALWAYS AS ('done') STORED;"
	       "\n", by);
	print_schema(n, n->schema_by);
	printf("COMMIT;\n\n"
	       "-- ==================== STOP HERE ====================\n"
	       "-- Have the API write both rows now, and whoever else writes "
	       "into %s: behind the\n-- next step, what has no row in the "
	       "witness is refused.\n"
	       "BEGIN;\n"
	       "UPDATE %s SET key_id = 'before-' || gen_random_uuid(), "
	       "attempt = 1\n  WHERE key_id IS NULL;\n"
	       "INSERT INTO %s (key_id, attempt) SELECT key_id, attempt FROM "
	       "%s\n  ON CONFLICT DO NOTHING;\n"
	       "ALTER TABLE %s\n"
	       "  ALTER COLUMN key_id SET NOT NULL,\n"
	       "  ALTER COLUMN attempt SET NOT NULL,\n"
	       "  ADD FOREIGN KEY (key_id, attempt, verdict)\n"
	       "    REFERENCES %s (key_id, attempt, verdict)\n"
	       "    DEFERRABLE INITIALLY DEFERRED,\n"
	       "  -- Where one request makes several rows, an index in its "
	       "place:\n"
	       "  ADD UNIQUE (key_id, attempt);\n",
	    by, by, n->table, by, by, n->table);
}

static void
print_witness(const struct conf_route *route, bool table, bool enforced)
{
	const struct conf_witness *witness = &route->idempotency->witness;
	struct arena *arena = arena_new();
	struct span user = user_of(witness->broker);
	const struct witness_names n = {
	    .table = postgres_name_table(arena, witness->table),
	    .enforced_by = enforced
		? postgres_name_table(arena, witness->enforced_by)
		: NULL,
	    .gateway = user.len > 0
		? postgres_name_quoted(arena, user, '"').ptr
		: "the_gateways_role",
	    .comment = user.len > 0 ? "" : "-- ",
	    .schema = schema_of(arena, witness->table),
	    .schema_by = enforced
		? schema_of(arena, witness->enforced_by)
		: NULL,
	};
	printf("-- For the database of the broker \"%s\". Where an API is at "
	       "work, not all at once:\n-- see \"The order of things\" in "
	       "onceproxy-unknown(7).\nBEGIN;\n", witness->broker->name);
	if (table)
		print_table(&n);
	if (enforced)
		print_enforced(&n);
	puts("COMMIT;");
	arena_free(&arena);
}

static bool
has_witness(const struct conf_route *route, const char *name)
{
	return conf_has_witness(route) &&
	    (name == NULL || !strcmp(route->name, name));
}

#endif

int
witness_sql_run(const struct command_line *line)
{
	const char *name = line->n_names > 0 ? line->names[0] : NULL;
	const struct conf *conf = print_unless_valid(line->file);
	bool some = false;
	if (conf == NULL)
		return 1;
#ifdef HAVE_POSTGRES
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_route *route = &conf->routes[i];
		if (!has_witness(route, name))
			continue;
		const struct conf_witness *own = &route->idempotency->witness;
		const char *by = own->enforced_by;
		bool table = true, enforced = by != NULL;
		for (size_t k = 0; k < i; k++) {
			if (!has_witness(&conf->routes[k], name))
				continue;
			const struct conf_witness *other =
			    &conf->routes[k].idempotency->witness;
			bool same = other->broker == own->broker &&
			    !strcmp(other->table, own->table);
			table &= !same;
			enforced &= !same || other->enforced_by == NULL ||
			    strcmp(other->enforced_by, by) != 0;
		}
		some = true;
		if (table || enforced)
			print_witness(route, table, enforced);
	}
#endif
	if (!some)
		fprintf(stderr, "onceproxy witness: no route%s%s has a witness "
		    "(on_unknown)\n", name != NULL ? " named " : "",
		    name != NULL ? name : "");
	conf_unref(&conf);
	return some ? 0 : 1;
}
