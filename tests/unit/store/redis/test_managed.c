/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "conf/load/conf_load.h"
#include "lib/folder.h"
#include "store/redis/managed.h"

/*
 * The private redis-server: there is one, it keeps its data, and it never
 * outlives its gateway.  The gateways here are child processes of the test.
 */

enum { PATIENCE_MS = 15000, LOOK_MS = 5 };

struct place {
	char state_dir[FOLDER_MAX];
	char *folder;
	char *socket;
	const struct conf *conf;
};

/* True where that process is a redis-server that works in the folder. */
static bool
is_redis_of(pid_t pid, const char *folder)
{
	char name[64], cwd[PATH_MAX + 1], path[PATH_MAX + 1], comm[32] = "";
	snprintf(name, sizeof name, "/proc/%d/cwd", (int)pid);
	ssize_t len = readlink(name, cwd, sizeof cwd - 1);
	if (len < 0 || realpath(folder, path) == NULL)
		return false;
	cwd[len] = '\0';
	snprintf(name, sizeof name, "/proc/%d/comm", (int)pid);
	FILE *file = fopen(name, "re");
	if (file == NULL)
		return false;
	bool named = fgets(comm, sizeof comm, file) != NULL &&
	    strncmp(comm, "redis", strlen("redis")) == 0;
	fclose(file);
	return named && strcmp(cwd, path) == 0;
}

/* The one that the folder's pid file names; 0: there is none. */
static pid_t
redis_of(const char *folder)
{
	int pid = 0;
	char *name = mem_printf("%s/redis.pid", folder);
	FILE *file = fopen(name, "re");
	free(name);
	if (file == NULL)
		return 0;
	if (fscanf(file, "%d", &pid) != 1 || !is_redis_of(pid, folder))
		pid = 0;
	fclose(file);
	return pid;
}

static int
set_up(void **state)
{
	signal(SIGPIPE, SIG_IGN);
	struct place *place = mem_zero(sizeof *place);
	struct complaints complaints = {0};
	folder_make("managed", place->state_dir);
	char *text = mem_printf("{\"listen\": [\"127.0.0.1:0\"],"
		"\"state_dir\": \"%s/state\","
		"\"store\": {\"redis\": \"managed\"},"
		"\"upstreams\": {\"u\": \"http://127.0.0.1:9\"},"
		"\"routes\": [{\"path\": \"/*\", \"upstream\": \"u\","
		"\"idempotency\": {}}]}", place->state_dir);
	place->conf = conf_load_text("test", span_str(text), &complaints);
	assert_non_null(place->conf);
	complaints_free(&complaints);
	free(text);
	place->folder = mem_printf("%s/state/redis", place->state_dir);
	place->socket = managed_socket(place->conf);
	*state = place;
	return 0;
}

static int
tear_down(void **state)
{
	struct place *place = *state;
	pid_t left = redis_of(place->folder);
	if (left != 0)
		kill(left, SIGKILL);
	conf_unref(&place->conf);
	folder_remove(place->state_dir);
	free(place->folder);
	free(place->socket);
	free(place);
	return left != 0; /* nothing may be left */
}

/* Waits until it is. */
#define EVENTUALLY(condition) \
	do { \
		for (int ms_ = 0; !(condition); ms_ += LOOK_MS) { \
			assert_true(ms_ < PATIENCE_MS); \
			poll(NULL, 0, LOOK_MS); \
		} \
	} while (0)

static struct managed *
start(struct loop *loop, struct place *place)
{
	char *message = NULL;
	struct managed *managed = managed_start(loop, place->conf, &message);
	if (managed == NULL)
		fail_msg("%s", message);
	return managed;
}

/* Runs a command; true where the reply is that text or integer. */
static bool
says(struct place *place, const char *command, const char *expected)
{
	redisContext *redis = redisConnectUnix(place->socket);
	redisReply *reply = NULL;
	char text[64] = "";
	if (redis != NULL && redis->err == 0)
		reply = redisCommand(redis, command);
	if (reply != NULL && reply->type == REDIS_REPLY_INTEGER)
		snprintf(text, sizeof text, "%lld", reply->integer);
	else if (reply != NULL && reply->str != NULL)
		snprintf(text, sizeof text, "%s", reply->str);
	if (reply != NULL)
		freeReplyObject(reply);
	if (redis != NULL)
		redisFree(redis);
	return strcmp(text, expected) == 0;
}

