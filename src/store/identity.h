/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * Learns which store this is (record/origin.h), and which data it has, each
 * time that the server with the store's id comes up, and now and then: the ids
 * are made at first contact, and the store's is made again, as this gateway
 * knew it, where the data was lost, which the log hears.  It knows nothing of
 * what the answer is for, which is in struct identity.  The store's thread.
 */

/* The shard that has the ids: always there, however many there are. */
enum { IDENTITY_SHARD = 0 };
/*
 * Asks the node of that shard, unless it is asked already; of a store, whose
 * timer calls it, too.
 */
void identity_ask(void *store);
