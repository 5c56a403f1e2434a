/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/broker/broker.h"
#include "replay/world.h"

/*
 * What must be true of messages whatever happened, as the broker and the
 * upstream see them; and what operators do to them.  It knows the gateway's
 * deliveries only to look at them.
 */

/* A run begins; a gateway starts, or is about to end. */
void messages_begin(void);
void messages_start(struct gateway *gateway);
void messages_end(struct gateway *gateway);

/* The gateway's reader gave a message back, or lost it. */
void messages_gave_back(const struct gateway *gateway);
/* The gateway acknowledges, and has heard what came of it. */
void messages_check_finish(
    const struct gateway *gateway, struct broker_finish *finish);
void messages_ended(const struct gateway *gateway,
    const struct broker_finish *finish, int error);
/* Redis is about to lose that letter, of which this was the last act. */
void messages_saw_end(const char *id_hex, bool drops);
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

/* What events_settle and time need to know of a source. */
struct timer;
/* Letters that somebody has to go on with, and nobody is at. */
bool messages_are_left(void);
/* It knows what is parked, and what is held. */
bool messages_are_ready(const struct gateway *gateway);
bool messages_are_boring(
    const struct gateway *gateway, const struct timer *timer);
/* When a turn, or a letter, is renewed next, in ms; 0: none is held. */
int64_t messages_beat_ms(void);
/* A hash of which gateways read now. */
unsigned messages_readers(void);
/* Has that gateway hear at once that it has lost its turn. */
void messages_lose_leadership(struct gateway *gateway);

/* The claim, of a message there, that has its owner at; NULL: none. */
const struct claim *messages_claim(
    const struct gateway *gateway, const void *owner);
/* Whether that is the owner of a letter there, and what it is drawn for. */
bool messages_replays(const struct gateway *gateway, const void *owner,
    uint64_t *ret_purpose);

uint64_t messages_hash(const struct gateway *gateway);
