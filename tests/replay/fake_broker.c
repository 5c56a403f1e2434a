/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/must.h"
#include "messages/brokers.h"
#include "replay/choice.h"
#include "replay/fakes.h"
#include "replay/messages.h"

/*
 * In place of src/messages/broker/broker.c: a broker whose messages are those
 * of the scenario, in their order.  The scheduler says when a reader is given
 * one, when an acknowledgement is done, and what goes wrong.  What a gateway
 * that was killed had is there for others at once; what a reader gives up while
 * its acknowledgement is on its way may be acknowledged all the same.  Of the
 * letters it has copies, and marks that those are done with.
 */
enum { ASKED_MAX = 2 * MESSAGES_MAX, BYTES = 1000, HOUR_MS = 3600 * 1000 };

struct kept_message {
	enum { AWAY, UNREAD, PENDING, FINISHED, TRIMMED } state;
	struct fake_reader *holder; /* of one that is pending; or NULL */
	unsigned given;
	bool copied; /* a copy of its letter is here, … */
	bool marked; /* … with which one is done */
};

/* What its owner has for a struct broker_reader. */
struct fake_reader {
	struct fake_reader *next;
	struct gateway *gateway;
	struct loop *loop;
	struct broker_events events;
	unsigned credit;
	bool has[MESSAGES_MAX]; /* by what it knows */
	bool up, told;
	bool past; /* another one leads now, and takes what is to be taken */
	struct broker_finish *finishes[ASKED_MAX];
	unsigned n_finishes;
};

static struct kept_message kept[MESSAGES_MAX];
static struct fake_reader *readers;

static const struct sent_message *
sent_of(unsigned message)
{
	return &world.scenario->messages[message];
}

static unsigned
index_of(struct span position)
{
	unsigned message = (unsigned)atoi(position.ptr) - 1;
	must(message < MESSAGES_MAX);
	return message;
}

/* --- messages --- */

static void
add_field(struct broker_message *m, const char *name, const char *value)
{
	if (value != NULL)
		m->fields.list[m->fields.count++] =
		    (struct field){span_str(name), span_str(value)};
}

static struct broker_message *
make_message(unsigned index)
{
	const struct sent_message *sent = sent_of(index);
	struct arena *arena = arena_new();
	struct broker_message *m = arena_alloc(arena, sizeof *m);
	m->arena = arena;
	m->bytes = BYTES;
	m->position = arena_printf(arena, "%u-0", index + 1);
	m->fields.list = arena_alloc(arena, 2 * sizeof *m->fields.list);
	add_field(m, "Idempotency-Key", *sent->key ? sent->key : NULL);
	add_field(m, "lane", sent->lane);
	m->has_payload = true;
	m->payload = span_str(sent->body ? sent->body : "pay 1");
	m->odd = sent->odd;
	m->too_large = sent->large;
	m->time_ms = redis_now_ms() - (sent->old ? HOUR_MS : 0);
	m->again = kept[index].given > 1;
	return m;
}

/* --- acknowledgements --- */

/* The broker does it, or finds that it is not pending. */
static enum broker_finished
acknowledge(struct fake_reader *r, const struct broker_finish *finish)
{
	struct kept_message *k = &kept[index_of(finish->position)];
	bool copies = finish->put != NULL &&
	    finish->put->place == BROKER_DEAD_LETTERS;
	if (finish->mark) {
		CHECK(!copies && k->state >= FINISHED,
		    "a mark of a message that is still to be finished");
		k->marked = true;
		return BROKER_FINISHED;
	}
	if (k->state >= FINISHED)
		return BROKER_NOT_PENDING;
	if (k->state != PENDING || k->holder != r)
		return BROKER_ELSEWHERE;
	if (copies)
		messages_check_copy(index_of(finish->position));
	k->state = FINISHED;
	k->holder = NULL;
	k->copied = copies;
	return BROKER_FINISHED;
}

