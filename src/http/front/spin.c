/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/counter.h"
#include "base/loop/log.h"
#include "http/front/client_connection_private.h"
#include "http/front/deadline_private.h"
#include "http/front/front_private.h"
#include "http/front/spin_private.h"

enum {
	/*
	 * A search begins when each run has asked for another at once for so
	 * long, and so many more of them brought nothing than brought
	 * something.
	 */
	SUSPECT_MS = 1000,
	SUSPECT_RUNS = 64,
	/*
	 * So many runs without a rest prove it: a connection that waits for us
	 * rests after one or two, because all that is ready runs in between.
	 */
	PROOF_RUNS = 100,
	/* A search may begin anew so often, if others began to spin. */
	SEARCHES_MAX = 4,
	/* libmicrohttpd ends those that were found after so long, at least. */
	LAST_S = 1,
	/* Until then they spin, and no search begins. */
	REST_MS = 3 * LAST_S * 1000,
};

void
spin_moved(struct client_connection *c)
{
	c->moved = true;
	c->front->spin.moves++;
}

/* --- who is held --- */

/* One that somebody else holds does not run, and cannot be it. */
static void
hold_all(struct front *front)
{
	struct spin *s = &front->spin;
	for (struct client_connection *c = front->all; c != NULL;
	     c = c->next_of_all)
		if (c->held == 0)
			client_connection_hold(c, HELD_BY_SPIN);
	s->step = SPIN_ALL_HELD;
	s->runs = 0;
	s->at = NULL;
	s->next = front->all;
}

static void
log_spinning(const struct client_connection *c)
{
	struct logline line = log_begin(EV_connection_spun);
	log_str(&line, "client", c->client);
	log_str(&line, "doing", deadline_doing(c));
	log_int(&line, "requests", (int64_t)c->requests);
	log_end(&line);
}

static void
convict(struct client_connection *c)
{
	struct front *front = c->front;
	if (!c->spins) {
		log_spinning(c);
		if (front->spin.found != NULL)
			counter_add(front->spin.found, 1);
	}
	c->spins = true;
}

/*
 * libmicrohttpd may not even see the end of a connection that spins.  But
 * whatever it runs of one, it compares the time behind it.
 */
static void
cut_off(struct client_connection *c)
{
	client_connection_cut(c);
	MHD_set_connection_option(
	    c->mhd, MHD_CONNECTION_OPTION_TIMEOUT, (unsigned)LAST_S);
}

static void
end_search(struct front *front)
{
	struct spin *s = &front->spin;
	for (struct client_connection *c = front->all; c != NULL;
	     c = c->next_of_all) {
		if (!(c->held & HELD_BY_SPIN))
			continue;
		if (c->spins)
			cut_off(c);
		client_connection_release(c, HELD_BY_SPIN);
	}
	s->step = SPIN_NO_SEARCH;
	s->fruitless = 0;
	s->rest_until_ms = loop_now_ms(front->loop) + REST_MS;
}

/* --- the search --- */

/* The next one is let go, alone; those before it stay so. */
static void
try_next(struct front *front)
{
	struct spin *s = &front->spin;
	while (s->next != NULL &&
	    (s->next->spins || !(s->next->held & HELD_BY_SPIN)))
		s->next = s->next->next_of_all;
	s->at = s->next;
	s->step = SPIN_ONE_RUNS;
	s->runs = 0;
	if (s->at == NULL) {
		end_search(front);
		return;
	}
	s->next = s->next->next_of_all;
	s->at->moved = false;
	client_connection_release(s->at, HELD_BY_SPIN);
}

/*
 * All are held, so there must be rest; without it, a connection that is new
 * spins, and nothing is proved.
 */
static void
look_at_rest(struct front *front)
{
	struct spin *s = &front->spin;
	if (!front->dirty) {
		if (s->at != NULL)
			convict(s->at);
		try_next(front);
	} else if (s->runs >= PROOF_RUNS && s->searches++ < SEARCHES_MAX) {
		hold_all(front);
	} else if (s->runs >= PROOF_RUNS) {
		end_search(front);
	}
}

static void
look_at_one(struct front *front)
{
	struct spin *s = &front->spin;
	if (s->at == NULL || s->at->moved || !front->dirty) {
		try_next(front);
	} else if (s->runs >= PROOF_RUNS) {
		if (s->at->held == 0)
			client_connection_hold(s->at, HELD_BY_SPIN);
		else
			s->at = NULL;
		s->step = SPIN_ALL_HELD;
		s->runs = 0;
	}
}

static void
go_on_searching(struct front *front)
{
	struct spin *s = &front->spin;
	s->runs++;
	if (s->step == SPIN_ALL_HELD)
		look_at_rest(front);
	else
		look_at_one(front);
	front->dirty = true;
}

/* --- what is counted --- */

static void
begin_search(struct front *front)
{
	front->spin.searches = 0;
	hold_all(front);
	front->dirty = true;
}

void
spin_ran(struct front *front)
{
	struct spin *s = &front->spin;
	bool moved = s->moves != s->moves_seen;
	s->moves_seen = s->moves;
	if (s->step != SPIN_NO_SEARCH) {
		go_on_searching(front);
	} else if (!front->dirty) {
		s->fruitless = 0;
	} else if (moved) {
		s->fruitless -= s->fruitless > 0;
	} else {
		int64_t now_ms = loop_now_ms(front->loop);
		if (s->fruitless++ == 0)
			s->since_ms = now_ms;
		if (s->fruitless >= SUSPECT_RUNS &&
		    now_ms - s->since_ms >= SUSPECT_MS &&
		    now_ms >= s->rest_until_ms)
			begin_search(front);
	}
}

/* --- life --- */

void
spin_forget(struct client_connection *c)
{
	struct spin *s = &c->front->spin;
	if (s->next == c)
		s->next = c->next_of_all;
	if (s->at == c)
		s->at = NULL;
}

void
spin_let_go(struct front *front)
{
	if (front->spin.step != SPIN_NO_SEARCH)
		end_search(front);
}
