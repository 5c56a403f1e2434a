/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>

#include "base/container.h"
#include "base/digits.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/must.h"
#include "messages/shared/letter_stored.h"
#include "messages/shared/letters.h"

/* What scripts say of each in a list. */
enum {
	LISTED_REASON = SAID_PARKED + 1,
	LISTED_HEAD,
	LISTED_TEXTS,
};

/* Where the page after this letter goes on: when it was put, and its id. */
static void
put_next(const struct letter *letter, char ret_next[LETTERS_NEXT_BYTES])
{
	snprintf(ret_next, LETTERS_NEXT_BYTES, "%013" PRId64, letter->put_ms);
	hex_encode(
	    letter->name.id, DIGEST_BYTES, ret_next + LETTERS_STAMP_DIGITS);
}

bool
letters_list_is_next(struct span next)
{
	uint8_t id[DIGEST_BYTES];
	int64_t put_ms;
	return next.len == LETTERS_STAMP_DIGITS + DIGEST_HEX &&
	       digits_read(span_of(next.ptr, LETTERS_STAMP_DIGITS), INT64_MAX,
		   &put_ms) &&
	       hex_decode(span_from(next, LETTERS_STAMP_DIGITS), id, sizeof id);
}

static bool
is_before(const struct letter *a, const struct letter *b)
{
	if (a->put_ms != b->put_ms)
		return a->put_ms < b->put_ms;
	return memcmp(a->name.id, b->name.id, DIGEST_BYTES) < 0;
}

/* Keeps one more than the page has, to know of more. */
static bool
insert_letter(
    struct letters_list *list, struct letter *letter, struct span stored)
{
	size_t at = list->count;
	struct span head;
	while (at > 0 && is_before(letter, &list->letters[at - 1]))
		at--;
	if (at > list->limit)
		return true;
	if (!letter_stored_open(
		&list->of->shared, list->arena, letter->name.id, stored, &head))
		return false;
	letter_stored_read_head(letter, head);
	if (list->count <= list->limit)
		list->count++;
	memmove(&list->letters[at + 1], &list->letters[at],
	    (list->count - 1 - at) * sizeof *letter);
	list->letters[at] = *letter;
	return true;
}

static int
read_page(struct letters_list *list, const struct call_reply *reply)
{
	struct letter letter;
	for (size_t i = 0; i + LISTED_TEXTS <= reply->n_extra;
	     i += LISTED_TEXTS)
		if (!letter_stored_read_said(
			reply, i, list->arena, LISTED_REASON, &letter))
			return E_STORE_REFUSED;
		else if (!insert_letter(list, &letter,
			     call_reply_text(reply, i + LISTED_HEAD)))
			return E_NO_MEMORY;
	return 0;
}

static void on_listed(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply);

/* Asks the next shard for what may still belong on the page. */
static struct store_call *
list_call(struct letters_list *list)
{
	char wanted[3];
	char latest[LETTERS_NEXT_BYTES] = "9999999999999";
	if (list->count > list->limit)
		put_next(&list->letters[list->limit], latest);
	snprintf(wanted, sizeof wanted, "%s%s", list->dead ? "d" : "",
	    list->parked ? "p" : "");
	struct store_call *call = letter_stored_call(
	    &list->of->shared, list->n_asked++, SCRIPT_letters, 5);
	resp_arg(&call->args, SPAN("list"));
	resp_arg(&call->args, span_str(wanted));
	resp_arg(&call->args, span_str(list->after));
	resp_arg(&call->args, span_of(latest, LETTERS_STAMP_DIGITS));
	resp_number(&call->args, (int64_t)list->limit + 1);
	call->done = on_listed;
	call_join_op(call, &list->op);
	return call;
}

static void
on_listed(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	if (call->op == NULL)
		return;
	struct letters_list *list =
	    CONTAINER_OF(call->op, struct letters_list, op);
	if (how == CALL_ANSWERED)
		error = read_page(list, reply);
	if (error == 0 && list->op.failure == 0 &&
	    list->n_asked < call->store->conf->store.shards)
		call_start(list_call(list));
	call_end_op(call, error);
	if (op_pending(&list->op.op))
		return;
	list->op.verdict = VERDICT_DONE;
	if (list->count > list->limit) {
		list->count = list->limit;
		put_next(&list->letters[list->limit - 1], list->next);
	}
}

void
letters_list(const struct letters *letters, struct letters_list *list)
{
	must(list->limit > 0 && list->limit <= LETTERS_PAGE_MAX);
	struct store_call *calls[LETTERS_AT_ONCE];
	size_t count = 0;
	call_begin_op(letters->shared.store, &list->op);
	list->letters =
	    arena_alloc(list->arena, (list->limit + 1) * sizeof *list->letters);
	list->count = 0;
	list->next[0] = '\0';
	list->of = letters;
	list->n_asked = 0;
	while (count < LETTERS_AT_ONCE &&
	       list->n_asked < letters->shared.store->conf->store.shards)
		calls[count++] = list_call(list);
	/*
	 * All are added before one can end: the last to end ends the operation.
	 */
	for (size_t i = 0; i < count; i++)
		call_start(calls[i]);
}
