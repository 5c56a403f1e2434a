/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "conf/load/conf_load.h"
#include "lib/ports.h"
#include "lib/store_bench.h"
#include "store/claim.h"
#include "store/outcome.h"

enum { PATIENCE_MS = 120000, LOOK_MS = 2 };

static const struct conf *
make_conf(const char *where, int timeout_ms, const char *idempotency)
{
	struct complaints complaints = {0};
	char *text = mem_printf("{\"listen\": [\"127.0.0.1:0\"],"
		"\"store\": {%s, \"timeout\": \"%dms\"},"
		"\"upstreams\": {\"u\": \"http://127.0.0.1:9\"},"
		"\"routes\": [{\"path\": \"/*\", \"upstream\": \"u\","
		"\"idempotency\": {%s}}]}",
	    where, timeout_ms, idempotency);
	const struct conf *conf =
	    conf_load_text("test", span_str(text), false, &complaints);
	if (conf == NULL)
		fail_msg("%s: %s", complaints.list[0].pointer,
		    complaints.list[0].message);
	complaints_free(&complaints);
	free(text);
	return conf;
}

static void
use_conf(struct bench *bench, const char *where, int timeout_ms,
    const char *idempotency)
{
	conf_unref(&bench->conf);
	bench->conf = make_conf(where, timeout_ms, idempotency);
	bench->policy = bench->conf->routes[0].idempotency;
}

/* url NULL: of the bench's own redis-server. */
static void
set_conf(struct bench *bench, const char *url, int timeout_ms,
    const char *idempotency)
{
	char *where = url != NULL
	    ? mem_printf("\"redis\": \"%s\"", url)
	    : mem_printf("\"redis\": \"unix:%s\"", bench->redis->socket);
	use_conf(bench, where, timeout_ms, idempotency);
	free(where);
}

static struct bench *
begin_bench(void)
{
	struct bench *bench = mem_zero(sizeof *bench);
	bench->loop = loop_new();
	bench->health = store_health_new();
	atomic_init(&bench->budget.used, 0);
	atomic_init(&bench->budget.limit, 16 * 1024 * 1024);
	return bench;
}

static struct bench *
make_bench(const char *url, const char *const *arguments, int timeout_ms,
    const char *idempotency)
{
	struct bench *bench = begin_bench();
	if (url == NULL)
		bench->redis = redis_start(arguments);
	set_conf(bench, url, timeout_ms, idempotency);
	bench->store = store_new(
	    bench->loop, bench->conf, &bench->budget, bench->health, NULL);
	return bench;
}

struct bench *
bench_new(
    const char *url, const char *const *arguments, const char *idempotency)
{
	return make_bench(url, arguments, BENCH_TIMEOUT_MS, idempotency);
}

struct bench *
bench_new_short(const char *const *arguments)
{
	return make_bench(NULL, arguments, BENCH_SHORT_MS, "");
}

struct bench *
bench_new_cluster(void)
{
	struct bench *bench = begin_bench();
	unsigned number = ports_free();
	char *port = mem_printf("%u", number);
	char *bus = mem_printf("%u", ports_free());
	char *where = mem_printf(
	    "\"cluster\": [\"127.0.0.1:%u\"], \"shards\": 1", number);
	const char *const arguments[] = {"--port", port, "--bind", "127.0.0.1",
	    "--cluster-enabled", "yes", "--cluster-port", bus, NULL};
	bench->redis = redis_start(arguments);
	bench->redis->options = NULL; /* they end with this function */
	use_conf(bench, where, BENCH_TIMEOUT_MS, "");
	bench->store = store_new(
	    bench->loop, bench->conf, &bench->budget, bench->health, NULL);
	free(where);
	free(bus);
	free(port);
	return bench;
}

void
bench_renew_store(struct bench *bench)
{
	store_free(&bench->store);
	bench->store = store_new(
	    bench->loop, bench->conf, &bench->budget, bench->health, NULL);
}

void
bench_take_time(struct bench *bench)
{
	set_conf(bench, NULL, BENCH_TIMEOUT_MS, "");
	bench_renew_store(bench);
}

void
bench_free(struct bench **bench)
{
	struct bench *b = *bench;
	*bench = NULL;
	store_free(&b->store);
	store_health_free(&b->health);
	conf_unref(&b->conf);
	loop_free(&b->loop);
	redis_stop(&b->redis);
	assert_int_equal(atomic_load(&b->budget.used), 0);
	free(b);
}

/* --- waiting --- */

struct watchdog {
	struct timer timer;
	struct bench *bench;
	bool (*is_so)(struct bench *bench);
	int64_t until_us;
};

static void
on_look(void *arg)
{
	struct watchdog *dog = arg;
	if (dog->is_so != NULL && dog->is_so(dog->bench))
		loop_stop(dog->bench->loop);
	else if (clock_us() > dog->until_us)
		loop_stop(dog->bench->loop);
	else
		timer_set(&dog->timer, LOOK_MS);
}

