/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/container.h"
#include "base/error.h"
#include "base/mem.h"
#include "messages/broker/driver.h"
#include "messages/broker/reader.h"

void
broker_reader_close(struct broker_reader **reader)
{
	struct broker_reader *r = *reader;
	*reader = NULL;
	if (r != NULL)
		reader_leave(r);
}

void
broker_reader_credit(
    struct broker_reader *reader, unsigned messages, size_t bytes)
{
	reader->credit = messages;
	reader->credit_bytes = bytes;
	reader_kick(reader);
}

/* Its time is up, or its owner gives it up. */
static void
detach(struct op *op, int error)
{
	struct finishing *f = CONTAINER_OF(op, struct broker_finish, op)->token;
	f->finish = NULL;
	if (!f->sent)
		reader_finish_fail(f, true);
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

void
broker_reader_finish(
    struct broker_reader *reader, struct broker_finish *finish)
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
	finish->token = f;
	finish->refused[0] = '\0';
	finish->fault = BROKER_FAULT_PLACE;
	op_start(&finish->op, reader->timeout_ms, detach);
	if (reader->driver->more_ms != NULL)
		finish->op.more_ms = more_ms;
	/* Of what is not in flight here the broker knows if it is pending. */
	const struct broker_put *put = finish->put;
	bool asked = f->message != NULL || finish->mark ||
	    (put != NULL && put->place == BROKER_DEAD_LETTERS);
	if (!asked)
		reader_finish_end(f, BROKER_NOT_PENDING);
	else if (!reader->reachable)
		reader_finish_fail(f, true);
	reader_kick(reader);
}

void
broker_reader_copies(
    struct broker_reader *reader, struct broker_copies *copies)
{
	reader->driver->copies(reader, copies);
}

void
broker_reader_give_back(
    struct broker_reader *reader, const struct broker_message *message)
{
	struct flight *f = reader_flight_find(reader, message->position);
	if (f == NULL)
		return;
	reader->driver->give_back(reader, f);
	reader_flight_forget(reader, f);
}

struct broker_health
broker_reader_health(const struct broker_reader *reader)
{
	struct broker_health health = {.lag = -1};
	const struct flight *next =
	    LIST_FIRST(&reader->queue, struct flight, of_queue);
	const struct trouble *first =
	    LIST_FIRST(&reader->troubles, struct trouble, of_reader);
	reader->driver->health(reader, &health);
	health.next_bytes = next != NULL ? next->message->bytes : 0;
	/* Why the broker is away, or else what it refuses. */
	health.message = reader->away != NULL ? reader->away
	    : first != NULL                   ? first->words
					      : "";
	return health;
}

void
broker_reader_floor(struct broker_reader *reader, const char *part,
    struct span floor, enum broker_decision decided)
{
	if (reader->driver->floor != NULL)
		reader->driver->floor(reader, part, floor, decided);
}

bool
broker_reader_tell(struct broker_reader *reader)
{
	return reader->driver->tell == NULL || reader->driver->tell(reader);
}
