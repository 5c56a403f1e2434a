/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "store/journal/journal_waiting.h"

/* A key, or an entity: both are hashes, and no two are the same. */
struct name {
	struct hash_item item;
	uint8_t bytes[DIGEST_BYTES];
	struct origin origin;
	uint64_t search; /* that suspects it; 0: it is known to wait */
};

struct journal_waiting {
	atomic_size_t count; /* of names */
	pthread_mutex_t mutex;
	struct hash names;
};

static void
add_name(struct journal_waiting *waiting, const uint8_t *bytes,
    const struct origin *origin, uint64_t search)
{
	struct name *name = mem_zero(sizeof *name);
	memcpy(name->bytes, bytes, sizeof name->bytes);
	name->origin = *origin;
	name->search = search;
	hash_add(&waiting->names, &name->item, hash_of_digest(bytes));
	atomic_fetch_add(&waiting->count, 1);
}

static void
remove_name(struct journal_waiting *waiting, struct name *name)
{
	hash_remove(&waiting->names, &name->item);
	free(name);
	atomic_fetch_sub(&waiting->count, 1);
}

/*
 * Drops one name that waits.  Of its origin the place counts: an id may have
 * become known since it was added.
 */
static void
drop_name(struct journal_waiting *waiting, const uint8_t *bytes,
    const struct origin *origin)
{
	struct name *name;
	HASH_EACH_OF(name, &waiting->names, hash_of_digest(bytes), item) {
		if (name->search != 0 ||
		    memcmp(name->bytes, bytes, DIGEST_BYTES) != 0 ||
		    memcmp(name->origin.place, origin->place, DIGEST_BYTES))
			continue;
		remove_name(waiting, name);
		return;
	}
}

void
journal_waiting_add(struct journal_waiting *waiting,
    const struct journal_about *about, uint64_t search)
{
	if (about->kind == JOURNAL_RELEASE)
		return;
	must(pthread_mutex_lock(&waiting->mutex) == 0);
	add_name(waiting, about->key_id.bytes, &about->origin, search);
	if (about->versioned)
		add_name(waiting, about->entity, &about->origin, search);
	must(pthread_mutex_unlock(&waiting->mutex) == 0);
}

void
journal_waiting_drop(
    struct journal_waiting *waiting, const struct journal_about *about)
{
	if (about->kind == JOURNAL_RELEASE)
		return;
	must(pthread_mutex_lock(&waiting->mutex) == 0);
	drop_name(waiting, about->key_id.bytes, &about->origin);
	if (about->versioned)
		drop_name(waiting, about->entity, &about->origin);
	must(pthread_mutex_unlock(&waiting->mutex) == 0);
}

void
journal_waiting_acquit(struct journal_waiting *waiting, uint64_t search)
{
	struct name *name;
	if (atomic_load(&waiting->count) == 0)
		return;
	must(pthread_mutex_lock(&waiting->mutex) == 0);
	HASH_EACH(name, &waiting->names, item)
		if (name->search != 0 && name->search < search)
			remove_name(waiting, name);
	must(pthread_mutex_unlock(&waiting->mutex) == 0);
}

static bool
has_name(struct journal_waiting *waiting, const struct origin *ours,
    bool settled, const uint8_t *bytes)
{
	const struct name *name;
	HASH_EACH_OF(name, &waiting->names, hash_of_digest(bytes), item) {
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
journal_waiting_has(struct journal_waiting *waiting,
    const struct origin *ours, bool settled, const struct key_id *key_id,
    const uint8_t *entity)
{
	if (atomic_load(&waiting->count) == 0)
		return false;
	must(pthread_mutex_lock(&waiting->mutex) == 0);
	bool found = has_name(waiting, ours, settled, key_id->bytes) ||
	    (entity != NULL && INVARIANT(version_waits) &&
		has_name(waiting, ours, settled, entity));
	must(pthread_mutex_unlock(&waiting->mutex) == 0);
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
	struct name *name;
	*waiting = NULL;
	if (w == NULL)
		return;
	HASH_EACH(name, &w->names, item)
		remove_name(w, name);
	hash_free(&w->names);
	must(pthread_mutex_destroy(&w->mutex) == 0);
	free(w);
}
