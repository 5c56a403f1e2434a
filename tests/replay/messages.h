/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/broker/broker.h"
#include "messages/source/delivery.h"
#include "messages/source/source.h"
#include "replay/world.h"

/*
 * What must be true of messages whatever happened, as the broker, the store and
 * the upstream see them; and what operators do to them.  It knows the gateway's
 * deliveries and replays only to look at them.
 */

/* The gateway's source, or the one that it is about to end; NULL: none. */
struct source *messages_source(const struct gateway *gateway);
static inline struct replay *
messages_replay_of(struct machine *machine)
{
	return delivery_of(machine)->replay;
}
bool messages_are_of_one_lane(unsigned one, unsigned other);

/* A run begins; a gateway starts, or is about to end. */
void messages_begin(void);
void messages_start(struct gateway *gateway);
void messages_end(struct gateway *gateway);

/* The gateway's reader gave a message back, or lost it. */
void messages_gave_back(const struct gateway *gateway);
/* The gateway acknowledges, and has heard what came of it. */
void messages_check_finish(
    const struct gateway *gateway, const struct broker_finish *finish);
void messages_ended(const struct gateway *gateway,
    const struct broker_finish *finish, int error);
/* Redis is about to lose that letter, of which this was the last act. */
void messages_saw_end(const char *id_hex, bool drops);
/* The broker acknowledges that message, and takes the copy of its letter. */
void messages_check_copy(unsigned message);
/*
 * A gateway hands that truth's request to the upstream, for a message: an
 * attempt that counts, if it is released, or does not.
 */
void messages_check_sent(
    const struct gateway *gateway, const struct truth *truth, bool counts);
/* The upstream has, or may have, done it. */
void messages_done(const struct gateway *gateway, const struct truth *truth);
/* That truth's request is handed to the upstream. */
void messages_check_order(const struct truth *truth);
/* After every event. */
void messages_check_now(void);
/* After the last one: the world is well, and retries come. */
void messages_heal(void);
void messages_check_rest(void);
/* It was acknowledged because its record is COMPLETED. */
bool messages_is_acknowledged(unsigned message);

/*
 * An operator has that message replayed, or dropped, by that gateway; where the
 * one before is answered, and a letter is there to be replayed.
 */
bool messages_may_tell(
    const struct gateway *gateway, const struct act *act);
void messages_tell(struct gateway *gateway, const struct act *act);
/* An operator says that its source is to go on with this store. */
bool messages_may_prove(const struct gateway *gateway);
void messages_prove(struct gateway *gateway);
/* There is a letter that may be dropped, for which it stands; it is dropped. */
bool messages_lack_room(const struct gateway *gateway);
void messages_make_room(void);

/* What events_settle and time need to know of a source. */
struct timer;
/* Letters that somebody has to go on with, and nobody is at. */
bool messages_are_left(void);
/* It is about to ask which letters there are. */
bool messages_are_due(const struct gateway *gateway);
/* It knows what is parked, and what is held. */
bool messages_are_ready(const struct gateway *gateway);
bool messages_are_boring(
    const struct gateway *gateway, const struct timer *timer);
/* When a turn, or a letter, is renewed next, in ms; 0: none is held. */
int64_t messages_beat_ms(void);
/* A hash of which gateways read now. */
unsigned messages_readers(void);
/* Whether its source leads. */
bool messages_leads(const struct gateway *gateway);
/* Has that gateway hear at once that it has lost its turn. */
void messages_lose_leadership(struct gateway *gateway);

/* The claim, of a message there, that has its owner at; NULL: none. */
const struct claim *messages_claim(
    const struct gateway *gateway, const void *owner);
/* Whether that is the owner of a letter there, and what it is drawn for. */
bool messages_replays(const struct gateway *gateway, const void *owner,
    uint64_t *ret_purpose);

/* Of a gateway's source; and of what was counted (message_state.c). */
uint64_t messages_hash(const struct gateway *gateway);
uint64_t messages_counts_hash(void);

/*
 * Letters (message_letters.c): once put, one exists until it is replayed to its
 * end or dropped, and nobody begins it before its broker has acknowledged the
 * message.
 */
void message_letters_begin(void);
bool message_letters_has(unsigned message);
/* Its message is about to be acknowledged as a letter. */
void message_letters_check_put(unsigned message);
/* It is about to be done with. */
void message_letters_check_done(unsigned message);
void message_letters_check_now(void);
void message_letters_check_rest(void);
uint64_t message_letters_hash(void);

/*
 * Which attempts of a message count (message_counts.c): where another one of
 * its source was executed since its last one, or since it was taken.
 */
void message_counts_begin(void);
void message_counts_start(const struct gateway *gateway);
void message_counts_took(const struct gateway *gateway, unsigned message);
/* It is nobody's there any more; perhaps its letter is. */
void message_counts_left(const struct gateway *gateway, unsigned message);
/* Its request is handed to the upstream; whether it counts if released. */
void message_counts_sent(
    const struct gateway *gateway, unsigned message, bool counts);
/* It was answered, or not, but was neither released nor unsent. */
void message_counts_done(const struct gateway *gateway, unsigned message);
/* It was acknowledged; executed: for what came of that. */
void message_counts_ended(
    const struct gateway *gateway, unsigned message, bool executed);
uint64_t message_counts_hash(void);
