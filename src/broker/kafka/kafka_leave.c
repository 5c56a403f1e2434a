/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/error.h"
#include "broker/kafka/kafka.h"
#include "broker/kafka/kafka_private.h"

/*
 * A reader that was closed lives on until its group knows what is finished and
 * has its partitions back, and no longer than LEAVE_MS: then its members are
 * missed, and others have its partitions when the session is over.
 */
enum { LEAVE_MS = 3000, COMMIT_MS = 1000 };

static _Thread_local struct kafka *leaving;

static void
free_kafka(struct kafka *kafka)
{
	task_cancel(&kafka->work);
	timer_clear(&kafka->second);
	timer_clear(&kafka->put_timer);
	kafka_put_forget(kafka);
	kafka_group_clear(kafka);
	kafka_let_go(kafka);
	if (kafka->thread != NULL)
		kafka_thread_end(&kafka->thread, kafka->consumer, NULL);
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
	forget(kafka);
	kafka->consumer = NULL;
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
	kafka_kick(kafka);
}

static int64_t
gone_ms(const struct kafka *kafka)
{
	return loop_now_ms(kafka->loop) - kafka->leave_ms;
}

static void
begin_close(struct kafka *kafka)
{
	kafka->leave = KAFKA_LEAVE_CLOSE;
	rd_kafka_error_t *error =
	    rd_kafka_consumer_close_queue(kafka->consumer, kafka->queue);
	if (error != NULL)
		rd_kafka_error_destroy(error);
}

static void
begin_end(struct kafka *kafka)
{
	kafka->leave = KAFKA_LEAVE_END;
	kafka_group_clear(kafka);
	kafka_let_go(kafka);
	kafka_thread_end(&kafka->thread, kafka->consumer, on_ended);
}

/* What a transaction under way will have committed is not known before. */
static void
go_on_committing(struct kafka *kafka)
{
	bool late = gone_ms(kafka) >= COMMIT_MS;
	if (!kafka->left_told && kafka->batch == NULL) {
		kafka->left_told = true;
		kafka_commit_go_on(kafka);
	}
	if (late || (kafka->batch == NULL && kafka->commits == 0))
		begin_close(kafka);
}

void
kafka_leave_go_on(struct kafka *kafka)
{
	if (kafka->consumer == NULL) {
		on_ended(kafka);
		return;
	}
	if (kafka->leave == KAFKA_LEAVE_COMMIT)
		go_on_committing(kafka);
	if (kafka->leave != KAFKA_LEAVE_CLOSE)
		return;
	kafka_group_go_on(kafka);
	if (rd_kafka_consumer_closed(kafka->consumer) ||
	    gone_ms(kafka) >= LEAVE_MS)
		begin_end(kafka);
}

size_t
kafka_leave_count(const struct loop *loop)
{
	size_t count = 0;
	for (struct kafka *k = leaving; k != NULL; k = k->next)
		count += k->loop == loop;
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
}
