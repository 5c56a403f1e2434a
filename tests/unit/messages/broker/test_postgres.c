/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "unit/messages/broker/outbox.h"

/*
 * What is in a table comes as messages, each once, whatever the columns are and
 * whenever its transaction was committed.
 */
static struct outbox *
opened(unsigned credit)
{
	struct outbox *o = outbox_new(NULL);
	outbox_open(o, credit);
	return o;
}

static void
put_rows(int from, int to)
{
	postgres_just(outbox_server, NULL,
	    "INSERT INTO outbox (id, aggregateid, type, payload) "
	    "SELECT n, 'e' || n %% 7, 'made', jsonb_build_object('n', n) "
	    "FROM generate_series(%d, %d) n",
	    from, to);
}

static void
a_row_comes_with_all_its_columns(void **state)
{
	(void)state;
	static char headers[] = "headers";
	outbox_table(outbox_server, "bigint");
	postgres_just(outbox_server, NULL,
	    "INSERT INTO outbox VALUES (7, 'order', 'account-1', 'charged', "
	    "'{\"amount\": 5}', '{\"Idempotency-Key\": \"k\\u00e9\", "
	    "\"none\": null, \"x\": \"\"}')");
	struct outbox *o = outbox_new(NULL);
	o->source.columns.headers = headers;
	outbox_open(o, 10);
	outbox_until_took(o, 1);
	const struct broker_message *m = o->took[0];
	outbox_assert_span(m->position, "7");
	outbox_assert_span(m->entity, "account-1");
	outbox_assert_span(m->type, "charged");
	outbox_assert_span(m->payload, "{\"amount\": 5}");
	outbox_assert_span(m->key, NULL);
	assert_true(m->has_payload);
	assert_null(m->odd);
	assert_false(m->too_large);
	assert_int_equal(m->time_ms, -1);
	assert_int_equal(m->fields.count, 2);
	/* jsonb has names by their length. */
	outbox_assert_span(m->fields.list[0].name, "x");
	outbox_assert_span(m->fields.list[0].value, "");
	outbox_assert_span(m->fields.list[1].name, "Idempotency-Key");
	outbox_assert_span(m->fields.list[1].value, "k\xc3\xa9");
	outbox_free(&o);
}

static void
rows_come_in_the_order_of_their_ids(void **state)
{
	(void)state;
	outbox_table(outbox_server, "int");
	put_rows(1, 500);
	struct outbox *o = outbox_new(NULL);
	outbox_open(o, 500);
	outbox_until_took(o, 500);
	for (int i = 0; i < 500; i++)
		assert_int_equal(atoi(o->took[i]->position.ptr), i + 1);
	outbox_free(&o);
}

static void
no_more_come_than_there_is_credit_for(void **state)
{
	(void)state;
	outbox_table(outbox_server, "int");
	put_rows(1, 20);
	struct outbox *o = opened(0);
	outbox_until_up(o, true);
	outbox_run_ms(o, 200);
	assert_int_equal(o->n_took, 0);
	broker_reader_credit(o->reader, 3, SIZE_MAX);
	outbox_until_took(o, 3);
	outbox_run_ms(o, 200);
	assert_int_equal(o->n_took, 3);
	broker_reader_credit(o->reader, 100, SIZE_MAX);
	outbox_until_took(o, 20);
	outbox_run_ms(o, 200);
	assert_int_equal(o->n_took, 20);
	outbox_free(&o);
}

static void
what_is_given_back_comes_again(void **state)
{
	(void)state;
	outbox_table(outbox_server, "int");
	put_rows(1, 5);
	struct outbox *o = opened(100);
	outbox_until_took(o, 5);
	broker_reader_give_back(o->reader, o->took[1]);
	broker_reader_give_back(o->reader, o->took[3]);
	outbox_until_took(o, 7);
	outbox_assert_span(o->took[5]->position, "2");
	outbox_assert_span(o->took[6]->position, "4");
	outbox_free(&o);
}

