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
#include "messages/broker/kafka/kafka_private.h"
#include "messages/broker/kafka/kafka_thread.h"

enum {
	SECOND_MS = 1000,
	SOON_MS = 20,      /* until one that leaves is looked at */
	EVENTS_MAX = 1000, /* of one turn */
	FENCED_AGAIN_MS = 600000,
	/*
	 * A reader that was closed lives on until its group knows what is
	 * finished and has its partitions back, and no longer than the last of
	 * these: then its member is missed, and others have its partitions when
	 * the session is over.
	 */
	COMMIT_MS = 1000,
	GROUP_MS = 2000,
	LEAVE_MS = 3000,
};

static _Thread_local struct kafka *leaving;

static struct kafka *
kafka_behind(struct broker_reader *reader)
{
	return (struct kafka *)(void *)reader;
}

/* --- events --- */

/*
 * Fenced: another member has come under our name.  That may have been this one
 * itself, whose commit was told late, under an id that it had before it lost
 * its session: so it comes back once.  The second time it is another gateway of
 * this instance, and that one keeps the name: else they would throw each other
 * out for ever.
 */
static void
on_name_lost(struct kafka *kafka)
{
	int64_t before_ms = kafka->fenced_ms, now = loop_now_ms(kafka->loop);
	kafka->fenced_ms = now;
	kafka->remake = true;
	kafka_trouble_kick(kafka);
	if (before_ms == 0 || now - before_ms > FENCED_AGAIN_MS)
		return;
	kafka->nameless = true;
	struct logline line = log_begin(EV_source_name_taken);
	log_str(&line, "source", kafka->source->name);
	log_str(&line, "broker", kafka->source->broker->name);
	log_str(&line, "instance", kafka->instance);
	log_end(&line);
}

/* True: the consumer is of no use any more. */
static bool
is_fatal(struct kafka *kafka)
{
	char words[KAFKA_WORDS_BYTES];
	rd_kafka_resp_err_t error =
	    rd_kafka_fatal_error(kafka->consumer, words, sizeof words);
	if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
		return false;
	if (kafka->remake || kafka->leaving)
		return true;
	if (error == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID)
		on_name_lost(kafka);
	else
		kafka_trouble_remake(kafka, words);
	return true;
}

static void
on_error(struct kafka *kafka, rd_kafka_event_t *event)
{
	rd_kafka_resp_err_t error = rd_kafka_event_error(event);
	const char *words = rd_kafka_event_error_string(event);
	if (is_fatal(kafka))
		return;
	switch ((int)error) {
	case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
		kafka_trouble_away(kafka);
		break;
	case RD_KAFKA_RESP_ERR__AUTHENTICATION:
	case RD_KAFKA_RESP_ERR__SSL:
		kafka_trouble_broke(kafka, true, words);
		break;
	case RD_KAFKA_RESP_ERR__TRANSPORT:
	case RD_KAFKA_RESP_ERR__RESOLVE:
	case RD_KAFKA_RESP_ERR__TIMED_OUT:
		/* It goes on by itself, elsewhere or again. */
		kafka_trouble_broke(kafka, false, words);
		break;
	case RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED:
		break;
	default:
		if (!kafka_trouble_of_group(kafka, error))
			kafka_trouble_begin(
			    kafka, KAFKA_OF_ELSE, words, words);
		break;
	}
}

static void
on_log(struct kafka *kafka, rd_kafka_event_t *event)
{
	const char *fac, *words;
	int level;
	if (!log_wants(EV_source_library) ||
	    rd_kafka_event_log(event, &fac, &words, &level) != 0)
		return;
	struct logline line = log_begin(EV_source_library);
	log_str(&line, "source", kafka->source->name);
	log_str(&line, "message", words);
	log_end(&line);
}

static void
on_event(struct kafka *kafka, rd_kafka_event_t *event)
{
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
		on_log(kafka, event);
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
	kafka_trouble_kick(kafka);
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
		kafka_trouble_remake(kafka, rd_kafka_err2str(error));
	return error == RD_KAFKA_RESP_ERR_NO_ERROR;
}

