/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/digits.h"
#include "base/mem.h"
#include "base/must.h"
#include "messages/broker/kafka/kafka_call.h"
#include "messages/broker/kafka/kafka_conf.h"
#include "messages/broker/kafka/kafka_ledger.h"
#include "messages/broker/kafka/kafka_producer.h"

/*
 * A producer is made, which ends what the former one of its name has left open;
 * then is asked what is committed, and then what is put is brought, each batch
 * with the places in one transaction.  An attempt that has ended in anything
 * but a commit or an abort may have been committed: so a producer is made again
 * and what is committed asked for again, which tells.
 */
enum {
	PATIENCE_MS = 3000,
	RETRY_MS = 1000,
	/*
	 * Places are committed so often, though there be nothing to put: so is
	 * found whether brokers answer and who else has opened it, and brokers
	 * do not forget them (offsets.retention.minutes).
	 */
	BEAT_MS = 10000,
	LATE_MS = 5000, /* a batch is usually there in a fraction of it */
	/* The number means nothing: its metadata tells where it stands. */
	THE_OFFSET = 0,
};

struct kafka_ledger {
	struct relay_target target; /* first */
	struct loop *loop;
	const struct conf_relay *relay;
	char *client; /* the name of the clients */
	char *id;     /* transactional.id, and the name of its group */
	int64_t term;
	unsigned shards;

	struct kafka_producer *producer; /* NULL: there is no thread yet */
	enum ledger_step {
		LEDGER_OPENING, /* a producer, and then what is committed */
		LEDGER_OPEN,    /* nothing is under way */
		LEDGER_WRITING,
	} step;
	struct timer timer; /* until the next step, or this one takes long */
	struct relay_place *places; /* what is committed */
	struct relay_batch *put;    /* is to be there; NULL: none */
	bool carries; /* what is being written has it */
};

static void
be_fenced(struct kafka_ledger *l)
{
	l->step = LEDGER_OPENING;
	timer_clear(&l->timer);
	kafka_producer_end(&l->producer);
	l->target.events->fenced(l->target.arg);
}

/* --- where it stands --- */

/* "r2 TERM,PLACE,...", one for each shard. */
#define HEAD "r2 "

/* Where a shard stands with what is put. */
static const struct relay_place *
place_with(const struct kafka_ledger *l, unsigned shard)
{
	return l->put != NULL && l->put->places[shard].known
	    ? &l->put->places[shard]
	    : &l->places[shard];
}

/* A look at the topic, and at what the group has committed. */
struct ledger_look {
	struct kafka_job job;
	struct kafka_ledger *ledger; /* the loop's */
	struct arena *arena; /* that all of it is in */
	const char *topic, *group;
	rd_kafka_conf_t *conf; /* of who asks; NULL: used */
	unsigned shards;
	struct relay_place *places;
	int64_t term; /* whose was read */
	bool good;
	char words[KAFKA_WORDS_BYTES];
};

/* Where others have written, or nobody, nothing is known. */
static void
read_places(struct ledger_look *look, struct span text)
{
	struct span word;
	if (!span_skip(&text, SPAN(HEAD)) || !span_next(&text, ',', &word) ||
	    !digits_read(word, INT64_MAX, &look->term))
		return;
	for (unsigned i = 0; i < look->shards && span_next(&text, ',', &word);
	     i++)
		look->places[i] = relay_target_read_place(word);
}

