/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "gate/trust.h"
#include "gate/witness.h"
#include "gate/worker_state.h"
#include "lib/postgres.h"
#include "lib/store_bench.h"

/*
 * A witness in a real PostgreSQL: what each question finds and does there, and
 * whether it may be asked at all.
 */
enum { WAIT_MS = 300, LOOK_MS = 2, PATIENCE_US = 60 * 1000 * 1000 };

static struct postgres *server;
static struct bench *bench;
static struct conf conf;
static struct conf_broker broker = {.kind = BROKER_POSTGRES};
static struct conf_idempotency policy;
static struct conf_route route;
static struct generation generation;
static struct worker worker;
static struct witness_op asked;
static bool woken;

#define SQL(...) postgres_just(server, NULL, __VA_ARGS__)
#define KEY_ID "000102030405060708090a0b0c0d0e0f"
#define TABLES                                                               \
	"CREATE TABLE witness (key_id text, attempt integer, "               \
	"verdict text NOT NULL DEFAULT 'done', status integer, "             \
	"headers jsonb, body bytea, at timestamptz NOT NULL DEFAULT now(), " \
	"PRIMARY KEY (key_id, attempt), UNIQUE (key_id, attempt, verdict)); "
#define ENFORCED                                                             \
	"CREATE TABLE payments (id serial PRIMARY KEY, "                     \
	"key_id text NOT NULL, attempt integer NOT NULL, verdict text "      \
	"GENERATED ALWAYS AS ('done') STORED, FOREIGN KEY "                  \
	"(key_id, attempt, verdict) REFERENCES witness "                     \
	"(key_id, attempt, verdict) DEFERRABLE INITIALLY DEFERRED, "         \
	"UNIQUE (key_id, attempt)); "

/* --- a worker, and waiting --- */

static void
on_done(void *arg)
{
	(void)arg;
	woken = true;
}

static void
on_changed(void *arg, const struct key_id *key_id)
{
	(void)arg;
	(void)key_id;
}

struct patience {
	struct timer timer;
	bool (*is_so)(void);
	int64_t until_us;
	bool was_so;
};

static void
on_look(void *arg)
{
	struct patience *p = arg;
	p->was_so = p->is_so();
	if (p->was_so || clock_us() > p->until_us)
		loop_stop(bench->loop);
	else
		timer_set(&p->timer, LOOK_MS);
}

static void
until(bool (*is_so)(void))
{
	struct patience p = {
	    .is_so = is_so, .until_us = clock_us() + PATIENCE_US};
	timer_init(&p.timer, bench->loop, on_look, &p);
	timer_set(&p.timer, 0);
	loop_run(bench->loop);
	timer_clear(&p.timer);
	assert_true(p.was_so);
}

static bool
is_woken(void)
{
	return woken;
}

static bool
allows(int64_t claimed_ms, int64_t unknown_ms)
{
	return trust_why(worker.trusts, &route, claimed_ms, unknown_ms) ==
	    NULL;
}

static bool
is_allowed(void)
{
	return allows(INT64_MAX, 1);
}

static enum trust_state trust_wanted;

static bool
is_trusted_so(void)
{
	enum trust_state state;
	int64_t ms;
	return trust_view(worker.trusts, route.name, &state, &ms) &&
	    state == trust_wanted;
}

static void
until_trust(enum trust_state state)
{
	trust_wanted = state;
	until(is_trusted_so);
}

static int
start_server(void **state)
{
	(void)state;
	server = postgres_start();
	return 0;
}

static int
stop_server(void **state)
{
	(void)state;
	postgres_stop(&server);
	return 0;
}

