/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/broker/broker.h"

/*
 * The drivers of all kinds of brokers that the program was built with: opens a
 * reader by the kind of its source's broker, and knows what is left of those
 * that were closed.  It knows nothing else of them.  The loop's own thread.
 */

/* Begins; it has no credit yet, so nothing is taken. */
struct broker_reader *brokers_open(const struct broker_start *start);
/*
 * How many readers and ledgers of that loop were closed and still give back
 * what they had, none of them for long; a drain waits until there is none.
 */
size_t brokers_leaving(const struct loop *loop);
/* They do not any more; before the loop is freed. */
void brokers_abandon(struct loop *loop);
