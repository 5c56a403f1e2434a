/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>

#include "base/base64.h"
#include "base/digits.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/test_build.h"
#include "store/record/answer_codec.h"
#include "store/record/seal.h"
#include "store/record_reply.h"

enum {
	ATTEMPT_MAX = 999999,
};

/*
 * Fetches a large answer, of which a script gave only the record's head; first
 * member of a call.
 */
struct fetch {
	struct store_call call; /* first: see call_of_record */
	char head[RECORD_HEAD_BYTES - 1]; /* without the mark, which changes */
};

/* --- texts --- */

/* Ends with a NUL; empty where the text has one or has no room. */
static void
copy_text(char *to, size_t size, struct span text)
{
	bool fits = text.len < size && memchr(text.ptr, '\0', text.len) == NULL;
	size_t len = fits ? text.len : 0;
	memcpy(to, text.ptr, len);
	to[len] = '\0';
}

/* The record's history; without it the record cannot be made again. */
static void
read_history(struct store_op *op, const struct call_reply *reply)
{
	int64_t tries, created_ms;
	if (reply->first) {
		op->tries = 1;
		op->created_ms = reply->now_ms;
		return;
	}
	copy_text(op->first_id, sizeof op->first_id, call_reply_text(reply, 3));
	if (!digits_read(call_reply_text(reply, 1), ATTEMPT_MAX, &tries) ||
	    !digits_read(call_reply_text(reply, 2), INT64_MAX, &created_ms))
		return;
	op->tries = (uint32_t)tries;
	op->created_ms = created_ms;
}

/* An unknown attempt has a number, and there is a reason why it is. */
static int
read_reason(struct store_op *op, struct span letter)
{
	if (letter.len != 1 || op->attempt == 0 ||
	    !reason_of(*letter.ptr, &op->reason) ||
	    op->reason == REASON_NONE)
		return E_MALFORMED;
	return 0;
}

/* What whoever is about to ask has to know of the record. */
static int
read_asked(struct store_call *call, const struct call_reply *reply)
{
	enum { MARKED = 4, SINCE, STARTED, PRINT, PROVENANCE, QUESTION };
	struct store_op *op = call->op;
	const struct seal_about about = {
	    .key_id = call->key_id, .kind = SEAL_QUESTION};
	read_history(op, reply);
	op->marked = call_reply_ms(reply, MARKED) == 1;
	op->unknown_at_ms = call_reply_ms(reply, SINCE);
	op->started_at_ms = call_reply_ms(reply, STARTED);
	if (op->unknown_at_ms == 0)
		return E_MALFORMED;
	if (op->arena != NULL) {
		op->provenance =
		    arena_dup(op->arena, call_reply_text(reply, PROVENANCE));
		/* What was not sealed for this record is left out. */
		if (!seal_open_text(op->arena, &call->store->conf->store,
			&about, call_reply_text(reply, QUESTION),
			&op->question))
			op->question = SPAN("");
		if (!base64_decode(op->arena, call_reply_text(reply, PRINT),
			BASE64_URL, &op->fingerprint) ||
		    op->fingerprint.len != DIGEST_BYTES)
			return E_MALFORMED;
	}
	return read_reason(op, call_reply_text(reply, 0));
}

/* --- records --- */

/* The answer of a COMPLETED record; errors as of answer_codec_read. */
static int
read_answer(struct store_call *call, const struct record *record)
{
	struct store_op *op = call->op;
	op->until_ms = record->lease_until_ms;
	int error = answer_codec_read(
	    &call->store->codec, &call->key_id, record, &op->answer);
	op->beyond = error == E_TOO_LARGE;
	return op->beyond ? E_NO_MEMORY : error;
}

/* The call was answered, and this is what reading that has come to. */
static void
end_reading(struct store_call *call, int error)
{
	struct store_op *op = call->op;
	if (error == E_MALFORMED && !op->quiet)
		answer_codec_log(
		    EV_record_broken, &call->key_id, SPAN(""));
	op->unreadable = answer_codec_is_shut(error);
	/* A record that cannot be read is BROKEN, whatever the script said. */
	if (error == E_MALFORMED || op->unreadable) {
		op->verdict = VERDICT_BROKEN;
		error = 0;
	}
	call_end_op(call, error);
}

/* It must still be the record whose head came first. */
static void
on_fetched(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	struct fetch *fetch = CONTAINER_OF(call, struct fetch, call);
	struct span head = span_of(fetch->head, sizeof fetch->head);
	struct record record;
	if (call->op == NULL)
		return;
	error = E_NOT_FETCHED;
	if (how == CALL_ANSWERED && reply->verdict == VERDICT_DONE) {
		struct span value = call_reply_text(reply, 2);
		if (span_starts(value, head) || !INVARIANT(fetched_same))
			error = record_read(value, &record);
	}
	end_reading(call, error != 0 ? error : read_answer(call, &record));
}

/*
 * A COMPLETED record, or only its head, which is followed by no answer: another
 * call fetches that for the operation.  status is what stands for it where it
 * was asked for briefly, or 0.
 */
