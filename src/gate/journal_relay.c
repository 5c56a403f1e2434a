/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "gate/journal_relay.h"
#include "gate/worker.h"

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

static void on_time(void *arg);
static void on_delivered(void *arg);

/* For the metrics. */
static void
count_entries(const struct journal_relay *c)
{
	uint64_t count = journal_open_entries(c->own);
	for (const struct adopted_journal *p = c->adopted; p != NULL;
	     p = p->next)
		count += journal_open_entries(p->journal);
	counter_set(&c->worker->meter.journal_entries, count);
}

void
journal_relay_init(struct journal_relay *c, struct worker *worker,
    struct journal *journal, bool adopts)
{
	*c = (struct journal_relay){
	    .worker = worker, .own = journal, .adopts = adopts};
	body_init(&c->bytes, worker->budget);
	timer_init(&c->timer, worker->loop, on_time, c);
	op_init(&c->op.op, worker->loop, on_delivered, c);
	timer_set(&c->timer, 0);
}

void
journal_relay_end(struct journal_relay *c)
{
	timer_clear(&c->timer);
	op_cancel(&c->op.op);
	answer_unref(&c->op.answer);
	body_clear(&c->bytes);
	journal_close(&c->own);
	while (c->adopted != NULL) {
		struct adopted_journal *adopted = c->adopted;
		c->adopted = adopted->next;
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
	struct journal_relay *c = arg;
	log_found(found);
	if (found->journal == NULL)
		return;
	struct adopted_journal *adopted = mem_zero(sizeof *adopted);
	*adopted = (struct adopted_journal){c->adopted, found->journal};
	c->adopted = adopted;
}

static void
adopt(struct journal_relay *c)
{
	int64_t now_ms = loop_now_ms(c->worker->loop);
	char *message = NULL;
	if (!c->adopts || now_ms < c->adopt_at_ms || !INVARIANT(dead_journals))
		return;
	c->adopt_at_ms = now_ms + ADOPT_MS;
	if (journal_folder_adopt(
		c->worker->conf->state_dir, on_found, c, &message))
		return;
	struct logline line = log_begin(EV_journal_unwritable);
	log_str(&line, "error", message);
	log_end(&line);
	free(message);
}

/* --- delivering --- */

/* An emptied journal of a dead process is removed. */
static void
drop_empty(struct journal_relay *c)
{
	struct adopted_journal **at = &c->adopted;
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

/* The oldest entry there is, of the dead first, behind those put off. */
static bool
find_next(struct journal_relay *c)
{
	drop_empty(c);
	const struct adopted_journal *adopted = c->adopted;
	while (c->after != 0 && adopted != NULL &&
	    adopted->journal != c->journal)
		adopted = adopted->next;
	for (uint64_t after = c->after;; after = 0, adopted = adopted->next) {
		c->journal = adopted != NULL ? adopted->journal : c->own;
		if (journal_next(c->journal, after, &c->id))
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
skip_entry(struct journal_relay *c)
{
	if (c->worker->conf->store.cluster.count == 0)
		return false;
	c->after = c->id;
	return true;
}

/* Without its entry's kind, nobody could tell a payment from none. */
static void
log_entry(const struct journal_relay *c, enum event event)
{
	static const char *const kinds[] = {
	    [JOURNAL_COMPLETE] = "complete",
	    [JOURNAL_RELEASE] = "release",
	    [JOURNAL_UNKNOWN] = "unknown",
	};
	char hex[DIGEST_HEX + 1];
	hex_encode(c->entry.key_id.bytes, DIGEST_BYTES, hex);
	struct logline line = log_begin(event);
	log_str(&line, "key_id", hex);
	log_span(&line, "route", c->entry.route);
	log_int(&line, "attempt", c->entry.attempt);
	log_str(&line, "step", kinds[c->entry.kind]);
	log_end(&line);
}

/* Its key is not known either: what the operator can look at is the file. */
static void
log_damaged(const struct journal_relay *c)
{
	struct logline line = log_begin(EV_journal_damaged);
	log_str(&line, "file", journal_name(c->journal));
	log_int(&line, "entry", (int64_t)c->id);
	log_end(&line);
}

/* Begins with the next entry; false: there is none, or not now. */
static bool
deliver_next(struct journal_relay *c)
{
	if (op_pending(&c->op.op) || !store_is_up(c->worker->store) ||
	    !find_next(c))
		return false;
	int error = journal_read(c->journal, c->id, &c->bytes, &c->entry);
	if (error == E_NO_MEMORY)
		return false;
	if (error != 0) {
		log_damaged(c);
		journal_finish(c->journal, c->id);
		return true;
	}
	journaled_run(c->worker->store, &c->op, &c->entry);
	return false;
}

static void
deliver(struct journal_relay *c)
{
	while (deliver_next(c))
		continue;
	if (op_pending(&c->op.op))
		return;
	/* Nothing to do but to look again: for Redis, and for the dead. */
	c->after = 0;
	timer_set(&c->timer, AGAIN_MS);
}

static void
on_time(void *arg)
{
	struct journal_relay *c = arg;
	adopt(c);
	count_entries(c);
	deliver(c);
}

/* Redis has taken it, or another owner has decided. */
static void
on_delivered(void *arg)
{
	struct journal_relay *c = arg;
	answer_unref(&c->op.answer);
	if (c->op.op.error != 0 && INVARIANT(until_delivered)) {
		if (skip_entry(c))
			deliver(c);
		else
			timer_set(&c->timer, AGAIN_MS);
		return;
	}
	log_entry(c, c->op.verdict == VERDICT_DONE ? EV_journal_delivered
						   : EV_journal_late);
	waiters_wake(&c->worker->waiters, &c->entry.key_id);
	journal_finish(c->journal, c->id);
	count_entries(c);
	body_clear(&c->bytes);
	deliver(c);
}

/* --- taking --- */

static void
log_unwritable(const struct journal_relay *c)
{
	struct logline line = log_begin(EV_journal_unwritable);
	log_str(&line, "error", journal_message(c->own));
	log_end(&line);
}

/* The log hears of each change, and not of each refused claim. */
bool
journal_relay_can_write(struct journal_relay *c)
{
	bool can = journal_is_writable(c->own, clock_us());
	if (can == !c->unwritable)
		return can;
	c->unwritable = !can;
	if (!can) {
		log_unwritable(c);
		return false;
	}
	struct logline line = log_begin(EV_journal_writable);
	log_end(&line);
	return true;
}

bool
journal_relay_take(struct journal_relay *c, const struct held *held,
    const struct journaled *what)
{
	bool taken = journaled_write(c->worker->store, c->own, held, what) ||
	    !INVARIANT(journal_took_it);
	count_entries(c);
	if (!taken)
		log_unwritable(c);
	return taken;
}

bool
journal_relay_is_done(const struct journal_relay *c)
{
	return journal_open_entries(c->own) == 0 && c->adopted == NULL;
}