/* A gateway whose route has that table as enforced_by (NULL: none). */
static void
begin(const char *enforced_by)
{
	static char name[] = "ledger", table[] = "witness", routes[] = "r";
	static const char *const options[] = {NULL};
	const struct store_listener listener = {on_changed, NULL, NULL};
	bench = bench_new(NULL, options, "");
	store_listen(bench->store, &listener);
	broker.name = name;
	broker.postgres = postgres_uri(server, "once");
	policy = *bench->policy;
	policy.on_unknown = UNKNOWN_WITNESS;
	policy.witness = (struct conf_witness){&broker, table, WAIT_MS, 201,
	    false, (char *)(uintptr_t)enforced_by};
	route = (struct conf_route){.name = routes, .idempotency = &policy};
	memcpy(&conf, bench->conf, sizeof conf);
	conf.routes = &route;
	conf.n_routes = 1;
	generation = (struct generation){.refs = 1, .conf = &conf};
	worker = (struct worker){.loop = bench->loop, .conf = bench->conf,
	    .generation = &generation, .budget = &bench->budget,
	    .store = bench->store};
	worker.trusts = trust_new(&worker);
	worker.witnesses = witness_new(&worker);
	asked = (struct witness_op){0};
	op_init(&asked.op, bench->loop, on_done, NULL);
}

static int
set_up(void **state)
{
	(void)state;
	SQL("DROP SCHEMA public CASCADE; CREATE SCHEMA public; " TABLES
	    ENFORCED);
	begin("payments");
	until_trust(TRUST_ENFORCED);
	until(is_allowed);
	return 0;
}

static int
set_up_unenforced(void **state)
{
	(void)state;
	SQL("DROP SCHEMA public CASCADE; CREATE SCHEMA public; " TABLES);
	begin(NULL);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	op_cancel(&asked.op);
	witness_clear(&asked);
	witness_free(&worker.witnesses);
	trust_stop(worker.trusts);
	trust_free(&worker.trusts);
	free(broker.postgres);
	bench_free(&bench);
	return 0;
}

/* --- questions --- */

/* Of an answer, unless unknown_ms is set. */
static void
look_up(struct witness_op *op, uint32_t attempt)
{
	for (uint8_t i = 0; i < DIGEST_BYTES; i++)
		op->key_id.bytes[i] = i;
	op->route = &route;
	op->policy = &policy;
	op->attempt = attempt;
	op->claimed_ms = INT64_MAX;
	woken = false;
	witness_start(worker.witnesses, op);
}

static void
ask(uint32_t attempt, enum witness_question question)
{
	if (asked.unknown_ms == 0)
		asked.unknown_ms = store_latest_ms(bench->store);
	asked.question = question;
	look_up(&asked, attempt);
}

static void
answered(enum witness_answer answer)
{
	until(is_woken);
	assert_int_equal(asked.op.error, 0);
	if (asked.answer != answer)
		fail_msg("%d: %s", asked.answer, asked.words);
}

static void
unknown_because(const char *words)
{
	answered(WITNESS_UNKNOWN);
	if (strstr(asked.words, words) == NULL)
		fail_msg("%s", asked.words);
}

static void
rows_are(const char *rows)
{
	char *found = postgres_text(server,
	    "SELECT coalesce(string_agg(attempt || verdict, ' ' "
	    "ORDER BY attempt, verdict), '') FROM witness");
	assert_string_equal(found, rows);
	free(found);
}

/* 0, or the SQLSTATE's first character, of what the API does. */
static char
api(PGconn *on, const char *sql)
{
	PGresult *result = PQexec(on, sql);
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	char first = state != NULL ? state[0] : '\0';
	PQclear(result);
	return first;
}

static void
what_was_committed_is_done(void **state)
{
	(void)state;
	SQL("INSERT INTO witness (key_id, attempt, status, headers, body) "
	    "VALUES ('" KEY_ID "', 1, 202, '[[\"A\", \"1\"], [\"a\", \"2\"]]', "
	    "'\\x00ff')");
	ask(1, WITNESS_REVOKE);
	answered(WITNESS_DONE);
	assert_int_equal(asked.status, 202);
	assert_int_equal(asked.fields.count, 2);
	assert_true(span_eq(asked.fields.list[1].value, SPAN("2")));
	assert_true(span_eq(body_span(&asked.body), span_of("\0\377", 2)));
	rows_are("1done");
}