static void
ids_may_be_of_any_type(void **state)
{
	(void)state;
	static const struct {
		const char *type, *first, *second;
	} rows[] = {
	    {"uuid", "9b2f4b4e-0000-4000-8000-000000000001",
		"0a000000-0000-4000-8000-000000000002"},
	    {"text", "z/\"q\\ {},'", "a"},
	    {"varchar(40)", "z", "a"},
	    {"numeric", "12345678901234567890.5", "3"},
	    {"bytea", "\\x00ff", "\\x"},
	    {"timestamptz", "2026-01-02 03:04:05.000006+00",
		"2026-01-02 03:04:05.000005+00"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct outbox_finish f;
		outbox_table(outbox_server, rows[i].type);
		struct outbox *o = opened(100);
		for (int second = 0; second < 2; second++) {
			const char *id =
			    second ? rows[i].second : rows[i].first;
			char *quoted = PQescapeLiteral(
			    outbox_server->client, id, strlen(id));
			postgres_just(outbox_server, NULL,
			    "INSERT INTO outbox VALUES (%s, '', '', '', '1')",
			    quoted);
			PQfreemem(quoted);
			outbox_until_took(o, (size_t)second + 1);
			outbox_assert_span(o->took[second]->position, id);
		}
		outbox_run_ms(o, 200);
		assert_int_equal(o->n_took, 2);
		for (int n = 0; n < 2; n++) {
			assert_int_equal(
			    outbox_finish(o, &f, o->took[n], NULL), 0);
			assert_int_equal(f.finish.finished, BROKER_FINISHED);
		}
		outbox_free(&o);
	}
}

static void
payloads_are_given_as_they_are(void **state)
{
	(void)state;
	static const struct {
		const char *type, *value, *payload;
	} rows[] = {
	    {"json", "{\"b\":1,  \"a\":2}", "{\"b\":1,  \"a\":2}"},
	    {"text", "plain\ntext \xc3\xa9", "plain\ntext \xc3\xa9"},
	    {"text", "", ""},
	    {"bytea", "\\x00010203ff00", NULL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		outbox_table(outbox_server, "int");
		postgres_just(outbox_server, NULL,
		    "ALTER TABLE outbox DROP payload; "
		    "ALTER TABLE outbox ADD payload %s; "
		    "INSERT INTO outbox (id, payload) VALUES (1, '%s')",
		    rows[i].type, rows[i].value);
		struct outbox *o = opened(100);
		outbox_until_took(o, 1);
		if (rows[i].payload == NULL)
			assert_true(span_eq(o->took[0]->payload,
			    span_of("\0\1\2\3\377\0", 6)));
		else
			outbox_assert_span(
			    o->took[0]->payload, rows[i].payload);
		assert_true(o->took[0]->has_payload);
		assert_null(o->took[0]->odd);
		outbox_free(&o);
	}
}

static void
what_is_odd_in_a_row_is_said_of_its_message(void **state)
{
	(void)state;
	static char headers[] = "headers";
	static const struct {
		const char *payload, *headers;
		bool odd, too_large;
	} rows[] = {
	    {"NULL", "NULL", false, false},
	    {"'1'", "'[1]'", true, false},
	    {"'1'", "'{\"a\": {}}'", true, false},
	    {"'1'", "'{\"a\": 1}'", true, false},
	    {"'1'", "'null'", false, false},
	    {"'1'", "'{}'", false, false},
	    /* With its quotes it is one byte too long. */
	    {"to_jsonb(repeat('x', 1048575))", "NULL", true, true},
	    {"to_jsonb(repeat('x', 1048574))", "NULL", false, false},
	    {"'1'", "to_jsonb(repeat('x', 1048575))", true, true},
	};
	outbox_table(outbox_server, "int");
	enum { N = sizeof rows / sizeof *rows };
	for (int i = 0; i < N; i++)
		postgres_just(outbox_server, NULL,
		    "INSERT INTO outbox (id, payload, headers) "
		    "VALUES (%d, %s, %s)",
		    i, rows[i].payload, rows[i].headers);
	struct outbox *o = outbox_new(NULL);
	o->source.columns.headers = headers;
	outbox_open(o, 100);
	outbox_until_took(o, N);
	for (int i = 0; i < N; i++) {
		const struct broker_message *m = o->took[i];
		assert_int_equal(atoi(m->position.ptr), i);
		assert_int_equal(m->odd != NULL, rows[i].odd);
		assert_int_equal(m->too_large, rows[i].too_large);
		assert_int_equal(m->has_payload, m->payload.ptr != NULL);
		assert_true(m->payload.len <= 1 << 20);
	}
	outbox_free(&o);
}

static void
many_large_rows_come_in_several_takes(void **state)
{
	(void)state;
	outbox_table(outbox_server, "int");
	postgres_just(outbox_server, NULL,
	    "INSERT INTO outbox (id, payload) SELECT n, "
	    "to_jsonb(repeat('x', 1000000)) FROM generate_series(1, 20) n");
	struct outbox *o = opened(100);
	outbox_until_took(o, 20);
	for (int i = 0; i < 20; i++)
		assert_int_equal(o->took[i]->payload.len, 1000002);
	outbox_free(&o);
}

static void
names_are_taken_as_they_are_written(void **state)
{
	(void)state;
	static char table[] = "My \"Shop\".Out.box; --", id[] = "Id\"",
		    entity[] = "select", type[] = "t y p e",
		    payload[] = "from", set[] = "done 'at'",
		    notify[] = "chan nel";
	postgres_just(outbox_server, NULL,
	    "DROP SCHEMA IF EXISTS \"My \"\"Shop\"\"\" CASCADE; "
	    "CREATE SCHEMA \"My \"\"Shop\"\"\"; "
	    "CREATE TABLE \"My \"\"Shop\"\"\".\"Out.box; --\" "
	    "(\"Id\"\"\" int, \"select\" text, \"t y p e\" text, "
	    "\"from\" text, \"done 'at'\" timestamptz); "
	    "INSERT INTO \"My \"\"Shop\"\"\".\"Out.box; --\" "
	    "VALUES (1, 'e', 't', 'p', NULL), (2, 'e', 't', 'p', now())");
	struct outbox *o = outbox_new(NULL);
	struct outbox_finish f;
	o->source.table = table;
	o->source.columns =
	    (struct conf_columns){id, entity, type, payload, NULL, NULL};
	o->source.finish.column = set;
	o->source.notify = notify;
	outbox_open(o, 100);
	outbox_until_took(o, 1);
	outbox_assert_span(o->took[0]->position, "1");
	assert_int_equal(outbox_finish(o, &f, o->took[0], NULL), 0);
	assert_int_equal(f.finish.finished, BROKER_FINISHED);
	outbox_free(&o);
}

/* --- when rows are seen --- */

static void
a_notification_wakes_the_reader(void **state)
{
	(void)state;
	static char channel[] = "news";
	outbox_table(outbox_server, "int");
	struct outbox *o = outbox_new(NULL);
	o->source.notify = channel;
	o->source.poll_ms = 3600000;
	outbox_open(o, 100);
	outbox_until_up(o, true);
	for (int i = 1; i <= 3; i++) {
		outbox_run_ms(o, 1500);
		postgres_just(outbox_server, NULL,
		    "BEGIN; INSERT INTO outbox (id, payload) VALUES "
		    "(%d, '1'); NOTIFY news; COMMIT", i);
		outbox_until_took(o, (size_t)i);
	}
	outbox_free(&o);
}

static void
a_row_that_commits_late_is_taken(void **state)
{
	(void)state;
	outbox_table(outbox_server, "int");
	struct outbox *o = opened(1000);
	outbox_until_up(o, true);
	PGconn *late = postgres_connection(outbox_server);
	PGconn *later = postgres_connection(outbox_server);
	postgres_just(outbox_server, late,
	    "BEGIN; INSERT INTO outbox (id, payload) VALUES (5, '1')");
	postgres_just(outbox_server, later,
	    "BEGIN; INSERT INTO outbox (id, payload) VALUES (4, '1')");
	put_rows(10, 19);
	outbox_until_took(o, 10);
	postgres_just(outbox_server, late, "COMMIT");
	outbox_until_took(o, 11);
	outbox_assert_span(o->took[10]->position, "5");
	/* Until the floor is far behind, while others come and go. */
	struct outbox_finish f;
	for (int i = 20; i < 26; i++) {
		put_rows(i, i);
		outbox_until_took(o, o->n_took + 1);
		outbox_finish(o, &f, o->took[o->n_took - 1], NULL);
		outbox_run_ms(o, 1000);
	}
	postgres_just(outbox_server, later, "COMMIT");
	outbox_until_took(o, 18);
	outbox_assert_span(o->took[17]->position, "4");
	PQfinish(late);
	PQfinish(later);
	outbox_free(&o);
}

static void
an_order_of_its_own_column_is_kept(void **state)
{
	(void)state;
	static char order[] = "published_at";
	outbox_table(outbox_server, "uuid");
	postgres_just(outbox_server, NULL,
	    "INSERT INTO outbox (id, aggregateid, payload, published_at) "
	    "SELECT gen_random_uuid(), n, '1', timestamptz "
	    "'2026-01-01 00:00:00Z' + n / 2 * interval '1 millisecond' "
	    "FROM generate_series(0, 99) n; "
	    "INSERT INTO outbox (id, aggregateid, payload, published_at) "
	    "VALUES (gen_random_uuid(), 'never', '1', 'infinity'), "
	    "(gen_random_uuid(), 'null', '1', NULL)");
	struct outbox *o = outbox_new(NULL);
	o->source.columns.order = order;
	outbox_open(o, 7);
	for (size_t n = 7; n <= 98; n += 7) {
		outbox_until_took(o, n);
		broker_reader_credit(o->reader, 7, SIZE_MAX);
	}
	outbox_until_took(o, 102);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(atoi(o->took[i]->entity.ptr) / 2, i / 2);
		assert_int_equal(o->took[i]->time_ms,
		    INT64_C(1767225600000) + i / 2);
	}
	outbox_assert_span(o->took[100]->entity, "never");
	outbox_assert_span(o->took[101]->entity, "null");
	assert_int_equal(o->took[100]->time_ms, -1);
	outbox_run_ms(o, 300);
	assert_int_equal(o->n_took, 102);
	outbox_free(&o);
}

static void
ten_thousand_may_be_in_hand(void **state)
{
	static const char *const types[] = {"int", "uuid"};
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct outbox_finish f;
		outbox_table(outbox_server, types[i]);
		postgres_just(outbox_server, NULL,
		    "INSERT INTO outbox (id, aggregateid, payload) SELECT "
		    "%s, n, '1' FROM generate_series(1, 10000) n",
		    i == 0 ? "n" : "gen_random_uuid()");
		struct outbox *o = opened(20000);
		outbox_until_took(o, 10000);
		int64_t began_us = clock_us();
		for (int n = 0; n < 10; n++) {
			postgres_just(outbox_server, NULL,
			    i == 0 ? "INSERT INTO outbox (id, payload) "
				     "VALUES (%d, '1')" :
				     "INSERT INTO outbox (id, payload) "
				     "SELECT gen_random_uuid(), '1' "
				     "WHERE %d > 0",
			    10001 + n);
			outbox_until_took(o, o->n_took + 1);
			outbox_finish(o, &f, o->took[o->n_took - 1], NULL);
		}
		print_message("# ten rows more, one by one: %d ms\n",
		    (int)((clock_us() - began_us) / 1000));
		outbox_free(&o);
	}
}

