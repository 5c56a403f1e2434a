/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/must.h"
#include "messages/broker/kafka/kafka_conf.h"
#include "messages/broker/kafka/kafka_ledger.h"
#include "messages/broker/kafka/kafka_name.h"
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
	STALL_MS = 3000,  /* so long may it go wrong before it is told */
	LISTEN_MS = 1000, /* librdkafka is heard so often */
	/*
	 * What is committed is forgotten where it is not committed again for
	 * as long as the brokers say (offsets.retention.minutes); and so is
	 * found, even if there is nothing to put, who else has opened it.
	 */
	BEAT_MS = 60000,
	LATE_MS = 5000, /* a batch is usually there in a fraction of it */
	/* The number means nothing: its metadata tells where it stands. */
	THE_OFFSET = 0,
};

struct kafka_ledger {
	struct loop *loop;
	const struct conf *conf; /* a reference */
	const struct conf_broker *broker;
	char *topic;
	char *client; /* the name of the clients */
	char *id;     /* transactional.id, and how names of groups begin */
	int64_t turn;
	unsigned shards, groups;
	struct kafka_ledger_events events;

	struct kafka_producer *producer; /* NULL: there is no thread yet */
	enum ledger_step {
		LEDGER_NEW,       /* a producer is to be made */
		LEDGER_PREPARING, /* it is being made */
		LEDGER_LOOKING,   /* what is committed is asked for */
		LEDGER_OPEN,      /* nothing is under way */
		LEDGER_LISTENING, /* is all well? */
		LEDGER_WRITING,
		LEDGER_FENCED, /* there is nothing to be done any more */
	} step;
	struct timer timer;               /* until the next step */
	struct kafka_ledger_place *kept;  /* what is committed */
	struct kafka_ledger_place *ahead; /* with the batch */
	bool opened; /* kept is known, and the owner was told */
	struct kafka_ledger_batch *batch; /* not known to be there */
	bool carries;    /* what was last written had it, and it may be there */
	bool apart;      /* each message is to be in a request of its own */
	bool beats;      /* all groups are to be told again, soon */
	int64_t beat_ms; /* when they were */
	int64_t put_ms;
	int64_t fails_ms; /* since when something does; 0: all is well */
	bool up;
	char message[KAFKA_PRODUCER_WORDS];
};

/* --- what the owner is told --- */

static void
say(struct kafka_ledger *l, bool up, const char *words)
{
	if (up)
		l->fails_ms = 0;
	if (l->up == up && !strcmp(l->message, words))
		return;
	l->up = up;
	snprintf(l->message, sizeof l->message, "%s", words);
	l->events.changed(l->events.arg);
}

/* What its connections suffer says more than that a call took too long. */
static void
say_down(struct kafka_ledger *l, const char *words)
{
	char broke[KAFKA_PRODUCER_WORDS];
	int64_t now = loop_now_ms(l->loop);
	if (l->fails_ms == 0)
		l->fails_ms = now;
	if (now - l->fails_ms < STALL_MS)
		return;
	kafka_producer_broke(l->producer, broke);
	say(l, false, broke[0] != '\0' ? broke : words);
}

static void
free_batch(struct kafka_ledger_batch **batch)
{
	struct arena *arena = *batch != NULL ? (*batch)->arena : NULL;
	*batch = NULL;
	arena_free(&arena);
}

static void
be_fenced(struct kafka_ledger *l)
{
	l->step = LEDGER_FENCED;
	timer_clear(&l->timer);
	kafka_producer_end(&l->producer);
	l->events.fenced(l->events.arg);
}

/* --- where it stands --- */

/* A look at the topic, and at what each group has committed. */
struct ledger_look {
	struct kafka_job job;
	struct kafka_ledger *ledger; /* the loop's */
	char *topic;
	char **names;
	rd_kafka_conf_t **confs; /* of who asks for each group; NULL: used */
	unsigned groups, shards;
	struct kafka_ledger_place *places;
	int64_t turn; /* the latest of all that were read */
	bool good, refused;
	char words[KAFKA_PRODUCER_WORDS];
};

