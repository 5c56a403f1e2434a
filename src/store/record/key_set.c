/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "store/record/key_set.h"

struct key_set_member {
	struct hash_item item;
	struct key_id key_id;
};

void
key_set_add(struct key_set *set, const struct key_id *key_id)
{
	if (key_set_has(set, key_id))
		return;
	struct key_set_member *member = mem_zero(sizeof *member);
	member->key_id = *key_id;
	hash_add(&set->members, &member->item, hash_of_digest(key_id->bytes));
}

bool
key_set_has(const struct key_set *set, const struct key_id *key_id)
{
	const struct key_set_member *member;
	HASH_EACH_OF(
	    member, &set->members, hash_of_digest(key_id->bytes), item)
		if (memcmp(&member->key_id, key_id, sizeof *key_id) == 0)
			return true;
	return false;
}

void
key_set_clear(struct key_set *set)
{
	struct key_set_member *member;
	HASH_EACH(member, &set->members, item)
		free(member);
	hash_free(&set->members);
}
