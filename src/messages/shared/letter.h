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
	struct letter letter; /* what was said of it; else WRITTEN */
	bool has_next; /* DONE of END */
	bool sealed_shut; /* DONE of BEGIN and SHOW: not all of it opens */
	/* The module's own: */
	struct letters *letters;
	struct letter_name name;
	int64_t until_us;
	size_t until_at; /* where the call's arguments have it */
};

enum letter_way {
	LETTER_FIRST, /* of its lane, which is made; or behind that one */
	LETTER_BEHIND,
	LETTER_RESTORED, /* as first, in its lane's order, CONFIRMED at once */
};
/*
 * Writes it.  One that is there stays as it is: letter.state says what it is.
 * GONE (BEHIND): its lane is not there, nothing is written.  LATE: nothing is,
 * for Redis came to it after until_us (by clock_us), and whoever has its
 * message then may have executed it.
 */
void letter_put(struct letters *letters, struct letter_op *op,
    const struct letter *letter, enum letter_way way, int64_t until_us);
/* Until when a message of that size may be, of which that was known then. */
int64_t letter_until_us(int64_t known_us, size_t bytes);

/* What is done with one that was written; all verbs may say GONE. */
enum letter_verb {
	LETTER_FIND, /* DONE: there is one */
	LETTER_SHOW, /* reads the whole of it, in any state */
	/*
	 * Its broker has acknowledged it.  DROP: because an operator had it
	 * dropped, and so it is BEGUN for that, by nobody; REFUSED: somebody
	 * replays it.
	 */
	LETTER_CONFIRM,
	/*
	 * Takes it, for that act; letter is what it has, BEGUN where another
	 * owner had begun it before.  REFUSED: it is WRITTEN, or BEGUN by
	 * somebody who renews it, or for the other act; or it is CONFIRMED, and
	 * parked behind another (letter.parked): such a one can be dropped, but
	 * not replayed.
	 */
	LETTER_BEGIN,
	/*
	 * An operator's word, from any gateway: it is BEGUN for that act, by
	 * nobody, and the gateways that have the source are told at once
	 * (events.left).  Verdicts as of BEGIN; DONE also where that act was
	 * asked already, or the other one was and nobody has begun it.
	 */
	LETTER_ASK,
	LETTER_RENEW, /* FENCED: somebody else has it, or it is not begun */
	/*
	 * It is over.  DONE: the head of letter is that of the next of its
	 * lane, which this owner has begun to replay, and has_next is set; else
	 * there is none, or another owner has it, or its broker has yet to
	 * confirm it (events.left tells then).  FENCED.
	 */
	LETTER_END,
};
/* act: of CONFIRM, BEGIN and ASK; owner: of BEGIN, RENEW and END, else NULL. */
void letter_do(struct letters *letters, struct letter_op *op,
    enum letter_verb verb, const struct letter_name *name, enum letter_act act,
    const struct owner *owner);
/* It stays a letter, with that head (NULL: as it was); FENCED, GONE. */
void letter_put_back(struct letters *letters, struct letter_op *op,
    const struct letter_name *name, const struct owner *owner,
    const struct letter *head);
/* SHOW of a letter of that position, in whichever slot it is. */
void letter_seek(struct letters *letters, struct letter_op *op,
    struct span position);