static void
what_was_not_committed_never_can_be(void **state)
{
	(void)state;
	ask(1, WITNESS_REVOKE);
	answered(WITNESS_REVOKED);
	assert_true(asked.inserted);
	rows_are("1revoked");
	/* The late payment fails with its row. */
	PGconn *late = postgres_connection(server);
	assert_int_equal(api(late, "BEGIN"), 0);
	assert_int_equal(api(late,
	    "INSERT INTO payments (key_id, attempt) VALUES ('" KEY_ID "', 1)"),
	    0);
	assert_int_equal(api(late,
	    "INSERT INTO witness (key_id, attempt) VALUES ('" KEY_ID "', 1) "
	    "ON CONFLICT DO NOTHING"), 0);
	assert_int_equal(api(late, "COMMIT"), '2');
	PQfinish(late);
	assert_int_equal(
	    postgres_number(server, "SELECT count(*) FROM payments"), 0);
	ask(1, WITNESS_REVOKE);
	answered(WITNESS_REVOKED);
	assert_false(asked.inserted);
}

/* Many answers may be of payments that are still open, behind a balancer. */
static void
an_answer_whose_row_is_locked_holds_no_other(void **state)
{
	(void)state;
	struct witness_op held = {.regardless = true};
	PGconn *at_work = postgres_connection(server);
	op_init(&held.op, bench->loop, on_done, NULL);
	api(at_work, "BEGIN");
	api(at_work,
	    "INSERT INTO witness (key_id, attempt) VALUES ('" KEY_ID "', 1)");
	policy.witness.wait_ms = 5000;
	look_up(&held, 1);
	asked.regardless = true;
	look_up(&asked, 2);
	answered(WITNESS_REVOKED);
	look_up(&asked, 3);
	answered(WITNESS_REVOKED);
	/* It goes on by itself, and hears what came of the payment. */
	assert_true(held.op.state == OP_PENDING);
	woken = false;
	api(at_work, "COMMIT");
	until(is_woken);
	assert_int_equal(held.answer, WITNESS_DONE);
	witness_clear(&held);
	PQfinish(at_work);
	rows_are("1done 2revoked 3revoked");
}

static void
what_has_started_is_revoked_when_that_is_asked(void **state)
{
	(void)state;
	SQL("INSERT INTO witness (key_id, attempt, verdict) "
	    "VALUES ('" KEY_ID "', 1, 'started')");
	ask(1, WITNESS_REVOKE);
	answered(WITNESS_STARTED);
	rows_are("1started");
	ask(1, WITNESS_REVOKE_STARTED);
	answered(WITNESS_REVOKED);
	assert_false(asked.inserted);
	rows_are("1revoked");
	assert_int_equal(postgres_number(server,
	    "WITH done AS (UPDATE witness SET verdict = 'done' "
	    "WHERE verdict = 'started' RETURNING 1) "
	    "SELECT count(*) FROM done"), 0);
}