/* In the thread. */
static void
run_look(struct kafka_job *job)
{
	struct ledger_look *look = CONTAINER_OF(job, struct ledger_look, job);
	const struct kafka_call_names names = {
	    .topic = look->topic, .group = look->group, .writes = true};
	const struct rd_kafka_metadata *found;
	rd_kafka_t *asker =
	    kafka_conf_client(RD_KAFKA_CONSUMER, look->conf, look->words);
	look->conf = NULL;
	if (asker == NULL)
		return;
	rd_kafka_topic_partition_list_t *list =
	    kafka_call_list(look->topic, 0, -1);
	const rd_kafka_topic_partition_t *at = &list->elems[0];
	rd_kafka_resp_err_t error =
	    kafka_call_topic(asker, look->topic, PATIENCE_MS, &found);
	if (found != NULL)
		rd_kafka_metadata_destroy(found);
	if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
		error = rd_kafka_committed(asker, list, PATIENCE_MS);
	if (error == RD_KAFKA_RESP_ERR_NO_ERROR)
		error = at->err;
	/* A coordinator that may not be asked for is waited for in vain. */
	rd_kafka_message_t *message = rd_kafka_consumer_poll(asker, 0);
	if (message != NULL &&
	    message->err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
		error = message->err;
	if (message != NULL)
		rd_kafka_message_destroy(message);
	look->good = error == RD_KAFKA_RESP_ERR_NO_ERROR;
	if (!look->good)
		(void)kafka_call_refused(
		    error, &names, look->words, sizeof look->words);
	else if (at->offset >= 0)
		read_places(look, span_of(at->metadata, at->metadata_size));
	rd_kafka_topic_partition_list_destroy(list);
	rd_kafka_destroy_flags(asker, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
}

/* Whether what was written last is there, what is committed says. */
static void
on_looked(struct kafka_job *job, bool wanted)
{
	struct ledger_look *look = CONTAINER_OF(job, struct ledger_look, job);
	struct kafka_ledger *l = look->ledger;
	if (wanted && !look->good) {
		timer_set(&l->timer, RETRY_MS);
		relay_target_say(&l->target, false, look->words);
	} else if (wanted && look->term > l->term) {
		be_fenced(l);
	} else if (wanted) {
		memcpy(l->places, look->places,
		    look->shards * sizeof *look->places);
		l->step = LEDGER_OPEN;
		l->put = NULL;
		timer_set(&l->timer, 0);
		l->target.events->opened(l->target.arg, l->places);
	}
	if (look->conf != NULL)
		rd_kafka_conf_destroy(look->conf);
	struct arena *arena = look->arena;
	arena_free(&arena);
}

static void
begin_look(struct kafka_ledger *l)
{
	struct arena *arena = arena_new();
	struct ledger_look *look = arena_alloc(arena, sizeof *look);
	look->arena = arena;
	look->job.run = run_look;
	look->job.done = on_looked;
	look->ledger = l;
	look->topic = arena_dup(arena, span_str(l->relay->topic)).ptr;
	look->group = arena_dup(arena, span_str(l->id)).ptr;
	look->conf = kafka_conf_asker(l->relay->broker, l->client, l->id);
	look->shards = l->shards;
	look->places = arena_alloc(arena, l->shards * sizeof *look->places);
	kafka_producer_add(l->producer, &look->job);
}

/* --- what is written --- */

/* What is put, if anything is, and the places, in one transaction. */
static void
write_batch(struct kafka_ledger *l)
{
	size_t count = l->put != NULL ? l->put->n_events : 0;
	struct span topic = span_str(l->relay->topic);
	struct kafka_batch *b = kafka_producer_batch(count);
	l->step = LEDGER_WRITING;
	l->carries = l->put != NULL;
	timer_set(&l->timer, LATE_MS);
	/* It may outlive what is put. */
	for (; b->count < count; b->count++) {
		const struct relay_event *event = &l->put->events[b->count];
		b->records[b->count] = (struct kafka_record){
		    .topic = arena_dup(b->arena, topic).ptr,
		    .key = arena_dup(b->arena, event->key_id),
		    .body = arena_dup(b->arena, event->text),
		    .batch = b};
	}
	b->offsets = kafka_call_list(topic.ptr, 0, THE_OFFSET);
	b->group = rd_kafka_consumer_group_metadata_new(l->id);
	b->group_name = arena_dup(b->arena, span_str(l->id)).ptr;
	char *text = NULL, place[RELAY_PLACE_BYTES];
	size_t len;
	FILE *out = open_memstream(&text, &len);
	must(out != NULL);
	fprintf(out, HEAD "%" PRId64, l->term);
	for (unsigned i = 0; i < l->shards; i++) {
		relay_target_write_place(place_with(l, i), place);
		fprintf(out, ",%s", place);
	}
	must(fclose(out) == 0);
	b->offsets->elems[0].metadata = text;
	b->offsets->elems[0].metadata_size = len;
	kafka_producer_begin(l->producer, b);
}

/* What was written is there, and with it what was put. */
static void
written(struct kafka_ledger *l)
{
	bool done = l->carries;
	for (unsigned i = 0; done && i < l->shards; i++)
		l->places[i] = *place_with(l, i);
	if (done)
		l->put = NULL;
	l->step = LEDGER_OPEN;
	timer_set(&l->timer, l->put != NULL ? 0 : BEAT_MS);
	relay_target_say(&l->target, true, "");
	if (done)
		l->target.events->done(l->target.arg);
}

/* It was not committed. */
static void
not_written(struct kafka_ledger *l, const struct kafka_batch *b)
{
	l->step =
	    b->end == KAFKA_BATCH_UNCLEAR ? LEDGER_OPENING : LEDGER_OPEN;
	timer_set(&l->timer, RETRY_MS);
	if (b->denied || b->refused == NULL) {
		relay_target_say(&l->target, false, b->words);
		return;
	}
	struct relay_event *event = &l->put->events[b->refused - b->records];
	if (b->too_large && event->bare.ptr != NULL) {
		/* It goes without its answer. */
		event->text = event->bare;
		event->bare.ptr = NULL;
		timer_set(&l->timer, 0);
		return;
	}
	char *words =
	    mem_printf("a message of %zu bytes: %s", event->text.len, b->words);
	relay_target_say(&l->target, false, words);
	free(words);
}

/* What the producer has done. */
static void
on_over(void *arg, struct kafka_batch *b)
{
	struct kafka_ledger *l = arg;
	bool good = b->end == KAFKA_BATCH_COMMITTED;
	if (b->fenced) {
		be_fenced(l);
	} else if (l->step == LEDGER_WRITING) {
		if (good)
			written(l);
		else
			not_written(l, b);
	} else if (good) {
		begin_look(l);
	} else {
		timer_set(&l->timer, RETRY_MS);
		relay_target_say(&l->target, false, b->words);
	}
	kafka_producer_free_batch(&b);
}

static void
on_time(void *arg)
{
	struct kafka_ledger *l = arg;
	const struct kafka_producer_start start = {
	    .loop = l->loop, .sole = true, .done = on_over, .arg = l};
	if (l->step == LEDGER_WRITING) {
		/* Calls wait for each request as long as its connection may. */
		if (l->target.up)
			relay_target_say(
			    &l->target, false, "no broker answers");
		return;
	}
	if (l->producer == NULL)
		l->producer = kafka_producer_new(&start,
		    kafka_conf_transactions(
			l->relay->broker, l->client, l->id));
	if (l->producer == NULL) {
		relay_target_say(&l->target, false, "no thread can be made");
		timer_set(&l->timer, RETRY_MS);
	} else if (l->step == LEDGER_OPENING) {
		kafka_producer_begin(l->producer, kafka_producer_batch(0));
	} else {
		write_batch(l);
	}
}

/* --- the target --- */

static struct relay_target *
ledger_open(const struct relay_target_start *start)
{
	struct kafka_ledger *l = mem_zero(sizeof *l);
	l->target.events = start->events;
	l->target.arg = start->arg;
	l->loop = start->loop;
	l->relay = start->relay;
	l->client = mem_printf("onceproxy-%s-%s", start->relay->name,
	    start->conf->instance);
	l->id =
	    kafka_conf_relay_id(start->relay->name, span_str(start->store));
	l->term = start->term;
	l->shards = start->shards;
	l->places = mem_zero(l->shards * sizeof *l->places);
	timer_init(&l->timer, l->loop, on_time, l);
	timer_set(&l->timer, 0);
	return &l->target;
}

static void
ledger_close(struct relay_target *target)
{
	struct kafka_ledger *l =
	    CONTAINER_OF(target, struct kafka_ledger, target);
	timer_clear(&l->timer);
	if (l->producer != NULL)
		kafka_producer_end(&l->producer);
	free(l->places);
	free(l->client);
	free(l->id);
	free(l);
}

static void
ledger_put(struct relay_target *target, struct relay_batch *batch)
{
	struct kafka_ledger *l =
	    CONTAINER_OF(target, struct kafka_ledger, target);
	must(l->put == NULL);
	l->put = batch;
	if (l->step == LEDGER_OPEN)
		timer_set(&l->timer, 0);
}

const struct relay_target_kind kafka_ledger_kind = {
    .keeps_place = true,
    .events = 10000,
    .open = ledger_open,
    .put = ledger_put,
    .close = ledger_close,
};
