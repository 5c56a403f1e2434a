/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/container.h"

/*
 * A hash table whose links stand in its items.  It knows hashes, not keys: of
 * the items with one hash, the caller compares.  It grows by itself and owns
 * nothing but its buckets; one that is all zeros is empty.  One thread, or the
 * caller's lock.
 */
struct hash_item {
	struct hash_item *next; /* of its bucket */
	uint64_t hash;
};

struct hash {
	struct hash_item **buckets;
	size_t n_buckets; /* 0 or a power of two */
	size_t count;
};

/* Two items may have one hash; the same item is added once. */
void hash_add(struct hash *hash, struct hash_item *item, uint64_t value);
/* The item must be in the table. */
void hash_remove(struct hash *hash, struct hash_item *item);
/* Finds the item with that hash behind another (NULL: the first); or NULL. */
struct hash_item *hash_find(const struct hash *hash, uint64_t value,
    const struct hash_item *after);
/* Frees the buckets; the items are the caller's, and in no table any more. */
void hash_free(struct hash *hash);
/* The items in no order: the one behind another (NULL: the first); or NULL. */
struct hash_item *hash_next(
    const struct hash *hash, const struct hash_item *after);

/* Walks over the items with that hash; item is declared before. */
#define HASH_EACH_OF(item, hash, value, member)                               \
	for (struct hash_item *item##_at = hash_find(hash, value, NULL);      \
		item##_at != NULL &&                                          \
		((item) = CONTAINER_OF(                                       \
		     item##_at, __typeof__(*(item)), member),                 \
		    1);                                                       \
		item##_at = hash_find(hash, value, item##_at))
/* Walks over all items; the item at hand may be removed. */
#define HASH_EACH(item, hash, member)                                         \
	for (struct hash_item *item##_at = hash_next(hash, NULL),             \
			      *item##_then;                                   \
		item##_at != NULL &&                                          \
		(item##_then = hash_next(hash, item##_at),                    \
		    (item) = CONTAINER_OF(                                    \
			item##_at, __typeof__(*(item)), member),              \
		    1);                                                       \
		item##_at = item##_then)

/*
 * The hash of a name that is a digest: any byte of it is as good as another.
 * The first one is left out, as other tables are divided by it.
 */
static inline uint64_t
hash_of_digest(const uint8_t *digest)
{
	uint64_t value;
	memcpy(&value, digest + 1, sizeof value);
	return value;
}
