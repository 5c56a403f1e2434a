/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "lib/store_bench.h"
#include "messages/shared/leadership.h"
#include "store/redis/slots.h"

/* Who leads, among gateways of one store, whatever Redis does. */

enum { GATEWAYS = 2, SOON_US = 900 * 1000 };

/* A gateway: a store of its own, and what it was told. */
struct gateway {
	struct store *store;
	struct leadership leader;
	unsigned gained, lost;
	int64_t term;    /* when it last gained it, … */
	int64_t lost_us; /* … and when it lost it */
};

static struct gateway gateways[GATEWAYS];
static bool wrong; /* two had it, or a term did not grow: a test fails */

static void
on_gained(void *arg)
{
	struct gateway *g = arg;
	for (int i = 0; i < GATEWAYS; i++)
		wrong = wrong ||
		    (&gateways[i] != g &&
			leadership_is_held(&gateways[i].leader));
	wrong = wrong || !leadership_is_held(&g->leader) ||
	    g->leader.term <= g->term;
	g->term = g->leader.term;
	g->gained++;
}

static void
on_lost(void *arg)
{
	struct gateway *g = arg;
	wrong = wrong || leadership_is_held(&g->leader) ||
	    g->leader.term != 0;
	g->lost_us = clock_us();
	g->lost++;
}

static void
on_changed(void *arg, const struct key_id *key_id)
{
	(void)arg;
	(void)key_id;
}

static void
start(struct bench *bench, int i)
{
	struct gateway *g = &gateways[i];
	const struct leadership_events events = {on_gained, on_lost, g};
	leadership_start(
	    &g->leader, g->store, bench->loop, "source", "orders", &events);
}

static void
begin(struct bench *bench)
{
	const struct store_listener listener = {on_changed, NULL, NULL};
	memset(gateways, 0, sizeof gateways);
	wrong = false;
	for (int i = 0; i < GATEWAYS; i++) {
		gateways[i].store = i == 0
		    ? bench->store
		    : store_new(bench->loop, bench->conf, &bench->budget,
			  bench->health, NULL);
		store_listen(gateways[i].store, &listener);
	}
}

static int
set_up(void **state)
{
	*state = bench_new_short(NULL);
	begin(*state);
	return 0;
}

static int
tear_down(void **state)
{
	struct bench *bench = *state;
	for (int i = 0; i < GATEWAYS; i++) {
		leadership_stop(&gateways[i].leader);
		/* One that is stopped may be stopped. */
		leadership_stop(&gateways[i].leader);
		if (i > 0)
			store_free(&gateways[i].store);
	}
	bench_free(&bench);
	return 0;
}

/* --- what is waited for --- */

static bool
first_has_it(struct bench *bench)
{
	(void)bench;
	return wrong || (leadership_is_held(&gateways[0].leader) &&
	    gateways[0].leader.watch.call == NULL);
}

static bool
second_has_it(struct bench *bench)
{
	(void)bench;
	return wrong || leadership_is_held(&gateways[1].leader);
}

static bool
first_lost_it(struct bench *bench)
{
	(void)bench;
	return wrong || gateways[0].lost > 0;
}

static int64_t renewed_us;

static bool
is_renewed(struct bench *bench)
{
	(void)bench;
	return wrong || gateways[0].leader.until_us > renewed_us;
}

/* Runs until then, or until something is wrong. */
static void
until(struct bench *bench, bool (*is_so)(struct bench *bench))
{
	bench_until(bench, is_so);
	assert_false(wrong);
}

static redisReply *
get_leadership(struct bench *bench)
{
	redisReply *keys =
	    redis_do(bench->redis, "KEYS *:leadership:source:orders");
	assert_int_equal(keys->elements, 1);
	redisReply *value =
	    redis_do(bench->redis, "GET %s", keys->element[0]->str);
	freeReplyObject(keys);
	return value;
}

/* --- tests --- */

static void
one_of_two_has_it_and_keeps_it(void **state)
{
	struct bench *bench = *state;
	start(bench, 0);
	until(bench, first_has_it);
	start(bench, 1);
	/* Beyond the end of the lease that it had first. */
	renewed_us = clock_us() +
	    (LEADERSHIP_LEASE_MS + LEADERSHIP_RENEW_MS) * 1000;
	until(bench, is_renewed);
	assert_int_equal(gateways[0].gained, 1);
	assert_int_equal(gateways[0].lost, 0);
	assert_int_equal(gateways[1].gained, 0);
}

static void
what_is_given_back_is_anothers_at_once(void **state)
{
	struct bench *bench = *state;
	start(bench, 0);
	until(bench, first_has_it);
	start(bench, 1);
	renewed_us = gateways[0].leader.until_us;
	until(bench, is_renewed);
	int64_t stopped_us = clock_us();
	leadership_stop(&gateways[0].leader);
	until(bench, second_has_it);
	assert_true(clock_us() - stopped_us < SOON_US);
	assert_int_equal(gateways[0].lost, 0);
	assert_true(gateways[1].term > gateways[0].term);
}

