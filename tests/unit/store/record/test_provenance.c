/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "store/record/label.h"
#include "store/record/provenance.h"

static struct arena *arena;

static int
start(void **state)
{
	(void)state;
	arena = arena_new();
	return 0;
}

static int
stop(void **state)
{
	(void)state;
	arena_free(&arena);
	return 0;
}

static void
text_is(struct span s, const char *wanted)
{
	assert_string_equal(arena_dup(arena, s).ptr, wanted);
}

static const struct provenance whole = {
    .route = {"charges", 7},
    .method = {"POST", 4},
    .path = {"/v1/charges", 11},
    .instance = {"gw", 2},
    .label = {"=order 17", 9},
    .request_id = {"req", 3},
};

static void
it_is_read_as_it_was_written(void **state)
{
	(void)state;
	struct span line = provenance_write(arena, &whole);
	text_is(line,
	    "charges\tPOST\t/v1/charges\tgw\t=order 17\treq");
	const struct provenance read = provenance_read(line);
	text_is(read.route, "charges");
	text_is(read.path, "/v1/charges");
	text_is(read.label, "=order 17");
	text_is(read.request_id, "req");
	text_is(read.history, "");
}

static void
a_record_of_an_earlier_release_has_its_route(void **state)
{
	(void)state;
	const struct provenance read = provenance_read(SPAN("charges"));
	text_is(read.route, "charges");
	text_is(read.method, "");
	text_is(read.history, "");
	text_is(provenance_read(SPAN("")).route, "");
}

static void
no_part_can_end_the_line(void **state)
{
	(void)state;
	struct provenance odd = whole;
	odd.path = SPAN("/a\tb\nc\0d\177");
	odd.route = SPAN("r\r");
	const struct provenance read =
	    provenance_read(provenance_write(arena, &odd));
	text_is(read.path, "/a b c d ");
	text_is(read.route, "r ");
	text_is(read.request_id, "req");
}

static void
a_long_path_is_cut_between_characters(void **state)
{
	char path[400];
	(void)state;
	memset(path, 'a', sizeof path);
	struct span cut = provenance_cut(arena, span_of(path, 256), 256);
	assert_int_equal(cut.len, 256);
	cut = provenance_cut(arena, span_of(path, 257), 256);
	assert_int_equal(cut.len, 256);
	text_is(span_from(cut, 253), "\xe2\x80\xa6");
	for (size_t i = 0; i < sizeof path; i += 2)
		memcpy(path + i, "\xc3\xbc", 2);
	cut = provenance_cut(arena, span_of(path, sizeof path), 256);
	assert_int_equal(cut.len, 252 + 3);
	/* What is no UTF-8 is cut anywhere. */
	memset(path, 0xff, sizeof path);
	cut = provenance_cut(arena, span_of(path, sizeof path), 256);
	assert_int_equal(cut.len, 256);
}

static void
acts_are_read_one_by_one(void **state)
{
	struct provenance_act act;
	struct span history =
	    SPAN("1763888400123rbm90ZQ nonsense 1763888400124c "
		 "1763888400125d***");
	(void)state;
	assert_true(provenance_next_act(arena, &history, &act));
	assert_int_equal(act.time_ms, 1763888400123);
	assert_int_equal(act.letter, 'r');
	text_is(act.note, "note");
	assert_true(provenance_next_act(arena, &history, &act));
	assert_int_equal(act.letter, 'c');
	text_is(act.note, "");
	assert_true(provenance_next_act(arena, &history, &act));
	assert_int_equal(act.letter, 'd');
	text_is(act.note, "");
	assert_false(provenance_next_act(arena, &history, &act));
	/* With who it was, or nobody, and with a note or none. */
	const struct span said[] = {SPAN("note"), SPAN("ali.ce \xc3\xbc"),
	    SPAN(""), SPAN("bob"), SPAN("why"), SPAN("")};
	for (size_t i = 0; i < sizeof said / sizeof *said; i += 2) {
		history = arena_printf(arena, "1763888400123r%s",
		    provenance_act_text(arena, said[i], said[i + 1]).ptr);
		assert_true(provenance_next_act(arena, &history, &act));
		assert_true(span_eq(act.note, said[i]));
		assert_true(span_eq(act.who, said[i + 1]));
	}
	history = SPAN("");
	assert_false(provenance_next_act(arena, &history, &act));
}

static void
a_label_opens_for_its_own_key_alone(void **state)
{
	uint8_t bytes[CONF_ENCRYPTION_KEY_BYTES] = {7};
	char id[] = "a";
	struct conf_encryption_key key = {id, bytes};
	const struct conf_store clear = {.n_encryption_keys = 0};
	const struct conf_store sealing = {
	    .encryption_keys = &key, .n_encryption_keys = 1};
	const struct key_id mine = {{1}}, other = {{2}};
	struct span text;
	(void)state;
	text_is(label_write(arena, &clear, &mine, SPAN("order 17")),
	    "=order 17");
	text_is(label_write(arena, &sealing, &mine, SPAN("")), "");
	struct span sealed =
	    label_write(arena, &sealing, &mine, SPAN("order 17"));
	assert_null(memchr(sealed.ptr, '=', sealed.len));
	assert_true(label_read(arena, &sealing, &mine, sealed, &text));
	text_is(text, "order 17");
	assert_false(label_read(arena, &sealing, &other, sealed, &text));
	assert_false(label_read(arena, &clear, &mine, sealed, &text));
	assert_false(label_read(arena, &sealing, &mine, SPAN(""), &text));
	assert_false(label_read(arena, &sealing, &mine, SPAN("?"), &text));
	/* One from before there were keys. */
	assert_true(
	    label_read(arena, &sealing, &mine, SPAN("=old"), &text));
	text_is(text, "old");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(it_is_read_as_it_was_written),
	    cmocka_unit_test(a_record_of_an_earlier_release_has_its_route),
	    cmocka_unit_test(no_part_can_end_the_line),
	    cmocka_unit_test(a_long_path_is_cut_between_characters),
	    cmocka_unit_test(acts_are_read_one_by_one),
	    cmocka_unit_test(a_label_opens_for_its_own_key_alone),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
