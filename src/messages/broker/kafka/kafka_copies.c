/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/loop/clock.h"
#include "base/mem.h"
#include "messages/broker/kafka/kafka_private.h"
#include "messages/broker/kafka/kafka_thread.h"

/*
 * The copies of dead letters, for an operator who restores what the store has
 * lost: the topics where they go are read, each partition from its beginning to
 * its present end, by a consumer that is no member of any group, in a thread of
 * its own.  A page has a consumer of its own; its cursor is
 * "TOPIC.PARTITION.OFFSET", the topic by its number among the source's.
 */
enum { ANSWER_MS = 5000, SILENCE_MS = 10000, SLICE_MS = 200 };

struct page {
	struct reader_question question; /* first */
	struct kafka_job job;
	rd_kafka_conf_t *conf; /* NULL: a client has it */
	char *source;
	char **topics;
	size_t n_topics;
	size_t most_bytes, limit, count;
	int64_t topic, partition, offset; /* where it goes on */

	struct broker_message *messages, **last;
	bool more;
	int error;
	char words[160];
};

static void
free_page(struct page *page)
{
	broker_messages_free(&page->messages);
	if (page->conf != NULL)
		rd_kafka_conf_destroy(page->conf);
	for (size_t i = 0; i < page->n_topics; i++)
		free(page->topics[i]);
	free(page->topics);
	free(page->source);
	free(page);
}

/* --- in the thread --- */

static bool
fails(struct page *page, rd_kafka_resp_err_t error, const char *words)
{
	bool away = error == RD_KAFKA_RESP_ERR__TIMED_OUT ||
		    error == RD_KAFKA_RESP_ERR__TRANSPORT ||
		    error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN ||
		    error == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE ||
		    error == RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION;
	page->error = away ? E_BROKER_DOWN : E_BROKER_REFUSED;
	snprintf(page->words, sizeof page->words, "%s: %s",
	    page->topics[page->topic],
	    words != NULL ? words : rd_kafka_err2str(error));
	return false;
}

/* How many partitions it has; below 0: it failed. */
static int
count_partitions(struct page *page, rd_kafka_t *client)
{
	const struct rd_kafka_metadata *found;
	rd_kafka_topic_t *handle =
	    rd_kafka_topic_new(client, page->topics[page->topic], NULL);
	rd_kafka_resp_err_t error =
	    rd_kafka_metadata(client, 0, handle, &found, ANSWER_MS);
	rd_kafka_topic_destroy(handle);
	if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
		(void)fails(page, error, NULL);
		return -1;
	}
	int count = 0;
	if (found->topic_cnt == 1) {
		error = found->topics[0].err;
		count = found->topics[0].partition_cnt;
	}
	rd_kafka_metadata_destroy(found);
	/* One that is not there has no copies. */
	if (error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
		return 0;
	if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
		(void)fails(page, error, NULL);
		return -1;
	}
	return count;
}

/* Several sources may have one place. */
static bool
is_of_source(const struct page *page, const struct broker_message *m)
{
	for (size_t i = 0; i < m->fields.count; i++)
		if (span_eq(m->fields.list[i].name, SPAN("onceproxy-source")))
			return span_eq(
			    m->fields.list[i].value, span_str(page->source));
	return false;
}

static void
add_copy(struct page *page, const rd_kafka_message_t *message)
{
	struct broker_message *m =
	    kafka_message_copy(message, page->most_bytes);
	page->offset = message->offset + 1;
	if (!is_of_source(page, m)) {
		broker_message_free(&m);
		return;
	}
	*page->last = m;
	page->last = &m->next;
	page->count++;
}

