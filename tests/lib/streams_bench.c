/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conf/load/conf_load.h"
#include "lib/streams_bench.h"
#include "messages/brokers.h"
#include "messages/broker/reader.h"

enum { TURN_MS = 2 };

/* --- life --- */

static const struct conf *
load(const char *where, const struct redis *redis)
{
	struct complaints complaints = {0};
	char *own = redis != NULL
	    ? mem_printf("\"redis\": \"unix:%s\"", redis->socket)
	    : mem_text(where);
	char *text = mem_printf("{\"listen\": [\"127.0.0.1:0\"],"
		"\"store\": {%s, \"timeout\": \"%dms\"},"
		"\"upstreams\": {\"u\": \"http://127.0.0.1:9\"},"
		"\"routes\": [{\"path\": \"/*\", \"upstream\": \"u\"}]}",
	    own, SBENCH_TIMEOUT_MS);
	const struct conf *conf =
	    conf_load_text("test", span_str(text), false, &complaints);
	if (conf == NULL)
		fail_msg("%s: %s", complaints.list[0].pointer,
		    complaints.list[0].message);
	complaints_free(&complaints);
	free(text);
	free(own);
	return conf;
}

struct sbench *
sbench_new(const char *where, const char *const *arguments)
{
	static char broker[] = "queue", source[] = "charges", s[] = "s",
		    g[] = "g", r[] = "r", d[] = "d";
	struct sbench *bench = mem_zero(sizeof *bench);
	if (where == NULL)
		bench->redis = redis_start(arguments);
	bench->loop = loop_new();
	bench->conf = load(where, bench->redis);
	bench->broker = (struct conf_broker){.name = broker,
	    .kind = BROKER_STREAMS, .redis = bench->conf->store.redis};
	bench->source = (struct conf_source){.name = source,
	    .broker = &bench->broker, .stream = s, .group = g,
	    .results = r, .dead_letters = d, .in_flight = 64};
	bench->lease_ms = SBENCH_LEASE_MS;
	bench->most_bytes = 1024 * 1024;
	bench->credit = 64;
	return bench;
}

void
sbench_free(struct sbench **bench)
{
	struct sbench *b = *bench;
	*bench = NULL;
	struct sbench_reader *reader;
	struct sbench_finish *f;
	while ((reader = b->readers) != NULL) {
		b->readers = reader->next;
		broker_reader_close(&reader->reader);
		sbench_forget(reader);
		free(reader);
	}
	UNTIL(b, reader_leaving(b->loop) == 0);
	while ((f = b->finishes) != NULL) {
		b->finishes = f->next;
		free(f);
	}
	conf_unref(&b->conf);
	loop_free(&b->loop);
	redis_stop(&b->redis);
	free(b);
}

int
sbench_set_up(void **state)
{
	*state = sbench_new(NULL, NULL);
	return 0;
}

int
sbench_set_up_lasting(void **state)
{
	static const char *const lasting[] = {
	    "--appendonly", "yes", "--appendfsync", "always", NULL};
	*state = sbench_new(NULL, lasting);
	return 0;
}

int
sbench_tear_down(void **state)
{
	struct sbench *bench = *state;
	sbench_free(&bench);
	return 0;
}

static void
on_stop(void *arg)
{
	loop_stop(arg);
}

void
sbench_turn(struct sbench *bench)
{
	struct timer timer;
	timer_init(&timer, bench->loop, on_stop, bench->loop);
	timer_set(&timer, TURN_MS);
	loop_run(bench->loop);
	timer_clear(&timer);
}

/* --- a reader --- */

static bool
on_took(void *arg, struct broker_message *message)
{
	struct sbench_reader *r = arg;
	r->taken++;
	message->next = NULL;
	*r->end = message;
	r->end = &message->next;
	if (r->closes)
		broker_reader_close(&r->reader);
	return true;
}

static void
on_lost(void *arg, enum broker_loss how, uint64_t count, struct span position)
{
	struct sbench_reader *r = arg;
	r->lost[how] += count;
	snprintf(r->lost_position, sizeof r->lost_position, "%.*s",
	    SPAN_FMT(position));
}

static void
on_origin(void *arg, struct span store_id)
{
	struct sbench_reader *r = arg;
	r->origins++;
	r->taken_before_origin = r->taken;
	snprintf(r->origin, sizeof r->origin, "%.*s", SPAN_FMT(store_id));
}

static void
on_health(void *arg)
{
	struct sbench_reader *r = arg;
	r->changed++;
}

