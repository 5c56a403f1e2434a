/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <hiredis/hiredis.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/redis/reply_reader.h"

/* What is read out of bytes that a server may make up as it likes. */

enum { MIB = 1024 * 1024 };

static size_t
in_use(void)
{
	struct mallinfo2 info = mallinfo2();
	return info.uordblks + info.hblkhd;
}

static void
feed(struct reply_reader *reader, const char *text)
{
	reply_reader_feed(reader, span_str(text));
}

/* As of the last call of next(). */
static const char *fault;

static const redisReply *
next(struct reply_reader *reader)
{
	return reply_reader_next(reader, &fault);
}

/* --- replies --- */

static const char both[] = "*4\r\n$2\r\nab\r\n:-7\r\n"
			   "*2\r\n$-1\r\n*-1\r\n+OK\r\n"
			   "-ERR no\r\n";

static void
is_first(const redisReply *reply)
{
	assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
	assert_int_equal(reply->elements, 4);
	assert_int_equal(reply->element[0]->type, REDIS_REPLY_STRING);
	assert_string_equal(reply->element[0]->str, "ab");
	assert_int_equal(reply->element[1]->integer, -7);
	assert_int_equal(reply->element[2]->elements, 2);
	for (int i = 0; i < 2; i++)
		assert_int_equal(reply->element[2]->element[i]->type,
		    REDIS_REPLY_NIL);
	assert_int_equal(reply->element[3]->type, REDIS_REPLY_STATUS);
}

static void
is_second(const redisReply *reply)
{
	assert_int_equal(reply->type, REDIS_REPLY_ERROR);
	assert_string_equal(reply->str, "ERR no");
}

static void
replies_are_read_whatever_the_pieces(void **state)
{
	(void)state;
	void (*const is[])(const redisReply *) = {is_first, is_second};
	for (size_t piece = 1; piece <= sizeof both - 1; piece++) {
		struct reply_reader *reader = reply_reader_new();
		size_t count = 0;
		for (size_t at = 0; at < sizeof both - 1; at += piece) {
			size_t left = sizeof both - 1 - at;
			reply_reader_feed(reader, span_of(both + at,
			    left < piece ? left : piece));
			const redisReply *reply;
			while ((reply = next(reader)) != NULL) {
				assert_in_range(count, 0, 1);
				is[count++](reply);
			}
		}
		assert_int_equal(count, 2);
		assert_null(fault);
		reply_reader_free(&reader);
	}
}

/* Read to its end, or given up in the middle of the next. */
static void
nothing_is_kept_of_a_reply_behind_it(void **state)
{
	(void)state;
	enum { REPLIES = 2000, TEXT = 100 * 1000 };
	struct reply_reader *reader = reply_reader_new();
	char *large = mem_printf("*2\r\n:1\r\n$%d\r\n%*s\r\n", TEXT,
	    (int)TEXT, "x");
	size_t before = in_use();
	for (int i = 0; i < REPLIES; i++) {
		feed(reader, i % 100 == 0 ? large : both);
		while (next(reader) != NULL)
			;
		assert_null(fault);
	}
	assert_true(in_use() < before + 512 * 1024);
	feed(reader, "*3\r\n$2\r\nab\r\n:1\r\n");
	assert_null(next(reader));
	reply_reader_free(&reader);
	free(large);
	assert_true(in_use() < before + 64 * 1024);
}

static void
an_array_has_all_its_elements(void **state)
{
	(void)state;
	for (int count = 0; count < 200; count++) {
		struct reply_reader *reader = reply_reader_new();
		char *text = mem_printf("*%d\r\n", count);
		feed(reader, text);
		free(text);
		for (int i = 0; i < count; i++)
			feed(reader, ":1\r\n");
		const redisReply *reply = next(reader);
		assert_non_null(reply);
		assert_int_equal(reply->elements, count);
		for (int i = 0; i < count; i++)
			assert_int_equal(reply->element[i]->integer, 1);
		reply_reader_free(&reader);
	}
}

static void
the_largest_answer_is_read(void **state)
{
	(void)state;
	const size_t size = 257 * (size_t)MIB;
	struct reply_reader *reader = reply_reader_new();
	char *head = mem_printf("*1\r\n$%zu\r\n", size);
	char *body = mem_zero(MIB);
	feed(reader, head);
	for (size_t i = 0; i < size / MIB; i++) {
		assert_null(next(reader));
		assert_null(fault);
		reply_reader_feed(reader, span_of(body, MIB));
	}
	feed(reader, "\r\n");
	const redisReply *reply = next(reader);
	assert_non_null(reply);
	assert_int_equal(reply->element[0]->len, size);
	reply_reader_free(&reader);
	free(head);
	free(body);
}

/* --- what is announced --- */

