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
 * Several gateways share a table: each row is one's, all rows of an entity are
 * one's, and a gateway that goes leaves what it had to the others.
 */
static struct {
	struct outbox *one, *other;
	size_t wanted;
} both;

static void
open_two(enum source_order order, unsigned credit)
{
	both.one = outbox_new(NULL);
	both.other = outbox_new(both.one);
	both.one->source.order_by = both.other->source.order_by = order;
	outbox_open(both.one, credit);
	outbox_open(both.other, credit);
}

static void
close_two(void)
{
	if (both.other != NULL)
		outbox_free(&both.other);
	outbox_free(&both.one);
}

static void
put_rows(int from, int to, int entities)
{
	postgres_just(outbox_server, NULL,
	    "INSERT INTO outbox (id, aggregateid, type, payload) "
	    "SELECT n, 'e' || n %% %d, 'made', '{}' "
	    "FROM generate_series(%d, %d) n",
	    entities, from, to);
}

/* How many parts each session has, the most first, as "16 16". */
static bool
parts_are(const char *wanted)
{
	char *text = postgres_text(outbox_server,
	    "SELECT coalesce(string_agg(n::text, ' ' ORDER BY n DESC), '') "
	    "FROM (SELECT count(*) AS n FROM pg_locks WHERE locktype = "
	    "'advisory' AND objsubid = 2 AND objid < 32 AND granted "
	    "GROUP BY pid) AS s");
	bool same = strcmp(text, wanted) == 0;
	free(text);
	return same;
}

static bool
are_shared(const struct outbox *o)
{
	(void)o;
	return parts_are("16 16");
}

static bool
are_one_s(const struct outbox *o)
{
	(void)o;
	return parts_are("32");
}

static bool
took_all(const struct outbox *o)
{
	(void)o;
	return both.one->n_took + both.other->n_took >= both.wanted;
}

static bool
other_took_some(const struct outbox *o)
{
	(void)o;
	return both.other->n_took > 0;
}

static void
an_entity_is_one_readers_and_in_order(void **state)
{
	(void)state;
	enum { ROWS = 2000, ENTITIES = 50 };
	int reader_of[ENTITIES] = {0}, last_of[ENTITIES] = {0};
	outbox_table(outbox_server, "int");
	open_two(SOURCE_ORDER_ENTITY, 10000);
	outbox_until(both.one, are_shared);
	put_rows(1, ROWS, ENTITIES);
	both.wanted = ROWS;
	outbox_until(both.one, took_all);
	for (int i = 0; i < 2; i++) {
		struct outbox *o = i == 0 ? both.one : both.other;
		for (size_t n = 0; n < o->n_took; n++) {
			int entity = atoi(o->took[n]->entity.ptr + 1);
			int id = atoi(o->took[n]->position.ptr);
			assert_true(id > last_of[entity]);
			last_of[entity] = id;
			assert_true(reader_of[entity] != 2 - i);
			reader_of[entity] = 1 + i;
		}
	}
	close_two();
}

static void
other_orders_have_one_reader_at_a_time(void **state)
{
	(void)state;
	outbox_table(outbox_server, "int");
	open_two(SOURCE_ORDER_POINTERS, 100);
	put_rows(1, 20, 5);
	both.wanted = 20;
	outbox_until(both.one, took_all);
	outbox_run_ms(both.one, 1500);
	assert_true(both.one->n_took == 0 || both.other->n_took == 0);
	assert_int_equal(both.one->n_took + both.other->n_took, 20);
	close_two();
}

static void
who_joins_gets_parts_when_nothing_of_them_is_in_hand(void **state)
{
	(void)state;
	outbox_table(outbox_server, "int");
	put_rows(1, 500, 500);
	both.one = outbox_new(NULL);
	outbox_open(both.one, 500);
	outbox_until_took(both.one, 500);
	both.other = outbox_new(both.one);
	outbox_open(both.other, 1000);
	outbox_until_up(both.other, true);
	/* All parts have rows in hand: none is let go of. */
	outbox_run_ms(both.one, 3000);
	assert_true(parts_are("32"));
	assert_int_equal(both.other->n_took, 0);
	for (size_t i = 0; i < 500; i++) {
		struct outbox_finish f;
		assert_int_equal(
		    outbox_finish(both.one, &f, both.one->took[i], NULL), 0);
	}
	outbox_until(both.one, are_shared);
	put_rows(1001, 1100, 100);
	outbox_until(both.one, other_took_some);
	assert_true(broker_reader_health(both.one->reader).rebalances > 0);
	close_two();
}

static void
who_goes_leaves_all_to_the_others_at_once(void **state)
{
	(void)state;
	outbox_table(outbox_server, "int");
	open_two(SOURCE_ORDER_ENTITY, 10000);
	outbox_until(both.one, are_shared);
	put_rows(1, 200, 50);
	both.wanted = 200;
	outbox_until(both.one, took_all);
	size_t had = both.other->n_took;
	assert_true(had > 0);
	/* It finishes none of its rows. */
	broker_reader_close(&both.other->reader);
	outbox_until_took(both.one, 200);
	outbox_until(both.one, are_one_s);
	close_two();
}

/* Each has a loop of its own, and only one of them runs. */
static void
who_is_frozen_loses_its_parts_and_finishes_nothing_twice(void **state)
{
	(void)state;
	struct outbox_finish f;
	outbox_table(outbox_server, "int");
	put_rows(1, 10, 10);
	both.one = outbox_new(NULL);
	outbox_open(both.one, 100);
	outbox_until_took(both.one, 10);
	both.other = outbox_new(NULL);
	outbox_open(both.other, 100);
	outbox_until_took(both.other, 10);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(outbox_finish(both.other, &f,
				     both.other->took[i], NULL), 0);
		assert_int_equal(f.finish.finished, BROKER_FINISHED);
	}
	outbox_until_up(both.one, false);
	outbox_until_up(both.one, true);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(outbox_finish(both.one, &f,
				     both.one->took[i], NULL), 0);
		assert_int_equal(f.finish.finished, BROKER_NOT_PENDING);
	}
	assert_int_equal(both.one->deleted + both.other->deleted, 0);
	close_two();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_entity_is_one_readers_and_in_order),
	    cmocka_unit_test(other_orders_have_one_reader_at_a_time),
	    cmocka_unit_test(
		who_joins_gets_parts_when_nothing_of_them_is_in_hand),
	    cmocka_unit_test(who_goes_leaves_all_to_the_others_at_once),
	    cmocka_unit_test(
		who_is_frozen_loses_its_parts_and_finishes_nothing_twice),
	};
	return cmocka_run_group_tests(
	    tests, outbox_start_server, outbox_stop_server);
}