static long long
index_entries_read(void)
{
	return postgres_number(outbox_server,
	    "SELECT pg_stat_clear_snapshot(); "
	    "SELECT sum(idx_tup_read) FROM pg_stat_user_indexes "
	    "WHERE relname = 'outbox'");
}

static void
finished_rows_are_not_read_again_and_again(void **state)
{
	(void)state;
	enum { ROWS = 10000 };
	static struct outbox_finish f[ROWS];
	outbox_table(outbox_server, "int");
	put_rows(1, ROWS);
	/* While it is open no finished row goes from the index. */
	PGconn *old = postgres_connection(outbox_server);
	postgres_just(outbox_server, old,
	    "BEGIN ISOLATION LEVEL REPEATABLE READ; "
	    "SELECT count(*) FROM outbox");
	struct outbox *o = opened(2 * ROWS);
	outbox_until_took(o, ROWS);
	for (int i = 0; i < ROWS; i++)
		outbox_finish_begin(o, &f[i], o->took[i], NULL);
	for (int i = 0; i < ROWS; i++)
		outbox_until_done(o, &f[i]);
	/* Until the floor is behind them. */
	outbox_run_ms(o, 6000);
	long long before = index_entries_read();
	for (int i = 1; i <= 40; i++) {
		put_rows(ROWS + i, ROWS + i);
		outbox_until_took(o, ROWS + (size_t)i);
	}
	outbox_run_ms(o, 1500);
	long long read = index_entries_read() - before;
	print_message("# index entries read: %lld\n", read);
	/* One sweep, or two, may have come; the last rows' finish. */
	assert_true(read < 3 * ROWS);
	PQfinish(old);
	outbox_free(&o);
}

