/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "lib/store_bench.h"
#include "store/call.h"
#include "store/claim.h"
#include "store/redis/slots.h"
#include "store/topology.h"

/*
 * A store on a cluster of one server, with one shard, whose slot the server
 * says is being moved: commands whose keys are partly there have to be tried
 * again.
 */

static bool
serves(struct redis *redis)
{
	redisReply *info = redis_do(redis, "CLUSTER INFO");
	bool ok = strstr(info->str, "cluster_state:ok") != NULL;
	freeReplyObject(info);
	return ok;
}

static bool
is_ready(struct bench *bench)
{
	return serves(bench->redis) && bench_is_up(bench);
}

static int
set_up(void **state)
{
	struct bench *bench = bench_new_cluster();
	redis_just(bench->redis, "CLUSTER ADDSLOTSRANGE 0 %d", SLOTS - 1);
	bench_until(bench, is_ready);
	*state = bench;
	return 0;
}

static int
tear_down(void **state)
{
	struct bench *bench = *state;
	bench_free(&bench);
	return 0;
}

static void
move_slot(struct bench *bench)
{
	redisReply *id = redis_do(bench->redis, "CLUSTER MYID");
	redis_just(bench->redis, "CLUSTER SETSLOT %u MIGRATING %s",
	    slots_of_shard(0), id->str);
	freeReplyObject(id);
}

enum { CLAIMS = 3 };

static size_t
count_again(const struct bench *bench)
{
	const struct store_call *call;
	size_t count = 0;
	LIST_EACH(call, &bench->store->again, queued)
		count++;
	return count;
}

static bool
all_wait(struct bench *bench)
{
	return count_again(bench) == CLAIMS;
}

/* The slot has moved only for those whose keys are all there, or none. */
static void
begin_claims(struct bench *bench, struct store_op ops[CLAIMS])
{
	static const char *const keys[CLAIMS] = {"a", "b", "c"};
	struct store_op first;
	bench_claimed_ours(bench, &first, "here");
	move_slot(bench);
	for (int i = 0; i < CLAIMS; i++) {
		struct claim claim = bench_claim(bench, keys[i]);
		bench_op(bench, &ops[i]);
		claim_start(bench->store, &ops[i], &claim);
	}
	do {
		bench_until(bench, all_wait);
	} while (!all_wait(bench));
}

static void
what_waits_for_a_slot_is_tried_again(void **state)
{
	struct bench *bench = *state;
	struct store_op ops[CLAIMS];
	begin_claims(bench, ops);
	redis_just(bench->redis, "CLUSTER SETSLOT %u STABLE",
	    slots_of_shard(0));
	for (int i = 0; i < CLAIMS; i++) {
		assert_int_equal(bench_wait(bench, &ops[i]), 0);
		assert_int_equal(ops[i].verdict, VERDICT_OURS);
		assert_int_equal(ops[i].attempt, 1);
	}
}

static void
a_store_that_is_freed_ends_what_waits_for_a_slot(void **state)
{
	struct bench *bench = *state;
	struct store_op ops[CLAIMS];
	begin_claims(bench, ops);
	bench_renew_store(bench);
	for (int i = 0; i < CLAIMS; i++) {
		assert_int_equal(ops[i].op.state, OP_DONE);
		assert_int_equal(bench_wait(bench, &ops[i]), E_STORE_DOWN);
	}
}

static void
an_owner_that_leaves_ends_what_waits_for_a_slot(void **state)
{
	struct bench *bench = *state;
	struct store_op ops[CLAIMS];
	begin_claims(bench, ops);
	for (int i = 0; i < CLAIMS; i++)
		op_cancel(&ops[i].op);
	assert_int_equal(count_again(bench), 0);
	/* They never ran: there is nothing to give back. */
	assert_int_equal(store_unsettled(bench->store), 0);
}

static bool
is_settled(struct bench *bench)
{
	const struct topology *topology = bench->store->topology;
	return topology->known && topology->serves && !topology->doubted &&
	    topology->question == NULL;
}

static bool
is_asking(struct bench *bench)
{
	return bench->store->topology->question != NULL;
}

/* One that waits for a reply about the slots may be freed too. */
static void
a_store_is_freed_while_it_asks_for_the_slots(void **state)
{
	struct bench *bench = *state;
	bench_until(bench, is_settled);
	redis_freeze(bench->redis);
	topology_doubt(bench->store->topology);
	bench_until(bench, is_asking);
	bench->store->topology->doubted = false;
	bench_renew_store(bench);
	redis_thaw(bench->redis);
	bench_until(bench, bench_is_up);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(what_waits_for_a_slot_is_tried_again),
	    TEST(a_store_that_is_freed_ends_what_waits_for_a_slot),
	    TEST(an_owner_that_leaves_ends_what_waits_for_a_slot),
	    TEST(a_store_is_freed_while_it_asks_for_the_slots),
	};
	return cmocka_run_group_tests_name("store_cluster", tests, NULL, NULL);
}
