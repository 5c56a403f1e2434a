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
 * namespace, each scope field's name and value, and the key, each part with its
 * length.  Names count because the same value in another field is another
 * tenant.  values has scope->count places.
 */
void key_id_make(const struct conf *conf, struct span namespace,
    const struct strings *scope, const struct span *values, struct span key,
    struct key_id *ret_id);
/* Adds the scope to a digest: each field's name and value. */
void key_id_scope(struct digest *digest, const struct strings *scope,
    const struct span *values);