static void
rows_that_make_no_sense_are_no_answers(void **state)
{
	(void)state;
	static const struct {
		const char *values, *words;
	} rows[] = {
	    {"'done', 99, NULL, NULL", "status"},
	    {"'done', 600, NULL, NULL", "status"},
	    {"'done', 201, '\"x\"', NULL", "pairs"},
	    {"'done', 201, '{\"a b\": \"1\"}', NULL", "not valid"},
	    {"'done', 201, '{\"a\": 1}', NULL", "string"},
	    {"'done', 201, '{\"a\": \"1\\r\\nb: 2\"}', NULL", "not valid"},
	    {"'done', 201, '{\"Content-Length\": \"5\"}', NULL", "framing"},
	    {"'done', 204, NULL, 'x'", "no body"},
	    {"'Done', 201, NULL, NULL", "none that"},
	    {"'', NULL, NULL, NULL", "none that"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		SQL("TRUNCATE witness, payments; INSERT INTO witness (key_id, "
		    "attempt, verdict, status, headers, body) VALUES "
		    "('" KEY_ID "', 1, %s)",
		    rows[i].values);
		ask(1, WITNESS_REVOKE);
		unknown_because(rows[i].words);
		assert_int_equal(asked.fields.count, 0);
	}
	/* It happened, and its answer is not kept. */
	SQL("TRUNCATE witness, payments; INSERT INTO witness VALUES ('" KEY_ID
	    "', 1, 'done', 201, 'null', convert_to(repeat('x', %lld), "
	    "'UTF8'))",
	    (long long)policy.max_response_body + 1);
	ask(1, WITNESS_REVOKE);
	answered(WITNESS_DONE);
	assert_true(asked.too_large);
	assert_int_equal(asked.body.len, 0);
}

static void
whoever_stands_between_makes_nothing_known(void **state)
{
	(void)state;
	/* A policy that hides rows; a trigger that puts none, or another. */
	SQL("CREATE ROLE gateway LOGIN; GRANT USAGE ON SCHEMA public "
	    "TO gateway; GRANT SELECT, INSERT ON witness TO gateway; "
	    "ALTER TABLE witness ENABLE ROW LEVEL SECURITY; "
	    "CREATE POLICY a ON witness FOR INSERT TO gateway "
	    "WITH CHECK (true); "
	    "CREATE FUNCTION puts_none() RETURNS trigger LANGUAGE plpgsql "
	    "AS 'BEGIN RETURN NULL; END'; "
	    "CREATE FUNCTION puts_other() RETURNS trigger LANGUAGE plpgsql "
	    "AS 'BEGIN NEW.verdict = ''done''; RETURN NEW; END'");
	SQL("CREATE TRIGGER t BEFORE INSERT ON witness FOR EACH ROW "
	    "EXECUTE FUNCTION puts_none()");
	ask(1, WITNESS_REVOKE);
	unknown_because("none went in");
	SQL("DROP TRIGGER t ON witness; CREATE TRIGGER t BEFORE INSERT "
	    "ON witness FOR EACH ROW EXECUTE FUNCTION puts_other()");
	ask(1, WITNESS_REVOKE);
	unknown_because("a trigger changes it");
	SQL("TRUNCATE witness, payments; DROP TRIGGER t ON witness");
	free(broker.postgres);
	broker.postgres = postgres_uri(server, "gateway");
	ask(1, WITNESS_REVOKE);
	unknown_because("row-level security");
	rows_are("");
	SQL("DROP OWNED BY gateway; DROP ROLE gateway");
}

static void
the_sessions_defaults_do_not_matter(void **state)
{
	(void)state;
	SQL("ALTER ROLE once SET default_transaction_isolation = "
	    "'repeatable read'; "
	    "ALTER ROLE once SET synchronous_commit = off; "
	    "CREATE TABLE seen (isolation text, synchronous text); "
	    "CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS "
	    "'BEGIN INSERT INTO seen VALUES "
	    "(current_setting(''transaction_isolation''), "
	    "current_setting(''synchronous_commit'')); RETURN NEW; END'; "
	    "CREATE TRIGGER t BEFORE INSERT ON witness FOR EACH ROW "
	    "EXECUTE FUNCTION see()");
	PGconn *at_work = postgres_connection(server);
	api(at_work, "BEGIN");
	api(at_work,
	    "INSERT INTO witness (key_id, attempt) VALUES ('" KEY_ID "', 1)");
	/* On a connection of its own, which has these defaults. */
	ask(1, WITNESS_REVOKE);
	api(at_work, "COMMIT");
	answered(WITNESS_DONE);
	PQfinish(at_work);
	ask(2, WITNESS_REVOKE);
	answered(WITNESS_REVOKED);
	char *seen = postgres_text(server,
	    "SELECT string_agg(DISTINCT isolation || ' ' || synchronous, ',') "
	    "FROM seen WHERE synchronous <> 'off'");
	assert_string_equal(seen, "read committed on");
	free(seen);
	SQL("ALTER ROLE once RESET ALL");
}

/* --- the database is away --- */

static void
a_database_that_is_frozen_does_not_hold_a_look_up(void **state)
{
	(void)state;
	postgres_freeze(server);
	int64_t began_us = clock_us();
	asked.regardless = true;
	look_up(&asked, 1);
	answered(WITNESS_UNKNOWN);
	assert_true(asked.away);
	assert_true(clock_us() - began_us < 20 * 1000 * 1000);
	postgres_thaw(server);
}

static void
what_is_given_up_is_forgotten(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++) {
		ask((uint32_t)i + 1, WITNESS_REVOKE);
		op_cancel(&asked.op);
	}
	ask(100, WITNESS_REVOKE);
	answered(WITNESS_REVOKED);
}

