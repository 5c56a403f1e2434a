/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/test_build.h"
#include "store/journaled.h"
#include "store/record/answer_codec.h"
#include "store/record/redis_keys.h"
#include "store/store.h"
#include "store/store_parts.h"
#include "store/topology.h"

void
journaled_write(struct store *store, struct journal_writer *writer,
    struct journal_op *op, const struct held *held,
    const struct journaled *what)
{
	struct journal_entry entry = {
	    .kind = what->kind,
	    .key_id = held->key_id,
	    .owner = held->owner,
	    .attempt = held->attempt,
	    .sent = what->sent,
	    .forget = what->forget,
	    .reason = what->reason,
	    .retention_ms = held->policy->retention_ms,
	    .unknown_retention_ms = held->policy->unknown_retention_ms,
	    .origin = *store_origin(store),
	    .tries = held->tries,
	    .created_ms = held->created_ms,
	    .provenance = held->provenance,
	};
	memcpy(entry.fingerprint, held->fingerprint, sizeof entry.fingerprint);
	if (held->entity != NULL) {
		entry.entity = span_of(held->entity->name, DIGEST_BYTES);
		entry.version = held->entity->version;
		entry.shown = held->entity->shown;
	}
	char *bytes = NULL;
	if (what->answer != NULL) {
		struct seal_about about = seal_about_attempt(
		    &held->key_id, held->attempt, held->fingerprint);
		entry.status = what->answer->status;
		answer_codec_write(&store->codec, &about, what->answer, &bytes,
		    &entry.answer.len);
	}
	entry.answer.ptr = bytes ? bytes : "";
	journal_writer_append(writer, op, &entry);
	free(bytes);
}

bool
journaled_is_final(const struct store_op *op, const struct journal_entry *entry)
{
	/*
	 * Redis has forgotten the attempt, and another owner has claimed the
	 * key since: numbers of attempts rise otherwise.
	 */
	bool forgotten = entry->kind != JOURNAL_RELEASE &&
	    op->state == STATE_PROCESSING && op->attempt <= entry->attempt &&
	    INVARIANT(forgotten_held_back);
	if (store_op_broken(op))
		return false;
	if (op->verdict == VERDICT_FENCED && (op->before || forgotten))
		return false;
	return op->verdict == VERDICT_DONE || entry->deadline_ms == 0 ||
	    op->now_ms > entry->deadline_ms || !INVARIANT(giveback_again);
}

bool
journaled_can_run(const struct store *store, const struct key_id *key_id)
{
	const struct node *node = topology_node_of(
	    store, redis_keys_shard(store->conf, key_id));
	if (node == NULL)
		return topology_is_hopeful(store->topology);
	return node_is_up(node) || node_is_hopeful(node);
}

void
journaled_run(struct store *store, struct store_op *op,
    const struct journal_entry *entry)
{
	/* Of a policy, the operations read these times and nothing else. */
	const struct conf_idempotency policy = {
	    .retention_ms = entry->retention_ms,
	    .unknown_retention_ms = entry->unknown_retention_ms,
	};
	struct held held = {
	    .key_id = entry->key_id,
	    .owner = entry->owner,
	    .attempt = entry->attempt,
	    .tries = entry->tries,
	    .created_ms = entry->created_ms,
	    .policy = &policy,
	    .provenance = entry->provenance,
	};
	memcpy(held.fingerprint, entry->fingerprint, sizeof held.fingerprint);
	struct store_entity entity = {
	    .version = entry->version, .shown = entry->shown};
	if (entry->entity.len == DIGEST_BYTES) {
		memcpy(entity.name, entry->entity.ptr, DIGEST_BYTES);
		held.entity = &entity;
	}
	switch (entry->kind) {
	case JOURNAL_COMPLETE:
		/*
		 * The bytes as they are, whatever encryption keys there are
		 * now.
		 */
		store_complete_stored(
		    store, op, &held, entry->answer, entry->status);
		break;
	case JOURNAL_RELEASE:
		store_release(
		    store, op, &held, entry->sent, entry->forget);
		break;
	case JOURNAL_UNKNOWN:
		store_mark_unknown(store, op, &held, entry->reason);
		break;
	}
	/* It is tried again and again. */
	op->quiet = true;
}

/* --- what is not executed meanwhile --- */

static bool
has_version(const struct store_entity *entity)
{
	return entity != NULL && entity->version.len > 0;
}

static struct journal_about
about_held(const struct store *store, const struct held *held,
    enum journal_kind kind)
{
	struct journal_about about = {
	    .kind = kind,
	    .key_id = held->key_id,
	    .origin = *store_origin(store),
	    .versioned =
		kind == JOURNAL_COMPLETE && has_version(held->entity),
	};
	if (about.versioned)
		memcpy(about.entity, held->entity->name, sizeof about.entity);
	return about;
}

void
journaled_begin(const struct store *store, struct journal_waiting *waiting,
    const struct held *held, enum journal_kind kind)
{
	struct journal_about about = about_held(store, held, kind);
	journal_waiting_add(waiting, &about);
}

void
journaled_end(const struct store *store, struct journal_waiting *waiting,
    const struct held *held, enum journal_kind kind)
{
	struct journal_about about = about_held(store, held, kind);
	journal_waiting_drop(waiting, &about);
}

bool
journaled_awaits(const struct store *store, struct journal_waiting *waiting,
    const struct claim *claim)
{
	const uint8_t *entity =
	    has_version(claim->entity) ? claim->entity->name : NULL;
	return journal_waiting_has(waiting, store_origin(store),
		   store_origin_is_settled(store), &claim->key_id, entity) &&
	    INVARIANT(outcome_waits);
}
