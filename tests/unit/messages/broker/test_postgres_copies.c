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

/*
 * The table of dead letters has copies of them: they are read in pages, deleted
 * when they are done with, and the newest one says whose they are.
 */
static char results[] = "done";

struct page {
	struct broker_copies copies;
	bool woken;
};

static void
on_page(void *arg)
{
	((struct page *)arg)->woken = true;
}

static struct page *waited;

static bool
is_woken(const struct outbox *outbox)
{
	(void)outbox;
	return waited->woken;
}

static void
ask(struct outbox *o, struct page *page, const char *after, size_t limit)
{
	*page = (struct page){.copies.limit = limit};
	strcpy(page->copies.after, after);
	op_init(&page->copies.op, o->loop, on_page, page);
	broker_reader_copies(o->reader, &page->copies);
	waited = page;
	outbox_until(o, is_woken);
}

static size_t
length(const struct page *page)
{
	size_t count = 0;
	const struct broker_message *m = page->copies.messages;
	for (; m != NULL; m = m->next)
		count++;
	return count;
}

static struct broker_put
copy_put(struct field *fields, const char *position, const char *store)
{
	fields[0] = (struct field){SPAN("a"), SPAN("1")};
	fields[1] =
	    (struct field){SPAN("onceproxy-source"), SPAN("outbox")};
	fields[2] =
	    (struct field){SPAN("onceproxy-position"), span_str(position)};
	fields[3] =
	    (struct field){SPAN("onceproxy-store"), span_str(store)};
	return (struct broker_put){.place = BROKER_DEAD_LETTERS,
	    .fields = {fields, 4},
	    .has_body = true,
	    .body = SPAN("{\"n\":1}"),
	    .entity = SPAN("e1"),
	    .type = SPAN("made")};
}

static void
make_table(int rows)
{
	outbox_table(outbox_server, "int");
	postgres_just(outbox_server, NULL,
	    "INSERT INTO outbox (id, aggregateid, type, payload) "
	    "SELECT n, 'e1', 'made', '{}' FROM generate_series(1, %d) n",
	    rows);
}

static struct outbox *
with_rows(int rows)
{
	make_table(rows);
	struct outbox *o = outbox_new(NULL);
	o->source.results = results;
	outbox_open(o, (unsigned)rows);
	outbox_until_took(o, (size_t)rows);
	return o;
}

static void
bury(struct outbox *o, size_t at, const char *store)
{
	struct outbox_finish f;
	struct field fields[4];
	struct broker_put put = copy_put(
	    fields, (char[]){(char)('1' + (char)at), '\0'}, store);
	assert_int_equal(outbox_finish(o, &f, o->took[at], &put), 0);
	assert_int_equal(f.finish.finished, BROKER_FINISHED);
}

static long long
count(const char *table)
{
	return postgres_number(
	    outbox_server, "SELECT count(*) FROM %s", table);
}

static void
copies_come_in_pages_as_they_were_put(void **state)
{
	(void)state;
	struct page page;
	struct outbox *o = with_rows(3);
	ask(o, &page, "", 10);
	assert_int_equal(page.copies.op.error, 0);
	assert_null(page.copies.messages);
	for (size_t i = 0; i < 3; i++)
		bury(o, 2 - i, "5709");
	postgres_just(outbox_server, NULL,
	    "INSERT INTO outbox_dead (id, headers) VALUES "
	    "('9', '{\"onceproxy-source\": \"another\"}')");
	ask(o, &page, "", 2);
	const struct broker_message *m = page.copies.messages;
	assert_int_equal(length(&page), 2);
	outbox_assert_span(m->position, "3");
	outbox_assert_span(m->entity, "e1");
	outbox_assert_span(m->type, "made");
	outbox_assert_span(m->payload, "{\"n\":1}");
	assert_int_equal(m->fields.count, 4);
	outbox_assert_span(m->next->position, "2");
	char after[BROKER_COPY_ID_BYTES];
	strcpy(after, page.copies.next);
	broker_message_free(&page.copies.messages);
	ask(o, &page, after, 2);
	assert_int_equal(length(&page), 1);
	outbox_assert_span(page.copies.messages->position, "1");
	assert_string_equal(page.copies.next, "");
	broker_message_free(&page.copies.messages);
	outbox_free(&o);
}

static void
large_copies_come_in_several_pages(void **state)
{
	(void)state;
	struct page page;
	struct outbox *o = with_rows(1);
	bury(o, 0, "5709");
	postgres_just(outbox_server, NULL,
	    "INSERT INTO outbox_dead (id, headers, payload) SELECT n, "
	    "'{\"onceproxy-source\": \"outbox\"}', "
	    "convert_to(repeat('x', 1000000), 'UTF8') "
	    "FROM generate_series(2, 20) n");
	char after[BROKER_COPY_ID_BYTES] = "";
	size_t pages = 0, found = 0;
	do {
		ask(o, &page, after, 100);
		strcpy(after, page.copies.next);
		found += length(&page);
		assert_true(length(&page) <= 6);
		broker_message_free(&page.copies.messages);
		pages++;
	} while (after[0] != '\0');
	assert_int_equal(found, 20);
	assert_true(pages >= 4);
	outbox_free(&o);
}

