/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/error.h"
#include "base/mem.h"
#include "messages/broker/driver.h"
#include "messages/broker/reader.h"

/*
 * Acknowledgements.  One that was sent lives until the driver ends it, even
 * where its owner has given it up; one that waits ends with that.
 */

/* --- ends --- */

static void
end(struct finishing *f, int error)
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
	end(f, 0);
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
	end(f, E_BROKER_REFUSED);
}

void
reader_finish_fail(struct finishing *f, bool sure)
{
	if (f->message != NULL && !sure)
		f->message->unsure = true;
	end(f, E_BROKER_DOWN);
}

/* --- waiting, or sent --- */

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
reader_finish_reachable(struct broker_reader *reader, bool reachable)
{
	struct finishing *f;
	reader->reachable = reachable;
	reader_kick(reader);
	LIST_EACH(f, &reader->waiting, of_reader)
		if (!reachable)
			reader_finish_fail(f, true);
}

/* --- the operation --- */

/* Its time is up, or its owner gives it up. */
static void
detach(struct op *op, int error)
{
	struct finishing *f = CONTAINER_OF(op, struct broker_finish, op)->token;
	f->finish = NULL;
	if (!f->sent)
		end(f, error);
	else if (f->message != NULL)
		f->message->unsure = true;
	if (error == E_TIMEOUT)
		op_done(op, E_BROKER_DOWN);
}

/* One that was sent may take as long as something moves. */
static int64_t
more_ms(struct op *op)
{
	struct finishing *f = CONTAINER_OF(op, struct broker_finish, op)->token;
	return f->sent ? f->reader->driver->more_ms(f) : 0;
}

/* Of what is not in flight here only the broker knows whether it is pending. */
static bool
is_asked(const struct finishing *f)
{
	const struct broker_put *put = f->finish->put;
	return f->message != NULL || f->finish->mark ||
	    (put != NULL && put->place == BROKER_DEAD_LETTERS);
}

static struct finishing *
new_finishing(struct broker_reader *reader, struct broker_finish *finish)
{
	struct finishing *f = mem_zero(reader->driver->finishing_bytes);
	f->reader = reader;
	f->finish = finish;
	if (!finish->mark)
		f->message = reader_flight_find(reader, finish->position);
	if (f->message != NULL) {
		/* Of one before it, which was given up, nothing follows. */
		if (f->message->finishing != NULL)
			f->message->finishing->message = NULL;
		f->message->finishing = f;
	}
	list_add_last(&reader->waiting, &f->of_reader);
	return f;
}

void
reader_finish_start(struct broker_reader *reader, struct broker_finish *finish)
{
	const struct driver *driver = reader->driver;
	struct finishing *f = new_finishing(reader, finish);
	finish->token = f;
	finish->refused[0] = '\0';
	finish->fault = BROKER_FAULT_PLACE;
	op_start(&finish->op, reader->timeout_ms, detach);
	if (driver->more_ms != NULL)
		finish->op.more_ms = more_ms;
	const char *why = driver->impossible != NULL
	    ? driver->impossible(reader, finish)
	    : NULL;
	if (!is_asked(f))
		reader_finish_end(f, BROKER_NOT_PENDING);
	else if (why != NULL)
		reader_finish_refuse(f, span_str(why), BROKER_FAULT_PLACE);
	else if (!reader->reachable)
		reader_finish_fail(f, true);
	reader_kick(reader);
}

void
reader_finish_cancel(struct broker_reader *reader)
{
	struct finishing *f;
	timer_clear(&reader->again);
	LIST_EACH(f, &reader->waiting, of_reader)
		end(f, E_CANCELLED);
	LIST_EACH(f, &reader->sent, of_reader) {
		if (f->finish != NULL)
			op_done(&f->finish->op, E_CANCELLED);
		f->finish = NULL;
	}
}
