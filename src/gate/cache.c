/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/hash.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "gate/cache.h"

enum {
	LARGEST_PART = 8,  /* of the cache: no answer may have more */
	MALLOC_BYTES = 16, /* what each block costs besides */
};

struct entry {
	struct hash_item by_key;
	struct list by_use;
	struct key_id key_id;
	struct cached cached;
	size_t bytes;
};

struct cache {
	size_t limit;
	bool subscribed;
	struct hash by_key;
	struct list by_use; /* the longest unused first */
	/* Counts of changes that were heard of, by a name's first byte. */
	cache_mark marks[UINT8_MAX + 1];
	struct counter *bytes, *hits; /* the owner's */
};

static struct entry *
entry_of(const struct cache *cache, const struct key_id *key_id)
{
	struct entry *entry;
	HASH_EACH_OF(entry, &cache->by_key, hash_of_digest(key_id->bytes),
	    by_key)
		if (!memcmp(&entry->key_id, key_id, sizeof *key_id))
			return entry;
	return NULL;
}

static void
drop_entry(struct cache *cache, struct entry *entry)
{
	hash_remove(&cache->by_key, &entry->by_key);
	list_remove(&entry->by_use);
	counter_set(cache->bytes, counter_read(cache->bytes) - entry->bytes);
	answer_unref(&entry->cached.answer);
	free(entry);
}

/* --- life --- */

struct cache *
cache_new(size_t limit, struct counter *bytes, struct counter *hits)
{
	struct cache *cache = mem_zero(sizeof *cache);
	cache->limit = limit;
	cache->bytes = bytes;
	cache->hits = hits;
	list_init(&cache->by_use);
	return cache;
}

void
cache_free(struct cache **cache)
{
	struct cache *c = *cache;
	*cache = NULL;
	if (c == NULL)
		return;
	cache_drop(c, NULL);
	hash_free(&c->by_key);
	free(c);
}

void
cache_subscribed(struct cache *cache, bool subscribed)
{
	if (subscribed == cache->subscribed)
		return;
	cache->subscribed = subscribed;
	cache_drop(cache, NULL);
}

/* --- use --- */

const struct cached *
cache_find(struct cache *cache, const struct key_id *key_id, int64_t now_ms)
{
	struct entry *entry = entry_of(cache, key_id);
	if (entry == NULL)
		return NULL;
	if (now_ms >= entry->cached.until_ms && INVARIANT(cached_until)) {
		drop_entry(cache, entry);
		return NULL;
	}
	list_remove(&entry->by_use);
	list_add_last(&cache->by_use, &entry->by_use);
	counter_add(cache->hits, 1);
	return &entry->cached;
}

cache_mark
cache_asking(struct cache *cache, const struct key_id *key_id)
{
	return cache->marks[key_id->bytes[0]];
}

void
cache_put(struct cache *cache, const struct key_id *key_id, cache_mark mark,
    const struct cached *cached)
{
	size_t bytes = sizeof(struct entry) + 2 * MALLOC_BYTES +
	    answer_bytes(cached->answer);
	if ((!cache->subscribed && INVARIANT(cache_hears)) ||
	    (mark != cache->marks[key_id->bytes[0]] &&
		INVARIANT(cache_marks)) ||
	    bytes > cache->limit / LARGEST_PART)
		return;
	struct entry *entry = entry_of(cache, key_id);
	if (entry != NULL)
		drop_entry(cache, entry);
	while (counter_read(cache->bytes) + bytes > cache->limit)
		drop_entry(
		    cache, LIST_FIRST(&cache->by_use, struct entry, by_use));
	entry = mem_zero(sizeof *entry);
	entry->key_id = *key_id;
	entry->cached = *cached;
	entry->bytes = bytes;
	answer_ref(cached->answer);
	/* Its body is counted here from now on. */
	budget_give(cached->answer->body.budget, cached->answer->body.size);
	cached->answer->body.budget = NULL;
	hash_add(
	    &cache->by_key, &entry->by_key, hash_of_digest(key_id->bytes));
	list_add_last(&cache->by_use, &entry->by_use);
	counter_set(cache->bytes, counter_read(cache->bytes) + bytes);
}

void
cache_drop(struct cache *cache, const struct key_id *key_id)
{
	struct entry *entry;
	if (key_id == NULL) {
		for (int i = 0; i <= UINT8_MAX; i++)
			cache->marks[i]++;
		LIST_EACH(entry, &cache->by_use, by_use)
			drop_entry(cache, entry);
		return;
	}
	cache->marks[key_id->bytes[0]]++;
	entry = entry_of(cache, key_id);
	if (entry != NULL && INVARIANT(cache_drops))
		drop_entry(cache, entry);
}
