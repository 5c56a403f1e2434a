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
#include "messages/brokers.h"
#include "unit/messages/broker/outbox.h"

enum { PATIENCE_MS = 60000, CREDIT = 100, MOST_BYTES = 1 << 20 };

struct postgres *outbox_server;

static char name_of_source[] = "outbox", name_of_broker[] = "shop",
	    table[] = "outbox", id[] = "id", entity[] = "aggregateid",
	    type[] = "type", payload[] = "payload", group[] = "onceproxy",
	    dead[] = "outbox_dead";

int
outbox_start_server(void **state)
{
	(void)state;
	outbox_server = postgres_start();
	return 0;
}

int
outbox_stop_server(void **state)
{
	(void)state;
	postgres_stop(&outbox_server);
	return 0;
}

void
outbox_table(struct postgres *server, const char *id_type)
{
	postgres_just(server, NULL,
	    "DROP TABLE IF EXISTS outbox, outbox_dead, done; "
	    "CREATE TABLE outbox (id %s PRIMARY KEY, aggregatetype text, "
	    "aggregateid text, type text, payload jsonb, headers jsonb, "
	    "published_at timestamptz)",
	    id_type);
}

struct outbox *
outbox_new(const struct outbox *other)
{
	struct outbox *o = mem_zero(sizeof *o);
	o->server = outbox_server;
	o->own_loop = other == NULL;
	o->loop = other != NULL ? other->loop : loop_new();
	o->broker = (struct conf_broker){
	    .name = name_of_broker, .kind = BROKER_POSTGRES};
	o->broker.postgres = postgres_uri(o->server, "once");
	o->source = (struct conf_source){.name = name_of_source,
	    .broker = &o->broker,
	    .table = table,
	    .columns = {id, entity, type, payload, NULL, NULL},
	    .poll_ms = 50,
	    .group = group,
	    .dead_letters = dead};
	o->took = mem_zero(OUTBOX_MOST * sizeof(struct broker_message *));
	return o;
}

static bool
took(void *arg, struct broker_message *message)
{
	struct outbox *o = arg;
	assert_true(o->n_took < OUTBOX_MOST);
	o->took[o->n_took++] = message;
	return true;
}

static void
lost(void *arg, enum broker_loss how, uint64_t count, struct span position)
{
	struct outbox *o = arg;
	assert_int_equal(how, BROKER_DELETED);
	assert_int_equal(position.len, 0);
	o->deleted += count;
}

static void
recalled(void *arg, const void *token)
{
	(void)arg;
	assert_non_null(token);
}

static void
told_origin(void *arg, struct span store_id)
{
	struct outbox *o = arg;
	snprintf(o->origin, sizeof o->origin, "%.*s", SPAN_FMT(store_id));
	o->origins++;
	o->took_before = o->n_took;
}

static void
changed(void *arg)
{
	((struct outbox *)arg)->changes++;
}

void
outbox_open(struct outbox *o, unsigned credit)
{
	struct broker_events events = {
	    .took = took, .lost = lost, .changed = changed,
	    .recalled = recalled, .origin = told_origin, .arg = o};
	struct broker_start start = {.loop = o->loop,
	    .source = &o->source,
	    .instance = "test",
	    .lease_ms = 5000,
	    .most_bytes = MOST_BYTES,
	    .events = &events};
	o->reader = brokers_open(&start);
	broker_reader_credit(o->reader, credit, SIZE_MAX);
}

void
outbox_free(struct outbox **outbox)
{
	struct outbox *o = *outbox;
	*outbox = NULL;
	broker_reader_close(&o->reader);
	brokers_abandon(o->loop);
	for (size_t i = 0; i < o->n_took; i++)
		broker_message_free(&o->took[i]);
	if (o->own_loop)
		loop_free(&o->loop);
	free(o->broker.postgres);
	free(o->took);
	free(o);
}

/* --- running the loop --- */