static void
nothing_is_taken_for_what_is_only_announced(void **state)
{
	(void)state;
	static const char *const announced[] = {"*524288\r\n",
	    "*4\r\n*500000\r\n", "$200000000\r\n", "*1\r\n$200000000\r\n"};
	for (size_t i = 0; i < sizeof announced / sizeof *announced; i++) {
		struct reply_reader *reader = reply_reader_new();
		size_t before = in_use();
		feed(reader, announced[i]);
		assert_null(next(reader));
		assert_null(fault);
		assert_true(in_use() < before + 64 * 1024);
		reply_reader_free(&reader);
	}
}

/* --- faults --- */

static const struct {
	const char *text, *fault;
} faults[] = {
    {"*2000000000\r\n", "a reply larger than any that was asked for"},
    {"*524289\r\n", "a reply larger than any that was asked for"},
    {"*2\r\n*300000\r\n:1\r\n*300000\r\n",
	"a reply larger than any that was asked for"},
    {"*9\r\n*300000\r\n*300000\r\n",
	"a reply larger than any that was asked for"},
    {"$5000000000\r\n", "a reply larger than any that was asked for"},
    {"$9223372036854775807\r\n",
	"a reply larger than any that was asked for"},
    {"*2\r\n:1\r\n$400000000\r\nx",
	"a reply larger than any that was asked for"},
    {"*4294967296\r\n", "Multi-bulk length out of range"},
    {"*2305843009213693953\r\n", "Multi-bulk length out of range"},
    {"*-2\r\n", "Multi-bulk length out of range"},
    {"$-2\r\n", "Bulk string length out of range"},
    {"$ab\r\n", "Bad bulk string length"},
    {"*1x\r\n", "Bad multi-bulk length"},
    {":1x\r\n", "Bad integer value"},
    {"?\r\n", "Protocol error, got \"?\" as reply type byte"},
    {">2\r\n+invalidate\r\n*0\r\n", ""},
    {"#t\r\n", ""},
    {"%1\r\n+a\r\n+b\r\n", ""},
    {"|1\r\n+a\r\n+b\r\n:1\r\n", ""},
    {"_\r\n", ""},
    {",1.5\r\n", ""},
    {"~1\r\n:1\r\n", ""},
    {"=5\r\ntxt:a\r\n", ""},
    {"(1\r\n", ""},
    {"*1\r\n#t\r\n", ""},
    {"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n",
	""},
};

static void
what_cannot_be_a_reply_is_a_fault(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
		struct reply_reader *reader = reply_reader_new();
		const char *wanted = faults[i].fault;
		size_t before = in_use();
		feed(reader, faults[i].text);
		assert_null(next(reader));
		if (fault == NULL)
			fail_msg("no fault: %s", faults[i].text);
		if (wanted[0] != '\0')
			assert_string_equal(fault, wanted);
		assert_true(in_use() < before + 64 * 1024);
		/* Behind it nothing is read. */
		feed(reader, "+OK\r\n");
		assert_null(next(reader));
		reply_reader_free(&reader);
	}
}

static void
a_line_without_an_end_is_a_fault(void **state)
{
	(void)state;
	static const char *const kinds[] = {"+", "-", ":", "$", "*",
	    "*1\r\n+"};
	char text[1025];
	memset(text, '1', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		struct reply_reader *reader = reply_reader_new();
		feed(reader, kinds[i]);
		for (int n = 0; n < 64; n++) {
			assert_null(next(reader));
			assert_null(fault);
			feed(reader, text);
		}
		assert_null(next(reader));
		assert_string_equal(fault, "a line without an end");
		reply_reader_free(&reader);
	}
}

static void
a_reply_that_goes_on_for_ever_is_a_fault(void **state)
{
	(void)state;
	enum { PIECE = 512 * 1024 };
	struct reply_reader *reader = reply_reader_new();
	char *piece = mem_printf(
	    "$%d\r\n%*s\r\n", PIECE, (int)PIECE, "x");
	size_t taken = 0;
	feed(reader, "*1000\r\n");
	do {
		feed(reader, piece);
		assert_null(next(reader));
		taken++;
	} while (fault == NULL && taken < 600);
	assert_in_range(taken, 500, 599);
	reply_reader_free(&reader);
	free(piece);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(replies_are_read_whatever_the_pieces),
	    cmocka_unit_test(nothing_is_kept_of_a_reply_behind_it),
	    cmocka_unit_test(an_array_has_all_its_elements),
	    cmocka_unit_test(the_largest_answer_is_read),
	    cmocka_unit_test(nothing_is_taken_for_what_is_only_announced),
	    cmocka_unit_test(what_cannot_be_a_reply_is_a_fault),
	    cmocka_unit_test(a_line_without_an_end_is_a_fault),
	    cmocka_unit_test(a_reply_that_goes_on_for_ever_is_a_fault),
	};
	return cmocka_run_group_tests_name("reply_reader", tests, NULL, NULL);
}
