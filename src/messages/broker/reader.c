/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/container.h"
#include "base/error.h"
#include "base/mem.h"
#include "messages/broker/driver.h"
#include "messages/broker/reader.h"

static struct reader_core *
of(const struct broker_reader *broker)
{
	return (struct reader_core *)(uintptr_t)broker;
}

/* --- credit --- */

size_t
reader_room(const struct reader_core *reader)
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

static void
set_credit(struct broker_reader *broker, unsigned messages, size_t bytes)
{
	struct reader_core *reader = of(broker);
	reader->credit = messages;
	reader->credit_bytes = bytes;
	reader_kick(reader);
}

void
reader_origin(struct reader_core *reader, struct span store_id)
{
	if (reader->events.origin != NULL && !reader->leaving)
		reader->events.origin(reader->events.arg, store_id);
}

/* --- a turn --- */

/* The owner may close the reader, or give it other credit, at each. */
static void
hand_over(struct reader_core *reader)
{
	while (!reader->leaving && reader->credit > 0) {
		struct broker_message *message =
		    reader_flight_hand_over(reader);
		if (message == NULL)
			return;
		reader->credit--;
		reader->credit_bytes -= message->bytes < reader->credit_bytes
		    ? message->bytes
		    : reader->credit_bytes;
		reader->events.took(reader->events.arg, message);
	}
}

static void
on_work(void *arg)
{
	struct reader_core *reader = arg;
	const struct driver *driver = reader->driver;
	hand_over(reader);
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

static void
free_reader(struct reader_core *reader)
{
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
	reader_trouble_clear(reader);
	free(reader->instance);
	free(reader->store_id);
	conf_unref(&reader->conf);
	free(reader);
}

/* No connection can be freed from within what it calls. */
static void
on_end(void *arg)
{
	free_reader(arg);
}

struct broker_reader *
reader_open(const struct driver *driver, const struct broker_start *start)
{
	struct reader_core *reader = mem_zero(driver->reader_bytes);
	reader->broker.client = &reader_client;
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
	task_init(&reader->work, on_work, reader);
	timer_init(&reader->again, reader->loop, on_time, reader);
	timer_init(&reader->pause, reader->loop, on_time, reader);
	timer_init(&reader->end, reader->loop, on_end, reader);
	driver->open(reader);
	return &reader->broker;
}

static void
close_reader(struct broker_reader *broker)
{
	struct reader_core *reader = of(broker);
	reader->leaving = true;
	reader_finish_cancel(reader);
	reader_ask_cancel(reader);
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
	struct reader_core *reader;
	if (leaving.next == NULL)
		return 0;
	LIST_EACH(reader, &leaving, of_leaving)
		count += reader->loop == loop;
	return count;
}

void
reader_abandon(struct loop *loop)
{
	struct reader_core *reader;
	if (leaving.next == NULL)
		return;
	LIST_EACH(reader, &leaving, of_leaving)
		if (reader->loop == loop)
			free_reader(reader);
}

/* --- what its owner says --- */

static void
finish_message(struct broker_reader *broker, struct broker_finish *finish)
{
	reader_finish_start(of(broker), finish);
}

static void
read_again(struct broker_reader *broker, struct broker_again *again)
{
	of(broker)->driver->read_again(of(broker), again);
}

static void
read_copies(struct broker_reader *broker, struct broker_copies *copies)
{
	of(broker)->driver->copies(of(broker), copies);
}

static void
give_back(struct broker_reader *broker, const struct broker_message *message)
{
	struct reader_core *reader = of(broker);
	struct flight *f = reader_flight_find(reader, message->position);
	if (f == NULL)
		return;
	reader->driver->give_back(reader, f);
	reader_flight_forget(reader, f);
}

static struct broker_health
health_of(const struct broker_reader *broker)
{
	const struct reader_core *reader = of(broker);
	struct broker_health health = {.lag = -1};
	reader->driver->health(reader, &health);
	health.message = reader_trouble_words(reader);
	return health;
}

static void
set_floor(struct broker_reader *broker, const char *part, struct span floor,
    enum broker_decision decided)
{
	if (of(broker)->driver->floor != NULL)
		of(broker)->driver->floor(of(broker), part, floor, decided);
}

static void
tell(struct broker_reader *broker)
{
	if (of(broker)->driver->tell != NULL)
		of(broker)->driver->tell(of(broker));
}

static bool
is_told(const struct broker_reader *broker)
{
	const struct reader_core *reader = of(broker);
	return reader->driver->is_told == NULL ||
	    reader->driver->is_told(reader);
}

const struct broker_client reader_client = {
    .close = close_reader,
    .credit = set_credit,
    .finish = finish_message,
    .read_again = read_again,
    .copies = read_copies,
    .give_back = give_back,
    .health = health_of,
    .floor = set_floor,
    .tell = tell,
    .is_told = is_told,
};
