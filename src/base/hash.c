/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/must.h"

enum { LEAST_BUCKETS = 16 };

static struct hash_item **
bucket_of(const struct hash *hash, uint64_t value)
{
	return &hash->buckets[value & (hash->n_buckets - 1)];
}

void
hash_add(struct hash *hash, struct hash_item *item, uint64_t value)
{
	/* The buckets are doubled: there are never fewer than items. */
	if (hash->count >= hash->n_buckets) {
		const struct hash old = *hash;
		hash->count = 0;
		hash->n_buckets =
		    old.n_buckets > 0 ? 2 * old.n_buckets : LEAST_BUCKETS;
		hash->buckets =
		    mem_zero(hash->n_buckets * sizeof *hash->buckets);
		for (struct hash_item *at = hash_next(&old, NULL), *next;
			at != NULL; at = next) {
			next = hash_next(&old, at);
			hash_add(hash, at, at->hash);
		}
		free(old.buckets);
	}
	struct hash_item **bucket = bucket_of(hash, value);
	item->hash = value;
	item->next = *bucket;
	*bucket = item;
	hash->count++;
}

void
hash_remove(struct hash *hash, struct hash_item *item)
{
	must(hash->count > 0);
	struct hash_item **at = bucket_of(hash, item->hash);
	while (*at != item) {
		must(*at != NULL);
		at = &(*at)->next;
	}
	*at = item->next;
	hash->count--;
}

struct hash_item *
hash_find(const struct hash *hash, uint64_t value,
    const struct hash_item *after)
{
	if (hash->count == 0)
		return NULL;
	struct hash_item *item =
	    after != NULL ? after->next : *bucket_of(hash, value);
	while (item != NULL && item->hash != value)
		item = item->next;
	return item;
}

struct hash_item *
hash_next(const struct hash *hash, const struct hash_item *after)
{
	size_t bucket = 0;
	if (after != NULL) {
		if (after->next != NULL)
			return after->next;
		bucket = (size_t)(after->hash & (hash->n_buckets - 1)) + 1;
	}
	for (; bucket < hash->n_buckets; bucket++)
		if (hash->buckets[bucket] != NULL)
			return hash->buckets[bucket];
	return NULL;
}

void
hash_free(struct hash *hash)
{
	free(hash->buckets);
	*hash = (struct hash){0};
}
