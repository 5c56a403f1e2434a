/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/digest.h"
#include "conf/conf.h"

/*
 * The origin of what is kept outside of its store says which store that is.  A
 * store has an identity and a place:
 *
 *   id     random, made at first contact, kept in the store itself
 *          (src/store/record/lua/identify.lua), and mixed with
 *          store.shards.  It moves with the data: to a replica, into a
 *          cluster, to another address.
 *   place  what the configuration says: kind, addresses, master's name,
 *          database, prefix and shards.  It stays where the data is lost.
 *
 * One of them must be the same.  A Redis that came back without its data has
 * the place and a new id, and its outcomes must reach it; data that was moved
 * has the id and a new place.  Where neither is the same, store.redis names
 * another store, and an outcome that it was given would be forgotten by the
 * right one.  Of two different stores one after the other at the same place
 * nobody can tell the second from the first that has lost its data.
 *
 * It asks no Redis.  Pure; any thread.
 */
struct origin {
	uint8_t id[DIGEST_BYTES];    /* zeros: not known */
	uint8_t place[DIGEST_BYTES]; /* zeros: written before there were any */
};

/* The place that the configuration names. */
void origin_place(const struct conf *conf, uint8_t ret_place[DIGEST_BYTES]);
/* The id, of what the store has for it. */
void origin_id(const struct conf *conf, struct span kept,
    uint8_t ret_id[DIGEST_BYTES]);
bool origin_has_id(const struct origin *origin);
/* True where things of that origin belong to our store. */
bool origin_is_ours(const struct origin *origin, const struct origin *ours);
