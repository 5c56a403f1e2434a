/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/record/key_set.h"

enum { SIZE_FIRST = 16 };

static const struct key_id nobody;

static bool
is_eq(const struct key_id *a, const struct key_id *b)
{
	return memcmp(a, b, sizeof *a) == 0;
}

/* The id's slot, or the free one where it belongs; an id is itself a hash. */
static struct key_id *
slot_of(const struct key_set *set, const struct key_id *key_id)
{
	uint64_t hash;
	memcpy(&hash, key_id->bytes, sizeof hash);
	for (size_t i = hash & (set->size - 1);; i = (i + 1) & (set->size - 1))
		if (is_eq(&set->slots[i], key_id) ||
		    is_eq(&set->slots[i], &nobody))
			return &set->slots[i];
}

void
key_set_add(struct key_set *set, const struct key_id *key_id)
{
	if (2 * (set->count + 1) > set->size) {
		struct key_set old = *set;
		set->size = old.size ? 2 * old.size : SIZE_FIRST;
		set->slots = mem_zero(set->size * sizeof *set->slots);
		for (size_t i = 0; i < old.size; i++)
			if (!is_eq(&old.slots[i], &nobody))
				*slot_of(set, &old.slots[i]) = old.slots[i];
		free(old.slots);
	}
	struct key_id *slot = slot_of(set, key_id);
	if (is_eq(slot, key_id))
		return;
	*slot = *key_id;
	set->count++;
}

bool
key_set_has(const struct key_set *set, const struct key_id *key_id)
{
	return set->size > 0 && !is_eq(key_id, &nobody) &&
	    is_eq(slot_of(set, key_id), key_id);
}

void
key_set_clear(struct key_set *set)
{
	free(set->slots);
	*set = (struct key_set){0};
}
