/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/digest.h"
#include "conf/conf.h"

/*
 * The name of a record: a keyed hash over namespace, scope and idempotency key,
 * so that neither tokens nor keys appear in the clear in Redis, logs or problem
 * documents.  It knows no request.  Pure; any thread.
 */
struct key_id {
	uint8_t bytes[DIGEST_BYTES];
};

/*
 * Makes the name: BLAKE2b keyed with store.secret (base/digest.h) over the
 * namespace, the kind, name and value of each scope, and the key, each part
 * with its length.  Kinds and names count because the same value elsewhere is
 * another tenant.  values has scope->count places.
 */
void key_id_make(const struct conf *conf, struct span namespace,
    const struct conf_scopes *scope, const struct span *values,
    struct span key, struct key_id *ret_id);
/* Adds the scope to a digest: the kind, name and value of each. */
void key_id_scope(struct digest *digest, const struct conf_scopes *scopes,
    const struct span *values);
