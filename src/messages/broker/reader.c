/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/container.h"
#include "base/error.h"
#include "base/mem.h"
#include "messages/broker/driver.h"
#include "messages/broker/reader.h"

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
	if (reader->events.origin != NULL && !reader->leaving)
		reader->events.origin(reader->events.arg, store_id);
}

/* --- a turn --- */

/* The owner may close the reader, or give it other credit, at each. */
static void
hand_over(struct broker_reader *reader)
{
	while (!reader->leaving && reader->credit > 0) {
		struct broker_message *message =
		    reader_flight_hand_over(reader);
		if (message == NULL)
			return;
		size_t bytes = message->bytes;
		reader->credit--;
		reader->credit_bytes -= bytes < reader->credit_bytes
		    ? bytes
		    : reader->credit_bytes;
		if (reader->events.took(reader->events.arg, message))
			continue;
		reader_flight_keep(reader, message);
		reader->credit = 0;
	}
}

static void
on_work(void *arg)
{
	struct broker_reader *reader = arg;
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
free_reader(struct broker_reader *reader)
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
	task_init(&reader->work, on_work, reader);
	timer_init(&reader->again, reader->loop, on_time, reader);
	timer_init(&reader->pause, reader->loop, on_time, reader);
	timer_init(&reader->end, reader->loop, on_end, reader);
	driver->open(reader);
	return reader;
}

void
reader_leave(struct broker_reader *reader)
{
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
