/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/shared/letters.h"

/*
 * What is done with one letter of a source (letters.h): it is written, looked
 * for, begun and ended.  The store's thread.
 */

/*
 * An operation, a member of its owner; it and its errors are as in
 * store/store.h, and it may be repeated until it is answered.  Verdicts are
 * DONE or as below.  Of a reply that wait_replicas keeps back it ends when
 * enough replicas have it.
 */
struct letter_op {
	struct store_op op;
	struct arena *arena; /* set by the owner, kept while it is pending */
	struct letter letter; /* of begin, show and end: what was read */
	enum letter_state state; /* DONE of put, find; REFUSED of begin */
	bool has_next; /* DONE of end */
	bool sealed_shut; /* DONE of begin, show, seek: not all of it opens */
	/* The module's own: */
	struct letters *letters;
	struct letter_name name;
	int64_t until_us;
	size_t until_at; /* where the call's arguments have it */
	bool ends;
	unsigned first, n_asked; /* of a seek: shards */
};

/*
 * Writes it.  As the first of its lane, which is made, or behind it.  One that
 * is there stays as it is: state says what it is.  GONE (behind): its lane is
 * not there, nothing is written.  LATE: nothing is, for Redis came to it after
 * until_us (by clock_us; INT64_MAX: no end), and whoever leads next may not
 * know of it.
 */
void letter_put(struct letters *letters, struct letter_op *op,
    const struct letter *letter, bool behind, int64_t until_us);
/* Put back by a restore: CONFIRMED at once, in its lane's order. */
void letter_restore(struct letters *letters, struct letter_op *op,
    const struct letter *letter);
/* GONE: there is none. */
void letter_find(struct letters *letters, struct letter_op *op,
    const struct letter_name *name);
/* Its broker has acknowledged it.  GONE. */
void letter_confirm(struct letters *letters, struct letter_op *op,
    const struct letter_name *name);
/*
 * Takes it, for that act; letter is what it has, BEGUN where another owner had
 * begun it before.  REFUSED: it is WRITTEN, or
 * BEGUN by somebody who renews it, or for the other act (state); or it is
 * CONFIRMED, and parked behind another (letter.parked): such a one can be
 * dropped, but not replayed.  GONE.
 */
void letter_begin(struct letters *letters, struct letter_op *op,
    const struct letter_name *name, enum letter_act act,
    const struct owner *owner);
/*
 * An operator's word, from any gateway: it is BEGUN for that act, by nobody,
 * and the gateways that have the source are told at once (events.left).
 * Verdicts as of letter_begin; DONE also where that act was asked already, or
 * the other one was and nobody has begun it.
 */
void letter_ask(struct letters *letters, struct letter_op *op,
    const struct letter_name *name, enum letter_act act);
/* FENCED: somebody else has it now, or it is not begun; GONE. */
void letter_renew(struct letters *letters, struct letter_op *op,
    const struct letter_name *name, const struct owner *owner);
/* It stays a letter, with that head (NULL: as it was); FENCED, GONE. */
void letter_put_back(struct letters *letters, struct letter_op *op,
    const struct letter_name *name, const struct owner *owner,
    const struct letter *head);
/*
 * It is over.  DONE: the head of letter is that of the next of its lane, which
 * this owner has begun to replay, and has_next is set; else there is none, or
 * another owner has it, or its broker has yet to confirm it (events.left tells
 * then).  FENCED, GONE.
 */
void letter_end(struct letters *letters, struct letter_op *op,
    const struct letter_name *name, const struct owner *owner);
/* Reads the whole of it, in any state.  GONE. */
void letter_show(struct letters *letters, struct letter_op *op,
    const struct letter_name *name);
/* Looks for a letter of that position in all slots, and reads it.  GONE. */
void letter_seek(struct letters *letters, struct letter_op *op,
    struct span position);