/* --- whether it may be believed --- */

static void
enforced_by_is_read_from_the_catalogue(void **state)
{
	(void)state;
	static const char *const damage[] = {
	    "ALTER TABLE payments ALTER attempt DROP NOT NULL",
	    "ALTER TABLE payments DROP COLUMN verdict; "
	    "ALTER TABLE payments ADD verdict text DEFAULT 'done'",
	    "ALTER TABLE payments DROP CONSTRAINT "
	    "payments_key_id_attempt_verdict_fkey",
	    "ALTER TABLE payments DISABLE TRIGGER ALL",
	    "CREATE TABLE payments_of_may () INHERITS (payments)",
	    "DROP TABLE payments CASCADE",
	};
	for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
		SQL("DROP TABLE IF EXISTS payments CASCADE; " ENFORCED);
		witness_reload(worker.witnesses);
		until_trust(TRUST_ENFORCED);
		until(is_allowed);
		SQL("%s", damage[i]);
		witness_reload(worker.witnesses);
		until_trust(TRUST_UNPROVEN);
		assert_false(is_allowed());
		ask(1, WITNESS_REVOKE);
		unknown_because("no 2xx has proven");
		assert_true(asked.distrusted);
		rows_are("");
	}
	SQL("DROP TABLE witness");
	witness_reload(worker.witnesses);
	ask(1, WITNESS_REVOKE);
	unknown_because("no such table");
}

static void
what_was_sent_before_enforced_by_held_is_not_asked_about(void **state)
{
	(void)state;
	int64_t now_ms = store_latest_ms(bench->store);
	assert_true(allows(now_ms + 10000, now_ms + 10000));
	assert_false(allows(now_ms - 60000, now_ms));
	assert_false(allows(0, 0));
}

/* The API, or a gateway that cleans, may have forgotten its row. */
static void
what_is_unknown_for_too_long_is_not_asked_about(void **state)
{
	(void)state;
	asked.unknown_ms = store_latest_ms(bench->store) -
	    policy.unknown_retention_ms - 1000;
	ask(1, WITNESS_REVOKE);
	unknown_because("longer ago than unknown_retention");
	rows_are("");
}

static bool
is_heard(void)
{
	return strstr(trust_why(worker.trusts, &route, INT64_MAX, 1),
	    "no 2xx") != NULL;
}

static void
saw(uint32_t attempt, int64_t claim_ms)
{
	struct key_id key_id;
	for (uint8_t i = 0; i < DIGEST_BYTES; i++)
		key_id.bytes[i] = i;
	witness_saw(worker.witnesses, &route, &key_id, attempt, claim_ms);
}

static void
the_guard_believes_who_was_seen_to_write(void **state)
{
	(void)state;
	int64_t now_ms = clock_wall_ms();
	until(is_heard);
	ask(7, WITNESS_REVOKE);
	unknown_because("no 2xx has proven");
	SQL("INSERT INTO witness VALUES ('" KEY_ID "', 1)");
	saw(1, now_ms + 1000);
	until_trust(TRUST_PROVEN);
	/* What became UNKNOWN after it was sent is not proven by it. */
	assert_true(allows(INT64_MAX, now_ms + 999));
	assert_false(allows(INT64_MAX, now_ms + 1000));
	ask(7, WITNESS_REVOKE);
	answered(WITNESS_REVOKED);
	rows_are("1done 7revoked");
}

