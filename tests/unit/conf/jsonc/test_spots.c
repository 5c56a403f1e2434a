/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "base/mem.h"
#include "conf/jsonc/comments.h"
#include "conf/jsonc/spots.h"

/* --- comments --- */

static void
comments_become_blanks_and_nothing_moves(void **state)
{
	(void)state;
	static const char *const list[][2] = {
	    {"{} // x\n1", "{}     \n1"},
	    {"{} // x", "{}     "},
	    {"/* a\n * b */1", "    \n       1"},
	    {"1/**/2/***/3", "1    2     3"},
	    {"/* // */1", "        1"},
	    {"// /*\n1", "     \n1"},
	    {"\"// no\" // yes", "\"// no\"       "},
	    {"\"a\\\"/*\"/*b*/", "\"a\\\"/*\"     "},
	    {"\"\\\\\"//", "\"\\\\\"  "},
	    {"/ * /", "/ * /"},
	    {"1 /* open", "1        "},
	    {"\"open // x", "\"open // x"},
	    {"\"open\\", "\"open\\"},
	    {"\xef\xbb\xbf{}", "   {}"},
	    {"", ""},
	};
	for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
		char *text = mem_str(span_str(list[i][0]));
		const char *at;
		(void)comments_blank(text, strlen(text), &at);
		assert_string_equal(text, list[i][1]);
		free(text);
	}
}

/* --- spots --- */

static const char example[] =
    "{ // first\n"
    "  \"listen\": [\"a\", /* \xc3\xa9 */ \"b\"],\n"
    "\t\"a/b~c\": {\"\\u0064\": 1},\n"
    "  \"twice\": 1, \"twice\":\n"
    "    {\"x\": null}\n"
    "}\n";

/* Of the spots that were read last. */
static struct arena *arena;

static struct spots *
read_spots(struct span text, struct spots_fault *ret_fault)
{
	char *copy = mem_copy(text.ptr, text.len);
	arena_free(&arena);
	arena = arena_new();
	struct spots *spots = spots_read(arena, text, copy, ret_fault);
	free(copy);
	return spots;
}

static struct spots *
read_example(void)
{
	struct spots_fault fault;
	struct spots *spots = read_spots(span_str(example), &fault);
	assert_non_null(spots);
	return spots;
}

static void
a_pointer_leads_to_line_and_column(void **state)
{
	(void)state;
	static const struct {
		const char *pointer;
		bool name;
		size_t line, column;
	} list[] = {
	    {"/", false, 1, 1},
	    {"/listen", false, 2, 13},
	    {"/listen", true, 2, 3},
	    {"/listen/0", false, 2, 14},
	    {"/listen/1", false, 2, 27},
	    {"/listen/1", true, 2, 27},
	    {"/a~1b~0c", true, 3, 2},
	    {"/a~1b~0c/d", false, 3, 22},
	    {"/a~1b~0c/d", true, 3, 12},
	    /* The last one counts. */
	    {"/twice", true, 4, 15},
	    {"/twice/x", false, 5, 11},
	    /* What is not there has the place of what is around it. */
	    {"/none", false, 1, 1},
	    {"/none", true, 1, 1},
	    {"/listen/2", false, 2, 13},
	    {"/listen/x/y", true, 2, 13},
	    {"/a~1b~0c/e/f", false, 3, 11},
	};
	struct spots *spots = read_example();
	for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
		struct spot at = spots_find(
		    spots, list[i].pointer, list[i].name);
		if (at.line != list[i].line || at.column != list[i].column)
			print_error("of %s\n", list[i].pointer);
		assert_int_equal(at.line, list[i].line);
		assert_int_equal(at.column, list[i].column);
	}
}

static void
append_line(void *arg, const char *pointer, struct spot first)
{
	char **lines = arg;
	(void)first;
	char *longer = mem_printf("%s%s\n", *lines, pointer);
	free(*lines);
	*lines = longer;
}