static size_t
shards_of(unsigned shards, unsigned group)
{
	size_t rest = shards - group * KAFKA_LEDGER_SHARDS;
	return rest < KAFKA_LEDGER_SHARDS ? rest : KAFKA_LEDGER_SHARDS;
}

static void
free_look(struct ledger_look *look)
{
	for (unsigned i = 0; i < look->groups; i++) {
		if (look->confs[i] != NULL)
			rd_kafka_conf_destroy(look->confs[i]);
		free(look->names[i]);
	}
	free(look->confs);
	free(look->names);
	free(look->places);
	free(look->topic);
	free(look);
}

/* In the thread, as all up to run_look(). */
static void
note_refusal(
    struct ledger_look *look, unsigned group, rd_kafka_resp_err_t error)
{
	look->refused = true;
	switch ((int)error) {
	case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
	case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
	case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
		snprintf(look->words, sizeof look->words,
		    "there is no topic \"%s\": make it", look->topic);
		break;
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
		snprintf(look->words, sizeof look->words,
		    "no right to keep its place in the topic \"%s\": "
		    "Describe, Write, Read",
		    look->topic);
		break;
	case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
		snprintf(look->words, sizeof look->words,
		    "no right to read as the group \"%s\": Read",
		    look->names[group]);
		break;
	default:
		look->refused = false;
		snprintf(look->words, sizeof look->words, "%s: %s",
		    look->names[group], rd_kafka_err2str(error));
		break;
	}
}

static rd_kafka_resp_err_t
ask_topic(rd_kafka_t *asker, const char *topic)
{
	const struct rd_kafka_metadata *all;
	rd_kafka_topic_t *rkt = rd_kafka_topic_new(asker, topic, NULL);
	rd_kafka_resp_err_t err =
	    rd_kafka_metadata(asker, 0, rkt, &all, PATIENCE_MS);
	rd_kafka_topic_destroy(rkt);
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
		return err;
	err = all->topic_cnt == 1 ? all->topics[0].err
				  : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR &&
	    all->topics[0].partition_cnt == 0)
		err = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	rd_kafka_metadata_destroy(all);
	return err;
}

/* Where others have written, or nobody, nothing is known. */
static void
take_offset(struct ledger_look *look, unsigned group,
    const rd_kafka_topic_partition_t *at)
{
	int64_t turn;
	struct span text = at->offset >= 0
			       ? span_of(at->metadata, at->metadata_size)
			       : SPAN("");
	if (kafka_ledger_place_read(text, &turn,
		look->places + group * KAFKA_LEDGER_SHARDS,
		shards_of(look->shards, group)) &&
	    turn > look->turn)
		look->turn = turn;
}

