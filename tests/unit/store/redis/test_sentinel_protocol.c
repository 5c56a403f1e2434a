/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/redis/sentinel_protocol.h"

/*
 * Sentinels' replies are read whatever they are, and of several Sentinels the
 * one with the current master is believed.
 */

/* The reply with these bytes; NULL: none, or not a whole one. */
static redisReply *
reply_of(const char *bytes, size_t len)
{
	redisReader *reader = redisReaderCreate();
	void *reply = NULL;
	redisReaderFeed(reader, bytes, len);
	if (redisReaderGetReply(reader, &reply) != REDIS_OK)
		reply = NULL;
	redisReaderFree(reader);
	return reply;
}

static redisReply *
reply(const char *text)
{
	redisReply *made = reply_of(text, strlen(text));
	assert_non_null(made);
	return made;
}

/* --- the address --- */

#define BULK(len, text) "$" #len "\r\n" text "\r\n"

static void
the_address_is_read(void **state)
{
	static const struct {
		const char *reply, *host;
		uint16_t port;
	} rows[] = {
	    {"*2\r\n" BULK(8, "10.0.0.2") BULK(4, "6379"), "10.0.0.2", 6379},
	    {"*2\r\n" BULK(3, "::1") BULK(5, "65535"), "::1", 65535},
	    {"*2\r\n" BULK(8, "db-1.lan") BULK(1, "1"), "db-1.lan", 1},
	};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char host[SENTINEL_HOST_BYTES] = "before";
		uint16_t port = 0;
		redisReply *r = reply(rows[i].reply);
		assert_true(sentinel_protocol_read_address(r, host, &port));
		assert_string_equal(host, rows[i].host);
		assert_int_equal(port, rows[i].port);
		freeReplyObject(r);
	}
}

static void
what_is_no_address_is_refused(void **state)
{
	static const char *const rows[] = {
	    "*-1\r\n",
	    "$-1\r\n",
	    "+OK\r\n",
	    "-ERR No such master with that name\r\n",
	    ":6379\r\n",
	    "*0\r\n",
	    "*1\r\n" BULK(1, "h"),
	    "*3\r\n" BULK(1, "h") BULK(1, "1") BULK(1, "1"),
	    "*2\r\n" BULK(0, "") BULK(4, "6379"),
	    "*2\r\n" BULK(3, "a b") BULK(4, "6379"),
	    "*2\r\n" BULK(2, "a\n") BULK(4, "6379"),
	    "*2\r\n" BULK(2, "\xc3\xa4") BULK(4, "6379"),
	    "*2\r\n" BULK(1, "h") BULK(0, ""),
	    "*2\r\n" BULK(1, "h") BULK(1, "0"),
	    "*2\r\n" BULK(1, "h") BULK(5, "65536"),
	    "*2\r\n" BULK(1, "h") BULK(2, "-1"),
	    "*2\r\n" BULK(1, "h") BULK(2, "1x"),
	    "*2\r\n" BULK(1, "h") BULK(20, "99999999999999999999"),
	    "*2\r\n" BULK(1, "h") ":6379\r\n",
	    "*2\r\n$-1\r\n$-1\r\n",
	};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char host[SENTINEL_HOST_BYTES] = "before";
		uint16_t port = 7;
		redisReply *r = reply(rows[i]);
		assert_false(sentinel_protocol_read_address(r, host, &port));
		assert_string_equal(host, "before");
		assert_int_equal(port, 7);
		freeReplyObject(r);
	}
}

static void
a_name_is_taken_that_just_fits(void **state)
{
	(void)state;
	for (int len = SENTINEL_HOST_BYTES - 1; len <= SENTINEL_HOST_BYTES;
	     len++) {
		char text[400], name[300], host[SENTINEL_HOST_BYTES];
		uint16_t port;
		memset(name, 'n', sizeof name);
		int size = snprintf(text, sizeof text,
		    "*2\r\n$%d\r\n%.*s\r\n$1\r\n1\r\n", len, len, name);
		redisReply *r = reply_of(text, (size_t)size);
		assert_int_equal(sentinel_protocol_read_address(r, host, &port),
		    len < SENTINEL_HOST_BYTES);
		freeReplyObject(r);
	}
}

/* --- the epoch --- */

#define FIELD_EPOCH BULK(12, "config-epoch")

static void
the_epoch_is_found_among_what_else_is_said(void **state)
{
	static const struct {
		const char *reply;
		int64_t epoch; /* -1: there is none */
	} rows[] = {
	    {"*2\r\n" FIELD_EPOCH BULK(1, "0"), 0},
	    {"*4\r\n" BULK(4, "name") BULK(1, "m") FIELD_EPOCH
		    BULK(2, "17"), 17},
	    /* Only names are looked at, not values. */
	    {"*4\r\n" BULK(4, "name") FIELD_EPOCH BULK(2, "17")
		    BULK(2, "18"), -1},
	    {"*2\r\n" FIELD_EPOCH BULK(19, "9223372036854775807"),
		INT64_MAX},
	    {"*2\r\n" FIELD_EPOCH BULK(19, "9223372036854775808"), -1},
	    {"*2\r\n" FIELD_EPOCH BULK(2, "-1"), -1},
	    {"*2\r\n" FIELD_EPOCH BULK(0, ""), -1},
	    {"*2\r\n" FIELD_EPOCH "$-1\r\n", -1},
	    {"*1\r\n" FIELD_EPOCH, -1},
	    {"*0\r\n", -1},
	    {"*-1\r\n", -1},
	    {"-ERR No such master with that name\r\n", -1},
	};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		int64_t epoch = -1;
		redisReply *r = reply(rows[i].reply);
		assert_int_equal(sentinel_protocol_read_epoch(r, &epoch),
		    rows[i].epoch >= 0);
		assert_int_equal(epoch, rows[i].epoch);
		freeReplyObject(r);
	}
}