/* Runs the loop until it is stopped, or for too long. */
static void
run(struct bench *bench, bool (*is_so)(struct bench *bench))
{
	struct watchdog dog = {.bench = bench, .is_so = is_so,
	    .until_us = clock_us() + (int64_t)PATIENCE_MS * 1000};
	timer_init(&dog.timer, bench->loop, on_look, &dog);
	timer_set(&dog.timer, 0);
	loop_run(bench->loop);
	timer_clear(&dog.timer);
}

static void
on_done(void *owner)
{
	struct bench *bench = owner;
	loop_stop(bench->loop);
}

void
bench_op(struct bench *bench, struct store_op *op)
{
	*op = (struct store_op){0};
	op_init(&op->op, bench->loop, on_done, bench);
}

int
bench_wait(struct bench *bench, struct store_op *op)
{
	/* One that is done has not been woken yet. */
	while (op->op.state == OP_PENDING || op->op.task.link.next != NULL) {
		int64_t began_us = clock_us();
		run(bench, NULL);
		assert_true(clock_us() - began_us < PATIENCE_MS * 1000LL);
	}
	assert_int_equal(op->op.state, OP_DONE);
	return op->op.error;
}

void
bench_until(struct bench *bench, bool (*is_so)(struct bench *bench))
{
	int64_t began_us = clock_us();
	while (!is_so(bench)) {
		run(bench, is_so);
		assert_true(clock_us() - began_us < PATIENCE_MS * 1000LL);
	}
}

bool
bench_is_up(struct bench *bench)
{
	return store_is_up(bench->store);
}

bool
bench_is_down(struct bench *bench)
{
	return !store_is_up(bench->store);
}

bool
bench_is_settled(struct bench *bench)
{
	return store_unsettled(bench->store) == 0;
}

/* --- operations --- */

struct claim
bench_claim(struct bench *bench, const char *key)
{
	struct claim claim = {.policy = bench->policy,
	    .max_attempts = bench->policy->max_attempts,
	    .provenance = SPAN("r")};
	const struct conf_scopes none = {NULL, 0};
	key_id_make(bench->conf, SPAN("default"), &none, NULL, span_str(key),
	    &claim.key_id);
	owner_new(&claim.owner);
	memset(claim.fingerprint, 1, sizeof claim.fingerprint);
	return claim;
}

struct owned_claim
bench_owned(struct bench *bench, const struct claim *claim, uint32_t attempt)
{
	return (struct owned_claim){.key_id = claim->key_id,
	    .owner = claim->owner, .attempt = attempt,
	    .policy = bench->policy, .provenance = SPAN("r")};
}

int
bench_claimed(
    struct bench *bench, struct store_op *op, const struct claim *claim)
{
	bench_op(bench, op);
	claim_start(bench->store, op, claim);
	return bench_wait(bench, op);
}

struct claim
bench_claimed_ours(
    struct bench *bench, struct store_op *op, const char *key)
{
	int64_t began_us = clock_us();
	for (;;) {
		struct claim claim = bench_claim(bench, key);
		if (bench_claimed(bench, op, &claim) == 0 &&
		    op->verdict == VERDICT_OURS)
			return claim;
		answer_unref(&op->answer);
		assert_true(clock_us() - began_us < PATIENCE_MS * 1000LL);
	}
}

struct answer *
bench_answer(struct bench *bench, const char *text)
{
	struct field list[] = {{SPAN("Content-Type"), SPAN("text/plain")}};
	struct fields fields = {list, 1};
	struct body body = {.budget = &bench->budget};
	assert_int_equal(body_append(&body, text, strlen(text)), 0);
	return answer_new(201, &fields, &body, SPAN("request-1"));
}

enum verdict
bench_completed(
    struct bench *bench, const struct owned_claim *owned, const char *text)
{
	struct store_op op;
	struct answer *answer = bench_answer(bench, text);
	bench_op(bench, &op);
	outcome_store(bench->store, &op, owned,
	    &(struct owned_outcome){.answer = answer});
	assert_int_equal(bench_wait(bench, &op), 0);
	answer_unref(&answer);
	answer_unref(&op.answer);
	return op.verdict;
}

void
bench_replays(struct bench *bench, const char *key, const char *text)
{
	struct store_op op;
	struct claim claim = bench_claim(bench, key);
	assert_int_equal(bench_claimed(bench, &op, &claim), 0);
	assert_int_equal(op.verdict, VERDICT_COMPLETED);
	assert_int_equal(op.answer->status, 201);
	assert_true(span_eq(body_span(&op.answer->body), span_str(text)));
	assert_true(span_eq(op.answer->request_id, SPAN("request-1")));
	answer_unref(&op.answer);
}