/* Of a request that a generation before has sent. */
static void
what_another_witness_has_proves_nothing_of_this_one(void **state)
{
	(void)state;
	static char table[] = "other";
	int64_t now_ms = clock_wall_ms();
	struct conf_idempotency before = policy;
	const struct conf_route old = {
	    .name = route.name, .idempotency = &before};
	struct key_id key_id;
	for (uint8_t i = 0; i < DIGEST_BYTES; i++)
		key_id.bytes[i] = i;
	until(is_heard);
	SQL("CREATE TABLE other (LIKE witness INCLUDING ALL); "
	    "INSERT INTO witness VALUES ('" KEY_ID "', 1); "
	    "INSERT INTO other VALUES ('" KEY_ID "', 2)");
	policy.witness.table = table;
	trust_reload(worker.trusts);
	witness_reload(worker.witnesses);
	until(is_heard);
	witness_saw(worker.witnesses, &old, &key_id, 1, now_ms + 2000);
	saw(2, now_ms + 1000);
	until_trust(TRUST_PROVEN);
	assert_true(allows(INT64_MAX, now_ms + 999));
	assert_false(allows(INT64_MAX, now_ms + 1000));
	/* Nor is that one asked any more. */
	woken = false;
	asked = (struct witness_op){.route = &old, .policy = &before,
	    .key_id = key_id, .attempt = 7,
	    .claimed_ms = INT64_MAX, .unknown_ms = now_ms};
	op_init(&asked.op, bench->loop, on_done, NULL);
	witness_start(worker.witnesses, &asked);
	unknown_because("another witness");
	rows_are("1done");
}

/* Redis has another witness there, or none any more. */
static void
an_end_is_told_once(void **state)
{
	(void)state;
	static const char forget[] =
	    "for _, key in ipairs(redis.call('KEYS', '*trust:witness:r')) do "
	    "redis.call('DEL', key) end";
	struct store_op op = {.verdict = VERDICT_GONE};
	struct key_id key_id = {{1}};
	until(is_heard);
	redis_just(bench->redis, "EVAL %s 0", forget);
	trust_end(worker.trusts, route.name, false, &key_id, 1);
	while (op.verdict != VERDICT_DONE) {
		bench_op(bench, &op);
		trust_say(&op, bench->store, route.name, SPAN("anna"),
		    SPAN("canary is gone"));
		assert_int_equal(bench_wait(bench, &op), 0);
	}
	until_trust(TRUST_UNPROVEN);
	until(is_heard);
}

static void
what_was_revoked_long_ago_is_deleted_and_nothing_else(void **state)
{
	(void)state;
	SQL("INSERT INTO witness (key_id, attempt, verdict, at) VALUES "
	    "('a', 1, 'revoked', now() - interval '61 days'), "
	    "('a', 2, 'revoked', now() - interval '59 days'), "
	    "('a', 3, 'done', now() - interval '61 days'), "
	    "('a', 4, 'started', now() - interval '61 days')");
	/* A gateway cleans when it starts. */
	tear_down(NULL);
	begin("payments");
	until_trust(TRUST_ENFORCED);
	until(is_allowed);
	ask(1, WITNESS_REVOKE);
	answered(WITNESS_REVOKED);
	rows_are("1revoked 2revoked 3done 4started");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define GUARD(name)                                                          \
	cmocka_unit_test_setup_teardown(name, set_up_unenforced, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(what_was_committed_is_done),
	    TEST(what_was_not_committed_never_can_be),
	    TEST(an_answer_whose_row_is_locked_holds_no_other),
	    TEST(what_has_started_is_revoked_when_that_is_asked),
	    TEST(rows_that_make_no_sense_are_no_answers),
	    TEST(whoever_stands_between_makes_nothing_known),
	    TEST(the_sessions_defaults_do_not_matter),
	    TEST(a_database_that_is_frozen_does_not_hold_a_look_up),
	    TEST(what_is_given_up_is_forgotten),
	    TEST(enforced_by_is_read_from_the_catalogue),
	    TEST(what_was_sent_before_enforced_by_held_is_not_asked_about),
	    TEST(what_is_unknown_for_too_long_is_not_asked_about),
	    TEST(what_was_revoked_long_ago_is_deleted_and_nothing_else),
	    GUARD(the_guard_believes_who_was_seen_to_write),
	    GUARD(an_end_is_told_once),
	    GUARD(what_another_witness_has_proves_nothing_of_this_one),
	};
	return cmocka_run_group_tests(tests, start_server, stop_server);
}