/* Replies that are changed at random, cut, and made of meaningful pieces. */
static void
any_bytes_are_taken_apart(void **state)
{
	static const char *const pieces[] = {"*2\r\n", "*4\r\n", "*-1\r\n",
	    BULK(8, "10.0.0.2"), BULK(4, "6379"), FIELD_EPOCH, BULK(1, "9"),
	    "$-1\r\n", ":1\r\n", "-ERR x\r\n", "+m\r\n", "*1\r\n", "\r\n"};
	(void)state;
	srand(1);
	for (int round = 0; round < 100000; round++) {
		char bytes[256];
		size_t len = 0;
		for (int i = rand() % 8; i >= 0; i--) {
			const char *piece =
			    pieces[(size_t)rand() % (sizeof pieces /
				sizeof *pieces)];
			memcpy(bytes + len, piece, strlen(piece));
			len += strlen(piece);
		}
		for (int i = rand() % 3; i > 0; i--)
			bytes[(size_t)rand() % len] = (char)rand();
		len = rand() % 4 ? len : (size_t)rand() % len;
		redisReply *r = reply_of(bytes, len);
		struct sentinel_named named = {.port = 1, .epoch = 1};
		if (r != NULL && sentinel_protocol_read_address(
			r, named.host, &named.port))
			assert_true(named.host[0] != '\0' &&
			    strlen(named.host) < sizeof named.host &&
			    named.port > 0);
		if (r != NULL && sentinel_protocol_read_epoch(r, &named.epoch))
			assert_true(named.epoch >= 0);
		freeReplyObject(r);
	}
}

/* --- whom to believe --- */

/*
 * What was believed before, and what three Sentinels say: "HOST@EPOCH" each, ""
 * for nothing.  wanted is what is chosen; NULL: no change.
 */
static void
chosen(const char *before, const char *a, const char *b, const char *c,
    const char *wanted)
{
	const char *texts[] = {before, a, b, c};
	struct sentinel_named all[4] = {0};
	for (size_t i = 0; i < 4; i++) {
		const char *at = strchr(texts[i], '@');
		if (at == NULL)
			continue;
		memcpy(all[i].host, texts[i], (size_t)(at - texts[i]));
		all[i].epoch = strtoll(at + 1, NULL, 10);
		all[i].port = 1;
	}
	const struct sentinel_named *got =
	    sentinel_protocol_choose(all + 1, 3, &all[0]);
	if (wanted == NULL) {
		assert_null(got);
		return;
	}
	assert_non_null(got);
	char text[SENTINEL_HOST_BYTES + 24];
	snprintf(text, sizeof text, "%s@%lld", got->host,
	    (long long)got->epoch);
	assert_string_equal(text, wanted);
}

static void
whoever_speaks_is_believed_at_first(void **state)
{
	(void)state;
	chosen("", "", "", "", NULL);
	chosen("", "old@1", "", "", "old@1");
	chosen("", "", "", "new@2", "new@2");
}

static void
the_highest_epoch_counts_whoever_says_it(void **state)
{
	(void)state;
	chosen("", "old@1", "new@2", "old@1", "new@2");
	chosen("old@1", "old@1", "old@1", "new@2", "new@2");
	chosen("old@1", "", "", "new@2", "new@2");
	chosen("old@1", "old@1", "new@2", "newer@3", "newer@3");
}

/*
 * One that was cut off does not lead back, neither alone nor with the third
 * silent.
 */
static void
the_few_who_say_what_is_older_are_not_followed(void **state)
{
	(void)state;
	chosen("new@2", "old@1", "new@2", "new@2", NULL);
	chosen("new@2", "old@1", "", "", NULL);
	chosen("new@2", "old@1", "older@0", "", NULL);
	chosen("new@2", "other@2", "new@2", "", NULL);
}

/* As after SENTINEL REMOVE and MONITOR, when epochs begin anew. */
static void
a_majority_may_say_what_is_older(void **state)
{
	(void)state;
	chosen("new@2", "other@0", "other@0", "new@2", NULL);
	chosen("new@2", "other@0", "other@0", "", "other@0");
	chosen("new@2", "other@0", "other@0", "other@0", "other@0");
	chosen("new@2", "other@2", "other@2", "new@2", "other@2");
}

static void
the_same_place_is_no_news_unless_its_epoch_rises(void **state)
{
	(void)state;
	chosen("m@2", "m@2", "m@2", "m@2", NULL);
	chosen("m@2", "m@0", "m@0", "m@0", NULL);
	chosen("m@2", "m@3", "m@2", "m@2", "m@3");
	chosen("m@2", "", "", "", NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_address_is_read),
	    cmocka_unit_test(what_is_no_address_is_refused),
	    cmocka_unit_test(a_name_is_taken_that_just_fits),
	    cmocka_unit_test(the_epoch_is_found_among_what_else_is_said),
	    cmocka_unit_test(any_bytes_are_taken_apart),
	    cmocka_unit_test(whoever_speaks_is_believed_at_first),
	    cmocka_unit_test(the_highest_epoch_counts_whoever_says_it),
	    cmocka_unit_test(
		the_few_who_say_what_is_older_are_not_followed),
	    cmocka_unit_test(a_majority_may_say_what_is_older),
	    cmocka_unit_test(
		the_same_place_is_no_news_unless_its_epoch_rises),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
