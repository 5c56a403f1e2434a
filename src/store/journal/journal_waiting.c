/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/test_build.h"
#include "store/journal/journal_waiting.h"

enum { BUCKETS = 4096 };

/* A key, or an entity: both are hashes, and no two are the same. */
struct name {
	struct name *next;
	uint8_t bytes[DIGEST_BYTES];
	struct origin origin;
	uint64_t look; /* that suspects it; 0: it is known to wait */
};

struct journal_waiting {
	atomic_size_t count;
	pthread_mutex_t mutex;
	struct name *buckets[BUCKETS];
};

/* On a cluster a name's beginning may be that of others as well. */
static struct name **
bucket_of(struct journal_waiting *waiting, const uint8_t *bytes)
{
	unsigned hash = (unsigned)bytes[DIGEST_BYTES - 2] << 8 |
	    bytes[DIGEST_BYTES - 1];
	return &waiting->buckets[hash % BUCKETS];
}

static void
lock_table(struct journal_waiting *waiting)
{
	must(pthread_mutex_lock(&waiting->mutex) == 0);
}

static void
unlock_table(struct journal_waiting *waiting)
{
	must(pthread_mutex_unlock(&waiting->mutex) == 0);
}

static void
add_name(struct journal_waiting *waiting, const uint8_t *bytes,
    const struct origin *origin, uint64_t look)
{
	struct name **bucket = bucket_of(waiting, bytes);
	struct name *name = mem_zero(sizeof *name);
	memcpy(name->bytes, bytes, sizeof name->bytes);
	name->origin = *origin;
	name->look = look;
	name->next = *bucket;
	*bucket = name;
	atomic_fetch_add(&waiting->count, 1);
}

static void
remove_name(struct journal_waiting *waiting, struct name **at)
{
	struct name *name = *at;
	*at = name->next;
	free(name);
	atomic_fetch_sub(&waiting->count, 1);
}

/* Of one place: an id may have become known since it was added. */
static void
drop_name(struct journal_waiting *waiting, const uint8_t *bytes,
    const struct origin *origin)
{
	struct name **at = bucket_of(waiting, bytes);
	while (*at != NULL &&
	    ((*at)->look != 0 || memcmp((*at)->bytes, bytes, DIGEST_BYTES) ||
		memcmp((*at)->origin.place, origin->place, DIGEST_BYTES)))
		at = &(*at)->next;
	if (*at != NULL)
		remove_name(waiting, at);
}

void
journal_waiting_suspect(struct journal_waiting *waiting,
    const struct journal_about *about, uint64_t look)
{
	if (about->kind == JOURNAL_RELEASE)
		return;
	lock_table(waiting);
	add_name(waiting, about->key_id.bytes, &about->origin, look);
	if (about->versioned)
		add_name(waiting, about->entity, &about->origin, look);
	unlock_table(waiting);
}

void
journal_waiting_add(
    struct journal_waiting *waiting, const struct journal_about *about)
{
	journal_waiting_suspect(waiting, about, 0);
}

void
journal_waiting_drop(
    struct journal_waiting *waiting, const struct journal_about *about)
{
	if (about->kind == JOURNAL_RELEASE)
		return;
	lock_table(waiting);
	drop_name(waiting, about->key_id.bytes, &about->origin);
	if (about->versioned)
		drop_name(waiting, about->entity, &about->origin);
	unlock_table(waiting);
}

void
journal_waiting_add_all(
    struct journal_waiting *waiting, const struct journal *journal)
{
	for (uint64_t id = 0; journal_next(journal, NULL, id, &id);) {
		struct journal_about about = journal_about(journal, id);
		journal_waiting_add(waiting, &about);
	}
}

void
journal_waiting_drop_all(
    struct journal_waiting *waiting, const struct journal *journal)
{
	for (uint64_t id = 0; journal_next(journal, NULL, id, &id);) {
		struct journal_about about = journal_about(journal, id);
		journal_waiting_drop(waiting, &about);
	}
}

void
journal_waiting_acquit(struct journal_waiting *waiting, uint64_t look)
{
	if (atomic_load(&waiting->count) == 0)
		return;
	lock_table(waiting);
	for (unsigned i = 0; i < BUCKETS; i++) {
		struct name **at = &waiting->buckets[i];
		while (*at != NULL)
			if ((*at)->look != 0 && (*at)->look < look)
				remove_name(waiting, at);
			else
				at = &(*at)->next;
	}
	unlock_table(waiting);
}

static bool
may_be_ours(
    const struct origin *origin, const struct origin *ours, bool settled)
{
	return origin_is_ours(origin, ours) ||
	    (!settled && origin_has_id(origin) && INVARIANT(suspects_wait));
}

static bool
has_name(struct journal_waiting *waiting, const struct origin *ours,
    bool settled, const uint8_t *bytes)
{
	const struct name *name = *bucket_of(waiting, bytes);
	while (name != NULL &&
	    (memcmp(name->bytes, bytes, DIGEST_BYTES) ||
		!may_be_ours(&name->origin, ours, settled)))
		name = name->next;
	return name != NULL;
}

bool
journal_waiting_has(struct journal_waiting *waiting,
    const struct origin *ours, bool settled, const struct key_id *key_id,
    const uint8_t *entity)
{
	if (atomic_load(&waiting->count) == 0)
		return false;
	lock_table(waiting);
	bool found = has_name(waiting, ours, settled, key_id->bytes) ||
	    (entity != NULL && INVARIANT(version_waits) &&
		has_name(waiting, ours, settled, entity));
	unlock_table(waiting);
	return found;
}

struct journal_waiting *
journal_waiting_new(void)
{
	struct journal_waiting *waiting = mem_zero(sizeof *waiting);
	must(pthread_mutex_init(&waiting->mutex, NULL) == 0);
	return waiting;
}

void
journal_waiting_free(struct journal_waiting **waiting)
{
	struct journal_waiting *w = *waiting;
	*waiting = NULL;
	if (w == NULL)
		return;
	for (unsigned i = 0; i < BUCKETS; i++)
		while (w->buckets[i] != NULL)
			remove_name(w, &w->buckets[i]);
	must(pthread_mutex_destroy(&w->mutex) == 0);
	free(w);
}
