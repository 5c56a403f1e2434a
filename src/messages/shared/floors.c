/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "messages/shared/floors.h"

enum { RETRY_MS = 500, PAGE = 200, ARGS_OF_KEEP = 3 };

struct floors_part {
	struct floors_part *next;
	char *name;
	bool wanted;
	bool asked; /* the call under way asks for it, or keeps it */
	char *floor; /* to be kept; NULL: nothing */
	bool lower;
};

/* --- parts --- */

static struct floors_part *
part_of(struct floors *floors, const char *name)
{
	struct floors_part **at = &floors->parts;
	while (*at != NULL && strcmp((*at)->name, name) != 0)
		at = &(*at)->next;
	if (*at == NULL) {
		*at = mem_zero(sizeof **at);
		(*at)->name = mem_text(name);
	}
	return *at;
}

/* Of whom there is nothing to do any more. */
static void
forget_parts(struct floors *floors, bool all)
{
	struct floors_part **at = &floors->parts;
	while (*at != NULL) {
		struct floors_part *part = *at;
		if (!all && (part->wanted || part->floor != NULL)) {
			at = &part->next;
			continue;
		}
		*at = part->next;
		free(part->name);
		free(part->floor);
		free(part);
	}
}

static bool
has_something(const struct floors_part *part, bool keeps)
{
	return keeps ? part->floor != NULL : part->wanted;
}

/* Marks as many as a call takes. */
static size_t
mark_parts(struct floors *floors, bool keeps)
{
	size_t count = 0;
	for (struct floors_part *part = floors->parts; part != NULL;
	     part = part->next) {
		part->asked = count < PAGE && has_something(part, keeps);
		count += part->asked;
	}
	return count;
}

/* --- calls --- */

static struct store_call *
floor_call(const struct shared *shared, const char *act, size_t n_argv)
{
	struct store_call *call =
	    shared_call(shared, SCRIPT_floor, 3 + n_argv);
	resp_number(&call->args, 1);
	shared_arg_key(shared, call, "floor", "");
	resp_arg(&call->args, span_str(act));
	return call;
}

/* What was given since then is to be kept next; the order is that of asking. */
static void
take_answer(struct floors *floors, const struct call_reply *reply)
{
	size_t i = 0;
	for (struct floors_part *part = floors->parts; part != NULL;
	     part = part->next) {
		if (!part->asked || floors->keeps)
			continue;
		part->wanted = false;
		floors->known(floors->arg, part->name,
		    call_reply_text(reply, i),
		    span_eq(call_reply_text(reply, i + 1), SPAN("1")));
		i += 2;
	}
}

static void
settle_kept(struct floors *floors, bool answered)
{
	for (struct floors_part *part = floors->parts; part != NULL;
	     part = part->next) {
		if (part->asked && floors->keeps && answered) {
			free(part->floor);
			part->floor = NULL;
		}
		part->asked = false;
	}
}

static void
on_floors_answered(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	struct floors *floors = call->arg;
	if (floors == NULL)
		return;
	bool answered =
	    how == CALL_ANSWERED && reply->verdict == VERDICT_DONE;
	floors->call = NULL;
	shared_ended(&floors->shared, "floor", call, error, floors->keeps);
	if (answered)
		take_answer(floors, reply);
	settle_kept(floors, answered);
	forget_parts(floors, false);
	if (floors->parts != NULL)
		timer_set(&floors->timer, answered ? 0 : RETRY_MS);
}

static struct store_call *
call_to_look(struct floors *floors, size_t count)
{
	struct store_call *call = floor_call(&floors->shared, "look", count);
	for (struct floors_part *part = floors->parts; part != NULL;
	     part = part->next)
		if (part->asked)
			resp_arg(&call->args, span_str(part->name));
	return call;
}

static struct store_call *
call_to_keep(struct floors *floors, size_t count)
{
	struct store_call *call =
	    floor_call(&floors->shared, "keep", ARGS_OF_KEEP * count);
	for (struct floors_part *part = floors->parts; part != NULL;
	     part = part->next)
		if (part->asked) {
			resp_arg(&call->args, span_str(part->name));
			resp_arg(&call->args, span_str(part->floor));
			resp_number(&call->args, part->lower);
		}
	return call;
}

/* One call at a time: what is wanted comes before what is to be kept. */
static void
on_floors_timer(void *arg)
{
	struct floors *floors = arg;
	if (floors->call != NULL)
		return; /* its end sets the timer */
	floors->keeps = false;
	size_t count = mark_parts(floors, false);
	if (count == 0) {
		floors->keeps = true;
		count = mark_parts(floors, true);
	}
	if (count == 0)
		return;
	floors->call = floors->keeps ? call_to_keep(floors, count)
				     : call_to_look(floors, count);
	floors->call->done = on_floors_answered;
	floors->call->arg = floors;
	call_start(floors->call);
}

/* --- for those who keep to it --- */

void
floors_start(struct floors *floors, struct store *store, struct loop *loop,
    const char *kind, const char *name,
    void (*known)(void *arg, const char *part, struct span floor,
	bool lowered),
    void *arg)
{
	*floors = (struct floors){.known = known, .arg = arg};
	shared_init(&floors->shared, store, kind, name);
	timer_init(&floors->timer, loop, on_floors_timer, floors);
}

void
floors_stop(struct floors *floors)
{
	if (floors->shared.store == NULL)
		return;
	timer_clear(&floors->timer);
	if (floors->call != NULL)
		floors->call->arg = NULL;
	forget_parts(floors, true);
	*floors = (struct floors){0};
}

void
floors_want(struct floors *floors, const char *part)
{
	part_of(floors, part)->wanted = true;
	timer_set(&floors->timer, 0);
}

void
floors_keep(
    struct floors *floors, const char *name, struct span floor, bool lower)
{
	struct floors_part *part = part_of(floors, name);
	/* One that is about to be sent, or is, was not kept yet. */
	part->lower = lower || (part->floor != NULL && part->lower);
	part->asked = false;
	free(part->floor);
	part->floor = mem_str(floor);
	timer_set(&floors->timer, 0);
}

bool
floors_are_kept(const struct floors *floors)
{
	const struct floors_part *part = floors->parts;
	while (part != NULL && part->floor == NULL)
		part = part->next;
	return part == NULL;
}

/* --- for operators --- */

static void
on_lowered(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	if (call->op == NULL)
		return;
	struct floors_op *op = CONTAINER_OF(call->op, struct floors_op, op);
	if (how == CALL_ANSWERED) {
		op->op.verdict = reply->verdict;
		op->parts = arena_alloc(op->arena,
		    (reply->n_extra + 1) * sizeof *op->parts);
		while (op->count < reply->n_extra) {
			op->parts[op->count] = arena_dup(
			    op->arena, call_reply_text(reply, op->count));
			op->count++;
		}
	}
	call_end_op(call, error);
}

void
floors_lower(struct floors_op *op, struct store *store, const char *kind,
    const char *name, const struct span *parts, size_t count)
{
	struct shared shared;
	shared_init(&shared, store, kind, name);
	call_begin_op(store, &op->op);
	op->count = 0;
	struct store_call *call = floor_call(&shared, "lower", 1 + count);
	resp_number(&call->args, FLOORS_LOWERED_MS);
	for (size_t i = 0; i < count; i++)
		resp_arg(&call->args, parts[i]);
	call->done = on_lowered;
	call_join_op(call, &op->op);
	call_start(call);
}
