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
};

struct adopted_journal {
	struct adopted_journal *next;
	struct journal *journal;
};

static void on_look_again(void *arg);
static void on_delivered(void *arg);

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

void
journal_relay_init(struct journal_relay *relay, struct worker *worker,
    struct journal *journal, bool adopts)
{
	*relay = (struct journal_relay){
	    .worker = worker, .own = journal, .adopts = adopts};
	body_init(&relay->bytes, worker->budget);
	timer_init(&relay->timer, worker->loop, on_look_again, relay);
	op_init(&relay->op.op, worker->loop, on_delivered, relay);
	timer_set(&relay->timer, 0);
}

void
journal_relay_end(struct journal_relay *relay)
{
	timer_clear(&relay->timer);
	op_cancel(&relay->op.op);
	answer_unref(&relay->op.answer);
	body_clear(&relay->bytes);
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
		journal_close(&adopted->journal);
		free(adopted);
	}
}

/* The oldest entry behind those skipped; those of dead processes first. */
static bool
pick_entry(struct journal_relay *relay)
{
	drop_empty(relay);
	const struct adopted_journal *adopted = relay->adopted;
	while (relay->after != 0 && adopted != NULL &&
	    adopted->journal != relay->journal)
		adopted = adopted->next;
	for (uint64_t after = relay->after;;
	     after = 0, adopted = adopted->next) {
		relay->journal =
		    adopted != NULL ? adopted->journal : relay->own;
		if (journal_next(relay->journal, after, &relay->id))
			return true;
		if (adopted == NULL)
			return false;
	}
}

/*
 * Where one of many servers is away, its entries do not hold up those of the
 * others.
 */
static bool
skip_entry(struct journal_relay *relay)
{
	if (relay->worker->conf->store.cluster.count == 0)
		return false;
	relay->after = relay->id;
	return true;
}

/* Without its entry's kind, nobody could tell a payment from none. */
static void
log_entry(const struct journal_relay *relay, enum event event)
{
	static const char *const kinds[] = {
	    [JOURNAL_COMPLETE] = "complete",
	    [JOURNAL_RELEASE] = "release",
	    [JOURNAL_UNKNOWN] = "unknown",
	};
	char hex[DIGEST_HEX + 1];
	hex_encode(relay->entry.key_id.bytes, DIGEST_BYTES, hex);
	struct logline line = log_begin(event);
	log_str(&line, "key_id", hex);
	log_span(&line, "route", relay->entry.route);
	log_int(&line, "attempt", relay->entry.attempt);
	log_str(&line, "step", kinds[relay->entry.kind]);
	log_end(&line);
}

/* Its key is not known either: what the operator can look at is the file. */
static void
log_damaged(const struct journal_relay *relay)
{
	struct logline line = log_begin(EV_journal_damaged);
	log_str(&line, "file", journal_name(relay->journal));
	log_int(&line, "entry", (int64_t)relay->id);
	log_end(&line);
}

/* Begins with the next entry; false: there is none, or not now. */
static bool
deliver_next(struct journal_relay *relay)
{
	if (op_pending(&relay->op.op) || !store_is_up(relay->worker->store) ||
	    !pick_entry(relay))
		return false;
	int error = journal_read(
	    relay->journal, relay->id, &relay->bytes, &relay->entry);
	if (error == E_NO_MEMORY)
		return false;
	if (error != 0) {
		log_damaged(relay);
		journal_finish(relay->journal, relay->id);
		return true;
	}
	journaled_run(relay->worker->store, &relay->op, &relay->entry);
	return false;
}

static void
deliver_all(struct journal_relay *relay)
{
	while (deliver_next(relay))
		continue;
	if (op_pending(&relay->op.op))
		return;
	/* Nothing to do but to look again: for Redis, and for the dead. */
	relay->after = 0;
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

/* Redis has taken it, or another owner has decided. */
static void
on_delivered(void *arg)
{
	struct journal_relay *relay = arg;
	answer_unref(&relay->op.answer);
	bool undecided = relay->op.op.error != 0 ||
	    (relay->op.verdict == VERDICT_FENCED && relay->op.before);
	if (undecided && INVARIANT(until_delivered)) {
		if (skip_entry(relay))
			deliver_all(relay);
		else
			timer_set(&relay->timer, AGAIN_MS);
		return;
	}
	log_entry(relay, relay->op.verdict == VERDICT_DONE
			     ? EV_journal_delivered
			     : EV_journal_late);
	waiters_wake(&relay->worker->waiters, &relay->entry.key_id);
	journal_finish(relay->journal, relay->id);
	count_entries(relay);
	body_clear(&relay->bytes);
	deliver_all(relay);
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
