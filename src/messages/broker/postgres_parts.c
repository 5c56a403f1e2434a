/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/loop/log.h"
#include "base/random.h"
#include "messages/broker/postgres_private.h"

/*
 * The rows are parted by a hash (postgres_sql.c), and a part is read by the one
 * session that has its advisory lock, (class, part).  Every reader shares one
 * lock more, (class, MEMBER), so that pg_locks says how many there are: each
 * takes its share of the parts that are nobody's, and lets go of what it has
 * beyond that.  A part is let go of when no row of it is in hand, so that
 * whoever has it next finds nothing of it at work; when a session dies, its
 * parts are free at once, and what it had at work is settled by the records:
 * it finishes nothing of a part that it does not get back, since whoever has
 * that would miss the rows.
 */
enum { LOOK_MS = 1000, MEMBER = 1000 };

static const char member_sql[] =
    "SELECT pg_advisory_lock_shared($1::text::int, $2::text::int)";
static const char look_sql[] =
    "SELECT objid::text, count(*)::text, "
    "bool_or(pid = pg_backend_pid())::text FROM pg_locks "
    "WHERE locktype = 'advisory' AND objsubid = 2 AND granted "
    "AND classid = $1::text::oid AND database = "
    "(SELECT oid FROM pg_database WHERE datname = current_database()) "
    "GROUP BY objid";
static const char lock_sql[] =
    "SELECT p::text FROM unnest($2::text::int[]) AS p "
    "WHERE pg_try_advisory_lock($1::text::int, p)";
static const char unlock_sql[] =
    "SELECT p::text FROM unnest($2::text::int[]) AS p "
    "WHERE pg_advisory_unlock($1::text::int, p)";

static struct postgres_reader *
reader_of_parts(struct postgres_batch *batch)
{
	return CONTAINER_OF(batch, struct postgres_reader, parts.batch);
}

static void
say_parts(struct postgres_reader *reader)
{
	reader->parts.changes++;
	struct logline line = log_begin(EV_source_parts);
	log_str(&line, "source", reader->source->name);
	log_int(&line, "parts", reader->parts.n_mine);
	log_int(&line, "of", reader->sql.parts);
	log_int(&line, "readers", reader->parts.members);
	log_end(&line);
	postgres_changed(reader);
}

unsigned
postgres_parts_usable(const struct postgres_reader *reader,
    struct arena *arena, struct span *ret_list)
{
	const struct postgres_parts *parts = &reader->parts;
	struct span list = SPAN("{");
	unsigned count = 0;
	for (unsigned i = 0; i < reader->sql.parts; i++)
		if (parts->mine[i] && parts->leaving[i] == 0)
			list = arena_printf(arena, "%.*s%s%u", SPAN_FMT(list),
			    count++ > 0 ? "," : "", i);
	*ret_list = count == reader->sql.parts ?
	    POSTGRES_NULL :
	    arena_printf(arena, "%.*s}", SPAN_FMT(list));
	return count;
}

bool
postgres_parts_has(const struct postgres_reader *reader, int64_t part)
{
	const struct postgres_parts *parts = &reader->parts;
	return part >= 0 && part < (int64_t)reader->sql.parts &&
	    parts->mine[part] && parts->leaving[part] == 0;
}

bool
postgres_parts_lost(
    const struct postgres_reader *reader, const struct postgres_row *row)
{
	const struct postgres_parts *parts = &reader->parts;
	return parts->settled && !parts->mine[row->part];
}

static void
parts_settled(struct postgres_reader *reader)
{
	if (reader->parts.settled)
		return;
	reader->parts.settled = true;
	postgres_pump(reader);
}

/* --- a batch with the class, and a list of parts --- */

static void
send(struct postgres_reader *reader, const char *sql, const char *second,
    void (*result)(struct postgres_batch *batch, unsigned statement,
	const PGresult *result),
    void (*end)(struct postgres_batch *batch,
	const struct postgres_trouble *trouble))
{
	struct postgres_parts *parts = &reader->parts;
	char class[16];
	int len = sql == look_sql ?
	    snprintf(class, sizeof class, "%u", (unsigned)parts->class) :
	    snprintf(class, sizeof class, "%d", (int)parts->class);
	struct span values[] = {
	    span_of(class, (size_t)len), span_str(second)};
	parts->busy = true;
	parts->batch = (struct postgres_batch){.result = result, .end = end};
	postgres_pipe_begin(reader->pipe, &parts->batch);
	postgres_pipe_query(
	    reader->pipe, sql, values, second != NULL ? 2 : 1);
	postgres_pipe_end(reader->pipe);
}

