/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "base/test_build.h"
#include "gate/cache.h"

enum {
	LEAST_BUCKETS = 64,
	MARKS = 256,       /* a power of two */
	LARGEST_PART = 8,  /* of the cache: no answer may have more */
	MALLOC_BYTES = 16, /* what each block costs besides */
};

struct entry {
	struct entry *next; /* of its bucket */
	struct entry **link;
	struct entry *older; /* by their last use */
	struct entry *newer;
	struct key_id key_id;
	struct cached cached;
	size_t bytes;
};

struct cache {
	size_t limit;
	bool subscribed;
	struct entry **buckets;
	size_t n_buckets; /* a power of two */
	size_t count;
	struct entry *oldest;
	struct entry *newest;
	/* How many changes were heard of, by the first byte of the name. */
	cache_mark marks[MARKS];
	struct counter bytes;
	struct counter hits;
};

/* The name is a hash: any bytes of it are as good as others. */
static size_t
hash_of(const struct key_id *key_id)
{
	size_t hash;
	memcpy(&hash, key_id->bytes + 1, sizeof hash);
	return hash;
}

static cache_mark *
mark_of(struct cache *cache, const struct key_id *key_id)
{
	return &cache->marks[key_id->bytes[0] % MARKS];
}

/* --- the table --- */

static void
bucket_insert(struct cache *cache, struct entry *entry)
{
	struct entry **bucket =
	    &cache->buckets[hash_of(&entry->key_id) % cache->n_buckets];
	entry->next = *bucket;
	entry->link = bucket;
	if (entry->next != NULL)
		entry->next->link = &entry->next;
	*bucket = entry;
}

static void
bucket_remove(struct entry *entry)
{
	*entry->link = entry->next;
	if (entry->next != NULL)
		entry->next->link = entry->link;
}

static void
grow_table(struct cache *cache)
{
	if (cache->count < cache->n_buckets)
		return;
	free(cache->buckets);
	cache->n_buckets *= 2;
	cache->buckets = mem_zero(cache->n_buckets * sizeof(struct entry *));
	for (struct entry *e = cache->oldest; e != NULL; e = e->newer)
		bucket_insert(cache, e);
}

static struct entry *
entry_of(const struct cache *cache, const struct key_id *key_id)
{
	struct entry *e =
	    cache->buckets[hash_of(key_id) % cache->n_buckets];
	while (e != NULL && memcmp(&e->key_id, key_id, sizeof *key_id) != 0)
		e = e->next;
	return e;
}

/* --- by use --- */

static void
use_insert(struct cache *cache, struct entry *entry)
{
	entry->newer = NULL;
	entry->older = cache->newest;
	if (cache->newest != NULL)
		cache->newest->newer = entry;
	else
		cache->oldest = entry;
	cache->newest = entry;
}

static void
use_remove(struct cache *cache, struct entry *entry)
{
	if (entry->older != NULL)
		entry->older->newer = entry->newer;
	else
		cache->oldest = entry->newer;
	if (entry->newer != NULL)
		entry->newer->older = entry->older;
	else
		cache->newest = entry->older;
}

static void
drop_entry(struct cache *cache, struct entry *entry)
{
	bucket_remove(entry);
	use_remove(cache, entry);
	counter_set(
	    &cache->bytes, counter_read(&cache->bytes) - entry->bytes);
	cache->count--;
	answer_unref(&entry->cached.answer);
	free(entry);
}

static void
drop_all(struct cache *cache)
{
	while (cache->oldest != NULL)
		drop_entry(cache, cache->oldest);
}

/* --- life --- */

struct cache *
cache_new(size_t bytes)
{
	struct cache *cache = mem_zero(sizeof *cache);
	cache->limit = bytes;
	cache->n_buckets = LEAST_BUCKETS;
	cache->buckets = mem_zero(cache->n_buckets * sizeof(struct entry *));
	return cache;
}

void
cache_free(struct cache **cache)
{
	struct cache *c = *cache;
	*cache = NULL;
	if (c == NULL)
		return;
	drop_all(c);
	free(c->buckets);
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
	use_remove(cache, entry);
	use_insert(cache, entry);
	counter_add(&cache->hits, 1);
	return &entry->cached;
}

cache_mark
cache_asking(struct cache *cache, const struct key_id *key_id)
{
	return *mark_of(cache, key_id);
}

void
cache_put(struct cache *cache, const struct key_id *key_id, cache_mark mark,
    const struct cached *cached)
{
	size_t bytes = sizeof(struct entry) + 2 * MALLOC_BYTES +
	    answer_bytes(cached->answer);
	if ((!cache->subscribed && INVARIANT(cache_hears)) ||
	    (mark != *mark_of(cache, key_id) && INVARIANT(cache_marks)) ||
	    bytes > cache->limit / LARGEST_PART)
		return;
	struct entry *entry = entry_of(cache, key_id);
	if (entry != NULL)
		drop_entry(cache, entry);
	while (counter_read(&cache->bytes) + bytes > cache->limit)
		drop_entry(cache, cache->oldest);

	entry = mem_zero(sizeof *entry);
	entry->key_id = *key_id;
	entry->cached = *cached;
	entry->bytes = bytes;
	answer_ref(cached->answer);
	body_uncount(&cached->answer->body);
	grow_table(cache);
	bucket_insert(cache, entry);
	use_insert(cache, entry);
	cache->count++;
	counter_set(&cache->bytes, counter_read(&cache->bytes) + bytes);
}

void
cache_drop(struct cache *cache, const struct key_id *key_id)
{
	if (key_id == NULL) {
		for (int i = 0; i < MARKS; i++)
			cache->marks[i]++;
		drop_all(cache);
		return;
	}
	++*mark_of(cache, key_id);
	struct entry *entry = entry_of(cache, key_id);
	if (entry != NULL && INVARIANT(cache_drops))
		drop_entry(cache, entry);
}

uint64_t
cache_bytes(const struct cache *cache)
{
	return counter_read(&cache->bytes);
}

uint64_t
cache_hits(const struct cache *cache)
{
	return counter_read(&cache->hits);
}
