/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/digest.h"
#include "conf/conf.h"

/*
 * The name of a record: a hash over namespace, scope and key, so that neither
 * tokens nor keys stand in Redis, in logs or in problems in the clear.  Pure;
 * any thread.
 */
struct key_id {
	uint8_t bytes[DIGEST_BYTES];
};

/*
 * Over namespace, key and the scope, each part with its length, keyed with
 * store.secret.  Each scope field counts with its name: the same value in
 * another field is another tenant.  values has scope->count places.
 */
void key_id_make(const struct conf *conf, struct span namespace,
    const struct strings *scope, const struct span *values, struct span key,
    struct key_id *ret_id);