static void
append_twice(void *arg, const char *pointer, struct spot first)
{
	char *line =
	    mem_printf("%s %zu:%zu", pointer, first.line, first.column);
	append_line(arg, line, first);
	free(line);
}

static void
what_is_there_twice_is_found(void **state)
{
	(void)state;
	static const char text[] =
	    "{\"a\": 1, \"b\": [{\"c/\": 1, \"c/\": 2, \"c\": 3}],"
	    " \"\\u0061\": 2, \"a\": 3}";
	struct spots_fault fault;
	struct spots *spots = read_spots(span_str(text), &fault);
	char *lines = mem_str(SPAN(""));
	assert_non_null(spots);
	spots_each(spots, SPOTS_TWICE, append_twice, &lines);
	assert_string_equal(lines, "/a 1:2\n/a 1:2\n/b/0/c~1 1:17\n");
	free(lines);
}

static void
what_looks_as_if_it_were_replaced_is_found(void **state)
{
	(void)state;
	static const char text[] =
	    "{\"a\": \"${A}\", \"${b}\": \"$c {d}\", // ${e}\n"
	    " \"h\": [\"$REDIS_1\", \"$A\", \"$1_000\", \"$aBCD\", "
	    "\"$ABCD.\"],\n"
	    " \"f/\": [1, \"x\", {\"g\": \"http://${H:-h}/\"}, \"${\"]}";
	struct spots_fault fault;
	struct spots *spots = read_spots(span_str(text), &fault);
	char *lines = mem_str(SPAN(""));
	assert_non_null(spots);
	spots_each(spots, SPOTS_VARIABLE, append_line, &lines);
	assert_string_equal(lines, "/a\n/f~1/2/g\n/f~1/3\n/h/0\n");
	free(lines);
}

/* --- faults --- */

#define MERGE \
	"a merge has left this line: keep one of the versions between " \
	"<<<<<<<, ======= and >>>>>>>, and take these lines out"
#define BLANK \
	"an invisible character that is no blank of JSON, such as a no-break " \
	"space, stands here: take it out"
#define HALF \
	"this string has half of a character: both escapes are needed, as in " \
	"\\ud83d\\ude00"
#define SAVE ": save the file as UTF-8"
#define QUOTES "text stands in double quotes"
#define NO_WORD "this is neither a number, true, false nor null; " QUOTES
#define COLON "\":\" is missing between a member's name and its value"
#define TOO_MUCH \
	"the JSON ends before this; is there a closing bracket too " \
	"many?"

