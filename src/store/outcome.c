/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <stdlib.h>

#include "base/base64.h"
#include "base/digits.h"
#include "base/test_build.h"
#include "store/outcome.h"
#include "store/record/answer_codec.h"
#include "store/record/redis_keys.h"
#include "store/record_reply.h"
#include "store/store.h"
#include "store/topology.h"

/* --- to Redis --- */

enum { ATTEMPT_DIGITS = 6 };

/* The call of an outcome, and what it takes to make its record again. */
struct outcome_call {
	struct store_call call; /* first: see call_of_record */
	/*
	 * Its spans live as long as the operation waits; neither the policy nor
	 * the entity do.
	 */
	struct owned_claim owned;
	struct store_entity entity;
	int64_t keep_ms; /* how long the entity's version is remembered */
};

static void
on_made_again(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	if (how == CALL_ANSWERED && reply->verdict == VERDICT_DONE) {
		char hex[DIGEST_HEX + 1];
		hex_encode(call->key_id.bytes, DIGEST_BYTES, hex);
		struct logline line = log_begin(EV_record_made_again);
		log_str(&line, "key_id", hex);
		log_int(&line, "attempt", reply->attempt);
		log_str(&line, "step", script_words[call->run.script]);
		log_end(&line);
	}
	record_reply_done(call, how, error, reply);
}

/*
 * Where the record is gone, the same goes once more, with what it takes to make
 * it again: the script does so only if it is still gone.
 */
static void
on_outcome(struct store_call *old, enum call_end how, int error,
    const struct call_reply *reply)
{
	const struct outcome_call *outcome =
	    CONTAINER_OF(old, struct outcome_call, call);
	const struct owned_claim *owned = &outcome->owned;
	bool again = how == CALL_ANSWERED && old->op != NULL &&
	    reply->verdict == VERDICT_GONE && owned->created_ms > 0 &&
	    INVARIANT(outcome_restored);
	if (!again) {
		record_reply_done(old, how, error, reply);
		return;
	}
	old->op->gone = true;
	struct store_call *call = call_new(old->store, old->shard,
	    old->run.script, old->n_args + (owned->entity != NULL ? 8 : 4));
	call->key_id = old->key_id;
	call->events_maxlen = old->events_maxlen;
	call->large = old->large;
	call->owner = old->owner;
	call->confirmed = old->confirmed;
	resp_bytes(&call->args, span_of(old->args.bytes, old->args.len));
	call_arg_make_again(call, owned, outcome->keep_ms);
	call->done = on_made_again;
	call_join_op(call, old->op);
	call_start(call);
	call_end_op(old, 0);
}

static struct store_call *
outcome_call(struct store *store, struct store_op *op,
    const struct owned_claim *owned, enum journal_kind kind)
{
	static const struct {
		enum script script;
		size_t n_argv;
	} runs[] = {
	    [JOURNAL_COMPLETE] = {SCRIPT_complete, 4},
	    [JOURNAL_RELEASE] = {SCRIPT_release, 6},
	    [JOURNAL_UNKNOWN] = {SCRIPT_mark_unknown, 5},
	};
	(void)call_outlive(store, owned->policy);
	call_begin_op(store, op);
	struct store_call *call =
	    call_of_record(store, runs[kind].script, &owned->key_id,
		runs[kind].n_argv, sizeof(struct outcome_call));
	struct outcome_call *outcome =
	    CONTAINER_OF(call, struct outcome_call, call);
	outcome->owned = *owned;
	outcome->owned.policy = NULL;
	outcome->keep_ms = owned->policy->unknown_retention_ms;
	if (owned->entity != NULL) {
		outcome->entity = *owned->entity;
		outcome->owned.entity = &outcome->entity;
	}
	call->owner = owned->owner;
	call->item.attempt = owned->attempt;
	call->confirmed = record_reply_confirmed;
	call->done =
	    kind == JOURNAL_RELEASE ? record_reply_done : on_outcome;
	call_join_op(call, op);
	return call;
}

/* The bytes of an answer as they are stored; the caller frees *ret_bytes. */
static struct span
encode(const struct store *store, const struct owned_claim *owned,
    const struct answer *answer, char **ret_bytes)
{
	char print[TOKEN_CHARS + 1] = "";
	if (store->conf->store.n_encryption_keys > 0)
		base64_url_encode(owned->fingerprint, DIGEST_BYTES, print);
	return answer_codec_write(&store->codec, &owned->key_id,
	    owned->attempt, span_of(print, TOKEN_CHARS), answer, ret_bytes);
}

void
outcome_store(struct store *store, struct store_op *op,
    const struct owned_claim *owned, const struct owned_outcome *outcome)
{
	char *encoded = NULL;
	struct store_call *call =
	    outcome_call(store, op, owned, outcome->kind);
	if (outcome->kind == JOURNAL_COMPLETE) {
		char terms[1 + ATTEMPT_DIGITS + DIGITS_MAX] = " ";
		size_t len = 1 + ATTEMPT_DIGITS;
		struct span bytes = outcome->stored;
		if (outcome->answer != NULL)
			bytes = encode(store, owned, outcome->answer, &encoded);
		/* What answers of one turn may share (lua/complete.lua). */
		digits_pad(terms + 1, ATTEMPT_DIGITS, owned->attempt);
		len += digits_put(terms + len, owned->policy->retention_ms);
		const struct span first[] = {
		    span_of(terms, len), owned->asked};
		resp_joined(&call->args, first, 2);
		call->item.own_from = call->args.len;
		call_arg_labelled(call, &owned->owner,
		    owned->labelled ? owned->provenance : SPAN(""));
		resp_arg(&call->args, bytes);
		call->large = bytes.len >= STORE_LARGE_BYTES;
		/* With an entity's record more is to be done than is usual. */
		if (owned->entity == NULL && owned->asked.len == 0 &&
		    !call->large)
			call->item.own_to = call->args.len;
		resp_number(&call->args, outcome->answer != NULL
			? outcome->answer->status
			: outcome->status);
	} else {
		const char lower = reason_letters[outcome->reason];
		const char letter =
		    outcome->started ? (char)toupper(lower) : lower;
		const struct span reason[] = {
		    span_of(&letter, 1), owned->asked};
		call_arg_token(call, owned->owner.bytes);
		call_arg_attempt(call, owned->attempt);
		if (outcome->kind == JOURNAL_RELEASE) {
			resp_number(&call->args, outcome->release);
			resp_number(&call->args, owned->policy->retention_ms);
		} else {
			must(outcome->reason != REASON_NONE);
			resp_joined(&call->args, reason, 2);
		}
		resp_number(&call->args, owned->policy->unknown_retention_ms);
		resp_number(&call->args, store->longest_ms);
	}
	call_start(call);
	free(encoded);
}

