/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "unit/messages/broker/outbox.h"

/* Dead letters of a table are read in pages, and each is finished once. */
static char results[] = "done";

struct page {
	struct broker_letters letters;
	struct outbox *outbox;
};

static bool
is_woken(const struct outbox *outbox)
{
	return outbox->wanted != 0;
}

static void
on_page(void *arg)
{
	struct page *page = arg;
	page->outbox->wanted = 1;
}

static void
ask(struct outbox *o, struct page *page, const char *after,
    const char *position, size_t limit)
{
	*page = (struct page){.outbox = o,
	    .letters = {.position = span_str(position), .limit = limit}};
	strcpy(page->letters.after, after);
	op_init(&page->letters.op, o->loop, on_page, page);
	o->wanted = 0;
	broker_reader_letters(o->reader, &page->letters);
	outbox_until(o, is_woken);
	assert_int_equal(page->letters.op.error, 0);
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

static struct broker_put
dead_put(struct field *fields)
{
	fields[0] = (struct field){SPAN("a"), SPAN("1")};
	fields[1] =
	    (struct field){SPAN("onceproxy-source"), SPAN("outbox")};
	return (struct broker_put){.place = BROKER_DEAD_LETTERS,
	    .fields = {fields, 2},
	    .has_body = true,
	    .body = SPAN("{\"n\":1}"),
	    .entity = SPAN("e1"),
	    .type = SPAN("made")};
}

static struct outbox *
with_rows(int rows, const char *payload)
{
	outbox_table(outbox_server, "int");
	postgres_just(outbox_server, NULL,
	    "INSERT INTO outbox (id, aggregateid, type, payload) "
	    "SELECT n, 'e1', 'made', %s FROM generate_series(1, %d) n",
	    payload, rows);
	struct outbox *o = outbox_new(NULL);
	o->source.results = results;
	outbox_open(o, (unsigned)rows);
	outbox_until_took(o, (size_t)rows);
	return o;
}

static long long
count(const char *table)
{
	return postgres_number(
	    outbox_server, "SELECT count(*) FROM %s", table);
}

static void
letters_come_in_pages_as_they_were(void **state)
{
	(void)state;
	struct outbox_finish f;
	struct field fields[2];
	struct broker_put put = dead_put(fields);
	struct page page;
	struct outbox *o = with_rows(3, "'{}'");
	ask(o, &page, "", "", 10);
	assert_null(page.letters.messages);
	for (int i = 0; i < 3; i++)
		assert_int_equal(outbox_finish(o, &f, o->took[i], &put), 0);
	postgres_just(outbox_server, NULL,
	    "INSERT INTO outbox_dead (id, headers) VALUES "
	    "('9', '{\"onceproxy-source\": \"another\"}')");
	ask(o, &page, "", "", 2);
	const struct broker_message *m = page.letters.messages;
	outbox_assert_span(m->position, "1");
	outbox_assert_span(m->entity, "e1");
	outbox_assert_span(m->type, "made");
	outbox_assert_span(m->payload, "{\"n\":1}");
	assert_int_equal(m->fields.count, 2);
	outbox_assert_span(m->next->position, "2");
	assert_null(m->next->next);
	char after[BROKER_LETTER_ID_BYTES];
	strcpy(after, page.letters.next);
	drop_page(&page);
	ask(o, &page, after, "", 2);
	outbox_assert_span(page.letters.messages->position, "3");
	assert_null(page.letters.messages->next);
	assert_string_equal(page.letters.next, "");
	drop_page(&page);
	ask(o, &page, "", "2", 1);
	outbox_assert_span(page.letters.messages->position, "2");
	drop_page(&page);
	outbox_free(&o);
}

static void
a_letter_is_taken_away_once_with_what_is_put(void **state)
{
	(void)state;
	struct outbox_finish f;
	struct field fields[2];
	struct broker_put put = dead_put(fields);
	struct page page;
	struct outbox *o = with_rows(2, "'{}'");
	for (int i = 0; i < 2; i++)
		assert_int_equal(outbox_finish(o, &f, o->took[i], &put), 0);
	ask(o, &page, "", "", 10);
	const struct broker_message *m = page.letters.messages;
	struct broker_put result = {.place = BROKER_RESULTS, .status = 201};
	for (int i = 0; i < 2; i++) {
		assert_int_equal(outbox_finish(o, &f, m, &result), 0);
		assert_int_equal(f.finish.finished,
		    i == 0 ? BROKER_FINISHED : BROKER_NOT_PENDING);
	}
	assert_int_equal(count("done"), 1);
	assert_int_equal(count("outbox_dead"), 1);
	assert_int_equal(outbox_finish(o, &f, m->next, &put), 0);
	assert_int_equal(f.finish.finished, BROKER_FINISHED);
	assert_int_equal(count("outbox_dead"), 1);
	assert_int_equal(outbox_finish(o, &f, m->next, NULL), 0);
	assert_int_equal(f.finish.finished, BROKER_NOT_PENDING);
	drop_page(&page);
	ask(o, &page, "", "", 10);
	assert_int_equal(
	    outbox_finish(o, &f, page.letters.messages, NULL), 0);
	assert_int_equal(f.finish.finished, BROKER_FINISHED);
	assert_int_equal(count("outbox_dead"), 0);
	assert_int_equal(o->deleted, 0);
	drop_page(&page);
	outbox_free(&o);
}

/* Its letter has all of it, though the reader never had. */
static void
the_letter_of_what_is_too_large_is_whole(void **state)
{
	(void)state;
	struct outbox_finish f;
	struct field fields[2];
	struct broker_put put = dead_put(fields);
	struct page page;
	struct outbox *o =
	    with_rows(1, "to_jsonb(repeat('x', 3000000))");
	assert_true(o->took[0]->too_large);
	put.has_body = false;
	put.whole = true;
	assert_int_equal(outbox_finish(o, &f, o->took[0], &put), 0);
	assert_int_equal(postgres_number(outbox_server,
			     "SELECT length(payload) FROM outbox_dead"),
	    3000002);
	ask(o, &page, "", "", 10);
	assert_true(page.letters.messages->too_large);
	/* Nor does it lose it where it becomes one again. */
	assert_int_equal(
	    outbox_finish(o, &f, page.letters.messages, &put), 0);
	assert_int_equal(postgres_number(outbox_server,
			     "SELECT length(payload) FROM outbox_dead"),
	    3000002);
	drop_page(&page);
	outbox_free(&o);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(letters_come_in_pages_as_they_were),
	    cmocka_unit_test(a_letter_is_taken_away_once_with_what_is_put),
	    cmocka_unit_test(the_letter_of_what_is_too_large_is_whole),
	};
	return cmocka_run_group_tests(
	    tests, outbox_start_server, outbox_stop_server);
}
