/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "gate/journal_relay.h"
#include "gate/journal_relay_log.h"
#include "gate/worker.h"
#include "store/journal/journal_adoption.h"
#include "store/journal/journal_waiting.h"

enum {
	/* How soon a delivery that failed is tried again. */
	AGAIN_MS = 200,
	/* After so many failures in a row the pass rests. */
	FAILURES_MAX = 16,
	/* About so much an entry has besides its answer. */
	ABOUT_BYTES = 4096,
};

struct adopted_journal {
	struct adopted_journal *next;
	struct journal *journal;
};

static void on_look_again(void *arg);
static void on_small_ended(void *arg);
static void on_large_ended(void *arg);
static void on_written(void *arg, bool failed);
static void on_adopted(void *arg, struct journal *journal);
static void on_looked(void *arg);

static void
lock(struct journal_relay *relay)
{
	must(pthread_mutex_lock(&relay->mutex) == 0);
}

static void
unlock(struct journal_relay *relay)
{
	must(pthread_mutex_unlock(&relay->mutex) == 0);
}

static unsigned
own_entries(const struct journal_relay *relay, const struct journal *journal)
{
	return journal_own_entries(
	    journal, store_origin(relay->worker->store));
}

static unsigned
adopted_entries(const struct journal_relay *relay)
{
	unsigned count = 0;
	for (const struct adopted_journal *it = relay->adopted; it != NULL;
	     it = it->next)
		count += own_entries(relay, it->journal);
	return count;
}

/* For the metrics. */
static void
count_entries(const struct journal_relay *relay)
{
	struct meter *meter = &relay->worker->meter;
	uint64_t count =
	    own_entries(relay, relay->own) + adopted_entries(relay);
	counter_set(&meter->journal_entries, count);
	counter_set(&meter->journal_broken, relay->broken.count);
	if (relay->adoption != NULL)
		journal_adoption_count(relay->adoption,
		    &meter->journal_foreign, &meter->journal_aside);
}

static void
begin_delivery(struct journal_relay *relay, struct journal_delivery *delivery,
    void (*ended)(void *delivery))
{
	struct worker *w = relay->worker;
	delivery->relay = relay;
	body_init(&delivery->bytes, NULL);
	op_init(&delivery->op.op, w->loop, ended, delivery);
}

static void
end_delivery(struct journal_delivery *delivery)
{
	op_cancel(&delivery->op.op);
	answer_unref(&delivery->op.answer);
	body_clear(&delivery->bytes);
}

void
journal_relay_init(struct journal_relay *relay, struct worker *worker,
    struct journal *journal, bool adopts)
{
	*relay = (struct journal_relay){.worker = worker, .own = journal};
	must(pthread_mutex_init(&relay->mutex, NULL) == 0);
	if (adopts)
		relay->adoption = journal_adoption_new(worker->loop,
		    worker->conf->state_dir, worker->waiting, on_adopted,
		    on_looked, relay);
	begin_delivery(relay, &relay->small, on_small_ended);
	begin_delivery(relay, &relay->large, on_large_ended);
	timer_init(&relay->timer, worker->loop, on_look_again, relay);
	/* Nobody is served yet who would have to wait for the disk. */
	relay->unwritable = !journal_is_writable(journal, clock_us());
	if (relay->unwritable)
		journal_relay_log_writable(relay->own, false);
	journal_writer_init(
	    &relay->writer, worker->loop, journal, on_written, relay);
	if (adopts && INVARIANT(dead_journals) && INVARIANT(dead_first))
		journal_adoption_look_first(
		    relay->adoption, store_origin(worker->store));
	timer_set(&relay->timer, 0);
}

void
journal_relay_end(struct journal_relay *relay)
{
	relay->ending = true;
	timer_clear(&relay->timer);
	journal_adoption_free(&relay->adoption);
	end_delivery(&relay->small);
	end_delivery(&relay->large);
	key_set_clear(&relay->passed_over);
	key_set_clear(&relay->failed_large);
	key_set_clear(&relay->broken);
	key_set_clear(&relay->said_broken);
	journal_writer_end(&relay->writer);
	lock(relay);
	journal_close(&relay->own);
	while (relay->adopted != NULL) {
		struct adopted_journal *adopted = relay->adopted;
		relay->adopted = adopted->next;
		journal_close(&adopted->journal);
		free(adopted);
	}
	unlock(relay);
}

/* --- what dead processes left --- */

static void
on_adopted(void *arg, struct journal *journal)
{
	struct journal_relay *relay = arg;
	struct adopted_journal *adopted = mem_zero(sizeof *adopted);
	*adopted = (struct adopted_journal){relay->adopted, journal};
	lock(relay);
	relay->adopted = adopted;
	unlock(relay);
	journal_waiting_add_all(relay->worker->waiting, journal);
}

static void
adopt_dead(struct journal_relay *relay)
{
	struct store *store = relay->worker->store;
	if (relay->adoption != NULL && INVARIANT(dead_journals))
		journal_adoption_look(relay->adoption, store_origin(store),
		    store_origin_is_settled(store));
}

/* --- delivering --- */