static void
ask_ended(struct postgres_batch *batch, const struct postgres_trouble *trouble)
{
	struct postgres_reader *reader = reader_of_parts(batch);
	reader->parts.busy = false;
	if (trouble == NULL)
		parts_settled(reader);
	postgres_trouble(reader, trouble);
}

/* True: it is a part. */
static bool
part_at(const struct postgres_reader *reader, const PGresult *result, int row,
    unsigned *ret_part)
{
	int64_t part = postgres_pipe_number(result, row, 0);
	*ret_part = (unsigned)part;
	return part >= 0 && part < (int64_t)reader->sql.parts;
}

/* --- taking parts --- */

static void
locked(struct postgres_batch *batch, unsigned statement,
    const PGresult *result)
{
	(void)statement;
	struct postgres_reader *reader = reader_of_parts(batch);
	struct postgres_parts *parts = &reader->parts;
	unsigned part;
	for (int i = 0; i < PQntuples(result); i++)
		if (part_at(reader, result, i, &part) && !parts->mine[part]) {
			parts->mine[part] = true;
			parts->leaving[part] = 0;
			parts->n_mine++;
		}
	if (PQntuples(result) == 0)
		return;
	say_parts(reader);
	postgres_take_from_start(reader);
}

/* From a part by chance on, so that readers that come at once do not meet. */
static void
take_free(struct postgres_reader *reader, unsigned wanted)
{
	struct postgres_parts *parts = &reader->parts;
	char list[POSTGRES_PARTS * 4 + 3] = "{";
	size_t at = 1;
	uint8_t start;
	random_bytes(&start, 1);
	for (unsigned i = 0; i < reader->sql.parts && wanted > 0; i++) {
		unsigned part = (start + i) % reader->sql.parts;
		if (!parts->free[part])
			continue;
		at += (size_t)snprintf(list + at, sizeof list - at, "%s%u",
		    at > 1 ? "," : "", part);
		wanted--;
	}
	if (at == 1)
		return;
	snprintf(list + at, sizeof list - at, "}");
	send(reader, lock_sql, list, locked, ask_ended);
}

/* --- letting go of parts --- */

static void
unlocked(struct postgres_batch *batch, unsigned statement,
    const PGresult *result)
{
	(void)statement;
	(void)result;
	say_parts(reader_of_parts(batch));
}

/* The part with the fewest rows in hand of those that are not leaving. */
static unsigned
idlest(const struct postgres_reader *reader)
{
	const struct postgres_parts *parts = &reader->parts;
	unsigned best = POSTGRES_PARTS;
	for (unsigned i = 0; i < reader->sql.parts; i++)
		if (parts->mine[i] && parts->leaving[i] == 0 &&
		    (best == POSTGRES_PARTS ||
			reader->hand.of_part[i] < reader->hand.of_part[best]))
			best = i;
	return best;
}

/* Anew at each look: what was leaving may stay, another part be idler. */
static void
choose_leaving(struct postgres_reader *reader, unsigned surplus)
{
	struct postgres_parts *parts = &reader->parts;
	uint64_t before[POSTGRES_PARTS];
	for (unsigned i = 0; i < reader->sql.parts; i++) {
		before[i] = parts->leaving[i];
		parts->leaving[i] = 0;
	}
	bool stays = false;
	for (; surplus > 0; surplus--) {
		unsigned part = idlest(reader);
		parts->leaving[part] =
		    before[part] ? before[part] : reader->take.number + 1;
	}
	for (unsigned i = 0; i < reader->sql.parts; i++)
		stays |= before[i] != 0 && parts->leaving[i] == 0;
	if (stays)
		postgres_take_from_start(reader);
}

/* No take that asked for it is under way, and nothing of it is in hand. */
static bool
may_go(const struct postgres_reader *reader, unsigned part)
{
	const struct postgres_parts *parts = &reader->parts;
	return parts->leaving[part] != 0 && reader->hand.of_part[part] == 0 &&
	    (!reader->take.outstanding ||
		reader->take.number > parts->leaving[part]);
}

