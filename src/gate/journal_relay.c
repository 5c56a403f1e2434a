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

struct parcel {
	struct parcel *next;
	struct journal *journal;
};

static void on_time(void *arg);
static void on_delivered(void *arg);

/* For the metrics. */
static void
count_entries(const struct courier *c)
{
	uint64_t count = journal_open_entries(c->own);
	for (const struct parcel *p = c->adopted; p != NULL; p = p->next)
		count += journal_open_entries(p->journal);
	counter_set(&c->worker->meter.journal_entries, count);
}

void
courier_init(struct courier *c, struct worker *worker,
    struct journal *journal, bool adopts)
{
	*c = (struct courier){
	    .worker = worker, .own = journal, .adopts = adopts};
	body_init(&c->bytes, worker->budget);
	timer_init(&c->timer, worker->loop, on_time, c);
	op_init(&c->op.op, worker->loop, on_delivered, c);
	timer_set(&c->timer, 0);
}

void
courier_end(struct courier *c)
{
	timer_clear(&c->timer);
	op_cancel(&c->op.op);
	answer_unref(&c->op.answer);
	body_clear(&c->bytes);
	journal_close(&c->own);
	while (c->adopted != NULL) {
		struct parcel *parcel = c->adopted;
		c->adopted = parcel->next;
		journal_close(&parcel->journal);
		free(parcel);
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
	struct courier *c = arg;
	log_found(found);
	if (found->journal == NULL)
		return;
	struct parcel *parcel = mem_zero(sizeof *parcel);
	*parcel = (struct parcel){c->adopted, found->journal};
	c->adopted = parcel;
}

static void
adopt(struct courier *c)
{
	int64_t now_ms = loop_now_ms(c->worker->loop);
	char *words = NULL;
	if (!c->adopts || now_ms < c->adopt_at_ms || !GUARD(dead_journals))
		return;
	c->adopt_at_ms = now_ms + ADOPT_MS;
	if (journal_adopt(c->worker->conf->state_dir, on_found, c, &words))
		return;
	struct logline line = log_begin(EV_journal_unwritable);
	log_str(&line, "error", words);
	log_end(&line);
	free(words);
}

/* --- delivering --- */

/* An emptied journal of a dead process is removed. */
static void
drop_empty(struct courier *c)
{
	struct parcel **at = &c->adopted;
	while (*at != NULL) {
		struct parcel *parcel = *at;
		if (journal_open_entries(parcel->journal) > 0) {
			at = &parcel->next;
			continue;
		}
		*at = parcel->next;
		journal_close(&parcel->journal);
		free(parcel);
	}
}

/* The oldest entry there is, of the dead first, behind those put off. */
static bool
find_next(struct courier *c)
{
	drop_empty(c);
	const struct parcel *parcel = c->adopted;
	while (c->after != 0 && parcel != NULL &&
	    parcel->journal != c->journal)
		parcel = parcel->next;
	for (uint64_t after = c->after;; after = 0, parcel = parcel->next) {
		c->journal = parcel != NULL ? parcel->journal : c->own;
		if (journal_next(c->journal, after, &c->id))
			return true;
		if (parcel == NULL)
			return false;
	}
}

/*
 * Where one of many servers is away, its entries do not hold up those of the
 * others.
 */
static bool
put_off(struct courier *c)
{
	if (c->worker->conf->store.cluster.count == 0)
		return false;
	c->after = c->id;
	return true;
}

/* Without its entry's kind, nobody could tell a payment from none. */
static void
log_entry(const struct courier *c, enum event event)
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

/* Begins with the next entry; false: there is none, or not now. */
static bool
deliver_next(struct courier *c)
{
	if (op_pending(&c->op.op) || !store_is_up(c->worker->store) ||
	    !find_next(c))
		return false;
	int error = journal_read(c->journal, c->id, &c->bytes, &c->entry);
	if (error == E_NO_MEMORY)
		return false;
	if (error != 0) {
		struct logline line = log_begin(EV_journal_damaged);
		log_end(&line);
		journal_settle(c->journal, c->id);
		return true;
	}
	store_deliver(c->worker->store, &c->op, &c->entry);
	return false;
}

static void
deliver(struct courier *c)
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
	struct courier *c = arg;
	adopt(c);
	count_entries(c);
	deliver(c);
}

/* Redis has taken it, or another owner has decided. */
static void
on_delivered(void *arg)
{
	struct courier *c = arg;
	answer_unref(&c->op.answer);
	if (c->op.op.error != 0 && GUARD(until_delivered)) {
		if (put_off(c))
			deliver(c);
		else
			timer_set(&c->timer, AGAIN_MS);
		return;
	}
	log_entry(c, c->op.verdict == VERDICT_DONE ? EV_journal_delivered
						   : EV_journal_late);
	waiters_wake(&c->worker->waiters, &c->entry.key_id);
	journal_settle(c->journal, c->id);
	count_entries(c);
	body_clear(&c->bytes);
	deliver(c);
}

/* --- taking --- */

static void
log_unwritable(const struct courier *c)
{
	struct logline line = log_begin(EV_journal_unwritable);
	log_str(&line, "error", journal_words(c->own));
	log_end(&line);
}

/* The log hears of each change, and not of each refused claim. */
bool
courier_can_write(struct courier *c)
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
courier_take(struct courier *c, const struct held *held,
    const struct put_off *what)
{
	bool taken = store_put_off(c->worker->store, c->own, held, what) ||
	    !GUARD(journal_took_it);
	count_entries(c);
	if (!taken)
		log_unwritable(c);
	return taken;
}

bool
courier_is_done(const struct courier *c)
{
	return journal_open_entries(c->own) == 0 && c->adopted == NULL;
}