/*
 * A journal of a dead process in which nothing is left is removed, and one
 * with nothing left for our store is given back.
 */
static void
drop_empty(struct journal_relay *relay)
{
	struct adopted_journal **at = &relay->adopted;
	while (*at != NULL) {
		struct adopted_journal *adopted = *at;
		if (own_entries(relay, adopted->journal) > 0) {
			at = &adopted->next;
			continue;
		}
		lock(relay);
		*at = adopted->next;
		unlock(relay);
		if (adopted->journal == relay->journal)
			relay->after = 0; /* where it has come to is gone */
		journal_waiting_drop_all(
		    relay->worker->waiting, adopted->journal);
		journal_writer_close(&relay->writer, &adopted->journal);
		free(adopted);
	}
}

/* The next entry of the pass; those of dead processes first. */
static bool
pick_entry(struct journal_relay *relay)
{
	drop_empty(relay);
	const struct adopted_journal *adopted = relay->adopted;
	while (relay->after != 0 && adopted != NULL &&
	    adopted->journal != relay->journal)
		adopted = adopted->next;
	for (;; relay->after = 0, adopted = adopted->next) {
		relay->journal =
		    adopted != NULL ? adopted->journal : relay->own;
		if (journal_next(relay->journal,
			store_origin(relay->worker->store), relay->after,
			&relay->after))
			return true;
		if (adopted == NULL)
			return false;
	}
}

/* The next pass begins with the oldest entry again. */
static void
end_pass(struct journal_relay *relay)
{
	relay->after = 0;
	relay->failures = 0;
	key_set_clear(&relay->passed_over);
	if (relay->large.under_way)
		key_set_add(&relay->passed_over, &relay->large.entry.key_id);
	else
		key_set_clear(&relay->failed_large);
}

/*
 * What half of the memory for bodies cannot hold is not counted: it would wait
 * for ever.  There is one at a time.
 */
static void
count_bytes(
    struct journal_delivery *delivery, const struct journal_about *about)
{
	struct budget *budget = delivery->relay->worker->budget;
	size_t bytes = about->answer_bytes + ABOUT_BYTES;
	body_clear(&delivery->bytes);
	body_init(&delivery->bytes,
	    bytes > budget_limit(budget) / 2 ? NULL : budget);
}

/* Begins with the entry that was picked; false: it is passed over, or gone. */
static bool
deliver(struct journal_relay *relay, struct journal_delivery *delivery,
    const struct journal_about *about)
{
	delivery->journal = relay->journal;
	delivery->id = relay->after;
	count_bytes(delivery, about);
	int error = journal_read(delivery->journal, delivery->id,
	    &delivery->bytes, &delivery->entry);
	if (error == 0) {
		delivery->under_way = true;
		journaled_run(
		    relay->worker->store, &delivery->op, &delivery->entry);
		return true;
	}
	if (error == E_NO_MEMORY) {
		key_set_add(&relay->passed_over, &about->key_id);
		return false;
	}
	journal_relay_log_damaged(delivery->journal, delivery->id);
	journal_waiting_drop(relay->worker->waiting, about);
	journal_writer_spoil(
	    &relay->writer, delivery->journal, delivery->id);
	return false;
}

/* Looks at the next entry; false: there is none, or not now. */
static bool
deliver_next(struct journal_relay *relay)
{
	if (relay->small.under_way || !store_is_up(relay->worker->store) ||
	    !pick_entry(relay))
		return false;
	struct journal_about about =
	    journal_about(relay->journal, relay->after);
	/* Nothing is read for a server that is away, however often. */
	if (!journaled_can_run(relay->worker->store, &about.key_id))
		key_set_add(&relay->passed_over, &about.key_id);
	if (key_set_has(&relay->passed_over, &about.key_id))
		return true;
	if (!store_is_large(about.answer_bytes)) {
		deliver(relay, &relay->small, &about);
		return true;
	}
	/* One large one at a time; what is small goes on meanwhile. */
	key_set_add(&relay->passed_over, &about.key_id);
	if (!relay->large.under_way &&
	    !key_set_has(&relay->failed_large, &about.key_id))
		deliver(relay, &relay->large, &about);
	return true;
}

static void
deliver_all(struct journal_relay *relay)
{
	while (deliver_next(relay))
		continue;
	if (relay->small.under_way)
		return;
	/* Nothing to do but to look again: for Redis, and for the dead. */
	end_pass(relay);
	timer_set(&relay->timer, AGAIN_MS);
}

/* At the end of its worker it only takes, and delivers nothing more. */
static void
on_looked(void *arg)
{
	struct journal_relay *relay = arg;
	count_entries(relay);
	if (!relay->ending)
		deliver_all(relay);
}

static void
on_look_again(void *arg)
{
	struct journal_relay *relay = arg;
	adopt_dead(relay);
	count_entries(relay);
	journal_relay_can_write(relay);
	deliver_all(relay);
}

/* Until the damaged record is deleted, or its time is over. */
static void
wait_for_operator(
    struct journal_relay *relay, const struct journal_entry *entry)
{
	journal_relay_log_blocked(
	    &relay->worker->conf->store, &relay->said_broken, entry);
	key_set_add(&relay->broken, &entry->key_id);
}