static struct fake_reader *
reader_of(struct broker_reader *reader)
{
	return (struct fake_reader *)(void *)reader;
}

static struct broker_finish *
take_finish(struct fake_reader *r, unsigned index)
{
	struct broker_finish *finish = r->finishes[index];
	must(index < r->n_finishes);
	r->n_finishes--;
	for (unsigned i = index; i < r->n_finishes; i++)
		r->finishes[i] = r->finishes[i + 1];
	return finish;
}

static void
end_finish(struct fake_reader *r, struct broker_finish *finish, int error)
{
	unsigned message = index_of(finish->position);
	world.deeds++;
	messages_ended(r->gateway, finish, error);
	if (error == 0 && !finish->mark) {
		r->has[message] = false;
		message_counts_left(r->gateway, message);
	}
	op_done(&finish->op, error);
}

/* Nobody waits for it any more; it may have come to the broker. */
static void
detach_finish(struct op *op, int error)
{
	(void)error;
	for (struct fake_reader *r = readers; r != NULL; r = r->next)
		for (unsigned i = 0; i < r->n_finishes; i++) {
			if (&r->finishes[i]->op != op)
				continue;
			const struct broker_finish *finish = take_finish(r, i);
			if (!world.broker_down && choose(2) == 0)
				(void)acknowledge(r, finish);
			return;
		}
	must(false);
}

void
broker_reader_finish(
    struct broker_reader *reader, struct broker_finish *finish)
{
	struct fake_reader *r = reader_of(reader);
	must(!r->gateway->dead && r->n_finishes < ASKED_MAX);
	world.deeds++;
	messages_check_finish(r->gateway, finish);
	r->finishes[r->n_finishes++] = finish;
	op_start(&finish->op, 0, detach_finish);
}

unsigned
fake_broker_finishes(const struct gateway *gateway)
{
	return gateway->reader ? gateway->reader->n_finishes : 0;
}

bool
fake_broker_puts(const struct gateway *gateway, unsigned index)
{
	return gateway->reader->finishes[index]->put != NULL;
}

void
fake_broker_finish(
    struct gateway *gateway, unsigned index, enum acknowledged how)
{
	struct fake_reader *r = gateway->reader;
	struct broker_finish *finish = take_finish(r, index);
	fake_loop_turn(r->loop);
	if (how == ACK_REFUSED) {
		snprintf(finish->refused, sizeof finish->refused, "full");
		end_finish(r, finish, E_BROKER_REFUSED);
		return;
	}
	if (how != ACK_LOST)
		finish->finished = acknowledge(r, finish);
	end_finish(r, finish, how == ACKNOWLEDGES ? 0 : E_BROKER_DOWN);
}

bool
fake_broker_has_copy(unsigned message)
{
	return kept[message].copied;
}

bool
fake_broker_is_marked(unsigned message)
{
	return kept[message].marked;
}

/* --- readers --- */

struct broker_reader *
brokers_open(const struct broker_start *start)
{
	struct fake_reader *r = mem_zero(sizeof *r);
	r->loop = start->loop;
	r->gateway = loop_gateway(start->loop);
	r->events = *start->events;
	r->next = readers;
	readers = r;
	/* What others have of an order is given to who leads now, first. */
	for (struct fake_reader *o = r->next; start->sole && o; o = o->next)
		o->past = true;
	for (unsigned i = 0; start->sole && i < MESSAGES_MAX; i++)
		if (kept[i].state == PENDING) {
			kept[i].state = UNREAD;
			kept[i].holder = NULL;
		}
	must(r->gateway->reader == NULL);
	r->gateway->reader = r;
	return (struct broker_reader *)r;
}

static void
give_back(struct fake_reader *r, unsigned message)
{
	messages_gave_back(r->gateway);
	message_counts_left(r->gateway, message);
	r->has[message] = false;
	if (kept[message].state != PENDING || kept[message].holder != r)
		return;
	kept[message].state = UNREAD;
	kept[message].holder = NULL;
}

