/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "messages/shared/floors.h"

enum { RETRY_MS = 500, PAGE = 200, ARGS_OF_KEEP = 3 };

struct floors_part {
	struct list link;
	char *name;
	unsigned due; /* bits of enum floors_act */
	bool asked;   /* the call under way is about it */
	char *floor;  /* to be kept */
	bool anew;
};

/* --- parts --- */

static struct floors_part *
part_of(struct floors *floors, const char *name)
{
	struct floors_part *part;
	LIST_EACH (part, &floors->parts, link)
		if (!strcmp(part->name, name))
			return part;
	part = mem_zero(sizeof *part);
	part->name = mem_text(name);
	list_add_last(&floors->parts, &part->link);
	return part;
}

/* Of whom there is nothing to do any more. */
static void
forget_parts(struct floors *floors, bool all)
{
	struct floors_part *part;
	LIST_EACH (part, &floors->parts, link) {
		if (part->due != 0 && !all)
			continue;
		list_remove(&part->link);
		free(part->name);
		free(part->floor);
		free(part);
	}
}

/* --- calls --- */

static void
on_floors_answered(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	struct floors *floors = call->arg;
	struct floors_part *part;
	size_t i = 0;
	if (floors == NULL)
		return;
	bool answered =
	    how == CALL_ANSWERED && reply->verdict == VERDICT_DONE;
	floors->call = NULL;
	shared_ended(&floors->shared, "floor", call, error,
	    floors->act != FLOORS_LOOK);
	/*
	 * What was given since then is to be kept next; the order is that of
	 * asking.
	 */
	LIST_EACH (part, &floors->parts, link) {
		if (!part->asked || !answered)
			continue;
		part->asked = false;
		part->due &= ~(1u << floors->act);
		if (floors->act != FLOORS_LOOK)
			continue;
		floors->known(floors->arg, part->name,
		    call_reply_text(reply, i), call_reply_text(reply, i + 1));
		i += 2;
	}
	forget_parts(floors, false);
	if (!list_empty(&floors->parts))
		timer_set(&floors->timer, answered ? 0 : RETRY_MS);
}

/*
 * One call at a time, of as many parts as it takes: what is to be kept comes
 * before what is wanted, which may be wanted of it.
 */
static void
on_floors_timer(void *arg)
{
	static const char *const words[] = {
	    [FLOORS_KEEP] = "keep",
	    [FLOORS_STAND] = "stand",
	    [FLOORS_LOOK] = "look",
	};
	struct floors *floors = arg;
	struct floors_part *part;
	size_t count = 0;
	if (floors->call != NULL)
		return; /* its end sets the timer */
	for (unsigned act = FLOORS_KEEP; act <= FLOORS_LOOK && count == 0;
	     act++) {
		floors->act = act;
		LIST_EACH (part, &floors->parts, link) {
			part->asked = count < PAGE && part->due & 1u << act;
			count += part->asked;
		}
	}
	if (count == 0)
		return;
	bool keeps = floors->act == FLOORS_KEEP;
	struct store_call *call = shared_call(&floors->shared, SCRIPT_floor,
	    "floor", 1 + (keeps ? ARGS_OF_KEEP * count : count));
	resp_arg(&call->args, span_str(words[floors->act]));
	LIST_EACH (part, &floors->parts, link) {
		if (!part->asked)
			continue;
		resp_arg(&call->args, span_str(part->name));
		if (!keeps)
			continue;
		resp_arg(&call->args, span_str(part->floor));
		resp_number(&call->args, part->anew);
	}
	call->done = on_floors_answered;
	call->arg = floors;
	floors->call = call;
	call_start(call);
}

/* --- for those who keep to it --- */

void
floors_start(struct floors *floors, struct store *store, struct loop *loop,
    const char *source,
    void (*known)(void *arg, const char *part, struct span floor,
	struct span decided),
    void *arg)
{
	*floors = (struct floors){.known = known, .arg = arg};
	list_init(&floors->parts);
	shared_init(&floors->shared, store, "source", source);
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
floors_due(struct floors *floors, const char *part, enum floors_act act)
{
	part_of(floors, part)->due |= 1u << act;
	timer_set(&floors->timer, 0);
}

void
floors_keep(
    struct floors *floors, const char *name, struct span floor, bool anew)
{
	struct floors_part *part = part_of(floors, name);
	/* One that is about to be sent, or is, was not kept yet. */
	part->anew = anew || (part->due & 1u << FLOORS_KEEP && part->anew);
	part->asked &= floors->act != FLOORS_KEEP;
	/* It is read. */
	part->due &= ~(1u << FLOORS_STAND);
	part->due |= 1u << FLOORS_KEEP;
	free(part->floor);
	part->floor = mem_str(floor);
	timer_set(&floors->timer, 0);
}

bool
floors_are_kept(const struct floors *floors)
{
	const struct floors_part *part;
	if (floors->shared.store == NULL)
		return true;
	LIST_EACH (part, &floors->parts, link)
		if (part->due & 1u << FLOORS_KEEP)
			return false;
	return true;
}

/* --- for operators --- */

static void
on_decided(struct store_call *call, enum call_end how, int error,
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
floors_decide(struct floors_op *op, struct store *store, const char *source,
    bool rewinds, const struct span *parts, size_t count)
{
	struct shared shared;
	shared_init(&shared, store, "source", source);
	call_begin_op(store, &op->op);
	op->count = 0;
	struct store_call *call =
	    shared_call(&shared, SCRIPT_floor, "floor", 1 + count);
	resp_arg(&call->args, rewinds ? SPAN("rewind") : SPAN("resume"));
	for (size_t i = 0; i < count; i++)
		resp_arg(&call->args, parts[i]);
	call->done = on_decided;
	call_join_op(call, &op->op);
	call_start(call);
}
