/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>
#include <string.h>

#include "base/loop/loop.h"
#include "messages/broker/kafka/kafka.h"
#include "messages/broker/kafka/kafka_thread.h"
#include "messages/broker/reader.h"

/*
 * The copies of dead letters are read page by page, those of the source alone,
 * and the marks that some are done with are written; of a pretended Kafka.
 */
enum { PARTITIONS = 2, COPIES = 7, WORDS = 200 };

static struct loop *loop;
static rd_kafka_t *owner, *producer; /* of the cluster; of the copies */
static rd_kafka_mock_cluster_t *cluster;
static struct broker_reader *reader;

static char charges[] = "charges", group[] = "g", orders[] = "orders";
static char address[WORDS];
static char *addresses[] = {address}, *topics[] = {orders};
static struct conf_broker broker = {.name = charges,
    .kind = BROKER_KAFKA, .kafka = {addresses, 1}};
static struct conf_source source = {.name = charges,
    .broker = &broker, .group = group, .topics = {topics, 1}};

static bool
took(void *arg, struct broker_message *message)
{
	(void)arg;
	broker_message_free(&message);
	return true;
}

static void
changed(void *arg)
{
	(void)arg;
}

static const struct broker_events events = {.took = took, .changed = changed};

static void
stop(void *arg)
{
	loop_stop(arg);
}

static int
set_up(void **state)
{
	char words[WORDS];
	(void)state;
	owner = rd_kafka_new(
	    RD_KAFKA_PRODUCER, rd_kafka_conf_new(), words, sizeof words);
	assert_non_null(owner);
	cluster = rd_kafka_mock_cluster_new(owner, 1);
	assert_non_null(cluster);
	snprintf(address, sizeof address, "%s",
	    rd_kafka_mock_cluster_bootstraps(cluster));
	assert_int_equal(
	    rd_kafka_mock_topic_create(cluster, "orders", 1, 1), 0);
	assert_int_equal(rd_kafka_mock_topic_create(
			     cluster, "orders.dead", PARTITIONS, 1),
	    0);
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	assert_int_equal(rd_kafka_conf_set(conf, "bootstrap.servers", address,
			     words, sizeof words),
	    RD_KAFKA_CONF_OK);
	producer =
	    rd_kafka_new(RD_KAFKA_PRODUCER, conf, words, sizeof words);
	loop = loop_new();
	const struct broker_start start = {.loop = loop,
	    .source = &source,
	    .instance = "one",
	    .store_id = SPAN("abc"),
	    .most_bytes = 1000,
	    .events = &events};
	reader = reader_open(&kafka_driver, &start);
	return 0;
}

static bool
is_left(void)
{
	return reader_leaving(loop) + kafka_thread_leaving(loop) == 0;
}

static void
look_whether_it_has_left(void *arg)
{
	struct timer *timer = arg;
	if (is_left())
		loop_stop(loop);
	else
		timer_set(timer, 20);
}

static int
tear_down(void **state)
{
	struct timer timer;
	(void)state;
	broker_reader_close(&reader);
	timer_init(&timer, loop, look_whether_it_has_left, &timer);
	timer_set(&timer, 0);
	loop_run(loop);
	loop_free(&loop);
	rd_kafka_destroy(producer);
	rd_kafka_mock_cluster_destroy(cluster);
	rd_kafka_destroy(owner);
	return 0;
}

/* A copy, or with done a mark, of what stood at that offset. */
static void
put(int32_t partition, const char *of, int offset, bool done)
{
	char name[32], position[64], key[] = "k";
	snprintf(name, sizeof name, "%s", of);
	int len = snprintf(position, sizeof position, "orders/0/%d@%d", offset,
	    1000 + offset);
	assert_int_equal(
	    rd_kafka_producev(producer, RD_KAFKA_V_TOPIC("orders.dead"),
		RD_KAFKA_V_PARTITION(partition), RD_KAFKA_V_KEY(key, 1),
		RD_KAFKA_V_VALUE(done ? NULL : position,
		    done ? 0 : (size_t)len),
		RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
		RD_KAFKA_V_HEADER("onceproxy-source", name, -1),
		RD_KAFKA_V_HEADER(
		    done ? "onceproxy-done" : "onceproxy-position", position,
		    len),
		RD_KAFKA_V_END),
	    0);
	assert_int_equal(rd_kafka_flush(producer, 10000), 0);
}

