/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "store/deliver.h"
#include "store/record.h"
#include "store/verbs.h"

bool
store_put_off(struct store *store, struct journal *journal,
    const struct held *held, const struct put_off *what)
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
	if (what->answer != NULL)
		record_encode(what->answer, store->compress, &bytes,
		    &entry.answer.len);
	entry.answer.ptr = bytes ? bytes : "";
	uint64_t id;
	bool written = journal_append(journal, &entry, &id);
	free(bytes);
	return written;
}

/* Of an answer as it is stored, for the event; 0 where nobody is told. */
static int
status_of(struct store *store, struct span stored)
{
	struct answer *answer = NULL;
	int status = 0;
	if (store->conf->store.events_maxlen > 0 &&
	    record_decode(stored, store->decompress, NULL, &answer) == 0)
		status = answer->status;
	answer_unref(&answer);
	return status;
}

void
store_deliver(struct store *store, struct store_op *op,
    const struct journal_entry *entry)
{
	/* The steps read these times of a policy, and nothing else. */
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
		verb_complete(store, op, &held, entry->answer,
		    status_of(store, entry->answer));
		break;
	case JOURNAL_RELEASE:
		store_release(store, op, &held, entry->sent);
		break;
	case JOURNAL_UNKNOWN:
		store_unknown(store, op, &held, entry->reason);
		break;
	}
}
