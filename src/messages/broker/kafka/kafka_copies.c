/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/loop/clock.h"
#include "messages/broker/kafka/kafka_call.h"
#include "messages/broker/kafka/kafka_private.h"

/*
 * The copies of dead letters, for an operator who restores what the store has
 * lost: the topics where they go are read, each partition from its beginning to
 * its present end.  That may take long: it has a thread of its own, and nothing
 * that the reader asks waits for it.  A page has a consumer of its own, which
 * is no member of any group; its cursor is "TOPIC.PARTITION.OFFSET", the topic
 * by its number among the source's.
 */
enum { ANSWER_MS = 5000, SILENCE_MS = 10000, SLICE_MS = 200 };

struct page {
	struct reader_question question; /* first */
	struct arena *arena;             /* that all of it is in */
	struct kafka_job job;
	rd_kafka_conf_t *conf; /* NULL: it was used */
	const char *source, **topics;
	int64_t n_topics;
	size_t most_bytes, limit, count;
	int64_t topic, partition, offset; /* where it goes on */

	struct broker_message *messages, **last;
	bool more;
	int error;
	char words[KAFKA_WORDS_BYTES];
};

static void
free_page(struct page *page)
{
	struct arena *arena = page->arena;
	broker_message_free(&page->messages);
	if (page->conf != NULL)
		rd_kafka_conf_destroy(page->conf);
	arena_free(&arena);
}

/* --- in the thread --- */

/* Several sources may have one place. */
static void
add_copy(struct page *page, const rd_kafka_message_t *message)
{
	struct broker_message *m =
	    kafka_message_copy(message, page->most_bytes);
	const struct field *of =
	    fields_first(&m->fields, SPAN("onceproxy-source"));
	page->offset = message->offset + 1;
	if (of == NULL || !span_eq(of->value, span_str(page->source))) {
		broker_message_free(&m);
		return;
	}
	*page->last = m;
	page->last = &m->next;
	page->count++;
}

/* Up to its end, or to that of the page. */
static rd_kafka_resp_err_t
read_partition(struct page *page, rd_kafka_t *client)
{
	int64_t heard_ms = clock_us() / 1000;
	bool over = false;
	rd_kafka_topic_partition_list_t *list =
	    kafka_call_list(page->topics[page->topic],
		(int32_t)page->partition, page->offset);
	rd_kafka_resp_err_t error = rd_kafka_assign(client, list);
	rd_kafka_topic_partition_list_destroy(list);
	while (error == RD_KAFKA_RESP_ERR_NO_ERROR && !over &&
	    page->count < page->limit) {
		rd_kafka_message_t *message =
		    rd_kafka_consumer_poll(client, SLICE_MS);
		int64_t now_ms = clock_us() / 1000;
		if (kafka_thread_ends(page->job.thread) ||
		    now_ms - heard_ms > SILENCE_MS)
			error = RD_KAFKA_RESP_ERR__TIMED_OUT;
		if (message == NULL)
			continue;
		heard_ms = now_ms;
		if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR)
			add_copy(page, message);
		over = message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
		if (message->err ==
		    RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
			error = message->err;
		rd_kafka_message_destroy(message);
	}
	rd_kafka_assign(client, NULL);
	return error;
}

/* A topic that is not there has no copies. */
static rd_kafka_resp_err_t
read_topics(struct page *page, rd_kafka_t *client)
{
	for (; page->topic < page->n_topics; page->topic++) {
		const struct rd_kafka_metadata *found;
		rd_kafka_resp_err_t error = kafka_call_topic(
		    client, page->topics[page->topic], ANSWER_MS, &found);
		int count = found != NULL ? found->topics->partition_cnt : 0;
		if (found != NULL)
			rd_kafka_metadata_destroy(found);
		else if (error != RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
			return error;
		for (; page->partition < count; page->partition++) {
			error = read_partition(page, client);
			page->more = page->count >= page->limit;
			if (error != RD_KAFKA_RESP_ERR_NO_ERROR || page->more)
				return error;
			page->offset = 0;
		}
		page->partition = page->offset = 0;
	}
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

static void
run_page(struct kafka_job *job)
{
	struct page *page = CONTAINER_OF(job, struct page, job);
	rd_kafka_t *client =
	    kafka_conf_client(RD_KAFKA_CONSUMER, page->conf, page->words);
	page->conf = NULL;
	page->error = E_BROKER_DOWN;
	if (client == NULL)
		return;
	rd_kafka_resp_err_t error = read_topics(page, client);
	rd_kafka_destroy_flags(client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
	page->error = 0;
	if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
		return;
	const struct kafka_call_names names = {
	    .topic = page->topics[page->topic]};
	(void)kafka_call_refused(
	    error, &names, page->words, sizeof page->words);
	page->error =
	    error < 0 || error == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE
	    ? E_BROKER_DOWN
	    : E_BROKER_REFUSED;
}

/* --- in the loop --- */

static void
on_page(struct kafka_job *job, bool wanted)
{
	struct page *page = CONTAINER_OF(job, struct page, job);
	struct broker_copies *copies = page->question.copies;
	if (wanted && copies != NULL) {
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

void
kafka_copies_begin(struct broker_reader *core, struct broker_copies *copies)
{
	struct kafka *kafka = (struct kafka *)core;
	const struct conf_source *source = core->source;
	struct arena *arena = arena_new();
	struct page *page = arena_alloc(arena, sizeof *page);
	page->arena = arena;
	reader_ask_copies(core, copies, &page->question);
	page->job.run = run_page;
	page->job.done = on_page;
	page->conf = kafka_conf_asker(source->broker,
	    arena_printf(arena, "onceproxy-%s-%s", source->name, core->instance)
		.ptr,
	    source->group);
	page->source = arena_dup(arena, span_str(source->name)).ptr;
	page->most_bytes = core->most_bytes;
	page->limit = copies->limit;
	page->last = &page->messages;
	(void)sscanf(copies->after, "%" SCNd64 ".%" SCNd64 ".%" SCNd64,
	    &page->topic, &page->partition, &page->offset);
	if (page->topic < 0 || page->partition < 0 || page->offset < 0)
		page->topic = page->partition = page->offset = 0;
	/* Where dead letters go, each once. */
	size_t count = source->dead_letters != NULL ? 1 : source->topics.count;
	page->topics = arena_alloc(arena, count * sizeof *page->topics);
	for (size_t i = 0; i < count; i++)
		page->topics[i] = kafka_conf_dead(
		    source, span_str(source->topics.list[i]), arena);
	page->n_topics = (int64_t)count;
	if (kafka->copies == NULL)
		kafka->copies = kafka_thread_new(core->loop);
	if (kafka->copies != NULL) {
		kafka_thread_add(kafka->copies, &page->job);
		return;
	}
	reader_ask_end(&page->question, E_BROKER_DOWN, NULL);
	free_page(page);
}
