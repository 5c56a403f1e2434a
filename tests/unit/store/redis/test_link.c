/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "conf/load/conf_load.h"
#include "lib/folder.h"
#include "store/redis/link.h"

/*
 * A connection to a Redis that says what it likes, a server of our own: nothing
 * that it says ends the process, and nobody is given a reply that is not
 * certain to be his.
 */
#define SHAKEN "+OK\r\n*2\r\n$10\r\n1700000000\r\n$1\r\n0\r\n+PONG\r\n"
#define PATTERN "op:{*}:changes"
#define SUBSCRIBED "*3\r\n$10\r\npsubscribe\r\n$14\r\n" PATTERN "\r\n:1\r\n"
#define CHANNEL "$14\r\n" PATTERN "\r\n$14\r\nop:{5}:changes\r\n"
#define MESSAGE "*4\r\n$8\r\npmessage\r\n" CHANNEL "$5\r\nhello\r\n"

struct waiting {
	struct link_call call;
	struct scene *scene;
	unsigned ended, answered;
	char said[64]; /* the reply, where it is a text */
	enum { GOES_ON, DISTRUSTS, RESETS } then;
	struct waiting *sends; /* once it has ended */
};

struct scene {
	char folder[FOLDER_MAX];
	const struct conf *conf;
	struct loop *loop;
	struct link *link;
	int listener;
	int server;
	bool up;
	unsigned downs, failures, heard;
	struct waiting first, second, third;
};

static void
on_changed(void *arg, enum link_change change)
{
	struct scene *scene = arg;
	scene->failures += change == LINK_FAILED;
	scene->downs += change == LINK_WENT_DOWN;
	scene->up = change == LINK_CAME_UP;
}

static void
on_heard(void *arg, struct span message)
{
	struct scene *scene = arg;
	assert_true(span_eq(message, SPAN("hello")));
	scene->heard++;
}

static void
ask(struct waiting *waiting)
{
	struct resp command = {0};
	resp_begin(&command, 1);
	resp_arg(&command, SPAN("QUESTION"));
	link_send(waiting->scene->link, &waiting->call, &command);
	resp_clear(&command);
}

static void
on_done(struct link_call *call, const redisReply *reply)
{
	struct waiting *waiting = (struct waiting *)call;
	waiting->ended++;
	waiting->answered += reply != NULL;
	if (reply != NULL && reply->str != NULL)
		snprintf(
		    waiting->said, sizeof waiting->said, "%s", reply->str);
	if (reply != NULL && waiting->then == DISTRUSTS)
		link_distrust(waiting->scene->link, "distrusted");
	if (reply != NULL && waiting->then == RESETS)
		link_reset(waiting->scene->link, "reset");
	if (waiting->sends != NULL)
		ask(waiting->sends);
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
	assert_int_equal(
	    send(scene->server, text, len, MSG_NOSIGNAL), (ssize_t)len);
}

static void
say_and_turn(struct scene *scene, const char *text)
{
	say(scene, text);
	turn(scene);
}

/* The link connects, anew where it was connected before. */
static void
accept_link(struct scene *scene)
{
	if (scene->server >= 0)
		close(scene->server);
	do {
		turn(scene);
		scene->server = accept(scene->listener, NULL, NULL);
	} while (scene->server < 0);
}

/* Whether the link has closed this connection. */
static bool
is_cut(struct scene *scene)
{
	char bytes[4096];
	ssize_t got;
	do
		got = recv(scene->server, bytes, sizeof bytes, MSG_DONTWAIT);
	while (got > 0);
	return got == 0 || errno == ECONNRESET;
}

static struct scene *
scene_new(const char *channels)
{
	struct scene *scene = mem_zero(sizeof *scene);
	struct complaints complaints = {0};
	folder_make("link", scene->folder);
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	snprintf(name.sun_path, sizeof name.sun_path, "%.90s/s",
	    scene->folder);
	char *text = mem_printf("{\"listen\": [\"127.0.0.1:0\"],"
		"\"store\": {\"redis\": \"unix:%s\", \"timeout\": \"60s\"},"
		"\"upstreams\": {\"u\": \"http://127.0.0.1:9\"},"
		"\"routes\": [{\"path\": \"/*\", \"upstream\": \"u\"}]}",
	    name.sun_path);
	scene->conf =
	    conf_load_text("test", span_str(text), false, &complaints);
	assert_non_null(scene->conf);
	free(text);
	scene->listener =
	    socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(scene->listener, (struct sockaddr *)&name,
			     sizeof name), 0);
	assert_int_equal(listen(scene->listener, 1), 0);
	scene->server = -1;
	scene->loop = loop_new();
	const struct link_to to = {.socket = name.sun_path};
	const struct link_events events = {
	    .changed = on_changed, .heard = on_heard, .channels = channels,
	    .arg = scene};
	scene->first = scene->second = scene->third =
	    (struct waiting){.call.done = on_done, .scene = scene};
	scene->link = link_new(scene->loop, scene->conf,
	    &scene->conf->store.redis, &to, &events);
	accept_link(scene);
	return scene;
}

