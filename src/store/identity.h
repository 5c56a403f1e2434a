/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * Learns which store this is (record/origin.h), each time that the server with
 * the store's id comes up, and now and then: the id is made at first contact,
 * and made again, as this gateway knew it, where the data was lost, which the
 * log hears.  It knows nothing of what the answer is for.  For src/store/
 * alone; the store's thread.
 */
struct store;

/* For a new store; its timer is cleared before it is freed. */
void identity_init(struct store *store);
/* The shard that has the id: always there, however many there are. */
enum { IDENTITY_SHARD = 0 };
/* Asks the node of that shard, unless it is asked already. */
void identity_ask(struct store *store);
