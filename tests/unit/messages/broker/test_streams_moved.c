/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "lib/ports.h"
#include "lib/store_bench.h"
#include "lib/streams_bench.h"
#include "messages/broker/reader.h"
#include "store/redis/slots.h"

/*
 * The stream is where the cluster says, or the Sentinels, and a reader follows
 * it there.
 */
struct server {
	struct redis *redis;
	unsigned port;
};

struct scene {
	struct server one, two;
	struct sbench *bench;
	pid_t sentinel;
	char folder[FOLDER_MAX];
};

static void
start_server(struct server *server, bool cluster)
{
	server->port = ports_free();
	char *port = mem_printf("%u", server->port);
	char *bus = mem_printf("%u", ports_free());
	const char *const options[] = {"--port", port, "--bind", "127.0.0.1",
	    "--cluster-enabled", cluster ? "yes" : "no", "--cluster-port", bus,
	    "--repl-diskless-sync-delay", "0", NULL};
	server->redis = redis_start(options);
	server->redis->options = NULL; /* they end with this function */
	free(bus);
	free(port);
}

static void
open_bench(struct scene *scene, char *where)
{
	static char s[] = "{q}s", r[] = "{q}r", d[] = "{q}d";
	scene->bench = sbench_new(where, NULL);
	scene->bench->source.stream = s;
	scene->bench->source.results = r;
	scene->bench->source.dead_letters = d;
	free(where);
}

static int
tear_down(void **state)
{
	struct scene *scene = *state;
	if (scene->bench != NULL)
		sbench_free(&scene->bench);
	if (scene->sentinel > 0) {
		kill(scene->sentinel, SIGKILL);
		waitpid(scene->sentinel, NULL, 0);
		folder_remove(scene->folder);
	}
	redis_stop(&scene->one.redis);
	redis_stop(&scene->two.redis);
	free(scene);
	return 0;
}

static void
add(struct server *server, int count)
{
	for (int i = 1; i <= count; i++)
		redis_just(server->redis, "XADD {q}s * n %d", i);
}

static const struct broker_put result = {
    .place = BROKER_RESULTS, .has_body = true, .body = SPAN("x")};

/* Finishes the first with a result, again while the broker is away. */
static void
put_first(struct sbench_reader *r)
{
	struct sbench_finish *f = sbench_finish_new(r->bench);
	struct broker_message *m = sbench_shift(r);
	int error;
	do
		error = sbench_finish(r, f, m, &result);
	while (error == E_BROKER_DOWN);
	assert_int_equal(error, 0);
	assert_int_equal(f->finish.finished, BROKER_FINISHED);
	broker_message_free(&m);
}

/* --- a cluster --- */

static bool
says(struct server *server, const char *command, const char *text)
{
	redisReply *info = redis_do(server->redis, command);
	bool is_so = info->str != NULL && strstr(info->str, text) != NULL;
	freeReplyObject(info);
	return is_so;
}

static int
set_up_cluster(void **state)
{
	struct scene *scene = mem_zero(sizeof *scene);
	*state = scene;
	start_server(&scene->one, true);
	start_server(&scene->two, true);
	open_bench(scene, mem_printf("\"cluster\": [\"127.0.0.1:%u\"],"
		"\"shards\": 1", scene->one.port));
	redis_just(
	    scene->one.redis, "CLUSTER ADDSLOTSRANGE 0 %d", SLOTS - 1);
	redisReply *bus = redis_do(
	    scene->two.redis, "CONFIG GET cluster-port");
	redis_just(scene->one.redis, "CLUSTER MEET 127.0.0.1 %u %s",
	    scene->two.port, bus->element[1]->str);
	freeReplyObject(bus);
	UNTIL(scene->bench,
	    says(&scene->one, "CLUSTER INFO", "cluster_state:ok") &&
	    says(&scene->two, "CLUSTER INFO", "cluster_state:ok") &&
	    says(&scene->two, "CLUSTER NODES", "0-16383"));
	return 0;
}

static void
set_slot(struct server *server, const char *how, struct server *other)
{
	redisReply *id = redis_do(other->redis, "CLUSTER MYID");
	redisReply *done = redis_do(server->redis, "CLUSTER SETSLOT %u %s %s",
	    slots_of_tag(SPAN("q")), how, id->str);
	assert_int_equal(done->type, REDIS_REPLY_STATUS);
	freeReplyObject(done);
	freeReplyObject(id);
}

static void
move_key(struct scene *scene, const char *key)
{
	redisReply *done = redis_do(scene->one.redis,
	    "MIGRATE 127.0.0.1 %u %s 0 5000", scene->two.port, key);
	assert_int_equal(done->type, REDIS_REPLY_STATUS);
	freeReplyObject(done);
}