static void
what_a_dead_gateway_had_is_anothers_after_its_lease(void **state)
{
	struct bench *bench = *state;
	start(bench, 0);
	until(bench, first_has_it);
	int64_t until_us = gateways[0].leader.until_us;
	/* It dies: nothing is renewed any more, and nothing given back. */
	gateways[0].leader.term = 0;
	leadership_stop(&gateways[0].leader);
	start(bench, 1);
	until(bench, second_has_it);
	assert_true(clock_us() >= until_us + LEADERSHIP_MARGIN_MS * 1000);
	assert_true(
	    clock_us() < until_us + LEADERSHIP_MARGIN_MS * 1000 + SOON_US);
	assert_true(gateways[1].term > gateways[0].term);
}

/* When the lease is over, by Redis' clock, in microseconds of ours. */
static int64_t
lease_end_us(struct bench *bench)
{
	redisReply *value = get_leadership(bench);
	int64_t ends_ms = atoll(strchr(value->str, ' ') + 1);
	freeReplyObject(value);
	return clock_us() + (ends_ms - clock_wall_ms()) * 1000;
}

static void
it_is_given_up_before_the_lease_can_end(struct bench *bench, bool dies)
{
	start(bench, 0);
	until(bench, first_has_it);
	int64_t end_us = lease_end_us(bench);
	if (dies)
		redis_kill(bench->redis);
	else
		redis_freeze(bench->redis);
	until(bench, first_lost_it);
	assert_true(gateways[0].lost_us < end_us);
	assert_true(
	    gateways[0].lost_us > end_us - 2 * LEADERSHIP_MARGIN_MS * 1000);
	int64_t term = gateways[0].term;
	if (dies)
		redis_again(bench->redis);
	else
		redis_thaw(bench->redis);
	until(bench, first_has_it);
	assert_int_equal(gateways[0].gained, 2);
	assert_true(gateways[0].term > term);
}

static void
a_frozen_redis_takes_it_away_in_time(void **state)
{
	it_is_given_up_before_the_lease_can_end(*state, false);
}

static void
a_dead_redis_takes_it_away_in_time_and_terms_still_grow(void **state)
{
	it_is_given_up_before_the_lease_can_end(*state, true);
}

static void
what_redis_forgets_is_lost_and_terms_still_grow(void **state)
{
	struct bench *bench = *state;
	start(bench, 0);
	until(bench, first_has_it);
	redis_just(bench->redis, "FLUSHALL");
	until(bench, first_lost_it);
	until(bench, first_has_it);
	assert_int_equal(gateways[0].gained, 2);
}

/* Somebody else has it, which cannot be: it is given up all the same. */
static void
what_another_has_is_lost(void **state)
{
	struct bench *bench = *state;
	start(bench, 0);
	until(bench, first_has_it);
	redisReply *keys = redis_do(bench->redis, "KEYS *:leadership:*");
	redis_just(bench->redis, "SET %s %s", keys->element[0]->str,
	    "99999999999999 9999999999999 AAAAAAAAAAAAAAAAAAAAAA");
	freeReplyObject(keys);
	int64_t set_us = clock_us();
	until(bench, first_lost_it);
	assert_true(
	    gateways[0].lost_us - set_us < 2 * LEADERSHIP_RENEW_MS * 1000);
	/* No lease is longer than a lease, whatever the clock was set to. */
	until(bench, first_has_it);
	assert_true(gateways[0].term > INT64_C(99999999999999));
}

/* --- in a cluster --- */

static bool
is_ready(struct bench *bench)
{
	redisReply *info = redis_do(bench->redis, "CLUSTER INFO");
	bool ok = strstr(info->str, "cluster_state:ok") != NULL;
	freeReplyObject(info);
	return ok && bench_is_up(bench);
}

static int
set_up_cluster(void **state)
{
	struct bench *bench = bench_new_cluster();
	redis_just(bench->redis, "CLUSTER ADDSLOTSRANGE 0 %d", SLOTS - 1);
	bench_until(bench, is_ready);
	begin(bench);
	*state = bench;
	return 0;
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(one_of_two_has_it_and_keeps_it),
	    TEST(what_is_given_back_is_anothers_at_once),
	    {"the same in a cluster", what_is_given_back_is_anothers_at_once,
		set_up_cluster, tear_down, NULL},
	    TEST(what_a_dead_gateway_had_is_anothers_after_its_lease),
	    TEST(a_frozen_redis_takes_it_away_in_time),
	    TEST(a_dead_redis_takes_it_away_in_time_and_terms_still_grow),
	    TEST(what_redis_forgets_is_lost_and_terms_still_grow),
	    TEST(what_another_has_is_lost),
	};
	return cmocka_run_group_tests_name("leadership", tests, NULL, NULL);
}
