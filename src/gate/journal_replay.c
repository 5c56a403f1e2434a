/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "gate/journal_replay.h"
#include "store/journal/journal_adoption.h"
#include "store/journal/journal_awaited.h"
#include "store/record/label.h"

enum {
	/* How soon a delivery that failed is tried again. */
	AGAIN_MS = 200,
	/* After so many failures in a row the pass rests. */
	FAILURES_MAX = 16,
	/* About so much an entry has besides its answer. */
	ABOUT_BYTES = 4096,
};

/* --- the log, and the metrics --- */

/* Without the entry's kind, nobody could tell a payment from none. */
static void
log_entry(const struct journal_replay *replay,
    const struct journal_entry *entry, enum event event)
{
	static const char *const kinds[] = {
	    [JOURNAL_COMPLETE] = "complete",
	    [JOURNAL_RELEASE] = "release",
	    [JOURNAL_UNKNOWN] = "unknown",
	};
	char hex[DIGEST_HEX + 1];
	hex_encode(entry->key_id.bytes, DIGEST_BYTES, hex);
	const struct provenance from = provenance_read(entry->provenance);
	struct logline line = log_begin(event);
	log_str(&line, "key_id", hex);
	log_span(&line, "route", from.route);
	label_log(
	    &line, &replay->home.conf->store, &entry->key_id, &from);
	log_int(&line, "attempt", entry->attempt);
	log_str(&line, "step", kinds[entry->kind]);
	log_any(&line, "written_by", from.instance);
	log_end(&line);
}

/* The log has each change, and not each refused claim. */
static void
set_writable(struct journal_replay *replay, bool can)
{
	if (can == !replay->unwritable)
		return;
	replay->unwritable = !can;
	struct logline line = log_begin(
	    can ? EV_journal_writable : EV_journal_unwritable);
	if (!can)
		log_str(&line, "error", journal_message(replay->own.journal));
	log_end(&line);
}

static unsigned
open_entries(const struct journal_replay *replay, struct journal *journal)
{
	return journal_open_entries(
	    journal, &store_identity(replay->home.store)->origin);
}

static void
count_entries(const struct journal_replay *replay)
{
	struct meter *meter = replay->home.meter;
	const struct replayed_journal *j;
	uint64_t count = 0;
	LIST_EACH(j, &replay->journals, item)
		count += open_entries(replay, j->journal);
	counter_set(&meter->journal_entries, count);
	counter_set(&meter->journal_broken, replay->broken.members.count);
}

/* --- the pass: from the oldest entry to the newest --- */

/*
 * Finds the next entry of the pass; those of dead processes come first.  Before
 * that a journal of theirs in which nothing is left is removed, and one with
 * nothing left for our store is given back.  Where our store has another id
 * meanwhile, an entry that it is being given may be no longer for it.
 */
static bool
pick_entry(struct journal_replay *replay, struct journal_about *ret_about)
{
	struct replayed_journal *j;
	struct journal_about about;
	LIST_EACH(j, &replay->journals, item) {
		if (j == &replay->own || open_entries(replay, j->journal) > 0 ||
		    (replay->large.under_way &&
			replay->large.journal == j->journal))
			continue;
		must(pthread_mutex_lock(&replay->mutex) == 0);
		list_remove(&j->item);
		must(pthread_mutex_unlock(&replay->mutex) == 0);
		if (j->journal == replay->journal)
			replay->after = 0; /* where it has come to is gone */
		for (uint64_t id = 0;
		     journal_next(j->journal, NULL, id, &id, &about);)
			journal_awaited_drop(replay->home.awaited, &about);
		journal_writer_close(&replay->writer, &j->journal);
		free(j);
	}
	LIST_EACH(j, &replay->journals, item) {
		if (replay->after != 0 && j->journal != replay->journal)
			continue;
		replay->journal = j->journal;
		if (journal_next(j->journal,
			&store_identity(replay->home.store)->origin,
			replay->after, &replay->after, ret_about))
			return true;
		replay->after = 0;
	}
	return false;
}

/* Begins to deliver the entry that was picked, where it can be read. */
static void
deliver(struct journal_replay *replay, struct journal_delivery *delivery,
    const struct journal_about *about)
{
	struct budget *budget = replay->home.budget;
	size_t bytes = about->answer_bytes + ABOUT_BYTES;
	delivery->journal = replay->journal;
	delivery->id = replay->after;
	/*
	 * What half of the memory for bodies cannot hold is not counted: it
	 * would wait for ever.  There is one at a time.
	 */
	body_clear(&delivery->bytes);
	delivery->bytes = (struct body){
	    .budget = bytes > budget_limit(budget) / 2 ? NULL : budget};
	int error = journal_read(delivery->journal, delivery->id,
	    &delivery->bytes, &delivery->entry);
	if (error == 0) {
		delivery->under_way = true;
		outcome_replay(
		    replay->home.store, &delivery->op, &delivery->entry);
		return;
	}
	if (error == E_NO_MEMORY) {
		key_set_add(&replay->passed_over, &about->key_id);
		return;
	}
	/* Its key is not known either: an operator can look at the file. */
	struct logline line = log_begin(EV_journal_damaged);
	log_str(&line, "file", journal_name(delivery->journal));
	log_int(&line, "entry", (int64_t)delivery->id);
	log_end(&line);
	journal_awaited_drop(replay->home.awaited, about);
	journal_writer_finish(
	    &replay->writer, delivery->journal, delivery->id, true);
}

