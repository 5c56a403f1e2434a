/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"
#include "messages/broker/kafka/kafka_private.h"

/*
 * The consumer of a reader and what belongs to it, made when the reader is, and
 * again where it is good for nothing.
 */
enum { SOON_MS = 20 }; /* until one that leaves is looked at */

static void
on_readable(void *arg, unsigned events)
{
	struct kafka *kafka = arg;
	uint64_t count;
	(void)events;
	while (read(kafka->fd, &count, sizeof count) > 0)
		continue;
	kafka_take_again(kafka);
	kafka_kick(kafka);
}

static bool
subscribe(struct kafka *kafka)
{
	const struct strings *topics = &kafka->source->topics;
	rd_kafka_topic_partition_list_t *list =
	    rd_kafka_topic_partition_list_new((int)topics->count);
	for (size_t i = 0; i < topics->count; i++)
		rd_kafka_topic_partition_list_add(
		    list, topics->list[i], RD_KAFKA_PARTITION_UA);
	rd_kafka_resp_err_t error = rd_kafka_subscribe(kafka->consumer, list);
	rd_kafka_topic_partition_list_destroy(list);
	if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
		kafka_remake(kafka, rd_kafka_err2str(error));
	return error == RD_KAFKA_RESP_ERR_NO_ERROR;
}

static bool
is_without(struct kafka *kafka, const char *why)
{
	kafka_is_down(kafka, why);
	if (kafka->consumer != NULL)
		rd_kafka_destroy_flags(kafka->consumer,
		    RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
	kafka->consumer = NULL;
	if (kafka->fd >= 0)
		close(kafka->fd);
	return false;
}

/* What may not be had: descriptors, threads, files of its settings. */
static bool
make_needs(struct kafka *kafka)
{
	static const char no_thread[] = "no thread can be made";
	char words[KAFKA_WORDS_BYTES];
	kafka->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (kafka->fd < 0)
		return is_without(kafka, strerror(errno));
	kafka->consumer = kafka_conf_consumer(kafka, words);
	if (kafka->consumer == NULL)
		return is_without(kafka, words);
	const struct kafka_ask_events events = {
	    kafka_group_answered, kafka_topics_answered,
	    kafka_still_answered, kafka};
	kafka->thread = kafka_thread_new(kafka->loop,
	    kafka_conf_producer(kafka), kafka_put_done, kafka);
	if (kafka->thread == NULL)
		return is_without(kafka, no_thread);
	kafka->ask = kafka_ask_new(kafka->loop, kafka->consumer, &events);
	if (kafka->ask != NULL)
		return true;
	kafka_thread_end(&kafka->thread, NULL, NULL);
	return is_without(kafka, no_thread);
}

bool
kafka_make(struct kafka *kafka)
{
	static const uint64_t one = 1;
	if (kafka_leave_has_names(kafka)) {
		timer_set(&kafka->second, SOON_MS);
		return false;
	}
	if (!make_needs(kafka))
		return false;
	rd_kafka_poll_set_consumer(kafka->consumer);
	kafka->queue = rd_kafka_queue_get_consumer(kafka->consumer);
	rd_kafka_set_log_queue(kafka->consumer, kafka->queue);
	kafka->watch = watch_new(kafka->loop, kafka->fd, on_readable, kafka);
	watch_want(kafka->watch, WATCH_READ);
	rd_kafka_queue_io_event_enable(
	    kafka->queue, kafka->fd, &one, sizeof one);
	return subscribe(kafka);
}

void
kafka_make_let_go(struct kafka *kafka)
{
	if (kafka->queue == NULL)
		return;
	watch_free(&kafka->watch);
	rd_kafka_queue_io_event_enable(kafka->queue, -1, NULL, 0);
	rd_kafka_queue_destroy(kafka->queue);
	kafka->queue = NULL;
	close(kafka->fd);
}

void
kafka_make_again(struct kafka *kafka)
{
	kafka->remake = false;
	kafka_put_drop(kafka, E_BROKER_DOWN);
	kafka_put_forget(kafka);
	kafka_group_clear(kafka);
	kafka_make_let_go(kafka);
	kafka_thread_end(&kafka->thread, NULL, NULL);
	kafka_ask_end(&kafka->ask, NULL);
	kafka->consumer = NULL;
	kafka->asking = kafka->looking = false;
	kafka_still_clear(kafka);
	timer_set(&kafka->second, kafka->wait_s * 1000);
	kafka->wait_s *= 2;
	if (kafka->wait_s > KAFKA_REMAKE_MOST_S)
		kafka->wait_s = KAFKA_REMAKE_MOST_S;
}
