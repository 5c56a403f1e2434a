/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "lib/streams_bench.h"
#include "messages/broker/streams.h"

/* Dead letters of a stream are read in pages, and each is finished once. */

struct page {
	struct broker_letters letters;
	bool woken;
};

static void
on_page(void *arg)
{
	((struct page *)arg)->woken = true;
}

static void
ask(struct sbench_reader *r, struct page *page, const char *after,
    const char *position, size_t limit)
{
	*page = (struct page){.letters = {.position = span_str(position),
				  .limit = limit}};
	strcpy(page->letters.after, after);
	op_init(&page->letters.op, r->bench->loop, on_page, page);
	broker_reader_letters(r->reader, &page->letters);
	UNTIL(r->bench, page->woken);
}

static void
drop_page(struct page *page)
{
	struct broker_message *m = page->letters.messages, *next;
	for (; m != NULL; m = next) {
		next = m->next;
		broker_message_free(&m);
	}
}

static void
bury(struct sbench *bench, const char *source, const char *position)
{
	redis_just(bench->redis,
	    "XADD d * body b%s onceproxy-source %s onceproxy-position %s",
	    position, source, position);
}

static void
letters_of_the_source_come_in_pages(void **state)
{
	struct sbench *bench = *state;
	struct sbench_reader *a;
	struct page page;
	a = sbench_open(bench, "a");
	UNTIL(bench, sbench_is_up(a));
	ask(a, &page, "", "", 2);
	assert_int_equal(page.letters.op.error, 0);
	assert_null(page.letters.messages);
	bury(bench, bench->source.name, "1700000000123-1");
	bury(bench, "another", "1-2");
	redis_just(bench->redis, "XADD d * nobody knows");
	bury(bench, bench->source.name, "1-3");
	bury(bench, bench->source.name, "1-4");
	ask(a, &page, "", "", 2);
	const struct broker_message *m = page.letters.messages;
	assert_true(span_eq(m->position, SPAN("1700000000123-1")));
	assert_int_equal(m->time_ms, 1700000000123);
	assert_string_equal(sbench_field(m, "body"), "b1700000000123-1");
	assert_true(span_eq(m->next->position, SPAN("1-3")));
	assert_null(m->next->next);
	char after[BROKER_LETTER_ID_BYTES];
	strcpy(after, page.letters.next);
	drop_page(&page);
	ask(a, &page, after, "", 2);
	assert_true(span_eq(page.letters.messages->position, SPAN("1-4")));
	assert_null(page.letters.messages->next);
	assert_string_equal(page.letters.next, "");
	drop_page(&page);
	ask(a, &page, "", "1-3", 1);
	assert_true(span_eq(page.letters.messages->position, SPAN("1-3")));
	drop_page(&page);
	sbench_close(a);
}

/* A search goes on for as long as there is something to go on after. */
static void
a_letter_far_behind_is_found_in_steps(void **state)
{
	struct sbench *bench = *state;
	struct sbench_reader *a;
	struct page page = {.letters = {.next = ""}};
	unsigned steps = 0;
	redis_just(bench->redis, "EVAL %s 1 d",
	    "for i = 1, 2500 do redis.call('XADD', KEYS[1], '*', 'a', i) end");
	bury(bench, bench->source.name, "1-9");
	a = sbench_open(bench, "a");
	UNTIL(bench, sbench_is_up(a));
	do {
		char after[BROKER_LETTER_ID_BYTES];
		strcpy(after, page.letters.next);
		ask(a, &page, after, "1-9", 1);
		steps++;
	} while (page.letters.messages == NULL &&
	    page.letters.next[0] != '\0');
	assert_int_equal(steps, 3);
	assert_non_null(page.letters.messages);
	drop_page(&page);
	sbench_close(a);
}