static bool
look_at(struct ledger_look *look, unsigned group)
{
	rd_kafka_t *asker = rd_kafka_new(RD_KAFKA_CONSUMER, look->confs[group],
	    look->words, sizeof look->words);
	if (asker == NULL)
		return false;
	look->confs[group] = NULL;
	rd_kafka_poll_set_consumer(asker);
	rd_kafka_topic_partition_list_t *list =
	    rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(list, look->topic, 0);
	rd_kafka_resp_err_t err = group == 0 ? ask_topic(asker, look->topic)
					     : RD_KAFKA_RESP_ERR_NO_ERROR;
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		err = rd_kafka_committed(asker, list, PATIENCE_MS);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		err = list->elems[0].err;
	/* A coordinator that may not be asked for is waited for in vain. */
	rd_kafka_message_t *message = rd_kafka_consumer_poll(asker, 0);
	if (message != NULL &&
	    message->err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
		err = message->err;
	if (message != NULL)
		rd_kafka_message_destroy(message);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		take_offset(look, group, &list->elems[0]);
	else
		note_refusal(look, group, err);
	rd_kafka_topic_partition_list_destroy(list);
	rd_kafka_destroy_flags(asker, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
	return err == RD_KAFKA_RESP_ERR_NO_ERROR;
}

static void
run_look(struct kafka_job *job)
{
	struct ledger_look *look = CONTAINER_OF(job, struct ledger_look, job);
	look->good = true;
	for (unsigned i = 0; i < look->groups && look->good; i++)
		look->good = look_at(look, i);
}

static bool
stand_alike(const struct kafka_ledger *l, const struct kafka_ledger_place *a,
    const struct kafka_ledger_place *b)
{
	for (unsigned i = 0; i < l->shards; i++)
		if (a[i].known != b[i].known || a[i].ms != b[i].ms ||
		    a[i].seq != b[i].seq)
			return false;
	return true;
}

/* What was written is there, with the batch. */
static void
settle(struct kafka_ledger *l)
{
	struct kafka_ledger_place *before = l->kept;
	bool done = l->carries;
	l->kept = l->ahead;
	l->ahead = before;
	l->step = LEDGER_OPEN;
	l->carries = false;
	if (done)
		free_batch(&l->batch);
	timer_set(&l->timer, l->batch != NULL ? 0 : LISTEN_MS);
	say(l, true, "");
	if (done)
		l->events.done(l->events.arg);
}

/* Another one has written where what is committed is nothing of ours. */
static void
on_looked(struct kafka_job *job, bool wanted)
{
	struct ledger_look *look = CONTAINER_OF(job, struct ledger_look, job);
	struct kafka_ledger *l = look->ledger;
	size_t size = look->shards * sizeof *look->places;
	bool opens = wanted && look->good && !l->opened;
	if (!wanted)
		goto out;
	if (!look->good) {
		l->step = LEDGER_NEW;
		timer_set(&l->timer, RETRY_MS);
		if (look->refused)
			say(l, false, look->words);
		else
			say_down(l, look->words);
	} else if (look->turn <= l->turn && l->carries &&
		   stand_alike(l, look->places, l->ahead)) {
		settle(l);
	} else if (look->turn > l->turn ||
		   (l->opened && !stand_alike(l, look->places, l->kept))) {
		be_fenced(l);
	} else {
		l->step = LEDGER_OPEN;
		timer_set(&l->timer, 0);
		if (opens) {
			memcpy(l->kept, look->places, size);
			l->opened = l->beats = true;
			l->events.opened(l->events.arg, l->kept);
		}
	}
out:
	free_look(look);
}

static char *
group_name(const struct kafka_ledger *l, unsigned group)
{
	return group == 0 ? mem_text(l->id) : mem_printf("%s.%u", l->id, group);
}

static void
begin_look(struct kafka_ledger *l)
{
	struct ledger_look *look = mem_zero(sizeof *look);
	look->job.run = run_look;
	look->job.done = on_looked;
	look->ledger = l;
	look->topic = mem_text(l->topic);
	look->groups = l->groups;
	look->shards = l->shards;
	look->places = mem_zero(l->shards * sizeof *look->places);
	look->names = mem_zero(l->groups * sizeof *look->names);
	look->confs = mem_zero(l->groups * sizeof(rd_kafka_conf_t *));
	for (unsigned i = 0; i < l->groups; i++) {
		look->names[i] = group_name(l, i);
		look->confs[i] =
		    kafka_conf_asker(l->broker, l->client, look->names[i]);
	}
	l->step = LEDGER_LOOKING;
	kafka_producer_add(l->producer, &look->job);
}

/* --- what is written --- */

static void
add_told(struct kafka_ledger *l, unsigned group, struct kafka_batch *b)
{
	char text[KAFKA_LEDGER_TEXT_MAX];
	struct kafka_told *told = &b->told[b->n_told++];
	size_t len = kafka_ledger_place_write(l->turn,
	    l->ahead + group * KAFKA_LEDGER_SHARDS, shards_of(l->shards, group),
	    text);
	char *name = group_name(l, group);
	told->offsets = rd_kafka_topic_partition_list_new(1);
	told->group = rd_kafka_consumer_group_metadata_new(name);
	rd_kafka_topic_partition_t *at =
	    rd_kafka_topic_partition_list_add(told->offsets, l->topic, 0);
	at->offset = THE_OFFSET;
	at->metadata = mem_copy(text, len);
	at->metadata_size = len;
	free(name);
}

static bool
has_moved(const struct kafka_ledger *l, unsigned group)
{
	for (size_t i = 0; l->batch != NULL && i < shards_of(l->shards, group);
	     i++)
		if (l->batch->places[group * KAFKA_LEDGER_SHARDS + i].known)
			return true;
	return false;
}

/* The batch, if there is one, and the places, in one transaction. */
static struct kafka_batch *
transaction(struct kafka_ledger *l)
{
	size_t count = l->batch != NULL ? l->batch->count : 0;
	struct kafka_batch *b = kafka_producer_batch(count, l->groups);
	b->apart = l->apart;
	l->carries = l->batch != NULL;
	memcpy(l->ahead, l->kept, l->shards * sizeof *l->ahead);
	for (unsigned i = 0; l->batch != NULL && i < l->shards; i++)
		if (l->batch->places[i].known)
			l->ahead[i] = l->batch->places[i];
	/* The ledger's batch outlives it. */
	for (; b->count < count; b->count++)
		b->records[b->count] = (struct kafka_record){
		    .topic = arena_dup(b->arena, span_str(l->topic)).ptr,
		    .key =
			arena_dup(b->arena, l->batch->messages[b->count].key),
		    .body =
			arena_dup(b->arena, l->batch->messages[b->count].value),
		    .batch = b};
	for (unsigned i = 0; i < l->groups; i++)
		if (l->beats || has_moved(l, i))
			add_told(l, i, b);
	if (l->beats)
		l->beat_ms = loop_now_ms(l->loop);
	l->beats = false;
	return b;
}

/* It goes without what may be left out of the message that is too large. */
static void
go_without(struct kafka_ledger *l, const struct kafka_batch *b)
{
	struct kafka_ledger_message *m =
	    &l->batch->messages[b->refused - b->records];
	char words[KAFKA_PRODUCER_WORDS];
	if (b->too_large && m->less.ptr != NULL) {
		m->value = m->less;
		m->less.ptr = NULL;
		timer_set(&l->timer, 0);
		return;
	}
	snprintf(words, sizeof words, "a message of %zu bytes: %s",
	    m->value.len, b->words);
	say(l, false, words);
}

static void
on_written(struct kafka_ledger *l, const struct kafka_batch *b)
{
	if (b->end == KAFKA_BATCH_COMMITTED) {
		settle(l);
		return;
	}
	l->step = b->end == KAFKA_BATCH_UNCLEAR ? LEDGER_NEW : LEDGER_OPEN;
	l->beats |= b->n_told == l->groups;
	timer_set(&l->timer, RETRY_MS);
	/*
	 * A broker refuses all that comes to it together for being too large
	 * together: which one is, is known where each came alone.
	 */
	if (b->refused != NULL && b->too_large && !l->apart && b->count > 1) {
		l->apart = true;
		timer_set(&l->timer, 0);
	} else if (b->denied) {
		say(l, false, b->words);
	} else if (b->refused != NULL) {
		go_without(l, b);
	} else {
		say_down(l, b->words);
	}
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
		on_written(l, b);
	} else if (l->step == LEDGER_LISTENING) {
		l->beats |= !good;
		l->step = LEDGER_OPEN;
		timer_set(
		    &l->timer, l->beats || l->batch != NULL ? 0 : LISTEN_MS);
	} else if (good) {
		begin_look(l);
	} else {
		l->step = LEDGER_NEW;
		timer_set(&l->timer, RETRY_MS);
		if (b->denied)
			say(l, false, b->words);
		else
			say_down(l, b->words);
	}
	kafka_producer_free_batch(&b);
}

/* --- its steps --- */

static void
begin(struct kafka_ledger *l, enum ledger_step step)
{
	l->step = step;
	kafka_producer_begin(l->producer, step == LEDGER_WRITING
					      ? transaction(l)
					      : kafka_producer_batch(0, 0));
}

static bool
has_producer(struct kafka_ledger *l)
{
	if (l->producer != NULL)
		return true;
	const struct kafka_producer_start start = {
	    .loop = l->loop,
	    .conf = kafka_conf_transactions(l->broker, l->client, l->id),
	    .sole = true,
	    .done = on_over,
	    .arg = l,
	};
	l->producer = kafka_producer_new(&start);
	if (l->producer != NULL)
		return true;
	say(l, false, "no thread can be made");
	timer_set(&l->timer, RETRY_MS);
	return false;
}

static void
on_time(void *arg)
{
	struct kafka_ledger *l = arg;
	if (!has_producer(l))
		return;
	if (l->step == LEDGER_NEW) {
		begin(l, LEDGER_PREPARING);
		return;
	}
	if (l->step != LEDGER_OPEN)
		return;
	l->beats |= loop_now_ms(l->loop) - l->beat_ms > BEAT_MS;
	begin(l,
	    l->batch != NULL || l->beats ? LEDGER_WRITING : LEDGER_LISTENING);
}

/* --- life --- */

struct kafka_ledger *
kafka_ledger_open(const struct kafka_ledger_start *start)
{
	struct kafka_ledger *l = mem_zero(sizeof *l);
	l->loop = start->loop;
	l->conf = conf_ref(start->conf);
	l->broker = start->broker;
	l->topic = mem_text(start->topic);
	l->client =
	    mem_printf("onceproxy-%s-%s", start->relay, start->conf->instance);
	l->id = kafka_name_relay(start->relay, start->store);
	l->turn = start->turn;
	l->shards = start->shards;
	l->groups = (l->shards + KAFKA_LEDGER_SHARDS - 1) / KAFKA_LEDGER_SHARDS;
	l->events = *start->events;
	l->kept = mem_zero(l->shards * sizeof *l->kept);
	l->ahead = mem_zero(l->shards * sizeof *l->ahead);
	timer_init(&l->timer, l->loop, on_time, l);
	timer_set(&l->timer, 0);
	return l;
}

void
kafka_ledger_close(struct kafka_ledger **ledger)
{
	struct kafka_ledger *l = *ledger;
	*ledger = NULL;
	if (l == NULL)
		return;
	timer_clear(&l->timer);
	if (l->producer != NULL)
		kafka_producer_end(&l->producer);
	free_batch(&l->batch);
	free(l->kept);
	free(l->ahead);
	free(l->topic);
	free(l->client);
	free(l->id);
	conf_unref(&l->conf);
	free(l);
}

void
kafka_ledger_put(struct kafka_ledger *l, struct kafka_ledger_batch *batch)
{
	must(l->batch == NULL);
	l->batch = batch;
	l->put_ms = loop_now_ms(l->loop);
	if (l->step == LEDGER_OPEN)
		timer_set(&l->timer, 0);
}

/* Calls of librdkafka wait for each request as long as its connection may. */
static bool
is_late(const struct kafka_ledger *l)
{
	return l->batch != NULL && loop_now_ms(l->loop) - l->put_ms > LATE_MS;
}

bool
kafka_ledger_is_up(const struct kafka_ledger *l)
{
	return l->up && !is_late(l);
}

const char *
kafka_ledger_message(const struct kafka_ledger *l)
{
	return l->up && is_late(l) ? "no broker answers" : l->message;
}
