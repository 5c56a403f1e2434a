/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/error.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "messages/broker/driver.h"
#include "messages/broker/reader.h"

struct span
reader_copy(struct arena *arena, struct span text)
{
	return text.ptr != NULL ? arena_dup(arena, text) : span_of(NULL, 0);
}

/* --- what is in flight, by its position --- */

/* FNV-1a: who could choose positions to collide could as well send more. */
static uint64_t
hash_of(struct span position)
{
	uint64_t value = 14695981039346656037u;
	for (size_t i = 0; i < position.len; i++)
		value = (value ^ (uint8_t)position.ptr[i]) * 1099511628211u;
	return value ^ value >> 32;
}

struct flight *
reader_flight_find(const struct broker_reader *reader, struct span position)
{
	struct flight *f;
	HASH_EACH_OF(
	    f, &reader->by_position, hash_of(position), of_position)
		if (span_eq(f->position, position))
			return f;
	return NULL;
}

/*
 * The estimate follows at once where messages become larger, and slowly where
 * they become smaller: what is asked for by it is to be too few rather than too
 * many.
 */
void
reader_flight_weigh(struct broker_reader *reader, size_t bytes)
{
	if (bytes >= reader->usual_bytes)
		reader->usual_bytes = bytes;
	else
		reader->usual_bytes -= (reader->usual_bytes - bytes) / 16;
}

struct flight *
reader_flight_add(struct broker_reader *reader, struct broker_message *message)
{
	size_t own = reader->driver->flight_bytes;
	struct span position = message->position;
	struct flight *f = mem_zero(own + position.len + 1);
	char *copy = (char *)f + own;
	if (position.len > 0)
		memcpy(copy, position.ptr, position.len);
	f->position = span_of(copy, position.len);
	f->token = message->token;
	f->message = message;
	hash_add(&reader->by_position, &f->of_position, hash_of(position));
	list_add_last(&reader->in_flight, &f->of_reader);
	list_add_last(&reader->queue, &f->of_queue);
	reader->queued++;
	reader->queued_bytes += message->bytes;
	reader_flight_weigh(reader, message->bytes);
	reader_kick(reader);
	return f;
}

static struct broker_message *
leave_queue(struct broker_reader *reader, struct flight *f)
{
	struct broker_message *message = f->message;
	list_remove(&f->of_queue);
	f->message = NULL;
	reader->queued--;
	reader->queued_bytes -= message->bytes;
	return message;
}

void
reader_flight_forget(struct broker_reader *reader, struct flight *f)
{
	if (f->finishing != NULL)
		f->finishing->message = NULL;
	if (f->message != NULL) {
		struct broker_message *message = leave_queue(reader, f);
		broker_message_free(&message);
		/* Its owner may wait for memory for it. */
		if (!reader->leaving)
			reader_changed(reader);
	}
	hash_remove(&reader->by_position, &f->of_position);
	list_remove(&f->of_reader);
	free(f);
}

void
reader_flight_forget_queue(struct broker_reader *reader)
{
	struct flight *f;
	LIST_EACH(f, &reader->queue, of_queue)
		reader_flight_forget(reader, f);
}

/* --- what is not in flight any more, and was not finished --- */

const char *const broker_losses[BROKER_LOSS_COUNT_] = {
    [BROKER_TRIMMED_UNREAD] = "trimmed-unread",
    [BROKER_TRIMMED_PENDING] = "trimmed-pending",
    [BROKER_DELETED] = "deleted",
};

void
reader_flight_recall(struct broker_reader *reader, const void *token)
{
	struct flight *f;
	if (!reader->leaving)
		reader->events.recalled(reader->events.arg, token);
	LIST_EACH(f, &reader->in_flight, of_reader)
		if (f->token == token)
			reader_flight_forget(reader, f);
}

void
reader_flight_lost(struct broker_reader *reader, enum broker_loss how,
    uint64_t count, struct span position, const char *part)
{
	struct logline line = log_begin(EV_source_lost);
	log_str(&line, "source", reader->source->name);
	log_str(&line, "how", broker_losses[how]);
	log_int(&line, "count", (int64_t)count);
	if (position.len > 0)
		log_cut(&line, "position", position, 200);
	if (part != NULL)
		log_str(&line, "partition", part);
	log_end(&line);
	if (!reader->leaving)
		reader->events.lost(
		    reader->events.arg, how, count, position);
	struct flight *f = reader_flight_find(reader, position);
	if (f != NULL)
		reader_flight_forget(reader, f);
}

