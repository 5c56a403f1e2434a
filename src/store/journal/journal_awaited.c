/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "store/journal/journal_awaited.h"

/* A key, or an entity: both are hashes, and no two are the same. */
struct name {
	struct hash_item item;
	uint8_t bytes[DIGEST_BYTES];
	struct origin origin;
	uint64_t search; /* that suspects it; 0: it is known to wait */
};

struct journal_awaited {
	atomic_size_t count; /* of names */
	pthread_mutex_t mutex;
	struct hash names;
};

static void
add_name(struct journal_awaited *awaited, const uint8_t *bytes,
    const struct origin *origin, uint64_t search)
{
	struct name *name = mem_zero(sizeof *name);
	memcpy(name->bytes, bytes, sizeof name->bytes);
	name->origin = *origin;
	name->search = search;
	hash_add(&awaited->names, &name->item, hash_of_digest(bytes));
	atomic_fetch_add(&awaited->count, 1);
}

static void
remove_name(struct journal_awaited *awaited, struct name *name)
{
	hash_remove(&awaited->names, &name->item);
	free(name);
	atomic_fetch_sub(&awaited->count, 1);
}

/*
 * Drops one name that waits.  Of its origin the place counts: an id may have
 * become known since it was added.
 */
static void
drop_name(struct journal_awaited *awaited, const uint8_t *bytes,
    const struct origin *origin)
{
	struct name *name;
	HASH_EACH_OF(name, &awaited->names, hash_of_digest(bytes), item) {
		if (name->search != 0 ||
		    memcmp(name->bytes, bytes, DIGEST_BYTES) != 0 ||
		    memcmp(name->origin.place, origin->place, DIGEST_BYTES))
			continue;
		remove_name(awaited, name);
		return;
	}
}

void
journal_awaited_add(struct journal_awaited *awaited,
    const struct journal_about *about, uint64_t search)
{
	if (about->kind == JOURNAL_RELEASE)
		return;
	must(pthread_mutex_lock(&awaited->mutex) == 0);
	add_name(awaited, about->key_id.bytes, &about->origin, search);
	if (about->versioned)
		add_name(awaited, about->entity, &about->origin, search);
	must(pthread_mutex_unlock(&awaited->mutex) == 0);
}

void
journal_awaited_drop(
    struct journal_awaited *awaited, const struct journal_about *about)
{
	if (about->kind == JOURNAL_RELEASE)
		return;
	must(pthread_mutex_lock(&awaited->mutex) == 0);
	drop_name(awaited, about->key_id.bytes, &about->origin);
	if (about->versioned)
		drop_name(awaited, about->entity, &about->origin);
	must(pthread_mutex_unlock(&awaited->mutex) == 0);
}

void
journal_awaited_acquit(struct journal_awaited *awaited, uint64_t search)
{
	struct name *name;
	if (atomic_load(&awaited->count) == 0)
		return;
	must(pthread_mutex_lock(&awaited->mutex) == 0);
	HASH_EACH(name, &awaited->names, item)
		if (name->search != 0 && name->search < search)
			remove_name(awaited, name);
	must(pthread_mutex_unlock(&awaited->mutex) == 0);
}

static bool
has_name(struct journal_awaited *awaited, const struct origin *ours,
    bool settled, const uint8_t *bytes)
{
	const struct name *name;
	HASH_EACH_OF(name, &awaited->names, hash_of_digest(bytes), item) {
		if (memcmp(name->bytes, bytes, DIGEST_BYTES) != 0)
			continue;
		if (origin_is_ours(&name->origin, ours))
			return true;
		/* It may be ours, as long as our id is not known. */
		if (!settled && origin_has_id(&name->origin) &&
		    INVARIANT(suspects_wait))
			return true;
	}
	return false;
}

bool
journal_awaited_has(struct journal_awaited *awaited,
    const struct origin *ours, bool settled, const struct key_id *key_id,
    const uint8_t *entity)
{
	if (atomic_load(&awaited->count) == 0)
		return false;
	must(pthread_mutex_lock(&awaited->mutex) == 0);
	bool found = has_name(awaited, ours, settled, key_id->bytes) ||
	    (entity != NULL && INVARIANT(version_waits) &&
		has_name(awaited, ours, settled, entity));
	must(pthread_mutex_unlock(&awaited->mutex) == 0);
	return found;
}

struct journal_awaited *
journal_awaited_new(void)
{
	struct journal_awaited *awaited = mem_zero(sizeof *awaited);
	must(pthread_mutex_init(&awaited->mutex, NULL) == 0);
	return awaited;
}

void
journal_awaited_free(struct journal_awaited **awaited)
{
	struct journal_awaited *w = *awaited;
	struct name *name;
	*awaited = NULL;
	if (w == NULL)
		return;
	HASH_EACH(name, &w->names, item)
		remove_name(w, name);
	hash_free(&w->names);
	must(pthread_mutex_destroy(&w->mutex) == 0);
	free(w);
}