static bool
is_without(struct kafka *kafka, const char *why)
{
	kafka_trouble_is_down(kafka, why);
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
	kafka->consumer = kafka_conf_consumer(
	    kafka->source, kafka->instance, kafka->nameless,
	    kafka->conf != NULL ? kafka->conf->in_flight_bytes : 0, words);
	if (kafka->consumer == NULL)
		return is_without(kafka, words);
	const struct kafka_ask_events events = {
	    .committed = kafka_group_committed,
	    .logs = kafka_group_logs,
	    .topics = kafka_topics_answered,
	    .policy = kafka_group_policy,
	    .arg = kafka,
	};
	const struct kafka_producer_start producer = {
	    .loop = kafka->loop,
	    .conf = kafka_conf_producer(
		kafka->source, kafka->instance, kafka->nameless),
	    .done = kafka_put_done,
	    .arg = kafka,
	};
	kafka->producer = kafka_producer_new(&producer);
	if (kafka->producer == NULL)
		return is_without(kafka, no_thread);
	kafka->ask = kafka_ask_new(kafka->loop, kafka->consumer, &events);
	if (kafka->ask != NULL)
		return true;
	kafka_producer_end(&kafka->producer);
	return is_without(kafka, no_thread);
}

/* One that goes has the names that this one is to have. */
static bool
waits_for_names(const struct kafka *kafka)
{
	for (const struct kafka *k = leaving; k != NULL; k = k->next)
		if (!strcmp(k->source->name, kafka->source->name) &&
		    !strcmp(k->instance, kafka->instance))
			return true;
	return false;
}