/* --- credit --- */

size_t
reader_room(const struct broker_reader *reader)
{
	if (reader->queued >= reader->credit ||
	    reader->queued_bytes >= reader->credit_bytes)
		return 0;
	size_t count = reader->credit - reader->queued;
	size_t bytes = reader->credit_bytes - reader->queued_bytes;
	size_t fit = reader->usual_bytes == 0
	    ? 1
	    : bytes / reader->usual_bytes + 1;
	return fit < count ? fit : count;
}

void
reader_origin(struct broker_reader *reader, struct span store_id)
{
	if (!reader->leaving)
		reader->events.origin(reader->events.arg, store_id);
}

/*
 * --- acknowledgements ---
 *
 * One that was sent lives until the driver ends it, even
 * where its owner has given it up; one that waits ends with that.
 */

static void
end_finishing(struct finishing *f, int error)
{
	struct broker_finish *finish = f->finish;
	list_remove(&f->of_reader);
	if (f->message != NULL)
		f->message->finishing = NULL;
	free(f);
	if (finish != NULL)
		op_done(&finish->op, error);
}

void
reader_finish_end(struct finishing *f, enum broker_finished finished)
{
	struct broker_reader *reader = f->reader;
	struct flight *message = f->message;
	if (f->finish != NULL)
		f->finish->finished = finished;
	end_finishing(f, 0);
	if (message == NULL || finished == BROKER_LOCKED)
		return;
	bool came_again = message->came_again;
	reader_flight_forget(reader, message);
	if (came_again && reader->driver->look_again != NULL)
		reader->driver->look_again(reader);
}

void
reader_finish_refuse(
    struct finishing *f, struct span words, enum broker_fault fault)
{
	if (f->finish != NULL) {
		snprintf(f->finish->refused, sizeof f->finish->refused, "%.*s",
		    SPAN_FMT(words));
		f->finish->fault = fault;
	}
	end_finishing(f, E_BROKER_REFUSED);
}

void
reader_finish_fail(struct finishing *f, bool sure)
{
	if (f->message != NULL && !sure)
		f->message->unsure = true;
	end_finishing(f, E_BROKER_DOWN);
}

void
reader_finish_send(struct finishing *f)
{
	list_remove(&f->of_reader);
	list_add_last(&f->reader->sent, &f->of_reader);
	f->sent = true;
}

void
reader_finish_again(struct finishing *f, int64_t ms)
{
	struct broker_reader *reader = f->reader;
	if (f->finish == NULL || !reader->reachable) {
		reader_finish_fail(f, true);
		return;
	}
	list_remove(&f->of_reader);
	list_add_first(&reader->waiting, &f->of_reader);
	f->sent = false;
	if (ms > 0 && !timer_is_set(&reader->again))
		timer_set(&reader->again, ms);
	reader_kick(reader);
}

void
reader_finish_unreachable(struct broker_reader *reader)
{
	struct finishing *f;
	reader->reachable = false;
	reader_kick(reader);
	LIST_EACH(f, &reader->waiting, of_reader)
		reader_finish_fail(f, true);
}

/*
 * --- questions ---
 *
 * One that was asked lives until its answer, even where its owner
 * has given it up.
 */

void
reader_ask_place(struct broker_message *copy)
{
	const struct field *of =
	    fields_first(&copy->fields, SPAN("onceproxy-position"));
	if (of == NULL)
		of = fields_first(&copy->fields, SPAN("onceproxy-done"));
	copy->position = of != NULL ? of->value : SPAN("");
	copy->again = true;
}

static void
let_go(struct op *op, int error)
{
	struct broker_copies *copies =
	    CONTAINER_OF(op, struct broker_copies, op);
	((struct reader_question *)copies->token)->copies = NULL;
	if (error == E_TIMEOUT)
		op_done(op, E_BROKER_DOWN);
}

void
reader_ask_copies(struct broker_reader *reader, struct broker_copies *copies,
    struct reader_question *question)
{
	copies->messages = NULL;
	copies->next[0] = '\0';
	copies->token = question;
	copies->refused[0] = '\0';
	question->reader = reader;
	question->copies = copies;
	list_add_last(&reader->questions, &question->of_reader);
	op_start(&copies->op, reader->timeout_ms, let_go);
}

