/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "messages/broker/kafka/kafka.h"
#include "messages/broker/kafka/kafka_call.h"
#include "messages/broker/kafka/kafka_private.h"

enum {
	SECOND_MS = 1000,
	SOON_MS = 20,      /* until one that leaves is looked at */
	REMAKE_MS = 3000,  /* until another consumer is made */
	EVENTS_MAX = 1000, /* of one turn */
	/*
	 * A reader that was closed lives on until its group knows what is
	 * finished and has its partitions back, and no longer than this: then
	 * its member is missed, and others have its partitions when the session
	 * is over.
	 */
	LEAVE_MS = 3000,
};

/* --- events --- */

/* A fatal error: the consumer is of no use any more. */
static void
on_error(struct kafka *kafka, rd_kafka_event_t *event)
{
	rd_kafka_resp_err_t error = rd_kafka_event_error(event);
	const char *words = rd_kafka_event_error_string(event);
	char fatal[KAFKA_WORDS_BYTES];
	if (rd_kafka_fatal_error(kafka->consumer, fatal, sizeof fatal) !=
	    RD_KAFKA_RESP_ERR_NO_ERROR) {
		if (!kafka->remake && !kafka->core.leaving)
			kafka_trouble_remake(kafka, fatal);
		return;
	}
	switch ((int)error) {
	case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
		kafka_trouble_is_down(kafka, NULL);
		break;
	case RD_KAFKA_RESP_ERR__AUTHENTICATION:
	case RD_KAFKA_RESP_ERR__SSL:
	case RD_KAFKA_RESP_ERR__TRANSPORT:
	case RD_KAFKA_RESP_ERR__RESOLVE:
	case RD_KAFKA_RESP_ERR__TIMED_OUT:
		/* It goes on by itself, elsewhere or again. */
		kafka_call_words(words, kafka->broke, sizeof kafka->broke);
		/* The last words say most; that it is down was told. */
		if (kafka->core.away != NULL)
			reader_trouble_away(&kafka->core, kafka->broke, false);
		break;
	case RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED:
		break;
	default:
		if (!kafka_trouble_of_group(kafka, error))
			reader_trouble_begin(&kafka->core, KAFKA_OF_ELSE, words,
			    span_str(words));
		break;
	}
}

static void
on_event(struct kafka *kafka, rd_kafka_event_t *event)
{
	const char *fac, *words;
	int level;
	switch (rd_kafka_event_type(event)) {
	case RD_KAFKA_EVENT_REBALANCE:
		kafka_group_rebalance(kafka, event);
		break;
	case RD_KAFKA_EVENT_OFFSET_COMMIT:
		kafka_commit_answered(kafka, event);
		break;
	case RD_KAFKA_EVENT_ERROR:
		on_error(kafka, event);
		break;
	case RD_KAFKA_EVENT_LOG:
		if (!log_wants(EV_source_library) ||
		    rd_kafka_event_log(event, &fac, &words, &level) != 0)
			break;
		struct logline line = log_begin(EV_source_library);
		log_str(&line, "source", kafka->core.source->name);
		log_str(&line, "message", words);
		log_end(&line);
		break;
	default:
		break;
	}
}

/* True: there may be more. */
static bool
read_events(struct kafka *kafka)
{
	rd_kafka_event_t *event;
	for (int i = 0; i < EVENTS_MAX; i++) {
		if (kafka->queue == NULL)
			return false;
		event = rd_kafka_queue_poll(kafka->queue, 0);
		if (event == NULL)
			return false;
		on_event(kafka, event);
		rd_kafka_event_destroy(event);
	}
	return true;
}

/* --- its consumer --- */

static void
on_readable(void *arg, unsigned events)
{
	struct kafka *kafka = arg;
	uint64_t count;
	(void)events;
	while (read(kafka->fd, &count, sizeof count) > 0)
		continue;
	kafka_part_again(kafka);
	reader_kick(&kafka->core);
}