static void
the_stream_is_followed_to_another_server(void **state)
{
	struct scene *scene = *state;
	add(&scene->one, 4);
	struct sbench_reader *a = sbench_open(scene->bench, "a");
	UNTIL(scene->bench, a->taken == 4);
	put_first(a);
	set_slot(&scene->two, "IMPORTING", &scene->one);
	set_slot(&scene->one, "MIGRATING", &scene->two);
	move_key(scene, "{q}s");
	/* Some keys are there, and some here: it is tried again. */
	struct sbench_finish *f = sbench_finish_new(scene->bench);
	sbench_finish_start(a, f, a->first, &result);
	for (int i = 0; i < 50; i++)
		sbench_turn(scene->bench);
	move_key(scene, "{q}r");
	UNTIL(scene->bench, f->woken);
	assert_true(f->finish.op.error == 0 ||
	    f->finish.op.error == E_BROKER_DOWN);
	if (f->finish.op.error == 0) {
		struct broker_message *m = sbench_shift(a);
		broker_message_free(&m);
	} else {
		put_first(a);
	}
	set_slot(&scene->two, "NODE", &scene->two);
	set_slot(&scene->one, "NODE", &scene->two);
	add(&scene->two, 1);
	UNTIL(scene->bench, a->taken == 5);
	while (a->first != NULL)
		put_first(a);
	assert_int_equal(redis_integer(scene->two.redis, "XLEN {q}r"), 5);
	for (int how = 0; how < BROKER_LOSS_COUNT_; how++)
		assert_int_equal(a->lost[how], 0);
}

/* It is told MOVED at the first word, and knows no other server. */
static void
a_seed_without_the_stream_names_its_server(void **state)
{
	struct scene *scene = *state;
	set_slot(&scene->two, "NODE", &scene->two);
	set_slot(&scene->one, "NODE", &scene->two);
	add(&scene->two, 2);
	struct sbench_reader *a = sbench_open(scene->bench, "a");
	UNTIL(scene->bench, a->taken == 2);
	put_first(a);
	put_first(a);
	assert_int_equal(redis_integer(scene->two.redis, "XLEN {q}r"), 2);
}

/* --- Sentinels --- */

static void
start_sentinel(struct scene *scene, unsigned port)
{
	char *name;
	folder_make("sentinel", scene->folder);
	name = mem_printf("%s/sentinel.conf", scene->folder);
	FILE *file = fopen(name, "w");
	assert_non_null(file);
	fprintf(file, "port %u\nbind 127.0.0.1\ndir %s\nlogfile %s/log\n"
		"sentinel monitor m 127.0.0.1 %u 1\n",
	    port, scene->folder, scene->folder, scene->one.port);
	fclose(file);
	char *argv[] = {mem_text(REDIS_SERVER), name, mem_text("--sentinel"),
	    NULL};
	scene->sentinel = fork();
	if (scene->sentinel == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execv(argv[0], argv);
		_exit(127);
	}
	free(argv[0]);
	free(argv[2]);
	free(name);
}

static int
set_up_sentinel(void **state)
{
	struct scene *scene = mem_zero(sizeof *scene);
	*state = scene;
	start_server(&scene->one, false);
	start_server(&scene->two, false);
	redis_just(scene->two.redis, "REPLICAOF 127.0.0.1 %u",
	    scene->one.port);
	unsigned port = ports_free();
	start_sentinel(scene, port);
	open_bench(scene, mem_printf("\"sentinels\": [\"127.0.0.1:%u\"],"
		"\"master\": \"m\"", port));
	return 0;
}

static void
the_master_is_followed_that_sentinels_name(void **state)
{
	struct scene *scene = *state;
	add(&scene->one, 3);
	struct sbench_reader *a = sbench_open(scene->bench, "a");
	UNTIL(scene->bench, a->taken == 3);
	put_first(a);
	UNTIL(scene->bench,
	    redis_integer(scene->two.redis, "XLEN {q}r") == 1);
	/* What a failover does, by the hand of an operator. */
	redis_just(scene->two.redis, "REPLICAOF NO ONE");
	redis_just(scene->one.redis, "REPLICAOF 127.0.0.1 %u",
	    scene->two.port);
	redisContext *sentinel = redisConnect(
	    "127.0.0.1", atoi(strrchr(scene->bench->conf->store.redis
		.sentinels.list[0], ':') + 1));
	freeReplyObject(redisCommand(sentinel, "SENTINEL REMOVE m"));
	freeReplyObject(redisCommand(sentinel,
	    "SENTINEL MONITOR m 127.0.0.1 %u 1", scene->two.port));
	redisFree(sentinel);
	add(&scene->two, 1);
	UNTIL(scene->bench, a->taken == 4);
	while (a->first != NULL)
		put_first(a);
	assert_int_equal(redis_integer(scene->two.redis, "XLEN {q}r"), 4);
	assert_int_equal(a->taken, 4);
}

int
main(void)
{
#define TEST(name, kind)                                                      \
	cmocka_unit_test_setup_teardown(name, set_up_##kind, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(the_stream_is_followed_to_another_server, cluster),
	    TEST(a_seed_without_the_stream_names_its_server, cluster),
	    TEST(the_master_is_followed_that_sentinels_name, sentinel),
	};
	return cmocka_run_group_tests_name("streams_moved", tests, NULL, NULL);
}
