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
remove_name(struct journal_awaited *awaited, struct name *name)
{
	hash_remove(&awaited->names, &name->item);
	free(name);
	atomic_fetch_sub(&awaited->count, 1);
}

void
journal_awaited_add(struct journal_awaited *awaited,
    const struct journal_about *about, uint64_t search)
{
	const uint8_t *const names[] = {
	    about->key_id.bytes, about->versioned ? about->entity : NULL};
	if (about->kind == JOURNAL_RELEASE)
		return;
	must(pthread_mutex_lock(&awaited->mutex) == 0);
	for (size_t i = 0; i < 2 && names[i] != NULL; i++) {
		struct name *name = mem_zero(sizeof *name);
		memcpy(name->bytes, names[i], sizeof name->bytes);
		name->origin = about->origin;
		name->search = search;
		hash_add(
		    &awaited->names, &name->item, hash_of_digest(names[i]));
		atomic_fetch_add(&awaited->count, 1);
	}
	must(pthread_mutex_unlock(&awaited->mutex) == 0);
}

/*
 * One of each name that waits.  Of its origin the place counts: an id may have
 * become known since it was added.
 */
void
journal_awaited_drop(
    struct journal_awaited *awaited, const struct journal_about *about)
{
	const uint8_t *const names[] = {
	    about->key_id.bytes, about->versioned ? about->entity : NULL};
	struct name *name;
	if (about->kind == JOURNAL_RELEASE)
		return;
	must(pthread_mutex_lock(&awaited->mutex) == 0);
	for (size_t i = 0; i < 2 && names[i] != NULL; i++)
		HASH_EACH_OF(
		    name, &awaited->names, hash_of_digest(names[i]), item)
			if (name->search == 0 &&
			    !memcmp(name->bytes, names[i], DIGEST_BYTES) &&
			    !memcmp(name->origin.place, about->origin.place,
				DIGEST_BYTES)) {
				remove_name(awaited, name);
				break;
			}
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

bool
journal_awaited_has(struct journal_awaited *awaited,
    const struct origin *ours, bool settled, const struct key_id *key_id,
    const uint8_t *entity)
{
	const struct name *name;
	bool found = false;
	if (atomic_load(&awaited->count) == 0)
		return false;
	const uint8_t *const names[] = {
	    key_id->bytes, INVARIANT(version_waits) ? entity : NULL};
	must(pthread_mutex_lock(&awaited->mutex) == 0);
	for (size_t i = 0; i < 2 && names[i] != NULL && !found; i++)
		HASH_EACH_OF(
		    name, &awaited->names, hash_of_digest(names[i]), item) {
			if (memcmp(name->bytes, names[i], DIGEST_BYTES) != 0)
				continue;
			/* It may be ours, as long as our id is not known. */
			found = found || origin_is_ours(&name->origin, ours) ||
			    (!settled && origin_has_id(&name->origin) &&
				INVARIANT(suspects_wait));
		}
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