struct sbench_reader *
sbench_open(struct sbench *bench, const char *instance)
{
	struct sbench_reader *r = mem_zero(sizeof *r);
	*r = (struct sbench_reader){
	    .next = bench->readers, .bench = bench, .end = &r->first};
	bench->readers = r;
	const struct broker_events events = {.took = on_took, .lost = on_lost,
	    .changed = on_health,
	    .origin = on_origin, .arg = r};
	const struct broker_start start = {.loop = bench->loop,
	    .conf = bench->conf, .source = &bench->source,
	    .instance = instance, .store_id = SPAN("5e"),
	    .lease_ms = bench->lease_ms,
	    .most_bytes = bench->most_bytes, .sole = bench->sole,
	    .events = &events};
	r->reader = brokers_open(&start);
	sbench_credit(r, bench->credit);
	return r;
}

void
sbench_credit(struct sbench_reader *r, unsigned messages)
{
	broker_reader_credit(r->reader, messages, SIZE_MAX);
}

void
sbench_forget(struct sbench_reader *r)
{
	while (r->first != NULL) {
		struct broker_message *message = sbench_shift(r);
		broker_message_free(&message);
	}
}

void
sbench_close(struct sbench_reader *r)
{
	size_t others = reader_leaving(r->bench->loop);
	broker_reader_close(&r->reader);
	UNTIL(r->bench, reader_leaving(r->bench->loop) <= others);
	sbench_forget(r);
}

bool
sbench_is_up(const struct sbench_reader *r)
{
	return broker_reader_health(r->reader).up;
}

struct broker_message *
sbench_shift(struct sbench_reader *r)
{
	struct broker_message *message = r->first;
	assert_non_null(message);
	r->first = message->next;
	message->next = NULL;
	if (r->first == NULL)
		r->end = &r->first;
	return message;
}

const char *
sbench_field(const struct broker_message *message, const char *name)
{
	const struct field *field =
	    fields_first(&message->fields, span_str(name));
	return field != NULL ? field->value.ptr : "";
}

/* --- finishing --- */

static void
on_woken(void *owner)
{
	struct sbench_finish *f = owner;
	f->woken = true;
}

struct sbench_finish *
sbench_finish_new(struct sbench *bench)
{
	struct sbench_finish *f = mem_zero(sizeof *f);
	f->next = bench->finishes;
	bench->finishes = f;
	return f;
}

void
sbench_finish_start(struct sbench_reader *r, struct sbench_finish *f,
    const struct broker_message *message, const struct broker_put *put)
{
	f->woken = false;
	snprintf(f->position, sizeof f->position, "%.*s",
	    SPAN_FMT(message->position));
	f->finish = (struct broker_finish){.position = span_str(f->position),
	    .token = message->token, .put = put};
	op_init(&f->finish.op, r->bench->loop, on_woken, f);
	broker_reader_finish(r->reader, &f->finish);
	assert_false(f->woken);
}

int
sbench_finish(struct sbench_reader *r, struct sbench_finish *f,
    const struct broker_message *message, const struct broker_put *put)
{
	sbench_finish_start(r, f, message, put);
	UNTIL(r->bench, f->woken);
	return f->finish.op.error;
}

void
sbench_finish_first(struct sbench_reader *r)
{
	struct sbench_finish *f = sbench_finish_new(r->bench);
	struct broker_message *message = sbench_shift(r);
	assert_int_equal(sbench_finish(r, f, message, NULL), 0);
	assert_int_equal(f->finish.finished, BROKER_FINISHED);
	broker_message_free(&message);
}

/* --- the stream --- */

void
sbench_add(struct sbench *bench, int count)
{
	for (int i = 1; i <= count; i++)
		redis_just(bench->redis, "XADD s * n %d", i);
}

long long
sbench_pending(struct sbench *bench, const char *consumer)
{
	redisReply *reply = redis_do(bench->redis, "XPENDING s g");
	long long count = 0;
	if (reply->type == REDIS_REPLY_ERROR) {
		freeReplyObject(reply);
		return -1;
	}
	if (*consumer == '\0')
		count = reply->element[0]->integer;
	redisReply *list = reply->element[3];
	for (size_t i = 0; list->type == REDIS_REPLY_ARRAY &&
	     i < list->elements; i++)
		if (strcmp(list->element[i]->element[0]->str, consumer) == 0)
			count = atoll(list->element[i]->element[1]->str);
	freeReplyObject(reply);
	return count;
}