static int
set_up(void **state)
{
	struct scene *scene = scene_new(NULL);
	say_and_turn(scene, SHAKEN);
	assert_true(scene->up);
	*state = scene;
	return 0;
}

static int
set_up_listening(void **state)
{
	struct scene *scene = scene_new(PATTERN);
	say_and_turn(scene, SHAKEN);
	assert_true(scene->up);
	*state = scene;
	return 0;
}

static int
set_up_unshaken(void **state)
{
	*state = scene_new(NULL);
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
is_lost(const struct waiting *waiting)
{
	assert_int_equal(waiting->ended, 1);
	assert_int_equal(waiting->answered, 0);
}

static void
is_told(const struct waiting *waiting, const char *text)
{
	assert_int_equal(waiting->ended, 1);
	assert_string_equal(waiting->said, text);
}

/* It was cut for that reason, and serves again on another connection. */
static void
is_down_because(struct scene *scene, const char *why)
{
	assert_false(scene->up);
	if (why != NULL)
		assert_string_equal(link_message(scene->link), why);
	assert_true(is_cut(scene));
	scene->third =
	    (struct waiting){.call.done = on_done, .scene = scene};
	accept_link(scene);
	say_and_turn(scene, SHAKEN);
	assert_true(scene->up);
}

static void
serves_again(struct scene *scene, const char *why)
{
	is_down_because(scene, why);
	ask(&scene->third);
	turn(scene);
	say_and_turn(scene, "+fine\r\n");
	is_told(&scene->third, "fine");
}

/* --- replies that nobody asked for --- */

static void
a_reply_that_nobody_asked_for_cuts_the_link(void **state)
{
	struct scene *scene = *state;
	static const char *const unasked[] = {"+OK\r\n", ":1\r\n", "$-1\r\n",
	    "$1\r\nx\r\n", "*0\r\n", "*-1\r\n", MESSAGE, SUBSCRIBED};
	for (size_t i = 0; i < sizeof unasked / sizeof *unasked; i++) {
		say_and_turn(scene, unasked[i]);
		serves_again(scene, "a reply that nobody asked for");
	}
}

static void
an_error_that_nobody_asked_for_keeps_its_words(void **state)
{
	struct scene *scene = *state;
	say_and_turn(scene, "-ERR max number of clients reached\r\n");
	serves_again(scene, "ERR max number of clients reached");
}

static void
one_reply_too_many_is_given_to_nobody(void **state)
{
	struct scene *scene = *state;
	ask(&scene->first);
	turn(scene);
	say_and_turn(scene, "+one\r\n+two\r\n");
	is_told(&scene->first, "one");
	serves_again(scene, "a reply that nobody asked for");
}

/* --- what is no reply --- */

static void
what_is_no_reply_ends_the_calls_and_the_connection(void **state)
{
	struct scene *scene = *state;
	static const char *const odd[] = {"?\r\n", "*2000000000\r\n",
	    "$5000000000\r\n", "*-2\r\n", "#t\r\n", ">1\r\n+x\r\n",
	    "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n"};
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		scene->first = scene->second = (struct waiting){
		    .call.done = on_done, .scene = scene};
		ask(&scene->first);
		ask(&scene->second);
		turn(scene);
		say(scene, "+mine\r\n");
		say(scene, odd[i]);
		say_and_turn(scene, "+OK\r\n+OK\r\n");
		turn(scene);
		is_told(&scene->first, "mine");
		is_lost(&scene->second);
		serves_again(scene, NULL);
	}
}

/* --- what the owner does not believe --- */

static void
behind_what_is_distrusted_nothing_is_believed(void **state)
{
	struct scene *scene = *state;
	scene->first.then = DISTRUSTS;
	ask(&scene->first);
	ask(&scene->second);
	turn(scene);
	say_and_turn(scene, "+one\r\n+two\r\n");
	is_told(&scene->first, "one");
	is_lost(&scene->second);
	serves_again(scene, "distrusted");
}

static void
a_reset_from_within_waits_until_the_reply_was_taken(void **state)
{
	struct scene *scene = *state;
	scene->first.then = RESETS;
	ask(&scene->first);
	ask(&scene->second);
	turn(scene);
	say_and_turn(scene, "+one\r\n+two\r\n");
	is_told(&scene->first, "one");
	is_lost(&scene->second);
	serves_again(scene, "reset");
}

static void
what_is_sent_while_calls_end_ends_with_them(void **state)
{
	struct scene *scene = *state;
	scene->first.sends = &scene->second;
	ask(&scene->first);
	turn(scene);
	link_reset(scene->link, "away");
	is_lost(&scene->first);
	is_lost(&scene->second);
	serves_again(scene, "away");
}

/* --- the handshake, and the pulse --- */