static bool
has_lag(const struct outbox *o)
{
	return broker_reader_health(o->reader).lag >= 0;
}

static void
the_lag_is_what_nobody_has_taken(void **state)
{
	(void)state;
	outbox_table(outbox_server, "int");
	put_rows(1, 50);
	struct outbox *o = opened(0);
	outbox_until(o, has_lag);
	assert_int_equal(broker_reader_health(o->reader).lag, 50);
	outbox_free(&o);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_row_comes_with_all_its_columns),
	    cmocka_unit_test(rows_come_in_the_order_of_their_ids),
	    cmocka_unit_test(no_more_come_than_there_is_credit_for),
	    cmocka_unit_test(what_is_given_back_comes_again),
	    cmocka_unit_test(ids_may_be_of_any_type),
	    cmocka_unit_test(payloads_are_given_as_they_are),
	    cmocka_unit_test(what_is_odd_in_a_row_is_said_of_its_message),
	    cmocka_unit_test(many_large_rows_come_in_several_takes),
	    cmocka_unit_test(names_are_taken_as_they_are_written),
	    cmocka_unit_test(a_notification_wakes_the_reader),
	    cmocka_unit_test(a_row_that_commits_late_is_taken),
	    cmocka_unit_test(an_order_of_its_own_column_is_kept),
	    cmocka_unit_test(ten_thousand_may_be_in_hand),
	    cmocka_unit_test(finished_rows_are_not_read_again_and_again),
	    cmocka_unit_test(the_lag_is_what_nobody_has_taken),
	};
	return cmocka_run_group_tests(
	    tests, outbox_start_server, outbox_stop_server);
}
