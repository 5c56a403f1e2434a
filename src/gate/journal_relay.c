/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "gate/journal_relay.h"
#include "gate/worker.h"
#include "journal/journal_folder.h"
#include "loop/log.h"

enum {
	/* How soon a delivery that failed is tried again. */
	AGAIN_MS = 200,
	/* How often dead processes' journals are looked for. */
	ADOPT_MS = 5000,
	/* After so many failures in a row the pass rests. */
	FAILURES_MAX = 16,
};

struct adopted_journal {
	struct adopted_journal *next;
	struct journal *journal;
};

static void on_look_again(void *arg);
static void on_small_ended(void *arg);
static void on_large_ended(void *arg);

/* For the metrics. */
static void
count_entries(const struct journal_relay *relay)
{
	uint64_t count = journal_open_entries(relay->own);
	for (const struct adopted_journal *it = relay->adopted; it != NULL;
	     it = it->next)
		count += journal_open_entries(it->journal);
	counter_set(&relay->worker->meter.journal_entries, count);
}

static void
begin_delivery(struct journal_relay *relay, struct journal_delivery *delivery,
    void (*ended)(void *delivery))
{
	struct worker *w = relay->worker;
	delivery->relay = relay;
	body_init(&delivery->bytes, w->budget);
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
	*relay = (struct journal_relay){
	    .worker = worker, .own = journal, .adopts = adopts};
	begin_delivery(relay, &relay->small, on_small_ended);
	begin_delivery(relay, &relay->large, on_large_ended);
	timer_init(&relay->timer, worker->loop, on_look_again, relay);
	timer_set(&relay->timer, 0);
}

void
journal_relay_end(struct journal_relay *relay)
{
	timer_clear(&relay->timer);
	end_delivery(&relay->small);
	end_delivery(&relay->large);
	key_set_clear(&relay->passed_over);
	key_set_clear(&relay->failed_large);
	journal_close(&relay->own);
	while (relay->adopted != NULL) {
		struct adopted_journal *adopted = relay->adopted;
		relay->adopted = adopted->next;
		journal_close(&adopted->journal);
		free(adopted);
	}
}

/* --- what dead processes left --- */

static void
log_found(const struct journal_found *found)
{
	struct logline line = log_begin(EV_journal_adopted);
	log_str(&line, "file", found->name);
	if (found->journal != NULL)
		log_int(&line, "entries",
		    journal_open_entries(found->journal));
	log_int(&line, "damaged", found->damaged);
	log_int(&line, "cut_bytes", (int64_t)found->cut_bytes);
	if (found->error != 0)
		log_str(&line, "error", strerror(found->error));
	log_end(&line);
}

static void
on_found(void *arg, const struct journal_found *found)
{
	struct journal_relay *relay = arg;
	log_found(found);
	if (found->journal == NULL)
		return;
	struct adopted_journal *adopted = mem_zero(sizeof *adopted);
	*adopted = (struct adopted_journal){relay->adopted, found->journal};
	relay->adopted = adopted;
}

static void
adopt_dead(struct journal_relay *relay)
{
	int64_t now_ms = loop_now_ms(relay->worker->loop);
	char *message = NULL;
	if (!relay->adopts || now_ms < relay->adopt_at_ms ||
	    !INVARIANT(dead_journals))
		return;
	relay->adopt_at_ms = now_ms + ADOPT_MS;
	if (journal_folder_adopt(
		relay->worker->conf->state_dir, on_found, relay, &message))
		return;
	struct logline line = log_begin(EV_journal_unwritable);
	log_str(&line, "error", message);
	log_end(&line);
	free(message);
}

/* --- delivering --- */

