/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/mem.h"
#include "gate/worker.h"
#include "messages/source/inquiry.h"

/* --- words and ids --- */

const char *const inquiry_words[MESSAGE_STATES_] = {
#define MESSAGE_STATE(name, word) word,
#include "tbl/message_states.h"
#undef MESSAGE_STATE
};

/* Of base64url: ids are in the order of the bytes that they stand for. */
static int
digit_of(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz"
				     "0123456789-_";
	const char *at = memchr(digits, c, sizeof digits);
	return at != NULL ? (int)(at - digits) : 128 + (unsigned char)c;
}

int
inquiry_compare_ids(struct span a, struct span b)
{
	size_t least = a.len < b.len ? a.len : b.len;
	for (size_t i = 0; i < least; i++)
		if (a.ptr[i] != b.ptr[i])
			return digit_of(a.ptr[i]) - digit_of(b.ptr[i]);
	return (a.len > b.len) - (a.len < b.len);
}

/* A name has no NUL in it. */
struct span
inquiry_id(struct arena *arena, struct span source, struct span position)
{
	size_t len = source.len + 1 + position.len;
	char *bytes = arena_alloc(arena, len);
	span_put(span_put(bytes, source) + 1, position);
	return base64_url_text(arena, span_of(bytes, len));
}

bool
inquiry_read_id(struct arena *arena, struct span id, struct span *ret_source,
    struct span *ret_position)
{
	struct span all;
	if (!base64_decode(arena, id, BASE64_URL, &all) || all.len == 0)
		return false;
	const char *end = memchr(all.ptr, '\0', all.len);
	if (end == NULL)
		return false;
	size_t name_len = (size_t)(end - all.ptr);
	*ret_source = span_of(all.ptr, name_len);
	*ret_position = span_from(all, name_len + 1);
	return true;
}

/* --- its way --- */

static void
free_inquiry(struct inquiry *inquiry)
{
	struct arena *arena = inquiry->arena;
	arena_free(&arena);
	free(inquiry);
}

static void on_worker(void *arg);

/* Back in the thread that asks: the next worker, or whoever waits. */
static void
on_back(void *arg)
{
	struct inquiry *inquiry = arg;
	inquiry->at++;
	bool has_all = inquiry->at == inquiry->n_workers ||
	    (inquiry->found && inquiry->kind != INQUIRY_MESSAGES);
	if (inquiry->op == NULL)
		free_inquiry(inquiry);
	else if (has_all)
		op_done(&inquiry->op->op, 0);
	else
		loop_post(inquiry->workers[inquiry->at]->loop, on_worker,
		    inquiry);
}

void
inquiry_go_on(struct inquiry *inquiry)
{
	loop_post(inquiry->asker, on_back, inquiry);
}

/* In the worker's thread; or, once that has ended, in its owner's. */
static void
on_worker(void *arg)
{
	struct inquiry *inquiry = arg;
	if (inquiry->visit(inquiry, inquiry->workers[inquiry->at]))
		inquiry_go_on(inquiry);
}

/* Nobody waits any more: it ends when it is back. */
static void
let_go(struct op *op, int error)
{
	struct inquiry_op *mine = (struct inquiry_op *)op;
	(void)error;
	mine->inquiry->op = NULL;
	mine->inquiry = NULL;
}

struct inquiry *
inquiry_new(struct inquiry_op *op, enum inquiry_kind kind)
{
	struct inquiry *inquiry = mem_zero(sizeof *inquiry);
	inquiry->arena = arena_new();
	inquiry->kind = kind;
	op->inquiry = inquiry;
	return inquiry;
}

void
inquiry_ask(struct inquiry_op *op, inquiry_visit *visit,
    struct worker *const *workers, unsigned n_workers, int64_t ms)
{
	struct inquiry *inquiry = op->inquiry;
	inquiry->op = op;
	inquiry->asker = op->op.loop;
	inquiry->visit = visit;
	inquiry->workers = workers;
	inquiry->n_workers = n_workers;
	op_start(&op->op, ms, let_go);
	loop_post(workers[0]->loop, on_worker, inquiry);
}

void
inquiry_end(struct inquiry_op *op)
{
	op_cancel(&op->op);
	if (op->inquiry != NULL)
		free_inquiry(op->inquiry);
	op->inquiry = NULL;
}
