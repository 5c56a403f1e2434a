/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/base64.h"
#include "base/container.h"
#include "base/digits.h"
#include "base/error.h"
#include "base/loop/log.h"
#include "store/call.h"
#include "store/operation.h"
#include "store/record/answer_codec.h"
#include "store/record/label.h"
#include "store/record/redis_keys.h"
#include "store/records.h"

_Static_assert((int)OWNER_CHARS == (int)TOKEN_CHARS, "two sizes of owners");

/* --- a record out of a reply --- */

static struct record_view
to_show(const struct record *from, const struct key_id *key_id,
    int64_t expires_ms)
{
	bool owned = !span_eq(from->owner, SPAN("----------------------"));
	return (struct record_view){
	    .key_id = *key_id,
	    .state = from->state,
	    .reason = from->reason,
	    .attempt = from->attempt,
	    .from = from->from,
	    .owner = owned ? from->owner : SPAN(""),
	    .fingerprint = from->fingerprint,
	    .created_ms = from->created_ms,
	    .changed_ms = from->changed_ms,
	    .lease_until_ms = from->lease_until_ms,
	    .expires_ms = expires_ms,
	};
}

void
records_keep(const struct store *store, struct arena *arena,
    struct record_view *record)
{
	struct provenance *from = &record->from;
	struct span *const parts[] = {&from->route, &from->method, &from->path,
	    &from->instance, &from->label, &from->request_id, &from->history};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		*parts[i] = arena_dup(arena, *parts[i]);
	if (!label_read(arena, &store->conf->store, &record->key_id,
		from->label, &from->label))
		from->label = SPAN("");
	record->owner = arena_dup(arena, record->owner);
	record->fingerprint = arena_dup(arena, record->fingerprint);
}

int
records_read_pair(const struct call_reply *reply, size_t at,
    const struct key_id *key_id, struct record_view *ret_shown,
    struct record *ret_record)
{
	struct record record;
	if (at + 2 > reply->n_extra ||
	    reply->extra[at]->type != REDIS_REPLY_INTEGER ||
	    reply->extra[at]->integer > REDIS_CLOCK_MAX_MS)
		return E_MALFORMED;
	int error = record_read(resp_text(reply->extra[at + 1]), &record);
	if (error != 0)
		return error;
	int64_t left_ms = reply->extra[at]->integer;
	*ret_shown = to_show(
	    &record, key_id, left_ms >= 0 ? reply->now_ms + left_ms : 0);
	*ret_record = record;
	return 0;
}

/* --- one record --- */

/* A message for a record whose head can be shown, but not its answer. */
static const char *
unreadable_message(struct arena *arena, struct span stored, int error)
{
	struct span id;
	if (!seal_key_of(stored, &id))
		return "it is not encrypted, and store.encryption_strict is "
		       "true";
	return arena_printf(arena,
	    error == E_NO_KEY
		? "it is encrypted with the key \"%.*s\", which "
		  "store.encryption_keys does not have"
		: "it cannot be decrypted with the key \"%.*s\": the id once "
		  "named another key, or the record was changed in Redis",
	    SPAN_FMT(id))
	    .ptr;
}

/* 0: none. */
static int
read_status(struct span digits)
{
	int64_t status;
	bool is_one = digits_read(digits, 599, &status) && status >= 200;
	return is_one ? (int)status : 0;
}

/* The state, and unless the record was deleted, ms-left and the record. */
static int
read_look(struct store *store, struct records_op *look,
    const struct key_id *key_id, const struct call_reply *reply)
{
	struct store_op *op = &look->op;
	struct span letter =
	    reply->n_extra > 0 ? resp_text(reply->extra[0]) : SPAN("");
	if (op->verdict == VERDICT_BROKEN && look->bare &&
	    reply->n_extra > 0) {
		op->verdict = VERDICT_DONE;
		look->broken = true;
		look->bare = span_eq(letter, SPAN("DELETED"));
		if (look->bare)
			return 0;
	}
	if (op->verdict == VERDICT_BROKEN)
		return E_MALFORMED;
	if (op->verdict == VERDICT_GONE)
		return 0;
	if (letter.len != 1 || !state_of(*letter.ptr, &op->state))
		return E_MALFORMED;
	if (op->verdict == VERDICT_FENCED || look->bare)
		return 0;

	struct record record;
	int error = records_read_pair(reply, 1, key_id, &look->record, &record);
	if (error != 0)
		return error;
	records_keep(store, look->arena, &look->record);
	if (reply->n_extra > 3)
		look->status = read_status(resp_text(reply->extra[3]));
	if (record.state != STATE_COMPLETED || record.rest.len == 0)
		return 0;
	error = answer_codec_read(&store->codec, key_id, &record, &op->answer);
	if (error == E_MALFORMED) {
		answer_codec_log_broken(key_id);
		look->unreadable = "it is damaged";
		look->damaged = true;
		return 0;
	}
	if (!answer_codec_is_shut(error))
		return error;
	look->unreadable =
	    unreadable_message(look->arena, record.rest, error);
	return 0;
}