/* Takes one entry after the other, until none can be taken now. */
static void
deliver_all(struct journal_replay *replay)
{
	struct journal_about about;
	while (!replay->small.under_way && store_is_up(replay->home.store) &&
	    pick_entry(replay, &about)) {
		/* Nothing is read for a server that is away, however often. */
		if (!outcome_can_replay(replay->home.store, &about.key_id))
			key_set_add(&replay->passed_over, &about.key_id);
		if (key_set_has(&replay->passed_over, &about.key_id))
			continue;
		if (about.answer_bytes < STORE_LARGE_BYTES) {
			deliver(replay, &replay->small, &about);
			continue;
		}
		/* One large one at a time; what is small goes on meanwhile. */
		key_set_add(&replay->passed_over, &about.key_id);
		if (!replay->large.under_way &&
		    !key_set_has(&replay->failed_large, &about.key_id))
			deliver(replay, &replay->large, &about);
	}
	if (replay->small.under_way)
		return;
	/* The next pass begins with the oldest entry again. */
	replay->after = 0;
	replay->failures = 0;
	key_set_clear(&replay->passed_over);
	if (replay->large.under_way)
		key_set_add(&replay->passed_over, &replay->large.entry.key_id);
	else
		key_set_clear(&replay->failed_large);
	timer_set(&replay->timer, AGAIN_MS);
}

/* Ends a delivery; true: Redis has it, or another owner has decided. */
static bool
finish(struct journal_delivery *delivery)
{
	struct journal_replay *replay = delivery->replay;
	struct store_op *op = &delivery->op;
	const struct journal_entry *entry = &delivery->entry;
	delivery->under_way = false;
	answer_unref(&op->answer);
	bool answered = store_op_answered(op);
	bool undecided = !answered || !outcome_is_final(op, entry);
	if (answered && store_op_broken(op)) {
		/* An operator deletes the record, or its time gets over. */
		if (!key_set_has(&replay->said_broken, &entry->key_id))
			log_entry(replay, entry, EV_journal_blocked);
		key_set_add(&replay->said_broken, &entry->key_id);
		key_set_add(&replay->broken, &entry->key_id);
	}
	if (undecided && INVARIANT(until_delivered)) {
		body_clear(&delivery->bytes);
		return false;
	}
	/* A claim that was never executed need not be given back. */
	bool late = op->verdict != VERDICT_DONE && entry->attempt != 0;
	log_entry(replay, entry, late ? EV_journal_late : EV_journal_delivered);
	struct journal_about about = journal_entry_about(entry);
	journal_awaited_drop(replay->home.awaited, &about);
	key_waiters_wake(replay->home.waiters, &entry->key_id);
	/* The next pass finds out again which are left. */
	if (key_set_has(&replay->broken, &entry->key_id))
		key_set_clear(&replay->broken);
	journal_writer_finish(
	    &replay->writer, delivery->journal, delivery->id, false);
	count_entries(replay);
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
	struct journal_replay *replay = delivery->replay;
	int error = delivery->op.op.error;
	if (finish(delivery)) {
		replay->failures = 0;
	} else {
		key_set_add(&replay->passed_over, &delivery->entry.key_id);
		replay->failures += error != 0 && error != E_STORE_DOWN;
	}
	if (replay->failures < FAILURES_MAX) {
		deliver_all(replay);
		return;
	}
	replay->failures = 0;
	timer_set(&replay->timer, AGAIN_MS);
}

/* The next pass may bring another large entry. */
static void
on_large_ended(void *arg)
{
	struct journal_delivery *delivery = arg;
	struct journal_replay *replay = delivery->replay;
	if (finish(delivery))
		deliver_all(replay);
	else
		key_set_add(&replay->failed_large, &delivery->entry.key_id);
}

/* --- its life --- */

/* Takes a journal that a dead process left. */
static void
on_adopted(void *arg, struct journal *journal)
{
	struct journal_replay *replay = arg;
	struct replayed_journal *adopted = mem_zero(sizeof *adopted);
	struct journal_about about;
	adopted->journal = journal;
	must(pthread_mutex_lock(&replay->mutex) == 0);
	list_add_first(&replay->journals, &adopted->item);
	must(pthread_mutex_unlock(&replay->mutex) == 0);
	for (uint64_t id = 0; journal_next(journal, NULL, id, &id, &about);)
		journal_awaited_add(replay->home.awaited, &about, 0);
}