/* The value that CONFIG GET answers. */
static bool
is_configured(struct place *place, const char *name, const char *value)
{
	redisContext *redis = redisConnectUnix(place->socket);
	redisReply *reply = redisCommand(redis, "CONFIG GET %s", name);
	assert_int_equal(reply->elements, 2);
	bool same = strcmp(reply->element[1]->str, value) == 0;
	freeReplyObject(reply);
	redisFree(redis);
	return same;
}

static void
it_starts_safe_and_ends_with_its_gateway(void **state)
{
	struct place *place = *state;
	struct loop *loop = loop_new();
	struct managed *managed = start(loop, place);
	assert_true(says(place, "PING", "PONG"));
	assert_true(is_configured(place, "appendonly", "yes"));
	assert_true(is_configured(place, "appendfsync", "always"));
	assert_true(is_configured(place, "maxmemory-policy", "noeviction"));
	assert_true(is_configured(place, "port", "0"));
	struct stat st;
	assert_int_equal(stat(place->folder, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(stat(place->socket, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	pid_t pid = redis_of(place->folder);
	assert_true(pid > 0);
	managed_stop(&managed);
	assert_null(managed);
	assert_int_equal(kill(pid, 0), -1);
	managed_stop(&managed);
	loop_free(&loop);
}

static void
what_it_was_told_survives_a_restart_of_the_gateway(void **state)
{
	struct place *place = *state;
	struct loop *loop = loop_new();
	struct managed *managed = start(loop, place);
	assert_true(says(place, "SET k v PX 100000", "OK"));
	managed_stop(&managed);
	managed = start(loop, place);
	assert_true(says(place, "GET k", "v"));
	managed_stop(&managed);
	loop_free(&loop);
}

struct stopper {
	struct timer timer;
	struct loop *loop;
	struct managed *managed;
	struct place *place;
	pid_t before;
	int looks;
};

/* Plays the main thread: waits for SIGCHLD, then runs the loop. */
static void
on_look(void *arg)
{
	struct stopper *stopper = arg;
	managed_reap(stopper->managed);
	pid_t now = redis_of(stopper->place->folder);
	if ((now != 0 && now != stopper->before &&
		says(stopper->place, "PING", "PONG")) ||
	    ++stopper->looks > PATIENCE_MS / LOOK_MS)
		loop_stop(stopper->loop);
	else
		timer_set(&stopper->timer, LOOK_MS);
}

static void
one_that_dies_is_started_again_with_its_records(void **state)
{
	struct place *place = *state;
	struct loop *loop = loop_new();
	struct managed *managed = start(loop, place);
	for (int i = 0; i < 3; i++) {
		assert_true(says(place, "INCR n",
		    (char[]){(char)('1' + i), '\0'}));
		struct stopper stopper = {.loop = loop, .managed = managed,
		    .place = place,
		    .before = redis_of(place->folder)};
		assert_int_equal(kill(stopper.before, SIGKILL), 0);
		timer_init(&stopper.timer, loop, on_look, &stopper);
		timer_set(&stopper.timer, 0);
		loop_run(loop);
		timer_clear(&stopper.timer);
		assert_true(says(place, "PING", "PONG"));
	}
	assert_true(says(place, "GET n", "3"));
	managed_reap(NULL);
	managed_stop(&managed);
	loop_free(&loop);
}

/* Forks a gateway that starts a private Redis and then waits for its end. */
static pid_t
fork_gateway(struct place *place)
{
	pid_t parent = getpid();
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	char *message = NULL;
	struct loop *loop = loop_new();
	if (managed_start(loop, place->conf, &message) == NULL)
		_exit(1);
	for (;;)
		pause();
}

static void
a_gateway_that_is_killed_leaves_no_orphan_and_no_lost_record(void **state)
{
	struct place *place = *state;
	pid_t gateway = fork_gateway(place);
	EVENTUALLY(says(place, "PING", "PONG"));
	assert_true(says(place, "SET k v PX 100000", "OK"));
	pid_t before = redis_of(place->folder);
	kill(gateway, SIGKILL);
	waitpid(gateway, NULL, 0);
	/* The next gateway may find the Redis of the old one still running. */
	struct loop *loop = loop_new();
	struct managed *managed = start(loop, place);
	assert_true(redis_of(place->folder) != before);
	assert_true(says(place, "GET k", "v"));
	assert_false(is_redis_of(before, place->folder));
	managed_stop(&managed);
	loop_free(&loop);
}

static void
without_another_gateway_it_ends_all_the_same(void **state)
{
	struct place *place = *state;
	pid_t gateway = fork_gateway(place);
	EVENTUALLY(says(place, "PING", "PONG"));
	pid_t redis = redis_of(place->folder);
	kill(gateway, SIGKILL);
	waitpid(gateway, NULL, 0);
	EVENTUALLY(!is_redis_of(redis, place->folder));
}

static void
one_that_an_earlier_gateway_left_is_ended_first(void **state)
{
	struct place *place = *state;
	struct loop *loop = loop_new();
	struct managed *managed = start(loop, place);
	managed_stop(&managed);
	/* An orphan: nothing has told this one that its gateway is gone. */
	pid_t orphan = fork();
	assert_true(orphan >= 0);
	if (orphan == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (chdir(place->folder) == 0)
			execl(REDIS_SERVER, "redis-server", "redis.conf",
			    (char *)NULL);
		_exit(127);
	}
	EVENTUALLY(says(place, "PING", "PONG") &&
	    redis_of(place->folder) == orphan);
	assert_true(says(place, "SET k orphan PX 100000", "OK"));
	managed = start(loop, place);
	assert_int_equal(waitpid(orphan, NULL, WNOHANG), orphan);
	assert_true(redis_of(place->folder) != orphan);
	assert_true(says(place, "GET k", "orphan"));
	managed_stop(&managed);
	loop_free(&loop);
}

static void
a_process_that_is_no_redis_of_ours_is_left_alone(void **state)
{
	struct place *place = *state;
	struct loop *loop = loop_new();
	struct managed *managed = start(loop, place);
	managed_stop(&managed);
	char *name = mem_printf("%s/redis.pid", place->folder);
	const char *const texts[] = {NULL, "", "x", "0", "-1", "1", "99999999"};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		FILE *file = fopen(name, "w");
		if (texts[i] == NULL)
			fprintf(file, "%d\n", (int)getpid());
		else
			fprintf(file, "%s", texts[i]);
		fclose(file);
		assert_int_equal(redis_of(place->folder), 0);
	}
	managed = start(loop, place);
	managed_stop(&managed);
	free(name);
	loop_free(&loop);
}

/* --- what is wrong is said in a sentence --- */

static void
is_refused(const struct conf *conf, const char *part)
{
	char *message = NULL;
	struct loop *loop = loop_new();
	assert_null(managed_start(loop, conf, &message));
	assert_non_null(message);
	if (strstr(message, part) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", message, part);
	free(message);
	loop_free(&loop);
}

static void
two_gateways_do_not_share_a_state_dir(void **state)
{
	struct place *place = *state;
	struct loop *loop = loop_new();
	struct managed *managed = start(loop, place);
	is_refused(place->conf, "another gateway");
	assert_true(says(place, "PING", "PONG"));
	managed_stop(&managed);
	loop_free(&loop);
}

static void
a_state_dir_that_cannot_be_is_refused(void **state)
{
	struct place *place = *state;
	char long_dir[160];
	snprintf(long_dir, sizeof long_dir, "%s/", place->state_dir);
	memset(long_dir + strlen(long_dir), 'x',
	    120 - strlen(long_dir));
	long_dir[120] = '\0';
	struct conf conf = *place->conf;
	conf.state_dir = long_dir;
	is_refused(&conf, "state_dir is too long");
	conf.state_dir = (char[]){"/proc/no/such"};
	is_refused(&conf, "cannot be used");
}

static void
a_redis_that_cannot_start_is_refused(void **state)
{
	struct place *place = *state;
	struct loop *loop = loop_new();
	struct managed *managed = start(loop, place);
	assert_true(says(place, "SET k v PX 100000", "OK"));
	managed_stop(&managed);
	loop_free(&loop);
	/* Its append-only file is damaged in the middle. */
	char *name = mem_printf(
	    "%s/appendonlydir/appendonly.aof.manifest", place->folder);
	FILE *file = fopen(name, "w");
	assert_non_null(file);
	fprintf(file, "nonsense\n");
	fclose(file);
	is_refused(place->conf, "redis.log");
	free(name);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(it_starts_safe_and_ends_with_its_gateway),
	    TEST(what_it_was_told_survives_a_restart_of_the_gateway),
	    TEST(one_that_dies_is_started_again_with_its_records),
	    TEST(a_gateway_that_is_killed_leaves_no_orphan_and_no_lost_record),
	    TEST(without_another_gateway_it_ends_all_the_same),
	    TEST(one_that_an_earlier_gateway_left_is_ended_first),
	    TEST(a_process_that_is_no_redis_of_ours_is_left_alone),
	    TEST(two_gateways_do_not_share_a_state_dir),
	    TEST(a_state_dir_that_cannot_be_is_refused),
	    TEST(a_redis_that_cannot_start_is_refused),
	};
	return cmocka_run_group_tests_name("managed", tests, NULL, NULL);
}