void
reader_ask_end(
    struct reader_question *question, int error, const char *refused)
{
	struct broker_copies *copies = question->copies;
	list_remove(&question->of_reader);
	if (copies == NULL)
		return;
	if (refused != NULL)
		snprintf(copies->refused, sizeof copies->refused, "%s",
		    refused);
	op_done(&copies->op, error);
}

/* --- what is refused, said once --- */

static void
log_words(
    const struct broker_reader *reader, enum event event, const char *words)
{
	struct logline line = log_begin(event);
	log_str(&line, "source", reader->source->name);
	log_str(&line, "broker", reader->source->broker->name);
	if (words != NULL)
		log_str(&line, "error", words);
	log_end(&line);
}

static struct trouble *
find_trouble(const struct broker_reader *reader, int what, const char *name)
{
	struct trouble *t;
	LIST_EACH(t, (struct list *)(uintptr_t)&reader->troubles, of_reader)
		if (t->what == what &&
		    (name == NULL || strcmp(t->name, name) == 0))
			return t;
	return NULL;
}

bool
reader_trouble_is(
    const struct broker_reader *reader, int what, const char *name)
{
	return find_trouble(reader, what, name) != NULL;
}

static void
drop_trouble(struct trouble *t)
{
	list_remove(&t->of_reader);
	free(t->name);
	free(t->words);
	free(t);
}

void
reader_trouble_say(struct broker_reader *reader, enum event event, int what,
    const char *name, struct span words)
{
	struct trouble *t = find_trouble(reader, what, name);
	if (reader->leaving ||
	    (t != NULL && span_eq(words, span_str(t->words))))
		return;
	if (t == NULL) {
		/* The list is in the order of how pressing they are. */
		struct list *at = &reader->troubles;
		struct trouble *other;
		LIST_EACH(other, &reader->troubles, of_reader)
			if (other->what > what) {
				at = &other->of_reader;
				break;
			}
		t = mem_zero(sizeof *t);
		t->what = what;
		t->name = mem_text(name);
		list_add_before(at, &t->of_reader);
	}
	free(t->words);
	t->words = mem_str(words);
	t->event = event;
	reader_changed(reader);
	log_words(reader, event, t->words);
}

void
reader_trouble_begin(struct broker_reader *reader, int what,
    const char *name, struct span words)
{
	reader_trouble_say(reader, EV_source_refused, what, name, words);
}

void
reader_trouble_end(struct broker_reader *reader, int what, const char *name)
{
	struct trouble *t;
	while ((t = find_trouble(reader, what, name)) != NULL) {
		if (t->event == EV_source_refused && !reader->leaving)
			log_words(reader, EV_source_accepted, t->words);
		drop_trouble(t);
		reader_changed(reader);
	}
}

/* --- whether it answers --- */

void
reader_trouble_back(struct broker_reader *reader)
{
	reader->reachable = true;
	reader_changed(reader);
	if (reader->away == NULL || reader->leaving)
		return;
	free(reader->away);
	reader->away = NULL;
	reader->refuses = false;
	log_words(reader, EV_source_broker_up, NULL);
}

/* A broker that is away and comes back without our user is other news. */
void
reader_trouble_away(struct broker_reader *reader, const char *why, bool refuses)
{
	bool news = reader->away == NULL || (refuses && !reader->refuses);
	if (reader->leaving)
		return;
	char *words = mem_text(why);
	free(reader->away);
	reader->away = words;
	reader->refuses |= refuses;
	reader_changed(reader);
	if (news)
		log_words(reader,
		    refuses ? EV_source_refused : EV_source_broker_down,
		    words);
}

/* --- a turn --- */