/* At its worker's end it delivers nothing more of what was found. */
static void
on_dead_searched(void *arg, uint64_t foreign, uint64_t aside)
{
	struct journal_replay *replay = arg;
	counter_set(&replay->home.meter->journal_foreign, foreign);
	counter_set(&replay->home.meter->journal_aside, aside);
	count_entries(replay);
	if (!replay->ending)
		deliver_all(replay);
}

/* Begins a pass: Redis may be back, and other processes may have died. */
static void
on_pass_due(void *arg)
{
	struct journal_replay *replay = arg;
	const struct identity *identity = store_identity(replay->home.store);
	if (replay->adoption != NULL && INVARIANT(dead_journals))
		journal_adoption_search(replay->adoption, &identity->origin,
		    identity->answered, false);
	count_entries(replay);
	journal_replay_can_write(replay);
	deliver_all(replay);
}

static void
on_written(void *arg, bool failed)
{
	struct journal_replay *replay = arg;
	count_entries(replay);
	if (failed)
		set_writable(replay, false);
}

void
journal_replay_init(struct journal_replay *replay,
    const struct journal_replay_home *home, struct journal *journal,
    bool adopts)
{
	*replay = (struct journal_replay){
	    .home = *home, .own = {.journal = journal}};
	list_init(&replay->journals);
	list_add_last(&replay->journals, &replay->own.item);
	must(pthread_mutex_init(&replay->mutex, NULL) == 0);
	if (adopts)
		replay->adoption = journal_adoption_new(home->loop,
		    home->conf->state_dir, home->awaited, on_adopted,
		    on_dead_searched, replay);
	struct journal_delivery *small = &replay->small;
	struct journal_delivery *large = &replay->large;
	small->replay = large->replay = replay;
	op_init(&small->op.op, home->loop, on_small_ended, small);
	op_init(&large->op.op, home->loop, on_large_ended, large);
	timer_init(&replay->timer, home->loop, on_pass_due, replay);
	/* Nobody is served yet who would have to wait for the disk. */
	set_writable(replay,
	    journal_check(journal, clock_us()) != JOURNAL_UNWELL &&
		journal_try(journal));
	journal_writer_init(
	    &replay->writer, home->loop, journal, on_written, replay);
	if (adopts && INVARIANT(dead_journals) && INVARIANT(dead_first))
		journal_adoption_search(replay->adoption,
		    &store_identity(home->store)->origin, false, true);
	timer_set(&replay->timer, 0);
}

void
journal_replay_end(struct journal_replay *replay)
{
	struct replayed_journal *j;
	replay->ending = true;
	timer_clear(&replay->timer);
	journal_adoption_free(&replay->adoption);
	struct journal_delivery *both[] = {&replay->small, &replay->large};
	for (size_t i = 0; i < 2; i++) {
		op_cancel(&both[i]->op.op);
		answer_unref(&both[i]->op.answer);
		body_clear(&both[i]->bytes);
	}
	key_set_clear(&replay->passed_over);
	key_set_clear(&replay->failed_large);
	key_set_clear(&replay->broken);
	key_set_clear(&replay->said_broken);
	journal_writer_end(&replay->writer);
	must(pthread_mutex_lock(&replay->mutex) == 0);
	LIST_EACH(j, &replay->journals, item) {
		list_remove(&j->item);
		journal_close(&j->journal);
		if (j != &replay->own)
			free(j);
	}
	must(pthread_mutex_unlock(&replay->mutex) == 0);
}

bool
journal_replay_is_done(const struct journal_replay *replay)
{
	const struct replayed_journal *j;
	unsigned entries = 0;
	LIST_EACH(j, &replay->journals, item)
		entries += j == &replay->own
		    ? journal_open_entries(j->journal, NULL)
		    : open_entries(replay, j->journal);
	return entries <= replay->broken.members.count;
}

bool
journal_replay_can_write(struct journal_replay *replay)
{
	bool can = journal_writer_is_writable(&replay->writer, clock_us());
	set_writable(replay, can);
	return can;
}

/* --- its answers, for whichever thread asks --- */

int
journal_replay_read_answer(struct journal_replay *replay,
    const struct origin *ours, const struct key_id *key_id,
    struct body *bytes, struct journal_entry *ret_entry, char **ret_file)
{
	const struct replayed_journal *j;
	int error = E_NOT_FOUND;
	must(pthread_mutex_lock(&replay->mutex) == 0);
	LIST_EACH(j, &replay->journals, item) {
		if (error != E_NOT_FOUND)
			continue;
		error = journal_read_answer(
		    j->journal, ours, key_id, bytes, ret_entry);
		if (error == 0 && ret_file != NULL)
			*ret_file = mem_text(journal_name(j->journal));
	}
	must(pthread_mutex_unlock(&replay->mutex) == 0);
	return error;
}
