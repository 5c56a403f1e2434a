/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <string.h>

#include "store/journal/journal_folder.h"

/* Asserts that what was written came back. */
static inline bool
entries_are_equal(const struct journal_entry *a, const struct journal_entry *b)
{
	return a->kind == b->kind && a->attempt == b->attempt &&
	    a->release == b->release && a->reason == b->reason &&
	    a->retention_ms == b->retention_ms &&
	    a->unknown_retention_ms == b->unknown_retention_ms &&
	    a->deadline_ms == b->deadline_ms &&
	    a->created_ms == b->created_ms && a->tries == b->tries &&
	    !memcmp(a->fingerprint, b->fingerprint, sizeof a->fingerprint) &&
	    !memcmp(&a->origin, &b->origin, sizeof a->origin) &&
	    !memcmp(&a->key_id, &b->key_id, sizeof a->key_id) &&
	    !memcmp(&a->owner, &b->owner, sizeof a->owner) &&
	    span_eq(a->provenance, b->provenance) &&
	    span_eq(a->entity, b->entity) &&
	    span_eq(a->version, b->version) && span_eq(a->shown, b->shown) &&
	    span_eq(a->answer, b->answer);
}
