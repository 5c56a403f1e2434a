/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "conf/load/conf_load.h"
#include "lib/folder.h"
#include "lib/stage.h"
#include "store/redis/link.h"

/*
 * When a connection to Redis counts as silent: a server of our own, which
 * reads and says what the test wants, and a clock that only the test moves on.
 */
enum {
	TIMEOUT_MS = 60000, /* so that only stage_pass lets it run out */
	MOST_MS = TIMEOUT_MS / 10 * 9,
	LARGE = 8 * 1024 * 1024, /* more than the kernel keeps */
	SMALL = 100,
};

struct waiting {
	struct link_call call;
	bool ended;
	bool answered;
};

struct scene {
	char folder[FOLDER_MAX];
	const struct conf *conf;
	struct loop *loop;
	struct link *link;
	int listener;
	int server;
	bool up;
	struct waiting first, more[10]; /* as long as the link */
};

static void
on_changed(void *arg, enum link_change change)
{
	struct scene *scene = arg;
	scene->up = change == LINK_CAME_UP;
}

static void
on_done(struct link_call *call, const struct redisReply *reply)
{
	struct waiting *waiting = (struct waiting *)call;
	waiting->ended = true;
	waiting->answered = reply != NULL;
}

/* One turn of the loop that blocks for nothing. */
static void
turn(struct scene *scene)
{
	loop_post(scene->loop, (void (*)(void *))loop_stop, scene->loop);
	loop_run(scene->loop);
}

static void
say(struct scene *scene, const char *text)
{
	size_t len = strlen(text);
	assert_int_equal(write(scene->server, text, len), (ssize_t)len);
}

/* Reads what is there, most at most; how much it was. */
static size_t
hear(struct scene *scene, size_t most)
{
	char bytes[65536];
	size_t heard = 0;
	while (heard < most) {
		size_t want = most - heard;
		ssize_t got = recv(scene->server, bytes,
		    want < sizeof bytes ? want : sizeof bytes, MSG_DONTWAIT);
		if (got <= 0) {
			assert_int_equal(errno, EAGAIN);
			return heard;
		}
		heard += (size_t)got;
	}
	return heard;
}

/* The server takes commands, and the link writes, until nothing is left. */
static void
hear_all(struct scene *scene)
{
	do
		turn(scene);
	while (hear(scene, SIZE_MAX) > 0);
}

static int
set_up(void **state)
{
	struct scene *scene = mem_zero(sizeof *scene);
	struct complaints complaints = {0};
	folder_make("link_timeout", scene->folder);
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	snprintf(name.sun_path, sizeof name.sun_path, "%.90s/s",
	    scene->folder);
	char *text = mem_printf("{\"listen\": [\"127.0.0.1:0\"],"
		"\"store\": {\"redis\": \"unix:%s\", \"timeout\": \"%dms\"},"
		"\"upstreams\": {\"u\": \"http://127.0.0.1:9\"},"
		"\"routes\": [{\"path\": \"/*\", \"upstream\": \"u\"}]}",
	    name.sun_path, TIMEOUT_MS);
	scene->conf =
	    conf_load_text("test", span_str(text), false, &complaints);
	assert_non_null(scene->conf);
	free(text);
	scene->listener =
	    socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(scene->listener, (struct sockaddr *)&name,
			     sizeof name), 0);
	assert_int_equal(listen(scene->listener, 1), 0);
	scene->loop = loop_new();
	const struct link_to to = {.socket = name.sun_path};
	const struct link_events events = {
	    .changed = on_changed, .arg = scene};
	scene->link = link_new(scene->loop, scene->conf,
	    &scene->conf->store.redis, &to, &events);
	do {
		turn(scene);
		scene->server = accept(scene->listener, NULL, NULL);
	} while (scene->server < 0);
	hear_all(scene);
	say(scene, "+OK\r\n*2\r\n$10\r\n1700000000\r\n$1\r\n0\r\n+PONG\r\n");
	turn(scene);
	assert_true(scene->up);
	*state = scene;
	return 0;
}

static int
tear_down(void **state)
{
	struct scene *scene = *state;
	link_free(&scene->link);
	loop_free(&scene->loop);
	close(scene->server);
	close(scene->listener);
	conf_unref(&scene->conf);
	folder_remove(scene->folder);
	free(scene);
	return 0;
}

static void
send_bytes(struct scene *scene, struct waiting *waiting, size_t len)
{
	struct resp command = {0};
	char *bytes = mem_zero(len);
	resp_begin(&command, 1);
	resp_arg(&command, span_of(bytes, len));
	*waiting = (struct waiting){.call.done = on_done};
	link_send(scene->link, &waiting->call, &command);
	resp_clear(&command);
	free(bytes);
	turn(scene);
}

static int64_t
left_ms(struct scene *scene, struct waiting *waiting)
{
	return link_left_ms(scene->link, &waiting->call);
}

/* --- replies --- */

static void
without_a_byte_of_a_reply_its_time_is_up(void **state)
{
	struct scene *scene = *state;
	struct waiting *waiting = &scene->first;
	send_bytes(scene, waiting, SMALL);
	hear_all(scene);
	assert_in_range(left_ms(scene, waiting), MOST_MS, TIMEOUT_MS);
	stage_pass(TIMEOUT_MS / 2);
	assert_in_range(left_ms(scene, waiting), 1, TIMEOUT_MS / 2);
	stage_pass(TIMEOUT_MS / 2);
	assert_int_equal(left_ms(scene, waiting), 0);
	link_reset(scene->link, "silent");
	assert_true(waiting->ended && !waiting->answered);
}

