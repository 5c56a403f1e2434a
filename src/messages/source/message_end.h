/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/shared/letters.h"
#include "messages/source/attempt.h"

/*
 * What is put when a message ends: its result; or its letter in the store, and
 * the copy of that in its broker's own place, with the fields onceproxy-*
 * (contract, section 11).  And its line in the log.  It decides nothing.  The
 * worker's thread; what it makes lies in the arena that it is given, or in its
 * arguments.
 */

/* Executed, or known to be, of a source that has results. */
bool message_end_has_result(
    const struct source *source, enum message_outcome outcome);
/*
 * A result, of the answer that the attempt has; repeated: there may be one of
 * its key already.
 */
void message_end_result(struct arena *arena, const struct attempt *attempt,
    bool repeated, struct broker_put *ret_put);
/*
 * Whether there may be a result of its key already: its record was COMPLETED
 * before, and not by this very message; or by it, and its group was set back.
 */
bool message_end_is_repeated(
    const struct attempt *attempt, enum message_outcome outcome);

/* Its letter, for that reason, as far as the attempt says something of it. */
void message_end_letter(const struct attempt *attempt,
    enum message_outcome reason, const struct letters_lane *lane,
    int64_t first_ms, struct letter *ret_letter);
/* The copy, with the message's own payload and fields. */
void message_end_copy(struct arena *arena, const struct source *source,
    const struct broker_message *message, const struct letter *letter,
    struct broker_put *ret_put);
/* The message that a letter is of; it and all of it are in a new arena. */
struct broker_message *message_end_of_letter(const struct letter *letter);

/* What is said of an end; NULL, 0 and "" are left out. */
struct message_end {
	const struct attempt *attempt;
	struct span position;
	enum message_outcome outcome;
	enum message_outcome reason; /* MESSAGE_COUNT_: it is no letter */
	bool elsewhere; /* another reader has finished it */
	bool replayed;
	int64_t took_us;
};
void message_end_log(const struct message_end *end);