static void
read_page(struct broker_copies *copies)
{
	op_init(&copies->op, loop, stop, loop);
	broker_reader_copies(reader, copies);
	loop_run(loop);
	assert_int_equal(copies->op.error, 0);
}

static void
copies_of_the_source_come_in_pages_in_their_order(void **state)
{
	struct broker_copies copies = {.limit = 3};
	unsigned count = 0, pages = 0;
	(void)state;
	for (int i = 0; i < COPIES; i++) {
		put(i % PARTITIONS, "charges", i, i == 4);
		put(i % PARTITIONS, "another", 100 + i, false);
	}
	char all[512] = "";
	do {
		read_page(&copies);
		pages++;
		for (struct broker_message *m = copies.messages; m != NULL;
		     m = m->next) {
			size_t at = strlen(all);
			snprintf(all + at, sizeof all - at, "%.*s%s ",
			    SPAN_FMT(m->position),
			    m->payload.ptr == NULL ? " done" : "");
			assert_true(span_eq(m->key, SPAN("k")));
			assert_int_equal(m->fields.count, 2);
			count++;
		}
		broker_messages_free(&copies.messages);
		memcpy(copies.after, copies.next, sizeof copies.after);
	} while (copies.next[0] != '\0');
	assert_int_equal(count, COPIES);
	assert_true(pages >= COPIES / 3);
	assert_string_equal(all,
	    "orders/0/0@1000 orders/0/2@1002 orders/0/4@1004 done "
	    "orders/0/6@1006 "
	    "orders/0/1@1001 orders/0/3@1003 orders/0/5@1005 ");
}

static void
a_topic_that_is_not_there_has_no_copies(void **state)
{
	static char nowhere[] = "nowhere";
	struct broker_copies copies = {.limit = 100};
	(void)state;
	source.dead_letters = nowhere;
	read_page(&copies);
	source.dead_letters = NULL;
	assert_null(copies.messages);
	assert_string_equal(copies.next, "");
}

static void
look_whether_it_is_up(void *arg)
{
	struct timer *timer = arg;
	if (broker_reader_health(reader).up)
		loop_stop(loop);
	else
		timer_set(timer, 20);
}

static void
a_mark_says_that_a_copy_is_done_with(void **state)
{
	struct broker_copies copies = {.limit = 100};
	struct broker_finish finish = {.mark = true,
	    .position = SPAN("orders/0/2@1002"),
	    .key = SPAN("k")};
	struct timer timer;
	(void)state;
	timer_init(&timer, loop, look_whether_it_is_up, &timer);
	timer_set(&timer, 0);
	loop_run(loop);
	op_init(&finish.op, loop, stop, loop);
	broker_reader_finish(reader, &finish);
	loop_run(loop);
	assert_int_equal(finish.op.error, 0);
	assert_int_equal(finish.finished, BROKER_FINISHED);
	read_page(&copies);
	unsigned marks = 0;
	for (struct broker_message *m = copies.messages; m != NULL;
	     m = m->next)
		marks += m->fields.count == 3 && m->payload.ptr == NULL &&
		    span_eq(m->fields.list[0].name, SPAN("onceproxy-done")) &&
		    span_eq(m->fields.list[0].value, finish.position) &&
		    span_eq(m->fields.list[2].value, SPAN("abc")) &&
		    span_eq(m->key, SPAN("k"));
	assert_int_equal(marks, 1);
	broker_messages_free(&copies.messages);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(
		copies_of_the_source_come_in_pages_in_their_order),
	    cmocka_unit_test(a_topic_that_is_not_there_has_no_copies),
	    cmocka_unit_test(a_mark_says_that_a_copy_is_done_with),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