static void
let_go(struct postgres_reader *reader)
{
	struct postgres_parts *parts = &reader->parts;
	char list[POSTGRES_PARTS * 4 + 3] = "{";
	size_t at = 1;
	for (unsigned i = 0; i < reader->sql.parts; i++) {
		if (!may_go(reader, i))
			continue;
		parts->mine[i] = false;
		parts->leaving[i] = 0;
		parts->n_mine--;
		at += (size_t)snprintf(list + at, sizeof list - at, "%s%u",
		    at > 1 ? "," : "", i);
	}
	if (at == 1)
		return;
	snprintf(list + at, sizeof list - at, "}");
	send(reader, unlock_sql, list, unlocked, ask_ended);
}

/* --- looking --- */

static bool
is_true(struct span text)
{
	return span_eq(text, SPAN("true"));
}

static void
seen(struct postgres_batch *batch, unsigned statement, const PGresult *result)
{
	(void)statement;
	struct postgres_reader *reader = reader_of_parts(batch);
	struct postgres_parts *parts = &reader->parts;
	bool held[POSTGRES_PARTS] = {false};
	unsigned part;
	parts->members = 1;
	for (unsigned i = 0; i < reader->sql.parts; i++)
		parts->free[i] = true;
	for (int i = 0; i < PQntuples(result); i++) {
		if (part_at(reader, result, i, &part)) {
			parts->free[part] = false;
			held[part] =
			    is_true(postgres_pipe_value(result, i, 2));
		} else if (postgres_pipe_number(result, i, 0) == MEMBER) {
			parts->members =
			    (unsigned)postgres_pipe_number(result, i, 1);
		}
	}
	for (unsigned i = 0; i < reader->sql.parts; i++)
		parts->torn |= parts->mine[i] && !held[i];
}

static void
share(struct postgres_reader *reader)
{
	struct postgres_parts *parts = &reader->parts;
	unsigned members = parts->members > 0 ? parts->members : 1;
	unsigned most = (reader->sql.parts + members - 1) / members;
	unsigned mine = parts->n_mine;
	choose_leaving(reader, mine > most ? mine - most : 0);
	if (mine < most)
		take_free(reader, most - mine);
	else
		let_go(reader);
	if (!parts->busy)
		parts_settled(reader);
}

static void
looked(struct postgres_batch *batch, const struct postgres_trouble *trouble)
{
	struct postgres_reader *reader = reader_of_parts(batch);
	reader->parts.busy = false;
	if (trouble != NULL)
		postgres_trouble(reader, trouble);
	else if (reader->parts.torn)
		postgres_down(reader,
		    "advisory locks do not last on this connection: a pooler "
		    "of connections is in between, and must pool sessions");
	else
		share(reader);
}

static void
look_again(void *arg)
{
	struct postgres_reader *reader = arg;
	timer_set(&reader->parts.look, LOOK_MS);
	if (!reader->parts.busy)
		send(reader, look_sql, NULL, seen, looked);
	postgres_pump(reader);
}

static void
joined(struct postgres_batch *batch, unsigned statement,
    const PGresult *result)
{
	(void)batch;
	(void)statement;
	(void)result;
}

static void
join_ended(
    struct postgres_batch *batch, const struct postgres_trouble *trouble)
{
	struct postgres_reader *reader = reader_of_parts(batch);
	reader->parts.busy = false;
	if (trouble != NULL)
		postgres_trouble(reader, trouble);
	else
		look_again(reader);
}

void
postgres_parts_up(struct postgres_reader *reader)
{
	char member[16];
	snprintf(member, sizeof member, "%d", MEMBER);
	send(reader, member_sql, member, joined, join_ended);
}

void
postgres_parts_down(struct postgres_reader *reader)
{
	struct postgres_parts *parts = &reader->parts;
	timer_clear(&parts->look);
	parts->busy = parts->torn = parts->settled = false;
	if (parts->n_mine > 0)
		parts->changes++;
	parts->n_mine = 0;
	for (unsigned i = 0; i < POSTGRES_PARTS; i++) {
		parts->mine[i] = false;
		parts->leaving[i] = 0;
	}
}

void
postgres_parts_init(struct postgres_reader *reader)
{
	timer_init(&reader->parts.look, reader->loop, look_again, reader);
}