void
broker_reader_close(struct broker_reader **reader)
{
	if (*reader == NULL)
		return;
	struct fake_reader *r = reader_of(*reader);
	*reader = NULL;
	must(r->n_finishes == 0);
	for (unsigned i = 0; i < MESSAGES_MAX; i++)
		give_back(r, i);
	struct fake_reader **at = &readers;
	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	r->gateway->reader = NULL;
	free(r);
}

void
broker_reader_credit(
    struct broker_reader *reader, unsigned credit, size_t bytes)
{
	(void)bytes;
	reader_of(reader)->credit = credit;
}

void
broker_reader_give_back(
    struct broker_reader *reader, const struct broker_message *message)
{
	give_back(reader_of(reader), index_of(message->position));
}

struct broker_health
broker_reader_health(const struct broker_reader *reader)
{
	const struct fake_reader *r = (const struct fake_reader *)reader;
	return (struct broker_health){
	    .up = r->up, .message = r->up ? "" : "away", .lag = -1};
}

/* Nobody wants one here. */
void
broker_reader_floor(struct broker_reader *reader, const char *part,
    struct span floor, enum broker_decision decided)
{
	(void)reader;
	(void)part;
	(void)floor;
	(void)decided;
	must(false);
}

/* Nor does anybody restore. */
void
broker_reader_copies(struct broker_reader *reader, struct broker_copies *copies)
{
	(void)reader;
	(void)copies;
	must(false);
}

/* What is finished is known at once. */
bool
broker_reader_tell(struct broker_reader *reader)
{
	(void)reader;
	return true;
}

/* What is closed is given back at once. */
size_t
brokers_leaving(const struct loop *loop)
{
	(void)loop;
	return 0;
}

void
brokers_abandon(struct loop *loop)
{
	(void)loop;
}

/* --- what happens --- */

/* Its connection breaks, and what is on its way is lost; or done, perhaps. */
static void
lose_all(struct fake_reader *r, bool perhaps)
{
	while (r->n_finishes > 0)
		fake_broker_finish(r->gateway, 0,
		    perhaps && choose(2) == 1 ? ACK_UNHEARD : ACK_LOST);
	fake_loop_turn(r->loop);
}

void
fake_broker_reach(bool down)
{
	for (struct fake_reader *r = readers; down && r != NULL; r = r->next)
		lose_all(r, true);
	world.broker_down = down;
}

static bool
tell(struct fake_reader *r)
{
	bool up = !world.broker_down;
	if (!up && r->n_finishes > 0)
		lose_all(r, false);
	if (r->told && r->up == up)
		return false;
	r->told = true;
	r->up = up;
	fake_loop_turn(r->loop);
	r->events.changed(r->events.arg);
	/* Its copies are of the store that there is. */
	if (up)
		r->events.origin(r->events.arg, SPAN(""));
	return true;
}

/* One after the other, when those that they come after are done. */
static bool
add_messages(void)
{
	bool added = false;
	for (unsigned i = 0; i < MESSAGES_MAX; i++) {
		const struct sent_message *sent = sent_of(i);
		if (kept[i].state != AWAY)
			continue;
		if (sent->key == NULL ||
		    (sent->after > 0 && !world.healing &&
			world.clients[sent->after - 1].state <
			    CALLER_ANSWERED))
			break;
		kept[i].state = UNREAD;
		added = true;
	}
	return added;
}

bool
fake_broker_settle(struct gateway *gateway)
{
	bool settled = add_messages();
	if (gateway->reader != NULL)
		settled |= tell(gateway->reader);
	if (world.scenario->prompt &&
	    fake_broker_next(gateway) < MESSAGES_MAX &&
	    messages_are_ready(gateway)) {
		fake_broker_give(gateway);
		settled = true;
	}
	return settled;
}

