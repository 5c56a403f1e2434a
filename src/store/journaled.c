/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "record/answer_codec.h"
#include "store/journaled.h"
#include "store/store.h"
#include "store/store_parts.h"

bool
journaled_write(struct store *store, struct journal *journal,
    const struct held *held, const struct journaled *what)
{
	struct journal_entry entry = {
	    .kind = what->kind,
	    .key_id = held->key_id,
	    .owner = held->owner,
	    .attempt = held->attempt,
	    .sent = what->sent,
	    .reason = what->reason,
	    .retention_ms = held->policy->retention_ms,
	    .unknown_retention_ms = held->policy->unknown_retention_ms,
	    .route = held->route,
	};
	char *bytes = NULL;
	if (what->answer != NULL) {
		struct seal_about about = seal_about_attempt(
		    &held->key_id, held->attempt, held->fingerprint);
		entry.status = what->answer->status;
		answer_codec_write(&store->codec, &about, what->answer, &bytes,
		    &entry.answer.len);
	}
	entry.answer.ptr = bytes ? bytes : "";
	uint64_t id;
	bool written = journal_append(journal, &entry, &id);
	free(bytes);
	return written;
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
	const struct held held = {
	    .key_id = entry->key_id,
	    .owner = entry->owner,
	    .attempt = entry->attempt,
	    .policy = &policy,
	    .route = entry->route,
	};
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
		store_release(store, op, &held, entry->sent);
		break;
	case JOURNAL_UNKNOWN:
		store_mark_unknown(store, op, &held, entry->reason);
		break;
	}
}