static void
on_look(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	if (call->op == NULL)
		return;
	struct records_op *look =
	    CONTAINER_OF(call->op, struct records_op, op);
	if (how == CALL_ANSWERED) {
		look->op.verdict = reply->verdict;
		look->op.attempt = reply->attempt;
		look->op.now_ms = reply->now_ms;
		error = read_look(call->store, look, &call->key_id, reply);
	}
	if (error == E_MALFORMED) {
		answer_codec_log_broken(&call->key_id);
		look->op.verdict = VERDICT_BROKEN;
		error = 0;
	}
	operation_end_call(call, error);
}

static struct store_call *
look_call(struct store *store, struct records_op *look, enum script script,
    const struct key_id *key_id, size_t n_argv)
{
	operation_begin(store, &look->op);
	look->record = (struct record_view){0};
	look->unreadable = NULL;
	look->damaged = false;
	look->bare = false;
	look->broken = false;
	look->status = 0;
	look->whole = false;
	struct store_call *call = operation_call(store, script, key_id, n_argv);
	call->done = on_look;
	operation_add(call, &look->op);
	return call;
}

void
records_show(struct store *store, struct records_op *look,
    const struct key_id *key_id, bool whole)
{
	struct store_call *call =
	    look_call(store, look, SCRIPT_show, key_id, 1);
	resp_number(&call->args, whole);
	call->large = look->whole = whole;
	call_start(call);
}

void
records_ask(struct store *store, struct records_op *look,
    const struct key_id *key_id)
{
	struct store_call *call =
	    look_call(store, look, SCRIPT_show, key_id, 1);
	resp_number(&call->args, 2);
	call_start(call);
}

/* The order's answer, if any, as its argument. */
static void
answer_arg(struct store *store, struct store_call *call,
    const struct records_order *order)
{
	char *bytes = NULL;
	size_t len = 0;
	if (order->answer != NULL) {
		struct seal_about about = {.key_id = call->key_id,
		    .state = STATE_COMPLETED,
		    .attempt = order->attempt};
		must(order->fingerprint.len == sizeof about.fingerprint);
		memcpy(about.fingerprint, order->fingerprint.ptr,
		    sizeof about.fingerprint);
		answer_codec_write(
		    &store->codec, &about, order->answer, &bytes, &len);
	}
	resp_arg(&call->args, span_of(bytes ? bytes : "", len));
	free(bytes);
}

/*
 * It was looked at, and is BROKEN: the answer of the request that it is of
 * takes its place.
 */
static void
replace(struct store *store, struct records_op *look,
    const struct journal_entry *entry)
{
	bool raises = entry->entity.len == DIGEST_BYTES;
	struct store_entity entity = {
	    .version = entry->version, .shown = entry->shown};
	struct store_call *call = look_call(store, look, SCRIPT_operate,
	    &entry->key_id, raises ? 17 : 13);
	look->bare = true;
	resp_arg(&call->args, SPAN("replace"));
	resp_number(&call->args, entry->retention_ms);
	resp_arg(&call->args, entry->answer);
	resp_number(&call->args, entry->status);
	resp_number(&call->args, 0);
	resp_arg(&call->args, SPAN(""));
	resp_arg(&call->args, SPAN(""));
	operation_arg_owner(call, &entry->owner);
	operation_arg_attempt(call, entry->attempt);
	operation_arg_history(call, entry->fingerprint, entry->tries,
	    entry->created_ms, entry->provenance);
	if (raises) {
		memcpy(entity.name, entry->entity.ptr, DIGEST_BYTES);
		operation_arg_entity(call, &entity);
		resp_number(&call->args, entry->unknown_retention_ms);
	}
	call->large = call->args.len >= LINE_LARGE_BYTES;
	call_start(call);
}

static void
note_arg(struct arena *arena, struct store_call *call, struct span note)
{
	char *text = arena_alloc(arena, note.len * 4 / 3 + 4);
	base64_encode((const uint8_t *)note.ptr, note.len, text);
	resp_arg(&call->args, span_str(text));
}

void
records_operate(struct store *store, struct records_op *look,
    const struct key_id *key_id, const struct records_order *order)
{
	if (order->waiting != NULL) {
		replace(store, look, order->waiting);
		return;
	}
	static const char *const words[] = {
	    [ACT_RELEASE] = "release",
	    [ACT_COMPLETE] = "complete",
	    [ACT_DELETE] = "delete",
	};
	const struct answer *answer = order->answer;
	must((order->act == ACT_COMPLETE) == (answer != NULL));
	struct store_call *call =
	    look_call(store, look, SCRIPT_operate, key_id, 8);
	look->bare = order->act == ACT_DELETE;
	resp_arg(&call->args, span_str(words[order->act]));
	resp_number(&call->args, order->retention_ms);
	answer_arg(store, call, order);
	resp_number(&call->args, answer != NULL ? answer->status : 0);
	resp_number(&call->args, order->attempt);
	resp_arg(&call->args, order->fingerprint);
	note_arg(look->arena, call, order->note);
	resp_number(&call->args,
	    order->retention_ms > store->longest_ms ? order->retention_ms
						    : store->longest_ms);
	call->large = call->args.len >= LINE_LARGE_BYTES;
	call_start(call);
}
