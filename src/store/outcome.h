/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/journal/journal_awaited.h"
#include "store/journal/journal_writer.h"
#include "store/types.h"

/*
 * The outcome of a claim that is ours: it goes to Redis, or, where Redis does
 * not take it, to the journal, and from there to Redis when that is back.  It
 * decides neither whether nor when.  It compares claims with the outcomes that
 * Redis may lack, which must not be executed meanwhile.  The store's thread.
 */
struct store;

struct owned_outcome {
	/*
	 * COMPLETE: PROCESSING, or UNKNOWN of the same attempt, becomes
	 * COMPLETED.  DONE; FENCED (with the record's answer where it has one).
	 * RELEASE: the key is free again.  DONE, FENCED or GONE.
	 * UNKNOWN: PROCESSING becomes UNKNOWN.  DONE, FENCED or GONE.
	 *
	 * COMPLETE and UNKNOWN make a record again that is gone, unless owned
	 * does not say enough for that: GONE.
	 */
	enum journal_kind kind;
	/*
	 * COMPLETE: the answer; or where that is NULL, its stored bytes
	 * (record/answer_codec.h) and its status for the event, 0: not known.
	 */
	const struct answer *answer;
	struct span stored;
	int status;
	/*
	 * RELEASE: an attempt that was not sent, after one whose outcome is
	 * unknown, leaves the record UNKNOWN.
	 */
	enum release release;
	enum reason reason; /* UNKNOWN */
	/*
	 * UNKNOWN: the witness says so of the attempt.  No journal keeps that:
	 * whoever asks next will find it.
	 */
	bool started;
};

/* Starts to store it in Redis; op ends as store.h says. */
void outcome_store(struct store *store, struct store_op *op,
    const struct owned_claim *owned, const struct owned_outcome *outcome);
/*
 * Starts to write it to the journal, and returns what is known of the entry; op
 * ends as of journal_writer_append.  The answer is not given as stored bytes.
 */
struct journal_about outcome_journal(struct store *store,
    struct journal_writer *writer, struct journal_op *op,
    const struct owned_claim *owned, const struct owned_outcome *outcome);

/*
 * False while the server of the cluster that has that key is away: an entry of
 * it would be replayed in vain.
 */
bool outcome_can_replay(const struct store *store, const struct key_id *key_id);
/*
 * What an entry of a journal says of its claim, without a policy; the entity,
 * where it has one, is *ret_entity.
 */
struct owned_claim outcome_owned(
    const struct journal_entry *entry, struct store_entity *ret_entity);
/*
 * Starts to store an entry of a journal in Redis; what it points to lives until
 * op has ended.
 */
void outcome_replay(struct store *store, struct store_op *op,
    const struct journal_entry *entry);
/*
 * True: an outcome of that attempt is fenced by the one after its own, or by
 * one that was made after Redis had forgotten its own: it may yet be the truth,
 * should nothing be sent of that one, and is offered again.
 */
bool outcome_may_yet_count(
    const struct store_op *op, enum journal_kind kind, uint32_t attempt);
/*
 * True: the operation's answer, which was no error, is the last word on the
 * entry.  A record that is damaged may be deleted, and made again with the
 * outcome.  A claim that is given back may yet be executed until its deadline.
 */
bool outcome_is_final(
    const struct store_op *op, const struct journal_entry *entry);

/*
 * True: this process knows an outcome of the claim's key, or a version of its
 * entity, that Redis may lack.
 */
bool outcome_is_awaited(const struct store *store,
    struct journal_awaited *awaited, const struct claim *claim);