static void
on_work(void *arg)
{
	struct broker_reader *reader = arg;
	const struct driver *driver = reader->driver;
	struct flight *f;
	/* The owner may close it, or give it other credit, at each. */
	while (!reader->leaving && reader->credit > 0 &&
	       (f = LIST_FIRST(&reader->queue, struct flight, of_queue)) !=
		   NULL) {
		struct broker_message *message = leave_queue(reader, f);
		size_t bytes = message->bytes;
		reader->credit--;
		reader->credit_bytes -= bytes < reader->credit_bytes
		    ? bytes
		    : reader->credit_bytes;
		if (reader->events.took(reader->events.arg, message))
			continue;
		/* It is still in flight, but may be elsewhere. */
		f = reader_flight_find(reader, message->position);
		f->message = message;
		list_add_first(&reader->queue, &f->of_queue);
		reader->queued++;
		reader->queued_bytes += message->bytes;
		reader->credit = 0;
	}
	if (reader->leaving) {
		if (driver->leave(reader))
			timer_set(&reader->end, 0);
		return;
	}
	if (!list_empty(&reader->waiting) && !timer_is_set(&reader->again))
		driver->finish(reader);
	if (!timer_is_set(&reader->pause))
		driver->take(reader);
	if (!reader->changed)
		return;
	reader->changed = false;
	reader->events.changed(reader->events.arg);
}

static void
on_time(void *arg)
{
	reader_kick(arg);
}

/* --- its life --- */

/* Those that were closed and give back what they had, in this thread. */
static _Thread_local struct list leaving;

/* Of a timer: no connection can be freed from within what it calls. */
static void
free_reader(void *arg)
{
	struct broker_reader *reader = arg;
	list_remove(&reader->of_leaving);
	reader->driver->free(reader);
	task_cancel(&reader->work);
	timer_clear(&reader->again);
	timer_clear(&reader->pause);
	timer_clear(&reader->end);
	while (!list_empty(&reader->in_flight))
		reader_flight_forget(reader,
		    LIST_FIRST(
			&reader->in_flight, struct flight, of_reader));
	hash_free(&reader->by_position);
	struct trouble *trouble;
	LIST_EACH(trouble, &reader->troubles, of_reader)
		drop_trouble(trouble);
	free(reader->away);
	free(reader->instance);
	free(reader->store_id);
	conf_unref(&reader->conf);
	free(reader);
}

struct broker_reader *
reader_open(const struct driver *driver, const struct broker_start *start)
{
	struct broker_reader *reader = mem_zero(driver->reader_bytes);
	reader->driver = driver;
	reader->loop = start->loop;
	reader->conf = start->conf != NULL ? conf_ref(start->conf) : NULL;
	reader->source = start->source;
	reader->instance = mem_text(start->instance);
	reader->store_id = mem_str(start->store_id);
	reader->lease_ms = start->lease_ms;
	reader->most_bytes = start->most_bytes;
	reader->sole = start->sole;
	reader->events = *start->events;
	list_init(&reader->in_flight);
	list_init(&reader->queue);
	list_init(&reader->waiting);
	list_init(&reader->sent);
	list_init(&reader->questions);
	list_init(&reader->troubles);
	reader->work = (struct task){.run = on_work, .arg = reader};
	timer_init(&reader->again, reader->loop, on_time, reader);
	timer_init(&reader->pause, reader->loop, on_time, reader);
	timer_init(&reader->end, reader->loop, free_reader, reader);
	driver->open(reader);
	return reader;
}

void
reader_leave(struct broker_reader *reader)
{
	struct finishing *f;
	struct reader_question *question;
	reader->leaving = true;
	timer_clear(&reader->again);
	LIST_EACH(f, &reader->waiting, of_reader)
		end_finishing(f, E_CANCELLED);
	LIST_EACH(f, &reader->sent, of_reader) {
		if (f->finish != NULL)
			op_done(&f->finish->op, E_CANCELLED);
		f->finish = NULL;
	}
	LIST_EACH(question, &reader->questions, of_reader) {
		if (question->copies != NULL)
			op_done(&question->copies->op, E_CANCELLED);
		question->copies = NULL;
	}
	if (leaving.next == NULL)
		list_init(&leaving);
	list_add_last(&leaving, &reader->of_leaving);
	timer_set(&reader->end, reader->leave_ms);
	reader_kick(reader);
}

/* --- for a drain --- */

size_t
reader_leaving(const struct loop *loop)
{
	size_t count = 0;
	struct broker_reader *reader;
	if (leaving.next == NULL)
		return 0;
	LIST_EACH(reader, &leaving, of_leaving)
		count += reader->loop == loop;
	return count;
}

void
reader_abandon(struct loop *loop)
{
	struct broker_reader *reader;
	if (leaving.next == NULL)
		return;
	LIST_EACH(reader, &leaving, of_leaving)
		if (reader->loop == loop)
			free_reader(reader);
}