/* Whether Redis has taken it, or another owner has decided. */
static bool
is_delivered(struct journal_delivery *delivery)
{
	struct journal_relay *relay = delivery->relay;
	struct store_op *op = &delivery->op;
	delivery->under_way = false;
	answer_unref(&op->answer);
	bool undecided = !store_op_answered(op) ||
	    !journaled_is_final(op, &delivery->entry);
	if (store_op_answered(op) && store_op_broken(op))
		wait_for_operator(relay, &delivery->entry);
	if (undecided && INVARIANT(until_delivered)) {
		body_clear(&delivery->bytes);
		return false;
	}
	/* A claim that was never executed need not be given back. */
	bool late = op->verdict != VERDICT_DONE &&
	    delivery->entry.attempt != 0;
	journal_relay_log_entry(&relay->worker->conf->store, &delivery->entry,
	    late ? EV_journal_late : EV_journal_delivered);
	struct journal_about about = journal_entry_about(&delivery->entry);
	journal_waiting_drop(relay->worker->waiting, &about);
	waiters_wake(&relay->worker->waiters, &delivery->entry.key_id);
	/* The next pass finds out again which are left. */
	if (key_set_has(&relay->broken, &delivery->entry.key_id))
		key_set_clear(&relay->broken);
	journal_writer_finish(
	    &relay->writer, delivery->journal, delivery->id);
	count_entries(relay);
	body_clear(&delivery->bytes);
	return true;
}

/*
 * Whatever is against this entry, others may be taken.  Where Redis refuses
 * many in a row, the pass rests for a while and goes on from there.
 */
static void
on_small_ended(void *arg)
{
	struct journal_delivery *delivery = arg;
	struct journal_relay *relay = delivery->relay;
	int error = delivery->op.op.error;
	if (is_delivered(delivery)) {
		relay->failures = 0;
	} else {
		key_set_add(&relay->passed_over, &delivery->entry.key_id);
		relay->failures += error != 0 && error != E_STORE_DOWN;
	}
	if (relay->failures < FAILURES_MAX) {
		deliver_all(relay);
		return;
	}
	relay->failures = 0;
	timer_set(&relay->timer, AGAIN_MS);
}

/* The next pass may bring another large one. */
static void
on_large_ended(void *arg)
{
	struct journal_delivery *delivery = arg;
	struct journal_relay *relay = delivery->relay;
	if (is_delivered(delivery))
		deliver_all(relay);
	else
		key_set_add(&relay->failed_large, &delivery->entry.key_id);
}

/* --- taking --- */

/* The log hears of each change, and not of each refused claim. */
static void
set_writable(struct journal_relay *relay, bool can)
{
	if (can == !relay->unwritable)
		return;
	relay->unwritable = !can;
	journal_relay_log_writable(relay->own, can);
}

bool
journal_relay_can_write(struct journal_relay *relay)
{
	bool can = journal_writer_is_writable(&relay->writer, clock_us());
	set_writable(relay, can);
	return can;
}

static void
on_written(void *arg, bool failed)
{
	struct journal_relay *relay = arg;
	count_entries(relay);
	if (failed)
		set_writable(relay, false);
}

void
journal_relay_take(struct journal_relay *relay, struct journal_op *op,
    const struct held *held, const struct journaled *what)
{
	journaled_write(relay->worker->store, &relay->writer, op, held, what);
}

void
journal_relay_take_revokes(struct journal_relay *relay)
{
	journaled_revokes(relay->worker->store, &relay->writer);
}

/* --- looking --- */

static bool
find_answer(const struct journal *journal, const struct origin *ours,
    const struct key_id *key_id, char **ret_file)
{
	if (!journal_has_answer(journal, ours, key_id))
		return false;
	*ret_file = mem_str(span_str(journal_name(journal)));
	return true;
}

bool
journal_relay_has_answer(struct journal_relay *relay,
    const struct origin *ours, const struct key_id *key_id, char **ret_file)
{
	lock(relay);
	bool found = relay->own != NULL &&
	    find_answer(relay->own, ours, key_id, ret_file);
	for (const struct adopted_journal *it = relay->adopted;
	     it != NULL && !found; it = it->next)
		found = find_answer(it->journal, ours, key_id, ret_file);
	unlock(relay);
	return found;
}

int
journal_relay_read_answer(struct journal_relay *relay,
    const struct origin *ours, const struct key_id *key_id,
    struct body *bytes, struct journal_entry *ret_entry)
{
	lock(relay);
	int error = relay->own == NULL ? E_NOT_FOUND
				       : journal_read_answer(relay->own, ours,
					     key_id, bytes, ret_entry);
	for (const struct adopted_journal *it = relay->adopted;
	     it != NULL && error == E_NOT_FOUND; it = it->next)
		error = journal_read_answer(
		    it->journal, ours, key_id, bytes, ret_entry);
	unlock(relay);
	return error;
}

bool
journal_relay_is_done(const struct journal_relay *relay)
{
	return journal_open_entries(relay->own) + adopted_entries(relay) <=
	    relay->broken.count;
}
