/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/must.h"
#include "base/span.h"
#include "gate/key/variables.h"
#include "store/types.h"

/*
 * An entity is what a request changes, such as an account, and it may have a
 * version (newer_only).  Both are found in the request here, and the claim's
 * script decides by them (lua/entities.lua).  Pure; what is made lies in the
 * request's arena.
 *
 * An entity belongs to its namespace and scope; its name is a keyed hash of
 * these, and of the members' pointers and values or the variable's name and
 * value.
 */
/*
 * Fills in *ret_entity for a request whose route has an entity; scope has the
 * values of the scope's fields.  Returns "", or a sentence for the client that
 * says what is missing: where that is the version, the name is filled in.
 */
MUST_USE struct span entity_find(const struct conf *conf,
    const struct variables *request, const struct span *scope,
    struct store_entity *ret_entity);
/*
 * Makes the name of the entity that a variable of the route's path stands for,
 * which has that value.
 */
void entity_name_by_path(const struct conf *conf,
    const struct conf_idempotency *policy, const struct span *scope,
    struct span value, uint8_t ret_name[DIGEST_BYTES]);
/*
 * Gives the record's name the beginning of the entity's, for a cluster, where
 * the two must share a shard.  load/cross_check.c makes sure that the key
 * determines the entity there.
 */
void entity_share_shard(
    const struct store_entity *entity, struct key_id *key_id);