static void
what_is_wrong_is_said_where_it_is(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		size_t line, column;
		const char *words;
	} list[] = {
	    {"", 1, 1, "the file is empty"},
	    {" // x\n", 1, 1, "the file has only blanks and comments"},
	    {"// x\r{\r}\r", 1, 1,
		"lines end with a line feed; with a carriage return alone, as "
		"here, all that follows a // is comment"},
	    {"\"x\"", 1, 1, "a configuration begins with {"},
	    {"listen: x", 1, 1, "a configuration begins with {"},
	    {"# x\n{}", 1, 1, "a comment begins with //"},
	    {"{\n", 1, 1, "this { is never closed"},
	    {"{\"a\": [1,\n 2", 1, 7, "this [ is never closed"},
	    {"{\"a\": 1,", 1, 1, "this { is never closed"},
	    {"{\n \"a\": {\n  \"b\": 1\n}\n", 2, 7,
		"this { seems to have no }, by the indentation"},
	    {"{\n \"a\": [\n  1,\n  2\n],\n \"b\": 1", 2, 7,
		"this [ seems to have no ], by the indentation"},
	    {"{\n \"a\": {\n  \"b\": 1 }\n", 1, 1,
		"this { is never closed"},
	    {"{\"a\": 1} }", 1, 10, TOO_MUCH},
	    {"{\"a\": 1}, \"b\": 2", 1, 9, TOO_MUCH},
	    {"{\"a\": 1 \"b\": 2}", 1, 9, "a comma is missing before this"},
	    {"{\"a\": 1,}", 1, 8,
		"there is a comma too many here, before the }"},
	    {"{\"a\": [1, // x\n]}", 1, 9,
		"there is a comma too many here, before the ]"},
	    {"{\"a\": 1,, \"b\": 2}", 1, 9,
		"there is a comma too many here"},
	    {"{\"a\": [,]}", 1, 8, "a value is missing here"},
	    {"{\"a\": }", 1, 7, "a value is missing here"},
	    {"{\"a\" 1}", 1, 6, COLON},
	    {"{\"a\" = 1}", 1, 6, COLON},
	    {"{a: 1}", 1, 2, "a member's name stands in double quotes"},
	    {"{'a': 1}", 1, 2,
		"a member's name stands in double quotes, not in single ones"},
	    {"{\u201ca\u201d: 1}", 1, 2,
		"a member's name stands in plain double quotes (\"), not in "
		"typographic ones"},
	    {"{\"a\": \u201eb\u201c}", 1, 7,
		"text stands in plain double quotes (\"), not in typographic "
		"ones"},
	    {"{\"a\": 'b'}", 1, 7, QUOTES ", not in single ones"},
	    {"{\"a\": 24h}", 1, 7, NO_WORD},
	    {"{\"a\": http://x}", 1, 7, NO_WORD},
	    {"{\"a\": 0660}", 1, 7,
		"a number does not begin with 0; " QUOTES},
	    {"{\"a\": +1}", 1, 7, NO_WORD},
	    {"{\"a\": .5}", 1, 7, NO_WORD},
	    {"{\"a\": 1.}", 1, 7, NO_WORD},
	    {"{\"a\": 1e}", 1, 7, NO_WORD},
	    {"{\"a\": True}", 1, 7, "true is written in small letters"},
	    {"{\"a\": no}", 1, 7,
		"this is no value of JSON; did you mean false?"},
	    {"{\"a\": 1 # x\n}", 1, 9, "a comment begins with //"},
	    {"{# x\n}", 1, 2, "a comment begins with //"},
	    {"{\"a\": #\n}", 1, 7, "a comment begins with //"},
	    {"{ /* x }", 1, 3, "this comment is never closed"},
	    {"{} /* x", 1, 4, "this comment is never closed"},
	    {"{\"a\": [1}", 1, 9,
		"this list is closed by \"]\", not by \"}\""},
	    {"{\"a\": 1]", 1, 8,
		"this object is closed by \"}\", not by \"]\""},
	    {"{\"a\": [\"b\": 1]}", 1, 11,
		"a list has no names; an object stands in {}"},
	    {"{\"a\": \"b\n\"}", 1, 7,
		"this string has no closing quote on its line"},
	    {"{\"a\": \"b", 1, 7, "this string has no closing quote"},
	    {"{\"a\": \"b\tc\"}", 1, 7, "a tab in a string is written \\t"},
	    {"{\"a\": \"C:\\x\"}", 1, 10,
		"a backslash in a string is written \\\\"},
	    {"{\"a\": \"\\u00g0\"}", 1, 8,
		"a backslash in a string is written \\\\"},
	    {"{\"a\": \"\\u0000\"}", 1, 8, "no string has a \\u0000"},
	    {"{\"a\": \"\\ud83d\"}", 1, 7, HALF},
	    {"{\"\\udc00\": 1}", 1, 2, HALF},
	    {"{\"a\": \"\xe9\"}", 1, 7, "this string is not UTF-8" SAVE},
	    {"{ // \xe9\n}", 1, 6, "this comment is not UTF-8" SAVE},
	    {"{\n/* \u00fc\xfc */}", 2, 5, "this comment is not UTF-8" SAVE},
	    {"{\"\xc3\xa9\": x}", 1, 7, NO_WORD},
	    {"{\n<<<<<<< HEAD\n\"a\": 1}", 2, 1, MERGE},
	    {"{\"a\": 1,\n=======\n\"b\": 2}", 2, 1, MERGE},
	    {"{\"a\": 1\n>>>>>>> x\n}", 2, 1, MERGE},
	    {"<<<<<<< HEAD\n{}", 1, 1, MERGE},
	    {"{ <<<<<<< x }", 1, 3, "a member's name stands in double quotes"},
	    {"{\"a\":\u00a01}", 1, 6, BLANK},
	    {"{\u200b\"a\": 1}", 1, 2, BLANK},
	};
	for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
		struct spots_fault fault = {.words = NULL};
		struct spots *spots =
		    read_spots(span_str(list[i].text), &fault);
		assert_null(spots);
		if (strcmp(fault.words, list[i].words) != 0 ||
		    fault.at.column != list[i].column)
			print_error("of %s\n", list[i].text);
		assert_string_equal(fault.words, list[i].words);
		assert_int_equal(fault.at.line, list[i].line);
		assert_int_equal(fault.at.column, list[i].column);
	}
}