static void
a_letter_is_taken_away_once_with_what_is_put(void **state)
{
	struct sbench *bench = *state;
	struct sbench_reader *a;
	struct sbench_finish *f = sbench_finish_new(bench);
	struct page page;
	struct field list[] = {{SPAN("onceproxy-status"), SPAN("201")}};
	struct broker_put put = {
	    .place = BROKER_RESULTS, .fields = {list, 1}};
	a = sbench_open(bench, "a");
	UNTIL(bench, sbench_is_up(a));
	bury(bench, bench->source.name, "1-1");
	bury(bench, bench->source.name, "odd");
	ask(a, &page, "", "", 9);
	const struct broker_message *m = page.letters.messages;
	redis_just(bench->redis, "SET r text");
	assert_int_equal(sbench_finish(a, f, m, &put), E_BROKER_REFUSED);
	assert_int_equal(redis_integer(bench->redis, "XLEN d"), 2);
	redis_just(bench->redis, "DEL r");
	assert_int_equal(sbench_finish(a, f, m, &put), 0);
	assert_int_equal(f->finish.finished, BROKER_FINISHED);
	assert_int_equal(sbench_finish(a, f, m, &put), 0);
	assert_int_equal(f->finish.finished, BROKER_NOT_PENDING);
	assert_int_equal(redis_integer(bench->redis, "XLEN r"), 1);
	assert_int_equal(redis_integer(bench->redis, "XLEN d"), 1);
	/* Anew: another one, in its place. */
	put.place = BROKER_DEAD_LETTERS;
	assert_int_equal(sbench_finish(a, f, m->next, &put), 0);
	assert_int_equal(f->finish.finished, BROKER_FINISHED);
	assert_int_equal(redis_integer(bench->redis, "XLEN d"), 1);
	assert_int_equal(sbench_finish(a, f, m->next, NULL), 0);
	assert_int_equal(f->finish.finished, BROKER_NOT_PENDING);
	assert_int_equal(redis_integer(bench->redis, "XLEN d"), 1);
	drop_page(&page);
	sbench_close(a);
}

static void
a_page_may_be_given_up(void **state)
{
	struct sbench *bench = *state;
	struct sbench_reader *a;
	struct page page = {.letters = {.limit = 1}};
	a = sbench_open(bench, "a");
	UNTIL(bench, sbench_is_up(a));
	op_init(&page.letters.op, bench->loop, on_page, &page);
	broker_reader_letters(a->reader, &page.letters);
	op_cancel(&page.letters.op);
	broker_reader_letters(a->reader, &page.letters);
	sbench_close(a);
	UNTIL(bench, page.woken);
	assert_int_equal(page.letters.op.error, E_CANCELLED);
}

/* Its letter has all of it, though the reader never had. */
static void
the_letter_of_what_is_too_large_is_whole(void **state)
{
	struct sbench *bench = *state;
	struct sbench_reader *a;
	struct sbench_finish *f = sbench_finish_new(bench);
	size_t len = bench->most_bytes + 1;
	char *big = mem_zero(len + 1);
	memset(big, 'x', len);
	redis_just(bench->redis,
	    "XADD s * id 7 Onceproxy_Reason old body %b", big, len);
	redis_just(bench->redis, "EVAL %s 1 s",
	    "local a = {} for i = 1, 9000, 3000 do local b = {} "
	    "for j = 1, 3000 do b[j] = j end a[#a + 1] = b end "
	    "return redis.call('XADD', KEYS[1], '*', unpack(a[1]))");
	a = sbench_open(bench, "a");
	UNTIL(bench, a->taken == 2);
	struct field list[4];
	for (int i = 0; i < 2; i++) {
		const struct broker_message *m =
		    i == 0 ? a->first : a->first->next;
		size_t kept = i == 0 ? 1 : 0;
		assert_true(m->too_large);
		list[0] = (struct field){SPAN("id"), SPAN("7")};
		list[kept] = (struct field){
		    SPAN("onceproxy-reason"), SPAN("too-large")};
		struct broker_put put = {.place = BROKER_DEAD_LETTERS,
		    .fields = {list, kept + 1}, .whole = true,
		    .n_kept = kept};
		assert_int_equal(sbench_finish(a, f, m, &put), 0);
	}
	redisReply *all = redis_do(bench->redis, "XRANGE d - +");
	const redisReply *values = all->element[0]->element[1];
	assert_int_equal(values->elements, 6);
	assert_int_equal(values->element[3]->len, len);
	assert_string_equal(values->element[5]->str, "too-large");
	assert_int_equal(all->element[1]->element[1]->elements, 3002);
	freeReplyObject(all);
	free(big);
	sbench_close(a);
}

int
main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown( \
	    name, sbench_set_up, sbench_tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(letters_of_the_source_come_in_pages),
	    TEST(a_letter_far_behind_is_found_in_steps),
	    TEST(a_letter_is_taken_away_once_with_what_is_put),
	    TEST(a_page_may_be_given_up),
	    TEST(the_letter_of_what_is_too_large_is_whole),
	};
	return cmocka_run_group_tests_name("letters", tests, NULL, NULL);
}