static int
read_completed(struct store_call *call, struct span value, int status)
{
	const struct fields none = {NULL, 0};
	struct store_op *op = call->op;
	struct record record;
	int error = record_read(value, &record);
	if (error != 0)
		return error;
	if (record.state == STATE_COMPLETED && status != 0) {
		op->until_ms = record.lease_until_ms;
		op->answer = answer_new(status, &none, NULL, SPAN(""));
		op->brief = true;
		return 0;
	}
	if (record.state != STATE_COMPLETED || record.rest.len > 0)
		return read_answer(call, &record);
	struct store_call *second = call_of_record(call->store, SCRIPT_show,
	    &call->key_id, 1, sizeof(struct fetch));
	struct fetch *fetch = CONTAINER_OF(second, struct fetch, call);
	memcpy(fetch->head, value.ptr, sizeof fetch->head);
	resp_number(&second->args, 1);
	second->large = true;
	second->done = on_fetched;
	op->fetches = true;
	call_join_op(second, op);
	call_start(second);
	return 0;
}

/* --- verdicts --- */

/* Another owner has decided, or decides: the record's state, and its answer. */
static int
read_fenced(struct store_call *call, const struct call_reply *reply)
{
	struct store_op *op = call->op;
	struct span state = call_reply_text(reply, 0);
	struct span value = call_reply_text(reply, 1);
	if (state.len != 1 || !state_of(*state.ptr, &op->state))
		return E_MALFORMED;
	op->before = span_eq(value, SPAN("BEFORE"));
	return op->state == STATE_COMPLETED ? read_completed(call, value, 0)
					    : 0;
}

/* Reads the extras of the operation's verdict. */
static int
read_verdict(struct store_call *call, const struct call_reply *reply)
{
	struct store_op *op = call->op;
	struct span first = call_reply_text(reply, 0);
	struct span second = call_reply_text(reply, 1);
	switch (op->verdict) {
	case VERDICT_OURS:
		read_history(op, reply);
		return op->attempt > 0 ? 0 : E_MALFORMED;
	case VERDICT_RECONCILE:
		return read_asked(call, reply);
	case VERDICT_UNKNOWN:
		op->settle_left_ms = call_reply_ms(reply, 1);
		op->unknown_ms = call_reply_ms(reply, 2);
		return read_reason(op, first);
	case VERDICT_COMPLETED:
		return read_completed(call, first,
		    second.len > 0 ? call_reply_status(reply, 1) : 0);
	case VERDICT_IN_FLIGHT:
		op->lease_left_ms = call_reply_ms(reply, 0);
		return 0;
	case VERDICT_BUSY:
		op->lease_left_ms = call_reply_ms(reply, 0);
		return hex_decode(second, op->holder.bytes, DIGEST_BYTES)
		    ? 0 : E_MALFORMED;
	case VERDICT_STALE:
		copy_text(op->current, sizeof op->current, first);
		return 0;
	case VERDICT_MISMATCH:
	case VERDICT_FAILED:
		if (op->verdict == VERDICT_MISMATCH && second.len == 1)
			op->differs = *second.ptr;
		copy_text(op->first_id, sizeof op->first_id, first);
		return 0;
	case VERDICT_FENCED:
		return read_fenced(call, reply);
	case VERDICT_DONE:
		return first.len != 1 || state_of(*first.ptr, &op->state)
		    ? 0 : E_MALFORMED;
	case VERDICT_LATE:
		return E_STORE_DOWN;
	case VERDICT_REFUSED:
		return E_STORE_REFUSED;
	case VERDICT_BROKEN:
		return E_MALFORMED;
	case VERDICT_FULL:
	case VERDICT_GONE:
	case VERDICT_COUNT_:
		break;
	}
	return 0;
}

void
record_reply_read(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply,
    int (*read)(struct store_call *call, const struct call_reply *reply))
{
	struct store_op *op = call->op;
	if (op == NULL)
		return;
	if (how != CALL_ANSWERED) {
		call_end_op(call, error);
		return;
	}
	op->verdict = reply->verdict;
	op->attempt = reply->attempt;
	op->now_ms = reply->now_ms;
	end_reading(call, read(call, reply));
}

void
record_reply_done(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	record_reply_read(call, how, error, reply, read_verdict);
}

void
record_reply_confirmed(struct store_call *call, const struct call_reply *reply)
{
	/* Of the record that comes with it, or else the outcome's own. */
	struct span owner = SPAN("");
	for (size_t i = 0; i < reply->n_extra && owner.len == 0; i++) {
		struct record record;
		if (record_read(call_reply_text(reply, i), &record) == 0)
			owner = record.owner;
	}
	if (owner.len == 0 && call->run.script != SCRIPT_complete)
		return;
	struct store_call *note = call_of_record(call->store, SCRIPT_confirm,
	    &call->key_id, 1, sizeof *note);
	if (owner.len > 0)
		resp_arg(&note->args, owner);
	else
		call_arg_token(note, call->owner.bytes);
	call_start(note);
}