/* Its spot: of that whose closing one is missing, as far as one can tell. */
static void
a_bracket_that_is_open_is_said(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		size_t line, column;
	} list[] = {
	    {"{\"a\": [1}", 1, 7},
	    {"{\"a\": {\"b\": 1]", 1, 7},
	    {"[{\"a\": 1,\n {\"b\": 2}]", 1, 2},
	    {"[\n {\"a\": {\n  \"b\": 1\n },\n {\"c\": 1}]", 2, 2},
	    {"[\n {\n  \"a\": {\n   \"b\": 1\n },\n {\"c\": 1}]", 3, 8},
	    {"{\"a\": 1 \"b\": 2}", 0, 0},
	    {"[{} {}]", 0, 0},
	    {"{", 0, 0},
	};
	for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
		struct spots_fault fault = {.words = NULL};
		assert_null(read_spots(span_str(list[i].text), &fault));
		assert_int_equal(fault.opened.line, list[i].line);
		assert_int_equal(fault.opened.column, list[i].column);
	}
}

static void
a_nul_byte_is_said_where_it_is(void **state)
{
	(void)state;
	static const struct {
		struct span text;
		size_t column;
	} list[] = {
	    {SPAN("{ \0}"), 3},
	    {SPAN("{} // a\0b"), 8},
	    {SPAN("/* \0 */ {}"), 4},
	};
	for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
		struct spots_fault fault = {.words = NULL};
		assert_null(read_spots(list[i].text, &fault));
		assert_string_equal(
		    fault.words, "a NUL byte stands here: take it out");
		assert_int_equal(fault.at.column, list[i].column);
	}
}

static void
what_is_json_is_taken(void **state)
{
	(void)state;
	static const char *const list[] = {"{}", "[]", " {\"a\": -0.5e+3} ",
	    "{\"a\": [0, -1, 1E9, true, false, null, \"\", {}, []]}",
	    "\xef\xbb\xbf{} // mark", "{\"\\u00e9\\ud83d\\ude00\\/\": 1}",
	    "{\"a\":1/**/,\"b\":2// x\n}"};
	for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
		struct spots_fault fault = {.words = ""};
		assert_non_null(read_spots(span_str(list[i]), &fault));
		assert_string_equal(fault.words, "");
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(comments_become_blanks_and_nothing_moves),
	    cmocka_unit_test(a_pointer_leads_to_line_and_column),
	    cmocka_unit_test(what_is_there_twice_is_found),
	    cmocka_unit_test(what_looks_as_if_it_were_replaced_is_found),
	    cmocka_unit_test(what_is_wrong_is_said_where_it_is),
	    cmocka_unit_test(a_bracket_that_is_open_is_said),
    cmocka_unit_test(a_nul_byte_is_said_where_it_is),
	    cmocka_unit_test(what_is_json_is_taken),
	};
	int failed = cmocka_run_group_tests_name("spots", tests, NULL, NULL);
	arena_free(&arena);
	return failed;
}