/* False: it cannot be made now, and the timer is set. */
static bool
make(struct kafka *kafka)
{
	static const uint64_t one = 1;
	if (waits_for_names(kafka)) {
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

/* All that is the consumer's, which its own thread frees then. */
static void
let_go(struct kafka *kafka)
{
	if (kafka->queue == NULL)
		return;
	kafka_put_forget(kafka);
	kafka_group_clear(kafka);
	watch_free(&kafka->watch);
	rd_kafka_queue_io_event_enable(kafka->queue, -1, NULL, 0);
	rd_kafka_queue_destroy(kafka->queue);
	kafka->queue = NULL;
	close(kafka->fd);
	kafka->consumer = NULL;
	kafka_producer_end(&kafka->producer);
	kafka_ask_end(&kafka->ask);
	kafka->asking = kafka->asking_logs = kafka->looking = false;
}

static void
make_again(struct kafka *kafka)
{
	kafka->remake = false;
	kafka_put_drop(kafka, E_BROKER_DOWN);
	let_go(kafka);
	timer_set(&kafka->second, kafka->wait_s * 1000);
	kafka->wait_s *= 2;
	if (kafka->wait_s > KAFKA_REMAKE_MOST_S)
		kafka->wait_s = KAFKA_REMAKE_MOST_S;
}

/* --- after it was closed --- */

static void
free_kafka(struct kafka *kafka)
{
	struct kafka **at = &leaving;
	while (*at != NULL && *at != kafka)
		at = &(*at)->next;
	if (*at == kafka)
		*at = kafka->next;
	task_cancel(&kafka->work);
	timer_clear(&kafka->second);
	timer_clear(&kafka->put_timer);
	let_go(kafka);
	kafka_topics_free(kafka);
	kafka_trouble_clear(kafka);
	free(kafka->instance);
	conf_unref(&kafka->conf);
	free(kafka);
}

/* The id of a member is forgotten when its leave is on its way. */
static bool
is_member(const struct kafka *kafka)
{
	char *id = rd_kafka_memberid(kafka->consumer);
	bool is = id != NULL && id[0] != '\0';
	rd_kafka_mem_free(kafka->consumer, id);
	return is;
}

/*
 * What a transaction under way will have committed is not known before its end.
 * Then the member goes: one that has a name does not leave its group when it is
 * closed, and so nobody would have its partitions until its session is over;
 * but it does where it subscribes to nothing.
 */
static void
commit_last(struct kafka *kafka, int64_t gone_ms)
{
	if (!kafka->left_told && kafka->batch == NULL)
		kafka->left_told = kafka_commit_go_on(kafka);
	bool told = kafka->left_told && !kafka->commits;
	if (gone_ms < COMMIT_MS && (kafka->batch != NULL || !told))
		return;
	kafka->leave = KAFKA_LEAVE_GROUP;
	rd_kafka_unsubscribe(kafka->consumer);
}

/* A fatal error is one of a member that is none any more. */
static bool
begins_close(struct kafka *kafka)
{
	kafka->leave = KAFKA_LEAVE_CLOSE;
	rd_kafka_error_t *error =
	    rd_kafka_consumer_close_queue(kafka->consumer, kafka->queue);
	if (error == NULL)
		return true;
	rd_kafka_error_destroy(error);
	return false;
}

static void
go_on_leaving(struct kafka *kafka)
{
	int64_t gone_ms = loop_now_ms(kafka->loop) - kafka->leave_ms;
	bool over = kafka->consumer == NULL;
	if (!over && kafka->leave == KAFKA_LEAVE_COMMIT) {
		commit_last(kafka, gone_ms);
		return;
	}
	if (!over)
		kafka_group_go_on(kafka);
	if (!over && kafka->leave == KAFKA_LEAVE_GROUP) {
		if (!is_member(kafka) || gone_ms >= GROUP_MS)
			over = !begins_close(kafka);
	} else if (!over) {
		over = rd_kafka_consumer_closed(kafka->consumer) ||
		    gone_ms >= LEAVE_MS;
	}
	if (over)
		free_kafka(kafka);
}

size_t
kafka_leave_count(const struct loop *loop)
{
	size_t count = kafka_thread_leaving(loop);
	for (struct kafka *k = leaving; k != NULL; k = k->next)
		count += k->loop == loop;
	return count;
}

void
kafka_leave_abandon(struct loop *loop)
{
	for (struct kafka *k = leaving, *next; k != NULL; k = next) {
		next = k->next;
		if (k->loop == loop)
			free_kafka(k);
	}
	kafka_thread_abandon(loop);
}

/* --- its work --- */

static void
on_due(void *arg)
{
	struct kafka *kafka = arg;
	if (kafka->queue != NULL && read_events(kafka))
		kafka_trouble_kick(kafka);
	if (kafka->leaving) {
		go_on_leaving(kafka);
		return;
	}
	if (kafka->drops)
		kafka_put_drop(kafka, E_BROKER_DOWN);
	kafka->drops = false;
	/* What is being committed in a transaction is not made undone. */
	if (kafka->consumer != NULL && kafka->remake && kafka->batch == NULL)
		make_again(kafka);
	if (kafka->consumer != NULL) {
		kafka_group_go_on(kafka);
		kafka_topics_look(kafka);
		if (kafka_part_take(kafka))
			kafka_trouble_kick(kafka);
		kafka_put_go_on(kafka);
		if (kafka->tells)
			kafka_commit_go_on(kafka);
	}
	if (!kafka->changed)
		return;
	kafka->changed = false;
	kafka->events.changed(kafka->events.arg);
}

/* Whatever was told, all is looked at. */
static void
on_second(void *arg)
{
	struct kafka *kafka = arg;
	timer_set(&kafka->second, kafka->leaving ? SOON_MS : SECOND_MS);
	kafka_trouble_kick(kafka);
	if (kafka->leaving || (kafka->consumer == NULL && !make(kafka)))
		return;
	kafka_part_again(kafka);
	kafka_group_look(kafka);
	kafka_trouble_look(kafka);
	kafka_commit_go_on(kafka);
}

/* --- the client --- */

static struct broker_reader *
reader_open(const struct broker_start *start)
{
	struct kafka *kafka = mem_zero(sizeof *kafka);
	kafka->reader.client = &kafka_client;
	kafka->loop = start->loop;
	kafka->conf = start->conf != NULL ? conf_ref(start->conf) : NULL;
	kafka->source = start->source;
	kafka->instance = mem_text(start->instance);
	snprintf(kafka->store, sizeof kafka->store, "%.*s",
	    SPAN_FMT(start->store_id));
	kafka->events = *start->events;
	kafka->most_bytes = start->most_bytes;
	kafka->lag = -1;
	kafka->wait_s = KAFKA_REMAKE_FIRST_S;
	list_init(&kafka->parts);
	task_init(&kafka->work, on_due, kafka);
	timer_init(&kafka->second, kafka->loop, on_second, kafka);
	timer_set(&kafka->second, SECOND_MS);
	kafka_put_init(kafka);
	kafka_topics_init(kafka);
	make(kafka);
	kafka_trouble_kick(kafka);
	return &kafka->reader;
}

static void
reader_close(struct broker_reader *base)
{
	struct kafka *kafka = kafka_behind(base);
	kafka->leaving = true;
	kafka->leave_ms = loop_now_ms(kafka->loop);
	kafka->leave = KAFKA_LEAVE_COMMIT;
	kafka->next = leaving;
	leaving = kafka;
	kafka_put_drop(kafka, E_CANCELLED);
	kafka_copies_end(kafka);
	timer_set(&kafka->second, 0);
}

static void
reader_credit(struct broker_reader *base, unsigned messages, size_t bytes)
{
	struct kafka *kafka = kafka_behind(base);
	kafka->credit = messages;
	kafka->bytes = bytes;
	struct kafka_part *part;
	/* Where it begins may wait for that. */
	LIST_EACH (part, &kafka->parts, link) {
		part->foreign &= messages == 0;
		kafka->tells |= messages > 0 && part->step == KAFKA_TELLING;
	}
	kafka_trouble_kick(kafka);
}

static void
reader_finish(struct broker_reader *base, struct broker_finish *finish)
{
	struct kafka *kafka = kafka_behind(base);
	if (kafka->up) {
		kafka_put_finish(kafka, finish);
		return;
	}
	op_start(&finish->op, 0, NULL);
	op_done(&finish->op, E_BROKER_DOWN);
}

static void
reader_copies(struct broker_reader *base, struct broker_copies *copies)
{
	kafka_copies_begin(kafka_behind(base), copies);
}

/* It comes again: all is read anew, from what is committed. */
static void
reader_give_back(
    struct broker_reader *base, const struct broker_message *message)
{
	struct kafka *kafka = kafka_behind(base);
	if (kafka_part_of(kafka, message->token) == NULL)
		return;
	kafka->again = true;
	kafka_trouble_kick(kafka);
}

static void
reader_floor(struct broker_reader *base, const char *name, struct span floor,
    enum broker_decision decided)
{
	struct kafka *kafka = kafka_behind(base);
	if (kafka->consumer != NULL)
		kafka_group_copy(kafka, name, floor, decided);
}

static struct broker_health
reader_health(const struct broker_reader *base)
{
	return kafka_trouble_health(
	    (const struct kafka *)(const void *)base);
}

static void
reader_tell(struct broker_reader *base)
{
	kafka_behind(base)->tells = true;
	kafka_trouble_kick(kafka_behind(base));
}

static bool
reader_is_told(const struct broker_reader *base)
{
	const struct kafka *kafka = (const struct kafka *)(const void *)base;
	return !kafka->up || kafka_commit_is_over(kafka);
}

const struct broker_client kafka_client = {
    .open = reader_open,
    .close = reader_close,
    .credit = reader_credit,
    .finish = reader_finish,
    .copies = reader_copies,
    .give_back = reader_give_back,
    .health = reader_health,
    .floor = reader_floor,
    .tell = reader_tell,
    .is_told = reader_is_told,
};