static void
destroy(void *consumer)
{
	if (consumer != NULL)
		rd_kafka_destroy_flags(
		    consumer, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
}

/* All that is the consumer's, which its own thread frees then. */
static void
let_go(struct kafka *kafka)
{
	kafka_put_forget(kafka);
	kafka_group_clear(kafka);
	watch_free(&kafka->watch);
	if (kafka->queue != NULL) {
		rd_kafka_queue_io_event_enable(kafka->queue, -1, NULL, 0);
		rd_kafka_queue_destroy(kafka->queue);
	}
	kafka->queue = NULL;
	if (kafka->fd >= 0)
		close(kafka->fd);
	kafka->fd = -1;
	if (kafka->producer != NULL)
		kafka_producer_end(&kafka->producer);
	while (!list_empty(&kafka->core.questions))
		reader_ask_end(LIST_FIRST(&kafka->core.questions,
				   struct reader_question, of_reader),
		    E_BROKER_DOWN, NULL);
	if (kafka->copies != NULL)
		kafka_thread_end(&kafka->copies, NULL, NULL);
	/* It may take long. */
	if (kafka->asker != NULL)
		kafka_thread_end(&kafka->asker, destroy, kafka->consumer);
	else
		destroy(kafka->consumer);
	kafka->consumer = NULL;
	kafka->asking = kafka->looking = false;
}

/*
 * False: it cannot be made now, for want of descriptors, threads, or files of
 * its settings; it is tried again.
 */
static bool
make(struct kafka *kafka)
{
	static const uint64_t one = 1;
	struct broker_reader *core = &kafka->core;
	const struct conf_source *source = core->source;
	char words[KAFKA_WORDS_BYTES] = "no thread can be made";
	kafka->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (kafka->fd < 0) {
		kafka_trouble_is_down(kafka, strerror(errno));
		return false;
	}
	kafka->consumer = kafka_conf_consumer(source, core->instance,
	    core->conf->in_flight_bytes, words);
	if (kafka->consumer != NULL)
		kafka->asker = kafka_thread_new(core->loop);
	const struct kafka_producer_start producer = {
	    .loop = core->loop, .done = kafka_put_done, .arg = kafka};
	kafka->producer = kafka_producer_new(
	    &producer, kafka_conf_producer(source, core->instance));
	if (kafka->asker == NULL || kafka->producer == NULL) {
		let_go(kafka);
		kafka_trouble_is_down(kafka, words);
		return false;
	}
	kafka->queue = rd_kafka_queue_get_consumer(kafka->consumer);
	rd_kafka_set_log_queue(kafka->consumer, kafka->queue);
	kafka->watch =
	    watch_new(core->loop, kafka->fd, WATCH_READ, on_readable, kafka);
	rd_kafka_queue_io_event_enable(
	    kafka->queue, kafka->fd, &one, sizeof one);
	if (source->results != NULL)
		kafka_put_prepare(kafka);
	rd_kafka_topic_partition_list_t *list =
	    rd_kafka_topic_partition_list_new((int)source->topics.count);
	for (size_t i = 0; i < source->topics.count; i++)
		rd_kafka_topic_partition_list_add(
		    list, source->topics.list[i], RD_KAFKA_PARTITION_UA);
	rd_kafka_resp_err_t error = rd_kafka_subscribe(kafka->consumer, list);
	rd_kafka_topic_partition_list_destroy(list);
	if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
		kafka_trouble_remake(kafka, rd_kafka_err2str(error));
	return error == RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* --- after it was closed --- */

static void
free_kafka(struct broker_reader *core)
{
	struct kafka *kafka = (struct kafka *)core;
	timer_clear(&kafka->second);
	timer_clear(&kafka->put_timer);
	let_go(kafka);
}

/*
 * To be closed takes the partitions away, before which what is finished is
 * committed, and the member leaves its group.
 */
static bool
leave(struct broker_reader *core)
{
	struct kafka *kafka = (struct kafka *)core;
	if (!kafka->closes) {
		kafka->closes = true;
		timer_set(&kafka->second, SOON_MS);
		rd_kafka_error_t *error = kafka->consumer != NULL
		    ? rd_kafka_consumer_close_queue(
			  kafka->consumer, kafka->queue)
		    : NULL;
		if (error != NULL) {
			rd_kafka_error_destroy(error);
			return true;
		}
	}
	if (kafka->consumer == NULL)
		return true;
	if (read_events(kafka))
		reader_kick(core);
	kafka_group_go_on(kafka);
	return rd_kafka_consumer_closed(kafka->consumer);
}

/* --- its work --- */

static void
go_on(struct broker_reader *core)
{
	struct kafka *kafka = (struct kafka *)core;
	struct kafka_part *part;
	if (kafka->queue != NULL && read_events(kafka))
		reader_kick(core);
	/* What is being committed in a transaction is not made undone. */
	if (kafka->consumer != NULL && kafka->remake && kafka->batch == NULL) {
		kafka->remake = false;
		let_go(kafka);
		timer_set(&kafka->second, REMAKE_MS);
	}
	if (kafka->consumer == NULL)
		return;
	/* The owner takes the store as it is, as it gives credit. */
	LIST_EACH (part, &kafka->parts, link)
		if (core->credit > 0 && part->step == KAFKA_TELLING) {
			part->foreign = false;
			kafka->tells = true;
		}
	if (kafka->unanswered)
		kafka_put_prepare(kafka);
	kafka_group_go_on(kafka);
	kafka_look_go_on(kafka);
	if (kafka_part_take(kafka))
		reader_kick(core);
	if (kafka->tells)
		kafka_commit_go_on(kafka);
}

/* Whatever was told, all is looked at. */
static void
on_second(void *arg)
{
	struct kafka *kafka = arg;
	bool leaves = kafka->core.leaving;
	timer_set(&kafka->second, leaves ? SOON_MS : SECOND_MS);
	reader_kick(&kafka->core);
	if (leaves || (kafka->consumer == NULL && !make(kafka)))
		return;
	kafka_part_again(kafka);
	kafka_group_look(kafka);
	kafka_commit_go_on(kafka);
}

/* --- the driver --- */

static void
open_kafka(struct broker_reader *core)
{
	struct kafka *kafka = (struct kafka *)core;
	core->leave_ms = LEAVE_MS;
	kafka->fd = -1;
	kafka->lag = -1;
	list_init(&kafka->parts);
	timer_init(&kafka->second, core->loop, on_second, kafka);
	timer_set(&kafka->second, SECOND_MS);
	timer_init(&kafka->put_timer, core->loop, kafka_put_due, kafka);
	make(kafka);
	reader_kick(core);
}

/* It comes again: all is read anew, from what is committed. */
static void
give_back(struct broker_reader *core, struct flight *message)
{
	(void)message;
	((struct kafka *)core)->again = true;
	reader_kick(core);
}

const struct driver kafka_driver = {
    .reader_bytes = sizeof(struct kafka),
    .flight_bytes = sizeof(struct kafka_flight),
    .finishing_bytes = sizeof(struct kafka_finishing),
    .open = open_kafka,
    .leave = leave,
    .free = free_kafka,
    .take = go_on,
    .finish = kafka_put_finish,
    .give_back = give_back,
    .copies = kafka_copies_begin,
    .health = kafka_trouble_health,
    .floor = kafka_group_copy,
    .tell = kafka_commit_tell,
};