/* What is assigned, up to there; false: it failed. */
static bool
read_up_to(struct page *page, rd_kafka_t *client, int64_t end)
{
	int64_t heard_ms = clock_us() / 1000;
	while (page->offset < end && page->count < page->limit) {
		rd_kafka_message_t *message =
		    rd_kafka_consumer_poll(client, SLICE_MS);
		if (kafka_thread_ends(page->job.thread) ||
		    (message == NULL &&
			clock_us() / 1000 - heard_ms > SILENCE_MS))
			return fails(page, RD_KAFKA_RESP_ERR__TIMED_OUT, NULL);
		if (message == NULL)
			continue;
		heard_ms = clock_us() / 1000;
		rd_kafka_resp_err_t error = message->err;
		if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
			add_copy(page, message);
		else if (error == RD_KAFKA_RESP_ERR__PARTITION_EOF)
			page->offset = end;
		rd_kafka_message_destroy(message);
		if (error == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
			return fails(page, error, NULL);
	}
	return true;
}

/*
 * Where its log begins or ends.  rd_kafka_query_watermark_offsets() of 2.0.2
 * may wait for ever where a leader dies.
 */
static rd_kafka_resp_err_t
ask_side(
    struct page *page, rd_kafka_t *client, int64_t side, int64_t *ret_offset)
{
	rd_kafka_topic_partition_list_t *list =
	    rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_t *at = rd_kafka_topic_partition_list_add(
	    list, page->topics[page->topic], (int32_t)page->partition);
	at->offset = side;
	rd_kafka_resp_err_t error =
	    rd_kafka_offsets_for_times(client, list, ANSWER_MS);
	if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
		error = list->elems[0].err;
	*ret_offset = list->elems[0].offset;
	/* What nobody has answered is still the side that was asked for. */
	if (error == RD_KAFKA_RESP_ERR_NO_ERROR && *ret_offset < 0)
		error = RD_KAFKA_RESP_ERR__TIMED_OUT;
	rd_kafka_topic_partition_list_destroy(list);
	return error;
}

static bool
read_partition(struct page *page, rd_kafka_t *client)
{
	const char *topic = page->topics[page->topic];
	int32_t number = (int32_t)page->partition;
	int64_t from, end;
	rd_kafka_resp_err_t error =
	    ask_side(page, client, RD_KAFKA_OFFSET_BEGINNING, &from);
	if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
		error = ask_side(page, client, RD_KAFKA_OFFSET_END, &end);
	if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
		return fails(page, error, NULL);
	if (page->offset < from)
		page->offset = from;
	if (page->offset >= end)
		return true;
	rd_kafka_topic_partition_list_t *list =
	    rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(list, topic, number)->offset =
	    page->offset;
	error = rd_kafka_assign(client, list);
	rd_kafka_topic_partition_list_destroy(list);
	if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
		return fails(page, error, NULL);
	bool good = read_up_to(page, client, end);
	rd_kafka_assign(client, NULL);
	return good;
}

static void
read_topics(struct page *page, rd_kafka_t *client)
{
	for (; page->topic < (int64_t)page->n_topics; page->topic++) {
		int count = count_partitions(page, client);
		for (; page->partition < count; page->partition++) {
			if (!read_partition(page, client))
				return;
			page->more = page->count >= page->limit;
			if (page->more)
				return;
			page->offset = 0;
		}
		page->partition = page->offset = 0;
		if (count < 0)
			return;
	}
}

static void
run_page(struct kafka_job *job)
{
	struct page *page = CONTAINER_OF(job, struct page, job);
	rd_kafka_t *client = rd_kafka_new(
	    RD_KAFKA_CONSUMER, page->conf, page->words, sizeof page->words);
	if (client == NULL) {
		page->error = E_BROKER_DOWN;
		return;
	}
	page->conf = NULL;
	rd_kafka_poll_set_consumer(client);
	read_topics(page, client);
	rd_kafka_destroy_flags(client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
}

/* --- in the loop --- */

static void
on_page(struct kafka_job *job, bool wanted)
{
	struct page *page = CONTAINER_OF(job, struct page, job);
	struct op *op = page->question.op;
	if (wanted && op != NULL) {
		struct broker_copies *copies =
		    CONTAINER_OF(op, struct broker_copies, op);
		if (page->more)
			snprintf(copies->next, sizeof copies->next,
			    "%" PRId64 ".%" PRId64 ".%" PRId64, page->topic,
			    page->partition, page->offset);
		if (page->error == 0) {
			copies->messages = page->messages;
			page->messages = NULL;
		}
	}
	if (wanted)
		reader_ask_end(&page->question, page->error, page->words);
	free_page(page);
}

/* Where dead letters go, each once. */
static void
list_topics(struct page *page, const struct conf_source *source)
{
	size_t count = source->dead_letters != NULL ? 1 : source->topics.count;
	page->topics = mem_zero(count * sizeof *page->topics);
	for (; page->n_topics < count; page->n_topics++)
		page->topics[page->n_topics] =
		    source->dead_letters != NULL
			? mem_text(source->dead_letters)
			: mem_printf(
			      "%s.dead", source->topics.list[page->n_topics]);
}

void
kafka_copies_begin(struct broker_reader *core, struct broker_copies *copies)
{
	struct kafka *kafka = kafka_of(core);
	struct page *page = mem_zero(sizeof *page);
	reader_ask_copies(core, copies, &page->question);
	page->job.run = run_page;
	page->job.done = on_page;
	page->conf = kafka_conf_copies(core->source, core->instance);
	page->source = mem_text(core->source->name);
	page->most_bytes = core->most_bytes;
	page->limit = copies->limit;
	page->last = &page->messages;
	(void)sscanf(copies->after, "%" SCNd64 ".%" SCNd64 ".%" SCNd64,
	    &page->topic, &page->partition, &page->offset);
	list_topics(page, core->source);
	if (page->topic < 0 || page->partition < 0 || page->offset < 0)
		page->topic = page->partition = page->offset = 0;
	if (kafka->copies == NULL)
		kafka->copies = kafka_thread_new(core->loop);
	if (kafka->copies != NULL) {
		kafka_thread_add(kafka->copies, &page->job);
		return;
	}
	reader_ask_end(&page->question, E_BROKER_DOWN, NULL);
	free_page(page);
}

/* The thread frees them. */
void
kafka_copies_end(struct kafka *kafka)
{
	while (!list_empty(&kafka->core.questions))
		reader_ask_end(LIST_FIRST(&kafka->core.questions,
				   struct reader_question, of_reader),
		    E_CANCELLED, NULL);
	if (kafka->copies != NULL)
		kafka_thread_end(&kafka->copies, NULL);
}
