/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>

#include "base/hash.h"
#include "store/record/key_id.h"

/*
 * A set of key ids that only grows, until it is cleared.  Begin it as {0}; its
 * owner clears it.  It knows nothing of records.  Pure; one thread.
 */
struct key_set {
	struct hash members;
};

void key_set_add(struct key_set *set, const struct key_id *key_id);
bool key_set_has(const struct key_set *set, const struct key_id *key_id);
/* Empties it, and frees its memory. */
void key_set_clear(struct key_set *set);