static void
a_handshake_of_other_replies_fails(void **state)
{
	struct scene *scene = *state;
	static const char *const wrong[] = {
	    "+OK\r\n+OK\r\n+PONG\r\n",
	    "*0\r\n",
	    "+OK\r\n*2\r\n$1\r\nx\r\n$1\r\n0\r\n+PONG\r\n",
	    "+OK\r\n*2\r\n$20\r\n99999999999999999999\r\n$1\r\n0\r\n+PONG\r\n",
	    "+OK\r\n*2\r\n$10\r\n1700000000\r\n$1\r\n0\r\n:1\r\n",
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		say_and_turn(scene, wrong[i]);
		assert_int_equal(scene->failures, i + 1);
		assert_string_equal(link_message(scene->link),
		    "a reply to another command");
		assert_true(is_cut(scene));
		accept_link(scene);
	}
	say_and_turn(scene, SHAKEN);
	assert_true(scene->up);
}

static void
a_server_that_refuses_us_is_quoted(void **state)
{
	struct scene *scene = *state;
	say_and_turn(scene, "+OK\r\n-NOAUTH Authentication required.\r\n");
	assert_string_equal(link_message(scene->link),
	    "NOAUTH Authentication required.");
	close(scene->server);
	scene->server = -1;
	accept_link(scene);
	close(scene->server);
	scene->server = -1;
	turn(scene);
	turn(scene);
	assert_int_equal(scene->failures, 2);
	accept_link(scene);
}

/* --- listening --- */

static void
messages_are_heard(void **state)
{
	struct scene *scene = *state;
	say_and_turn(scene, SUBSCRIBED MESSAGE MESSAGE);
	assert_int_equal(scene->heard, 2);
	assert_true(scene->up);
}

static void
a_subscription_that_is_none_cuts_the_link(void **state)
{
	struct scene *scene = *state;
	static const char *const wrong[] = {"+OK\r\n", "$-1\r\n", "*0\r\n",
	    "*1\r\n$10\r\npsubscribe\r\n", MESSAGE, ":9\r\n",
	    "*3\r\n:9\r\n$14\r\n" PATTERN "\r\n:1\r\n",
	    "*3\r\n$10\r\npsubscribe\r\n$-1\r\n:1\r\n",
	    "*3\r\n$10\r\npsubscribe\r\n$1\r\nx\r\n:1\r\n",
	    "*3\r\n$12\r\npunsubscribe\r\n$14\r\n" PATTERN "\r\n:0\r\n",
	    "-NOPERM no channels\r\n"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		say_and_turn(scene, wrong[i]);
		is_down_because(scene, wrong[i][0] == '-'
			? "NOPERM no channels"
			: "a reply to another command");
		assert_int_equal(scene->heard, 0);
	}
	say_and_turn(scene, SUBSCRIBED MESSAGE);
	assert_int_equal(scene->heard, 1);
}

static void
a_message_of_another_form_cuts_the_link(void **state)
{
	struct scene *scene = *state;
	static const char *const wrong[] = {"+OK\r\n", "$-1\r\n", "*0\r\n",
	    "-ERR x\r\n", "$8\r\npmessage\r\n", "*1\r\n$8\r\npmessage\r\n",
	    SUBSCRIBED, "*2\r\n$4\r\npong\r\n$0\r\n\r\n",
	    "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$5\r\nhello\r\n",
	    "*3\r\n$12\r\npunsubscribe\r\n$-1\r\n:0\r\n",
	    "*4\r\n:7\r\n" CHANNEL "$5\r\nhello\r\n",
	    "*4\r\n*0\r\n" CHANNEL "$5\r\nhello\r\n",
	    "*4\r\n$8\r\npmessage\r\n$1\r\nx\r\n:1\r\n$5\r\nhello\r\n",
	    "*4\r\n$8\r\npmessage\r\n" CHANNEL ":1\r\n",
	    "*4\r\n$8\r\npmessage\r\n" CHANNEL "$-1\r\n",
	    "*5\r\n$8\r\npmessage\r\n" CHANNEL "$5\r\nhello\r\n:1\r\n"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		say_and_turn(scene, SUBSCRIBED);
		say(scene, wrong[i]);
		say_and_turn(scene, MESSAGE);
		is_down_because(scene, "a message of an unexpected form");
		assert_int_equal(scene->heard, 0);
	}
}

int
main(void)
{
#define TEST(name, set_up)                                                    \
	cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(a_reply_that_nobody_asked_for_cuts_the_link, set_up),
	    TEST(an_error_that_nobody_asked_for_keeps_its_words, set_up),
	    TEST(one_reply_too_many_is_given_to_nobody, set_up),
	    TEST(what_is_no_reply_ends_the_calls_and_the_connection, set_up),
	    TEST(behind_what_is_distrusted_nothing_is_believed, set_up),
	    TEST(a_reset_from_within_waits_until_the_reply_was_taken, set_up),
	    TEST(what_is_sent_while_calls_end_ends_with_them, set_up),
	    TEST(a_handshake_of_other_replies_fails, set_up_unshaken),
	    TEST(a_server_that_refuses_us_is_quoted, set_up_unshaken),
	    TEST(messages_are_heard, set_up_listening),
	    TEST(a_subscription_that_is_none_cuts_the_link, set_up_listening),
	    TEST(a_message_of_another_form_cuts_the_link, set_up_listening),
	};
	return cmocka_run_group_tests_name("link", tests, NULL, NULL);
}
