/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "messages/broker/kafka/kafka_call.h"

/*
 * Where logs begin and end, by a librdkafka that answers as it may: what nobody
 * has told is no offset.
 */
static rd_kafka_resp_err_t answer, answer_of_first;
static int64_t told;

/* In place of the library's. */
rd_kafka_resp_err_t
rd_kafka_offsets_for_times(rd_kafka_t *client,
    rd_kafka_topic_partition_list_t *list, int timeout_ms)
{
	(void)client;
	assert_int_equal(timeout_ms, 7);
	for (int i = 0; i < list->cnt; i++) {
		assert_int_equal(list->elems[i].offset, RD_KAFKA_OFFSET_END);
		if (told >= 0)
			list->elems[i].offset = told;
	}
	list->elems[0].err = answer_of_first;
	return answer;
}

/* The offsets of the first and of the second that come of it. */
static rd_kafka_resp_err_t
ask(int64_t *ret_first, int64_t *ret_second)
{
	rd_kafka_topic_partition_list_t *list =
	    rd_kafka_topic_partition_list_new(2);
	rd_kafka_topic_partition_list_add(list, "t", 0);
	rd_kafka_topic_partition_list_add(list, "t", 1);
	rd_kafka_resp_err_t error =
	    kafka_call_side(NULL, list, RD_KAFKA_OFFSET_END, 7);
	*ret_first = list->elems[0].offset;
	*ret_second = list->elems[1].offset;
	rd_kafka_topic_partition_list_destroy(list);
	return error;
}

static void
what_nobody_has_told_is_no_offset(void **state)
{
	int64_t first, second;
	(void)state;
	told = 5;
	assert_int_equal(ask(&first, &second), 0);
	assert_int_equal(first, 5);
	assert_int_equal(second, 5);
	told = -1;
	assert_int_equal(ask(&first, &second), RD_KAFKA_RESP_ERR__TIMED_OUT);
	assert_int_equal(first, -1);
	assert_int_equal(second, -1);
}

static void
an_error_of_one_is_not_one_of_another(void **state)
{
	int64_t first, second;
	(void)state;
	told = 5;
	answer_of_first = RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE;
	assert_int_equal(ask(&first, &second), answer_of_first);
	assert_int_equal(first, -1);
	assert_int_equal(second, 5);
	answer_of_first = RD_KAFKA_RESP_ERR_NO_ERROR;
	answer = RD_KAFKA_RESP_ERR__TRANSPORT;
	assert_int_equal(ask(&first, &second), answer);
	assert_int_equal(first, -1);
	assert_int_equal(second, -1);
	answer = RD_KAFKA_RESP_ERR_NO_ERROR;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_nobody_has_told_is_no_offset),
	    cmocka_unit_test(an_error_of_one_is_not_one_of_another),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
