/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/postgres/postgres_name.h"
#include "store/postgres/postgres_witness.h"

const char postgres_witness_begin[] =
    "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/* remote_apply is more than on; a gateway that froze holds no locks for long.
 */
const char postgres_witness_settings[] =
    "SELECT set_config('lock_timeout', $1::text, true), "
    "set_config('synchronous_commit', "
    "CASE current_setting('synchronous_commit') WHEN 'remote_apply' "
    "THEN 'remote_apply' ELSE 'on' END, true), "
    "set_config('statement_timeout', '6000', true), "
    "set_config('idle_in_transaction_session_timeout', '10000', true)";

struct postgres_witness
postgres_witness_make(struct arena *arena, const char *table)
{
	const char *name = postgres_name_table(arena, table);
	/* Who returns a column puts in nothing that he would not see. */
	return (struct postgres_witness){
	    .revoke = arena_printf(arena,
		"INSERT INTO %s (key_id, attempt, verdict) "
		"VALUES ($1::text, $2::text::integer, 'revoked') "
		"ON CONFLICT DO NOTHING RETURNING attempt",
		name).ptr,
	    .revoke_started = arena_printf(arena,
		"UPDATE %s SET verdict = 'revoked' WHERE key_id = $1::text "
		"AND attempt = $2::text::integer AND verdict = 'started'",
		name).ptr,
	    .read = arena_printf(arena,
		"SELECT verdict::text, status::text, "
		"left(headers::text, %d), substr(body, 1, $3::text::integer), "
		"octet_length(body)::text, key_id::text, attempt::text "
		"FROM %s WHERE key_id = $1::text "
		"AND attempt = $2::text::integer",
		POSTGRES_WITNESS_HEADERS + 1, name).ptr,
	    .look = arena_printf(arena,
		"SELECT k.place::text, w.verdict::text "
		"FROM unnest($1::text::text[], $2::text::integer[]) "
		"WITH ORDINALITY AS k (key_id, attempt, place) "
		"LEFT JOIN %s AS w "
		"ON w.key_id = k.key_id AND w.attempt = k.attempt",
		name).ptr,
	    .clean = arena_printf(arena,
		"DELETE FROM %s WHERE ctid = ANY (ARRAY("
		"SELECT ctid FROM %s WHERE verdict = 'revoked' AND at < now() "
		"- $1::text::double precision * interval '1 ms' "
		"LIMIT $2::text::integer)) AND verdict = 'revoked' "
		/* A ctid names a row of each part of the table. */
		"AND at < now() "
		"- $1::text::double precision * interval '1 ms'",
		name, name).ptr,
	};
}

/*
 * An index counts where it is unique at once, and for all rows.  A constraint
 * counts where all rows have been proven, and nobody has switched it off.
 */
const char postgres_witness_catalogue[] =
    "WITH one_of_each AS (SELECT FROM pg_index AS i "
    "WHERE i.indrelid = to_regclass($1::text) "
    "AND i.indisunique AND i.indisvalid AND i.indimmediate "
    "AND i.indpred IS NULL AND i.indnkeyatts = 2 "
    "AND ARRAY['attempt', 'key_id'] = ("
    "SELECT array_agg(a.attname::text ORDER BY a.attname::text COLLATE \"C\") "
    "FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k (n, place) "
    "JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = k.n "
    "WHERE k.place <= 2)) "
    "SELECT CASE "
    "WHEN w.oid IS NULL THEN 'there is no such table' "
    "WHEN w.relkind NOT IN ('r', 'p') THEN 'it is no table' "
    "WHEN w.relpersistence <> 'p' THEN 'it is unlogged, or temporary' "
    "WHEN NOT EXISTS (SELECT FROM one_of_each) "
    "THEN 'it has no primary key (key_id, attempt)' "
    "END, "
    "CASE "
    "WHEN n.enforced_by IS NULL THEN NULL "
    "WHEN e.oid IS NULL THEN 'there is no such table' "
    "WHEN e.relkind NOT IN ('r', 'p') THEN 'it is no table' "
    "WHEN EXISTS (SELECT FROM pg_inherits AS h "
    "JOIN pg_class AS c ON c.oid = h.inhrelid "
    "WHERE h.inhparent = e.oid AND NOT c.relispartition) "
    "THEN 'tables inherit from it, and no foreign key with that' "
    "WHEN 2 > (SELECT count(*) FROM pg_attribute AS a "
    "WHERE a.attrelid = e.oid AND a.attnotnull "
    "AND a.attname IN ('key_id', 'attempt')) "
    "THEN 'its columns key_id and attempt must be there, NOT NULL' "
    "WHEN NOT EXISTS (SELECT FROM pg_attribute AS a "
    "JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum "
    "WHERE a.attrelid = e.oid AND a.attname = 'verdict' "
    "AND a.attgenerated = 's' "
    "AND pg_get_expr(d.adbin, d.adrelid) = '''done''::text') "
    "THEN 'its column verdict must be text GENERATED ALWAYS AS "
    "(''done'') STORED' "
    "WHEN NOT EXISTS (SELECT FROM pg_constraint AS c "
    "WHERE c.contype = 'f' AND c.conrelid = e.oid AND c.confrelid = w.oid "
    "AND c.convalidated "
    "AND coalesce(to_jsonb(c) ->> 'conenforced', 'true') = 'true' "
    "AND ARRAY['attempt>attempt', 'key_id>key_id', 'verdict>verdict'] = ("
    "SELECT array_agg(f.attname || '>' || t.attname "
    "ORDER BY f.attname::text COLLATE \"C\") "
    "FROM unnest(c.conkey, c.confkey) AS k (from_n, to_n) "
    "JOIN pg_attribute AS f ON f.attrelid = e.oid AND f.attnum = k.from_n "
    "JOIN pg_attribute AS t ON t.attrelid = w.oid AND t.attnum = k.to_n) "
    "AND NOT EXISTS (SELECT FROM pg_trigger AS g "
    "WHERE g.tgconstraint = c.oid AND g.tgenabled NOT IN ('O', 'A'))) "
    "THEN 'it has no valid and enabled foreign key "
    "(key_id, attempt, verdict) to the witness' "
    "END, "
    "has_table_privilege(w.oid, 'DELETE')::text "
    "FROM (SELECT to_regclass($1::text) AS witness, "
    "$2::text AS enforced_by) AS n "
    "LEFT JOIN pg_class AS w ON w.oid = n.witness "
    "LEFT JOIN pg_class AS e ON e.oid = to_regclass(n.enforced_by)";