unsigned
fake_broker_next(const struct gateway *gateway)
{
	const struct fake_reader *r = gateway->reader;
	if (r == NULL || r->credit == 0 || r->past || world.broker_down)
		return MESSAGES_MAX;
	for (unsigned i = 0; i < MESSAGES_MAX; i++)
		if (kept[i].state == UNREAD && !r->has[i])
			return i;
	return MESSAGES_MAX;
}

void
fake_broker_give(struct gateway *gateway)
{
	struct fake_reader *r = gateway->reader;
	unsigned message = fake_broker_next(gateway);
	const struct kept_message before = kept[message];
	struct broker_message *made;
	kept[message].state = PENDING;
	kept[message].holder = r;
	kept[message].given++;
	r->has[message] = true;
	r->credit--;
	world.deeds++;
	world_say("  message %u is taken", message + 1);
	fake_loop_turn(r->loop);
	fake_random_about(ABOUT_MESSAGE, message);
	message_counts_took(gateway, message);
	made = make_message(message);
	/* There is no memory for it: it waits in the reader. */
	if (!r->events.took(r->events.arg, made)) {
		broker_message_free(&made);
		kept[message] = before;
		r->has[message] = false;
		r->credit = 0;
	}
	fake_random_about(ABOUT_NOTHING, 0);
}

bool
fake_broker_is_stuck(void)
{
	for (unsigned i = 0; i < MESSAGES_MAX; i++)
		if (kept[i].state == UNREAD)
			return true;
	return false;
}

bool
fake_broker_is_empty(void)
{
	for (unsigned i = 0; i < MESSAGES_MAX; i++)
		if (kept[i].state == UNREAD || kept[i].state == PENDING)
			return false;
	return true;
}

bool
fake_broker_has_ended(unsigned message)
{
	return kept[message].state >= FINISHED;
}

bool
fake_broker_is_pending(unsigned message)
{
	return kept[message].state == PENDING;
}

void
fake_broker_trim(unsigned message)
{
	struct kept_message *k = &kept[message];
	struct fake_reader *r = k->holder;
	k->state = TRIMMED;
	k->holder = NULL;
	if (r == NULL)
		return;
	struct arena *arena = arena_new();
	messages_gave_back(r->gateway);
	message_counts_left(r->gateway, message);
	r->has[message] = false;
	fake_loop_turn(r->loop);
	r->events.lost(r->events.arg, BROKER_TRIMMED_PENDING, 1,
	    arena_printf(arena, "%u-0", message + 1));
	arena_free(&arena);
}

void
fake_broker_steal(unsigned message)
{
	kept[message].state = UNREAD;
	kept[message].holder = NULL;
}

/* --- life --- */

void
fake_broker_begin(void)
{
	memset(kept, 0, sizeof kept);
	messages_begin();
}

static uint64_t
hash_reader(const struct fake_reader *r)
{
	uint64_t hash = mix(r->credit,
	    (uint64_t)r->past << 2 | (uint64_t)r->up << 1 | r->told);
	for (unsigned i = 0; i < MESSAGES_MAX; i++)
		hash = mix(hash, r->has[i]);
	for (unsigned i = 0; i < r->n_finishes; i++)
		hash = mix(hash, index_of(r->finishes[i]->position) * 2 +
			r->finishes[i]->mark);
	return mix(hash, r->gateway->index);
}

uint64_t
fake_broker_hash(void)
{
	uint64_t hash = (uint64_t)world.broker_down << 1 | world.paused;
	for (unsigned i = 0; i < MESSAGES_MAX; i++) {
		const struct kept_message *k = &kept[i];
		hash = mix(hash, k->state);
		hash = mix(hash, (uint64_t)k->marked << 2 |
		    (uint64_t)k->copied << 1 | (k->given > 1));
		hash = mix(hash,
		    k->holder ? k->holder->gateway->index + 1 : 0);
	}
	for (const struct fake_reader *r = readers; r != NULL; r = r->next)
		hash = mix(hash, hash_reader(r));
	return hash;
}