static void
each_byte_of_a_reply_begins_it_anew(void **state)
{
	struct scene *scene = *state;
	struct waiting *waiting = &scene->first;
	send_bytes(scene, waiting, SMALL);
	hear_all(scene);
	static const char *const bytes[] = {"$", "3", "\r", "\n", "a", "b"};
	for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
		stage_pass(TIMEOUT_MS / 10 * 9);
		say(scene, bytes[i]);
		turn(scene);
		assert_in_range(
		    left_ms(scene, waiting), MOST_MS, TIMEOUT_MS);
	}
	assert_false(waiting->ended);
	say(scene, "c\r\n");
	turn(scene);
	assert_true(waiting->answered);
}

/* The process was stopped: what lies in the socket has come in time. */
static void
what_lies_in_the_socket_is_no_silence(void **state)
{
	struct scene *scene = *state;
	struct waiting *waiting = &scene->first;
	send_bytes(scene, waiting, SMALL);
	hear_all(scene);
	say(scene, "+OK\r\n");
	stage_pass(10 * TIMEOUT_MS);
	turn(scene);
	assert_true(waiting->answered);
	assert_true(scene->up);
}

/* --- commands --- */

static void
a_large_command_that_is_being_taken_is_no_silence(void **state)
{
	struct scene *scene = *state;
	struct waiting *large = &scene->first;
	size_t heard = 0;
	send_bytes(scene, large, LARGE);
	for (int i = 0; i < 10; i++) {
		stage_pass(TIMEOUT_MS);
		assert_in_range(left_ms(scene, large), 1, TIMEOUT_MS);
		size_t now = hear(scene, LARGE / 20);
		assert_true(now > 0);
		heard += now;
		turn(scene);
	}
	assert_true(heard < LARGE);
	/* From here on nothing is taken. */
	stage_pass(TIMEOUT_MS);
	assert_true(left_ms(scene, large) > 0);
	stage_pass(TIMEOUT_MS);
	assert_int_equal(left_ms(scene, large), 0);
}

static void
when_all_is_taken_the_reply_has_its_time(void **state)
{
	struct scene *scene = *state;
	struct waiting *large = &scene->first;
	send_bytes(scene, large, LARGE);
	stage_pass(TIMEOUT_MS);
	assert_true(left_ms(scene, large) > 0);
	hear_all(scene);
	stage_pass(TIMEOUT_MS);
	assert_in_range(left_ms(scene, large), MOST_MS, TIMEOUT_MS);
	stage_pass(TIMEOUT_MS);
	assert_int_equal(left_ms(scene, large), 0);
}

/* The kernel of a server that is frozen takes small commands all the same. */
static void
later_commands_that_are_taken_are_no_sign_of_life(void **state)
{
	struct scene *scene = *state;
	struct waiting *first = &scene->first, *more = scene->more;
	send_bytes(scene, first, SMALL);
	for (int i = 0; i < 10; i++) {
		stage_pass(TIMEOUT_MS / 10);
		send_bytes(scene, &more[i], SMALL);
		hear_all(scene);
	}
	assert_int_equal(left_ms(scene, first), 0);
	assert_true(left_ms(scene, &more[9]) > 0);
}

static void
what_waits_behind_a_large_command_waits_with_it(void **state)
{
	struct scene *scene = *state;
	struct waiting *large = &scene->first, *small = scene->more;
	send_bytes(scene, large, LARGE);
	send_bytes(scene, small, SMALL);
	for (int i = 0; i < 5; i++) {
		stage_pass(TIMEOUT_MS);
		assert_true(left_ms(scene, large) > 0);
		assert_true(left_ms(scene, small) > 0);
		assert_true(hear(scene, LARGE / 20) > 0);
		turn(scene);
	}
	stage_pass(TIMEOUT_MS);
	assert_true(left_ms(scene, small) > 0);
	stage_pass(TIMEOUT_MS);
	assert_int_equal(left_ms(scene, small), 0);
}

/* --- the link itself --- */

static void
a_pulse_that_is_slow_keeps_the_link_up(void **state)
{
	struct scene *scene = *state;
	stage_pass(1000);
	turn(scene);
	hear_all(scene);
	say(scene, "*2\r\n$10\r\n");
	turn(scene);
	for (int i = 0; i < 3; i++) {
		stage_pass(TIMEOUT_MS / 10 * 9);
		say(scene, "17");
		turn(scene);
		turn(scene);
		assert_true(scene->up);
	}
	stage_pass(TIMEOUT_MS);
	turn(scene);
	turn(scene);
	assert_false(scene->up);
	assert_string_equal(link_message(scene->link),
	    "no answer within store.timeout");
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(without_a_byte_of_a_reply_its_time_is_up),
	    TEST(each_byte_of_a_reply_begins_it_anew),
	    TEST(what_lies_in_the_socket_is_no_silence),
	    TEST(a_large_command_that_is_being_taken_is_no_silence),
	    TEST(when_all_is_taken_the_reply_has_its_time),
	    TEST(later_commands_that_are_taken_are_no_sign_of_life),
	    TEST(what_waits_behind_a_large_command_waits_with_it),
	    TEST(a_pulse_that_is_slow_keeps_the_link_up),
	};
	return cmocka_run_group_tests_name("link_timeout", tests, NULL, NULL);
}
