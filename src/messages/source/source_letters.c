/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/loop/log.h"
#include "base/mem.h"
#include "messages/source/delivery.h"
#include "messages/source/letter_view.h"
#include "messages/source/source_letters.h"

enum {
	AGAIN_MS = 1000,   /* the store or the broker is away */
	PENDING_MS = 100,  /* the message itself is still on its way */
	FOREIGN_MS = 5000, /* another gateway has its lane */
	LIST_ROUNDS = 50,
};

/* A letter that is looked for, of a lane or for an operator. */
struct source_letter {
	struct source *source;
	struct source_letter *next, **place;
	struct broker_letters letters;
	struct timer timer;

	/* Of a lane; inquiry is NULL then. */
	struct parked_lane lane;
	char *position; /* of its first */
	bool drop;
	bool stays; /* where it is a dead letter, it stays one */
	bool missing; /* it has not been found, once */
	bool gone; /* it is done with */
	struct parked_op park;
	struct arena *arena;

	struct inquiry *inquiry; /* NULL: a lane's */
	unsigned rounds;
};

/* --- life --- */

static struct source_letter *
new_letter(struct source *s)
{
	struct source_letter *l = mem_zero(sizeof *l);
	l->source = s;
	l->next = s->letters;
	l->place = &s->letters;
	if (l->next != NULL)
		l->next->place = &l->next;
	s->letters = l;
	return l;
}

static void
free_letter(struct source_letter *l)
{
	struct inquiry *inquiry = l->inquiry;
	*l->place = l->next;
	if (l->next != NULL)
		l->next->place = l->place;
	op_cancel(&l->letters.op);
	op_cancel(&l->park.op.op);
	timer_clear(&l->timer);
	broker_messages_free(&l->letters.messages);
	arena_free(&l->arena);
	free(l->position);
	free(l);
	if (inquiry != NULL)
		inquiry_go_on(inquiry);
}

void
source_letters_stop(struct source *s)
{
	while (s->letters != NULL) {
		if (s->letters->inquiry != NULL)
			s->letters->inquiry->elsewhere = true;
		free_letter(s->letters);
	}
}

/* The first message of the page, which is its taker's from now on. */
static struct broker_message *
take_message(struct source_letter *l)
{
	struct broker_message *m = l->letters.messages;
	l->letters.messages = m->next;
	m->next = NULL;
	return m;
}

/* --- a lane --- */

static void
ask_again(struct source_letter *l, int64_t ms)
{
	broker_messages_free(&l->letters.messages);
	l->letters.after[0] = '\0';
	timer_set(&l->timer, ms);
}

static void
look_for(struct source_letter *l, struct span position)
{
	l->letters.position = position;
	broker_reader_letters(l->source->reader, &l->letters);
}

static void
look_on(void *arg)
{
	struct source_letter *l = arg;
	struct source *s = l->source;
	if (s->draining)
		return;
	if (l->gone)
		parked_next(&s->parked, &l->park, &l->lane,
		    span_str(l->position), source_turn(s));
	else if (s->reader == NULL)
		ask_again(l, AGAIN_MS);
	else
		look_for(l, span_str(l->position));
}

static void
bring_back(struct source_letter *l)
{
	struct source *s = l->source;
	struct parked_lane lane = l->lane;
	struct delivery_letter letter = {.lane = &lane, .drop = l->drop};
	struct broker_message *message = take_message(l);
	free_letter(l);
	delivery_new_letter(s, message, &letter);
}

void
source_letters_tell_gone(const struct source *s, struct span position)
{
	struct logline line = log_begin(EV_message_letter_gone);
	log_str(&line, "source", s->source->name);
	log_cut(&line, "position", position, 256);
	log_end(&line);
}

/* What its first is, by the broker. */
static void
on_found(void *arg)
{
	struct source_letter *l = arg;
	struct broker_letters *found = &l->letters;
	if (found->op.error != 0 || found->full) {
		ask_again(l, AGAIN_MS);
	} else if (found->messages != NULL && l->stays) {
		free_letter(l);
	} else if (found->messages != NULL && found->messages->foreign) {
		ask_again(l, FOREIGN_MS);
	} else if (found->messages != NULL) {
		bring_back(l);
	} else if (found->next[0] != '\0') {
		snprintf(found->after, sizeof found->after, "%s", found->next);
		look_on(l);
	} else if (found->pending) {
		ask_again(l, PENDING_MS);
	} else if (!l->missing) {
		/* It may have become one between the two looks of this one. */
		l->missing = true;
		ask_again(l, 0);
	} else {
		if (!l->stays)
			source_letters_tell_gone(
			    l->source, span_str(l->position));
		l->gone = true;
		look_on(l);
	}
}

static void
set_position(struct source_letter *l, struct span position)
{
	free(l->position);
	l->position = mem_str(position);
}

/* The one that it was about is done with; what is the next? */
static void
on_next(void *arg)
{
	struct source_letter *l = arg;
	const struct store_op *op = &l->park.op;
	if (op->op.error != 0) {
		timer_set(&l->timer, AGAIN_MS);
		return;
	}
	/* It is free now, or was; or an operator has dropped one behind. */
	if (op->verdict != VERDICT_DONE || l->park.count <= 0) {
		free_letter(l);
		return;
	}
	set_position(l, l->park.first);
	arena_free(&l->arena);
	l->arena = l->park.arena = arena_new();
	l->gone = l->drop = l->stays = l->missing = false;
	l->letters.after[0] = '\0';
	look_on(l);
}

static bool
is_of(const struct parked_lane *a, const struct parked_lane *b)
{
	return !memcmp(a->bytes, b->bytes, sizeof a->bytes);
}

