/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/source/delivery.h"

/*
 * What is put when a message ends: its result; or its letter in the store, and
 * the copy of that in its broker's own place, with the fields onceproxy-*
 * (contract, section 11).  And its line in the log.  It decides nothing.  The
 * worker's thread; what it makes lies in the arena that it is given, or in its
 * arguments.
 */

/*
 * A result, of the answer that it has; nothing is changed where it is not
 * executed, or not known to be, or its source has no results.
 */
void message_end_result(struct arena *arena, const struct delivery *d,
    struct broker_put *ret_put);

/* Its letter, for its reason, as far as its last try says something of it. */
void message_end_letter(const struct delivery *d, struct letter *ret_letter);
/* The copy of its letter, with the message's own payload and fields. */
void message_end_copy(struct arena *arena, const struct delivery *d,
    struct broker_put *ret_put);
/* A letter that has only what the message is. */
struct letter message_end_letter_of(const struct broker_message *message);
/* The message that a letter is of, in the arena, where the letter is too. */
struct broker_message *message_end_of_letter(
    struct arena *arena, const struct letter *letter);

/* What is said of its end; what is not known is left out. */
void message_end_log(const struct delivery *d);