/* --- to the journal, and from there --- */

struct journal_about
outcome_journal(struct store *store, struct journal_writer *writer,
    struct journal_op *op, const struct owned_claim *owned,
    const struct owned_outcome *outcome)
{
	struct journal_entry entry = {
	    .kind = outcome->kind,
	    .key_id = owned->key_id,
	    .owner = owned->owner,
	    .attempt = owned->attempt,
	    .release = outcome->release,
	    .reason = outcome->reason,
	    .retention_ms = owned->policy->retention_ms,
	    .unknown_retention_ms = owned->policy->unknown_retention_ms,
	    .origin = store->identity.origin,
	    .tries = owned->tries,
	    .created_ms = owned->created_ms,
	    .provenance = owned->provenance,
	    .answer = SPAN(""),
	};
	memcpy(entry.fingerprint, owned->fingerprint, sizeof entry.fingerprint);
	if (owned->entity != NULL) {
		entry.entity = span_of(owned->entity->name, DIGEST_BYTES);
		entry.version = owned->entity->version;
		entry.shown = owned->entity->shown;
	}
	char *encoded = NULL;
	if (outcome->answer != NULL) {
		entry.status = outcome->answer->status;
		entry.answer = encode(store, owned, outcome->answer, &encoded);
	}
	journal_writer_append(writer, op, &entry);
	free(encoded);
	return journal_entry_about(&entry);
}

bool
outcome_can_replay(const struct store *store, const struct key_id *key_id)
{
	const struct node *node = topology_node_of(
	    store, redis_keys_shard(store->conf, key_id));
	if (node == NULL)
		return topology_is_hopeful(store->topology);
	return node_is_up(node) || node_is_hopeful(node);
}

struct owned_claim
outcome_owned(
    const struct journal_entry *entry, struct store_entity *ret_entity)
{
	struct owned_claim owned = {
	    .key_id = entry->key_id,
	    .owner = entry->owner,
	    .attempt = entry->attempt,
	    .tries = entry->tries,
	    .created_ms = entry->created_ms,
	    .provenance = entry->provenance,
	    .labelled = true,
	};
	memcpy(owned.fingerprint, entry->fingerprint, sizeof owned.fingerprint);
	*ret_entity = (struct store_entity){
	    .version = entry->version, .shown = entry->shown};
	if (entry->entity.len == DIGEST_BYTES) {
		memcpy(ret_entity->name, entry->entity.ptr, DIGEST_BYTES);
		owned.entity = ret_entity;
	}
	return owned;
}

void
outcome_replay(struct store *store, struct store_op *op,
    const struct journal_entry *entry)
{
	/* Of a policy, these times are read and nothing else. */
	const struct conf_idempotency policy = {
	    .retention_ms = entry->retention_ms,
	    .unknown_retention_ms = entry->unknown_retention_ms,
	};
	struct store_entity entity;
	struct owned_claim owned = outcome_owned(entry, &entity);
	owned.policy = &policy;
	const struct owned_outcome outcome = {
	    .kind = entry->kind,
	    .stored = entry->answer,
	    .status = entry->status,
	    .release = entry->release,
	    .reason = entry->reason,
	};
	outcome_store(store, op, &owned, &outcome);
	/* It is tried again and again. */
	op->quiet = true;
}

bool
outcome_may_yet_count(
    const struct store_op *op, enum journal_kind kind, uint32_t attempt)
{
	/*
	 * Redis has forgotten the attempt, and another owner has claimed the
	 * key since: numbers of attempts rise otherwise.
	 */
	bool forgotten = kind != JOURNAL_RELEASE &&
	    op->state == STATE_PROCESSING && op->attempt <= attempt &&
	    INVARIANT(forgotten_held_back);
	return op->verdict == VERDICT_FENCED && (op->before || forgotten);
}

bool
outcome_is_final(const struct store_op *op, const struct journal_entry *entry)
{
	if (store_op_broken(op) ||
	    outcome_may_yet_count(op, entry->kind, entry->attempt))
		return false;
	return op->verdict == VERDICT_DONE || entry->deadline_ms == 0 ||
	    op->now_ms > entry->deadline_ms || !INVARIANT(giveback_again);
}

/* --- what is not executed meanwhile --- */

bool
outcome_is_awaited(const struct store *store, struct journal_awaited *awaited,
    const struct claim *claim)
{
	bool versioned =
	    claim->entity != NULL && claim->entity->version.len > 0;
	const struct identity *identity = &store->identity;
	return journal_awaited_has(awaited, &identity->origin,
		   identity->answered, &claim->key_id,
		   versioned ? claim->entity->name : NULL) &&
	    INVARIANT(outcome_waits);
}