static bool
is_under_way(const struct source *s, const struct parked_lane *lane)
{
	for (const struct source_letter *l = s->letters; l != NULL;
	     l = l->next)
		if (l->inquiry == NULL && is_of(&l->lane, lane))
			return true;
	struct machine *m;
	LIST_EACH(m, &s->deliveries.list, item) {
		const struct delivery *d = delivery_of(m);
		if (d->message->letter.len > 0 && is_of(&d->lane, lane))
			return true;
	}
	return false;
}

static struct source_letter *
begin_lane(struct source *s, const struct parked_lane *lane,
    struct span position)
{
	struct loop *loop = s->worker->loop;
	struct source_letter *l = new_letter(s);
	l->lane = *lane;
	l->arena = l->park.arena = arena_new();
	set_position(l, position);
	l->letters.limit = 1;
	l->letters.look = true;
	op_init(&l->letters.op, loop, on_found, l);
	op_init(&l->park.op.op, loop, on_next, l);
	timer_init(&l->timer, loop, look_on, l);
	timer_set(&l->timer, 0);
	return l;
}

void
source_letters_bring(struct source *s, const struct parked_lane *lane,
    struct span position, bool drop)
{
	if (!is_under_way(s, lane))
		begin_lane(s, lane, position)->drop = drop;
}

void
source_letters_next(struct source *s, const struct parked_lane *lane,
    struct span position)
{
	begin_lane(s, lane, position)->gone = true;
}

void
source_letters_check(struct source *s, const struct parked_lane *lane,
    struct span position)
{
	begin_lane(s, lane, position)->stays = true;
}

/* --- an operator --- */

static void
add_page(struct source_letter *l)
{
	struct inquiry *inquiry = l->inquiry;
	const struct broker_message *m = l->letters.messages;
	for (; m != NULL; m = m->next)
		letter_view_add(inquiry, l->source->source->name, m);
	broker_messages_free(&l->letters.messages);
	bool full = inquiry->count >= inquiry->limit ||
	    ++l->rounds == LIST_ROUNDS;
	snprintf(inquiry->next, sizeof inquiry->next, "%s", l->letters.next);
	if (full || l->letters.next[0] == '\0') {
		free_letter(l);
		return;
	}
	snprintf(l->letters.after, sizeof l->letters.after, "%s",
	    l->letters.next);
	l->letters.limit = inquiry->limit - inquiry->count;
	if (l->letters.limit > BROKER_LETTERS_MAX)
		l->letters.limit = BROKER_LETTERS_MAX;
	look_for(l, SPAN(""));
}

/* The letter that is to come back, or to be dropped, is there. */
static void
act(struct source_letter *l)
{
	struct source *s = l->source;
	struct inquiry *inquiry = l->inquiry;
	letter_view_add(inquiry, s->source->name, l->letters.messages);
	inquiry->found = true;
	if (inquiry->kind == INQUIRY_MESSAGE) {
		free_letter(l);
		return;
	}
	if (l->letters.messages->foreign || l->letters.full) {
		inquiry->elsewhere = l->letters.messages->foreign;
		inquiry->refusal = "full";
		free_letter(l);
		return;
	}
	/* Somebody else may have asked while the broker was looking. */
	if (delivery_find(s, l->letters.messages->position) != NULL) {
		inquiry->busy = true;
		free_letter(l);
		return;
	}
	struct delivery_letter letter = {
	    .asked = inquiry, .drop = inquiry->kind == INQUIRY_DROP};
	struct broker_message *message = take_message(l);
	l->inquiry = NULL;
	free_letter(l);
	delivery_new_letter(s, message, &letter);
}

static void
on_listed(void *arg)
{
	struct source_letter *l = arg;
	struct broker_letters *found = &l->letters;
	struct inquiry *inquiry = l->inquiry;
	if (found->op.error != 0) {
		inquiry->found = true;
		inquiry->refusal = "broker";
		inquiry->detail =
		    arena_dup(inquiry->arena, span_str(found->refused));
		free_letter(l);
	} else if (inquiry->kind == INQUIRY_LETTERS) {
		add_page(l);
	} else if (found->messages != NULL) {
		act(l);
	} else if (found->next[0] != '\0') {
		snprintf(found->after, sizeof found->after, "%s", found->next);
		look_for(l, inquiry->position);
	} else {
		free_letter(l);
	}
}

void
source_letters_inquire(struct source *s, struct inquiry *inquiry)
{
	if (s->reader == NULL || s->draining) {
		const struct turn *turn = source_turn(s);
		inquiry->elsewhere = true;
		if (turn != NULL)
			inquiry->holder = arena_dup(
			    inquiry->arena, span_str(turn_holder(turn)));
		inquiry_go_on(inquiry);
		return;
	}
	bool lists = inquiry->kind == INQUIRY_LETTERS;
	struct source_letter *l = new_letter(s);
	l->inquiry = inquiry;
	l->letters.limit = 1;
	if (lists && inquiry->limit < BROKER_LETTERS_MAX)
		l->letters.limit = inquiry->limit;
	else if (lists)
		l->letters.limit = BROKER_LETTERS_MAX;
	/* Its answer may be long, and is shown. */
	l->letters.brief = lists;
	snprintf(l->letters.after, sizeof l->letters.after, "%s",
	    inquiry->after);
	inquiry->found |= lists;
	op_init(&l->letters.op, s->worker->loop, on_listed, l);
	timer_init(&l->timer, s->worker->loop, look_on, l);
	look_for(l, lists ? SPAN("") : inquiry->position);
}
