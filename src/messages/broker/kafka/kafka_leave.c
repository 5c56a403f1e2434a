/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/error.h"
#include "messages/broker/kafka/kafka.h"
#include "messages/broker/kafka/kafka_private.h"

/*
 * A reader that was closed lives on until its group knows what is finished and
 * has its partitions back, and no longer than LEAVE_MS: then its members are
 * missed, and others have its partitions when the session is over.
 */
enum { COMMIT_MS = 1000, GROUP_MS = 2000, LEAVE_MS = 3000 };

static _Thread_local struct kafka *leaving;

static void
free_kafka(struct kafka *kafka)
{
	task_cancel(&kafka->work);
	timer_clear(&kafka->second);
	timer_clear(&kafka->put_timer);
	kafka_put_forget(kafka);
	kafka_letters_free(kafka);
	kafka_topics_free(kafka);
	kafka_trouble_clear(kafka);
	kafka_group_clear(kafka);
	kafka_make_let_go(kafka);
	if (kafka->thread != NULL)
		kafka_thread_end(&kafka->thread, NULL, NULL);
	if (kafka->ask != NULL)
		kafka_ask_end(&kafka->ask, NULL);
	free(kafka->instance);
	conf_unref(&kafka->conf);
	free(kafka);
}

static void
forget(struct kafka *kafka)
{
	struct kafka **at = &leaving;
	while (*at != kafka)
		at = &(*at)->next;
	*at = kafka->next;
}

static void
on_ended(void *arg)
{
	struct kafka *kafka = arg;
	if (--kafka->ends > 0)
		return;
	forget(kafka);
	free_kafka(kafka);
}

void
kafka_leave_begin(struct kafka *kafka)
{
	kafka->leaving = true;
	kafka->leave_ms = loop_now_ms(kafka->loop);
	kafka->leave = KAFKA_LEAVE_COMMIT;
	kafka->next = leaving;
	leaving = kafka;
	kafka_put_drop(kafka, E_CANCELLED);
	timer_set(&kafka->second, 0);
}

static int64_t
gone_ms(const struct kafka *kafka)
{
	return loop_now_ms(kafka->loop) - kafka->leave_ms;
}

/*
 * A member that has a name does not leave its group when it is closed, and so
 * nobody would have its partitions until its session is over; but it does where
 * it subscribes to nothing.
 */
static void
begin_group(struct kafka *kafka)
{
	kafka->leave = KAFKA_LEAVE_GROUP;
	rd_kafka_unsubscribe(kafka->consumer);
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

static void
begin_end(struct kafka *kafka)
{
	kafka->leave = KAFKA_LEAVE_END;
	kafka_group_clear(kafka);
	kafka_make_let_go(kafka);
	/* Whoever waits for the end looks again when it is late. */
	timer_set(&kafka->second, LEAVE_MS);
	kafka->consumer = NULL;
	kafka->ends = 2;
	kafka_thread_end(&kafka->thread, NULL, on_ended);
	kafka_ask_end(&kafka->ask, on_ended);
}

/* A fatal error is one of a member that is none any more. */
static void
begin_close(struct kafka *kafka)
{
	kafka->leave = KAFKA_LEAVE_CLOSE;
	rd_kafka_error_t *error =
	    rd_kafka_consumer_close_queue(kafka->consumer, kafka->queue);
	if (error == NULL)
		return;
	rd_kafka_error_destroy(error);
	begin_end(kafka);
}

/* What a transaction under way will have committed is not known before. */
static void
go_on_committing(struct kafka *kafka)
{
	bool late = gone_ms(kafka) >= COMMIT_MS;
	if (!kafka->left_told && kafka->batch == NULL)
		kafka->left_told = kafka_commit_go_on(kafka);
	bool told = kafka->left_told && kafka->commits == 0;
	if (late || (kafka->batch == NULL && told))
		begin_group(kafka);
}

static void
go_on_leaving(struct kafka *kafka)
{
	kafka_group_go_on(kafka);
	if (!is_member(kafka) || gone_ms(kafka) >= GROUP_MS)
		begin_close(kafka);
}

static void
go_on_closing(struct kafka *kafka)
{
	kafka_group_go_on(kafka);
	if (rd_kafka_consumer_closed(kafka->consumer) ||
	    gone_ms(kafka) >= LEAVE_MS)
		begin_end(kafka);
}

void
kafka_leave_go_on(struct kafka *kafka)
{
	if (kafka->consumer == NULL && kafka->leave != KAFKA_LEAVE_END) {
		forget(kafka);
		free_kafka(kafka);
		return;
	}
	switch (kafka->leave) {
	case KAFKA_LEAVE_COMMIT:
		go_on_committing(kafka);
		break;
	case KAFKA_LEAVE_GROUP:
		go_on_leaving(kafka);
		break;
	case KAFKA_LEAVE_CLOSE:
		go_on_closing(kafka);
		break;
	case KAFKA_LEAVE_END:
		break;
	}
}

bool
kafka_leave_has_names(const struct kafka *kafka)
{
	for (const struct kafka *k = leaving; k != NULL; k = k->next)
		if (k->leave != KAFKA_LEAVE_END &&
		    !strcmp(k->source->name, kafka->source->name) &&
		    !strcmp(k->instance, kafka->instance))
			return true;
	return false;
}

/*
 * What is left to do is librdkafka's own, which may not come to an end where a
 * topic was deleted: nothing is lost with a thread that is left behind.  But a
 * transaction that is slow is waited for.
 */
static bool
is_left_behind(const struct kafka *kafka)
{
	return kafka->leave == KAFKA_LEAVE_END && kafka->batch == NULL &&
	    gone_ms(kafka) >= LEAVE_MS;
}

size_t
kafka_leave_count(const struct loop *loop)
{
	size_t count = 0;
	for (struct kafka *k = leaving; k != NULL; k = k->next)
		count += k->loop == loop && !is_left_behind(k);
	return count;
}

void
kafka_leave_abandon(struct loop *loop)
{
	struct kafka **at = &leaving;
	while (*at != NULL) {
		struct kafka *kafka = *at;
		if (kafka->loop != loop) {
			at = &kafka->next;
			continue;
		}
		*at = kafka->next;
		free_kafka(kafka);
	}
	kafka_thread_abandon(loop);
	kafka_ask_abandon(loop);
}
