/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/broker/broker.h"

/*
 * What one kind of broker provides for the core of readers (reader.h), which
 * calls it on the loop's thread.  A driver is the only one to see its broker's
 * library.  It connects, and connects again, by itself; it takes what there is
 * room for, acknowledges what waits, and says how it is.  All that is the same
 * for every broker is the core's: what is in flight, what waits to be handed
 * over or to be acknowledged, who has given up, what was said already.
 *
 * A function may be NULL where that is said.
 */
struct broker_reader;
struct flight;
struct finishing;

struct driver {
	/* Of its own structs, whose first member is the core's. */
	size_t reader_bytes;    /* struct broker_reader */
	size_t flight_bytes;    /* struct flight */
	size_t finishing_bytes; /* struct finishing */

	/* Begins to connect; timeout_ms and leave_ms are its to set. */
	void (*open)(struct broker_reader *reader);
	/*
	 * The reader was closed, and nothing of it is heard any more: gives
	 * back what is in flight.  Called in the turn of the close, and again
	 * with each reader_kick, until it is true: nothing is left to be done;
	 * or leave_ms are over.
	 */
	bool (*leave)(struct broker_reader *reader);
	/* Frees what is the driver's own, and not the reader. */
	void (*free)(struct broker_reader *reader);

	/*
	 * Takes more, if there is room (reader_room), or does whatever else is
	 * next: with each reader_kick, but not while reader->pause is set.
	 */
	void (*take)(struct broker_reader *reader);
	/*
	 * Sends acknowledgements of reader->waiting, as many as it likes; one
	 * at a time, or in batches (reader_finish_send).  With each
	 * reader_kick where any wait, but not while reader->again is set.
	 */
	void (*finish)(struct broker_reader *reader);
	/*
	 * How many ms more one that was sent may take though its time is up; 0:
	 * none.  NULL: what was sent is given up then.
	 */
	int64_t (*more_ms)(struct finishing *finishing);

	/*
	 * Its owner does not work on it any more: others may have it; it is
	 * forgotten next.
	 */
	void (*give_back)(struct broker_reader *reader, struct flight *message);
	/*
	 * A message came again while its acknowledgement was under way, which
	 * has ended: it may be pending with nobody at work on it.  Or NULL.
	 */
	void (*look_again)(struct broker_reader *reader);

	/* It begins with reader_ask_copies. */
	void (*copies)(
	    struct broker_reader *reader, struct broker_copies *copies);
	/* All but message; it begins zeroed, with a lag of -1. */
	void (*health)(const struct broker_reader *reader,
	    struct broker_health *ret_health);

	/* As broker_reader_floor and _tell: of Kafka; else NULL. */
	void (*floor)(struct broker_reader *reader, const char *part,
	    struct span floor, enum broker_decision decided);
	bool (*tell)(struct broker_reader *reader);
};