static void
a_mark_deletes_the_copy_and_puts_the_result(void **state)
{
	(void)state;
	struct outbox_finish f;
	struct broker_put put = {.place = BROKER_RESULTS,
	    .has_body = true,
	    .body = SPAN("{}"),
	    .status = 201,
	    .key_id = SPAN("00")};
	struct outbox *o = with_rows(3);
	for (size_t i = 0; i < 3; i++)
		bury(o, i, "5709");
	assert_int_equal(outbox_mark(o, &f, "2", NULL), 0);
	assert_int_equal(f.finish.finished, BROKER_FINISHED);
	assert_int_equal(count("outbox_dead WHERE id = '2'"), 0);
	/* Whoever hears nothing of it asks again: there is one result. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(outbox_mark(o, &f, "3", &put), 0);
		assert_int_equal(f.finish.finished, BROKER_FINISHED);
	}
	assert_int_equal(count("outbox_dead"), 1);
	assert_int_equal(count("done WHERE id LIKE '3/%'"), 1);
	/* Its copy is nowhere any more. */
	postgres_just(outbox_server, NULL, "DELETE FROM outbox_dead");
	assert_int_equal(outbox_mark(o, &f, "1", &put), 0);
	assert_int_equal(f.finish.finished, BROKER_FINISHED);
	assert_int_equal(count("done WHERE id LIKE '1/%'"), 1);
	outbox_free(&o);
}

static void
a_mark_that_is_refused_changes_nothing(void **state)
{
	(void)state;
	struct outbox_finish f;
	struct broker_put put = {.place = BROKER_RESULTS, .status = 201};
	struct outbox *o = with_rows(1);
	bury(o, 0, "5709");
	postgres_just(outbox_server, NULL,
	    "ALTER TABLE done ADD CHECK (status <> 201)");
	assert_int_equal(outbox_mark(o, &f, "1", &put), E_BROKER_REFUSED);
	assert_non_null(strstr(f.finish.refused, "check constraint"));
	assert_int_equal(count("outbox_dead"), 1);
	outbox_free(&o);
}

static void
the_newest_copy_says_whose_it_is(void **state)
{
	(void)state;
	struct outbox *o = with_rows(2);
	assert_int_equal(o->origins, 1);
	assert_string_equal(o->origin, "");
	bury(o, 0, "first");
	bury(o, 1, "second");
	postgres_just(outbox_server, NULL,
	    "INSERT INTO outbox_dead (id, headers) VALUES ('9', "
	    "'{\"onceproxy-source\": \"another\", "
	    "\"onceproxy-store\": \"third\"}'); "
	    "INSERT INTO outbox (id, payload) VALUES (3, '1')");
	outbox_free(&o);
	o = outbox_new(NULL);
	outbox_open(o, 1);
	outbox_until_took(o, 1);
	assert_int_equal(o->origins, 1);
	assert_string_equal(o->origin, "second");
	assert_int_equal(o->took_before, 0);
	outbox_free(&o);
}

/* Nobody knows whose they are. */
static void
dead_letters_of_nobody_knows_whom_keep_the_table_unread(void **state)
{
	(void)state;
	struct outbox *o = with_rows(1);
	bury(o, 0, "5709");
	outbox_free(&o);
	postgres_just(outbox_server, NULL,
	    "DROP ROLE IF EXISTS poor; CREATE ROLE poor LOGIN; "
	    "GRANT SELECT, DELETE ON outbox TO poor; "
	    "GRANT INSERT ON outbox_dead TO poor");
	o = outbox_new(NULL);
	free(o->broker.postgres);
	o->broker.postgres = postgres_uri(outbox_server, "poor");
	outbox_open(o, 1);
	outbox_until_up(o, false);
	assert_string_equal(broker_reader_health(o->reader).message,
	    "permission denied for table outbox_dead");
	postgres_just(outbox_server, NULL,
	    "GRANT SELECT ON outbox_dead TO poor");
	outbox_until_up(o, true);
	assert_string_equal(o->origin, "5709");
	outbox_free(&o);
	postgres_just(
	    outbox_server, NULL, "DROP OWNED BY poor; DROP ROLE poor");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(copies_come_in_pages_as_they_were_put),
	    cmocka_unit_test(large_copies_come_in_several_pages),
	    cmocka_unit_test(a_mark_deletes_the_copy_and_puts_the_result),
	    cmocka_unit_test(a_mark_that_is_refused_changes_nothing),
	    cmocka_unit_test(the_newest_copy_says_whose_it_is),
	    cmocka_unit_test(
		dead_letters_of_nobody_knows_whom_keep_the_table_unread),
	};
	return cmocka_run_group_tests(
	    tests, outbox_start_server, outbox_stop_server);
}
