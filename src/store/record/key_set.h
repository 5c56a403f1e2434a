/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "store/record/key_id.h"

/*
 * A set of key ids that only grows, until it is cleared.  Begin it as {0}; its
 * owner clears it.  It knows nothing of records.  Pure; one thread.
 */
struct key_set {
	struct key_id *slots; /* all zeros: it is free */
	size_t count;
	size_t size; /* of slots: 0, or a power of two */
};

void key_set_add(struct key_set *set, const struct key_id *key_id);
bool key_set_has(const struct key_set *set, const struct key_id *key_id);
/* Empties it, and frees its memory. */
void key_set_clear(struct key_set *set);