struct wait {
	struct outbox *outbox;
	bool (*so)(const struct outbox *outbox);
	const struct outbox_finish *finish;
	bool late;
};

static bool
look(void *arg)
{
	struct wait *wait = arg;
	bool so = wait->finish != NULL ? wait->finish->done :
	    wait->so != NULL	       ? wait->so(wait->outbox) :
					 false;
	if (so)
		loop_stop(wait->outbox->loop);
	return false;
}

static void
stop_late(void *arg)
{
	struct wait *wait = arg;
	wait->late = true;
	loop_stop(wait->outbox->loop);
}

static void
run(struct wait *wait, int64_t ms)
{
	struct hook hook;
	struct timer timer;
	struct loop *loop = wait->outbox->loop;
	timer_init(&timer, loop, stop_late, wait);
	timer_set(&timer, ms);
	loop_hook(loop, HOOK_FLUSH, &hook, look, wait);
	loop_run(loop);
	loop_unhook(&hook);
	timer_clear(&timer);
}

void
outbox_until(struct outbox *o, bool (*so)(const struct outbox *outbox))
{
	struct wait wait = {.outbox = o, .so = so};
	if (!so(o))
		run(&wait, PATIENCE_MS);
	if (wait.late)
		print_message("# %s\n",
		    o->reader ? broker_reader_health(o->reader).message : "");
	assert_false(wait.late);
}

void
outbox_until_done(struct outbox *o, const struct outbox_finish *finish)
{
	struct wait wait = {.outbox = o, .finish = finish};
	if (!finish->done)
		run(&wait, PATIENCE_MS);
	assert_false(wait.late);
}

void
outbox_run_ms(struct outbox *o, int64_t ms)
{
	struct wait wait = {.outbox = o};
	run(&wait, ms);
}

static bool
has_taken(const struct outbox *o)
{
	return o->n_took >= o->wanted;
}

void
outbox_until_took(struct outbox *o, size_t count)
{
	o->wanted = count;
	outbox_until(o, has_taken);
	assert_int_equal(o->n_took, count);
}

static bool
is_up(const struct outbox *o)
{
	return broker_reader_health(o->reader).up;
}

static bool
is_down(const struct outbox *o)
{
	return !is_up(o) && *broker_reader_health(o->reader).message != '\0';
}

void
outbox_until_up(struct outbox *o, bool up)
{
	outbox_until(o, up ? is_up : is_down);
}

/* --- acknowledgements --- */

static void
finished(void *owner)
{
	((struct outbox_finish *)owner)->done = true;
}

void
outbox_finish_begin(struct outbox *o, struct outbox_finish *f,
    const struct broker_message *message, const struct broker_put *put)
{
	*f = (struct outbox_finish){.done = false};
	op_init(&f->finish.op, o->loop, finished, f);
	f->finish.position = message->position;
	f->finish.token = message->token;
	f->finish.put = put;
	broker_reader_finish(o->reader, &f->finish);
}

int
outbox_finish(struct outbox *o, struct outbox_finish *f,
    const struct broker_message *message, const struct broker_put *put)
{
	outbox_finish_begin(o, f, message, put);
	outbox_until_done(o, f);
	return f->finish.op.error;
}

int
outbox_mark(struct outbox *o, struct outbox_finish *f, const char *position,
    const struct broker_put *put)
{
	*f = (struct outbox_finish){.done = false};
	op_init(&f->finish.op, o->loop, finished, f);
	f->finish.position = span_str(position);
	f->finish.mark = true;
	f->finish.put = put;
	broker_reader_finish(o->reader, &f->finish);
	outbox_until_done(o, f);
	return f->finish.op.error;
}

void
outbox_assert_span(struct span span, const char *text)
{
	if (text == NULL) {
		assert_null(span.ptr);
		return;
	}
	if (!span_eq(span, span_str(text)))
		fail_msg("\"%.*s\" is not \"%s\"", SPAN_FMT(span), text);
}