/* An emptied journal of a dead process is removed. */
static void
drop_empty(struct journal_relay *relay)
{
	struct adopted_journal **at = &relay->adopted;
	while (*at != NULL) {
		struct adopted_journal *adopted = *at;
		if (journal_open_entries(adopted->journal) > 0) {
			at = &adopted->next;
			continue;
		}
		*at = adopted->next;
		if (adopted->journal == relay->journal)
			relay->after = 0; /* where it has come to is gone */
		journal_close(&adopted->journal);
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
		if (journal_next(relay->journal, relay->after, &relay->after))
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
	if (op_pending(&relay->large.op.op))
		key_set_add(
		    &relay->passed_over, &relay->large.entry.key_id);
	else
		key_set_clear(&relay->failed_large);
}

/* Without its entry's kind, nobody could tell a payment from none. */
static void
log_entry(const struct journal_entry *entry, enum event event)
{
	static const char *const kinds[] = {
	    [JOURNAL_COMPLETE] = "complete",
	    [JOURNAL_RELEASE] = "release",
	    [JOURNAL_UNKNOWN] = "unknown",
	};
	char hex[DIGEST_HEX + 1];
	hex_encode(entry->key_id.bytes, DIGEST_BYTES, hex);
	struct logline line = log_begin(event);
	log_str(&line, "key_id", hex);
	log_span(&line, "route", entry->route);
	log_int(&line, "attempt", entry->attempt);
	log_str(&line, "step", kinds[entry->kind]);
	log_end(&line);
}

/* Its key is not known either: what the operator can look at is the file. */
static void
log_damaged(const struct journal_delivery *delivery)
{
	struct logline line = log_begin(EV_journal_damaged);
	log_str(&line, "file", journal_name(delivery->journal));
	log_int(&line, "entry", (int64_t)delivery->id);
	log_end(&line);
}

/* Begins with the entry that was picked; false: it is passed over, or gone. */
static bool
deliver(struct journal_relay *relay, struct journal_delivery *delivery,
    const struct key_id *key_id)
{
	delivery->journal = relay->journal;
	delivery->id = relay->after;
	int error = journal_read(delivery->journal, delivery->id,
	    &delivery->bytes, &delivery->entry);
	if (error == 0) {
		journaled_run(
		    relay->worker->store, &delivery->op, &delivery->entry);
		return true;
	}
	if (error == E_NO_MEMORY) {
		key_set_add(&relay->passed_over, key_id);
		return false;
	}
	log_damaged(delivery);
	journal_finish(delivery->journal, delivery->id);
	return false;
}

/* Looks at the next entry; false: there is none, or not now. */
static bool
deliver_next(struct journal_relay *relay)
{
	if (op_pending(&relay->small.op.op) ||
	    !store_is_up(relay->worker->store) || !pick_entry(relay))
		return false;
	struct journal_about about =
	    journal_about(relay->journal, relay->after);
	if (key_set_has(&relay->passed_over, &about.key_id))
		return true;
	if (!store_is_large(about.answer_bytes)) {
		deliver(relay, &relay->small, &about.key_id);
		return true;
	}
	/* One large one at a time; what is small goes on meanwhile. */
	key_set_add(&relay->passed_over, &about.key_id);
	if (!op_pending(&relay->large.op.op) &&
	    !key_set_has(&relay->failed_large, &about.key_id))
		deliver(relay, &relay->large, &about.key_id);
	return true;
}

static void
deliver_all(struct journal_relay *relay)
{
	while (deliver_next(relay))
		continue;
	if (op_pending(&relay->small.op.op))
		return;
	/* Nothing to do but to look again: for Redis, and for the dead. */
	end_pass(relay);
	timer_set(&relay->timer, AGAIN_MS);
}

static void
on_look_again(void *arg)
{
	struct journal_relay *relay = arg;
	adopt_dead(relay);
	count_entries(relay);
	deliver_all(relay);
}

/* Whether Redis has taken it, or another owner has decided. */
static bool
is_delivered(struct journal_delivery *delivery)
{
	struct journal_relay *relay = delivery->relay;
	struct store_op *op = &delivery->op;
	answer_unref(&op->answer);
	bool undecided = !store_op_answered(op) ||
	    (op->verdict == VERDICT_FENCED && op->before);
	if (undecided && INVARIANT(until_delivered)) {
		body_clear(&delivery->bytes);
		return false;
	}
	log_entry(&delivery->entry, op->verdict == VERDICT_DONE
			? EV_journal_delivered
			: EV_journal_late);
	waiters_wake(&relay->worker->waiters, &delivery->entry.key_id);
	journal_finish(delivery->journal, delivery->id);
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
		key_set_add(
		    &relay->passed_over, &delivery->entry.key_id);
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
		key_set_add(
		    &relay->failed_large, &delivery->entry.key_id);
}

/* --- taking --- */

static void
log_unwritable(const struct journal_relay *relay)
{
	struct logline line = log_begin(EV_journal_unwritable);
	log_str(&line, "error", journal_message(relay->own));
	log_end(&line);
}

/* The log hears of each change, and not of each refused claim. */
bool
journal_relay_can_write(struct journal_relay *relay)
{
	bool can = journal_is_writable(relay->own, clock_us());
	if (can == !relay->unwritable)
		return can;
	relay->unwritable = !can;
	if (!can) {
		log_unwritable(relay);
		return false;
	}
	struct logline line = log_begin(EV_journal_writable);
	log_end(&line);
	return true;
}

bool
journal_relay_take(struct journal_relay *relay, const struct held *held,
    const struct journaled *what)
{
	bool taken =
	    journaled_write(relay->worker->store, relay->own, held, what) ||
	    !INVARIANT(journal_took_it);
	count_entries(relay);
	if (!taken)
		log_unwritable(relay);
	return taken;
}

bool
journal_relay_is_done(const struct journal_relay *relay)
{
	return journal_open_entries(relay->own) == 0 && relay->adopted == NULL;
}
