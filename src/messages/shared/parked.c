/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/container.h"
#include "base/mem.h"
#include "base/must.h"
#include "messages/shared/parked.h"

enum { PAGE = 500, RETRY_MS = 500, SIZE_FIRST = 16 };

/* --- the copy --- */

/* Where the lane stands, or is to stand. */
static size_t
find(const struct parked_lanes *lanes, const struct parked_lane *lane,
    bool *ret_found)
{
	size_t from = 0, to = lanes->count;
	*ret_found = false;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		int order =
		    memcmp(&lanes->list[middle], lane, sizeof *lane);
		if (order == 0) {
			*ret_found = true;
			return middle;
		}
		if (order < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static bool
add(struct parked_lanes *lanes, const struct parked_lane *lane)
{
	bool found;
	size_t at = find(lanes, lane, &found);
	if (found)
		return false;
	if (lanes->count == lanes->size) {
		lanes->size = lanes->size ? 2 * lanes->size : SIZE_FIRST;
		lanes->list =
		    mem_grow(lanes->list, lanes->size * sizeof *lanes->list);
	}
	memmove(&lanes->list[at + 1], &lanes->list[at],
	    (lanes->count++ - at) * sizeof *lane);
	lanes->list[at] = *lane;
	return true;
}

static bool
take_out(struct parked_lanes *lanes, const struct parked_lane *lane)
{
	bool found;
	size_t at = find(lanes, lane, &found);
	if (found)
		memmove(&lanes->list[at], &lanes->list[at + 1],
		    (--lanes->count - at) * sizeof *lane);
	return found;
}

static void
empty(struct parked_lanes *lanes)
{
	free(lanes->list);
	*lanes = (struct parked_lanes){0};
}

/* Of all, for a page that is under way may be older. */
static bool
note(struct parked *parked, const struct parked_lane *lane, bool is_parked)
{
	bool loads = parked->call != NULL;
	if (is_parked) {
		take_out(&parked->freed, lane);
		if (loads)
			add(&parked->loading, lane);
		return add(&parked->lanes, lane);
	}
	if (loads)
		add(&parked->freed, lane);
	take_out(&parked->loading, lane);
	return take_out(&parked->lanes, lane);
}

static bool
was_freed(const struct parked *parked, const struct parked_lane *lane)
{
	bool found;
	find(&parked->freed, lane, &found);
	return found;
}

bool
parked_is_known(const struct parked *parked)
{
	return parked->known;
}

bool
parked_has(const struct parked *parked, const struct parked_lane *lane)
{
	bool found;
	must(parked->known);
	find(&parked->lanes, lane, &found);
	return found;
}

size_t
parked_count(const struct parked *parked)
{
	return parked->lanes.count;
}

/* --- loading --- */

static void on_page(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply);

static void
ask_page(struct parked *parked)
{
	empty(&parked->freed);
	parked->call = parked_list_call(
	    &parked->shared, span_str(parked->after), PAGE);
	parked->call->done = on_page;
	parked->call->arg = parked;
	call_start(parked->call);
}

/* From the first page on; what was loaded so far may be older. */
static void
on_load_timer(void *arg)
{
	struct parked *parked = arg;
	if (parked->call != NULL)
		return; /* its end sets the timer */
	parked->again = false;
	parked->after[0] = '\0';
	empty(&parked->loading);
	ask_page(parked);
}

static void
loaded(struct parked *parked)
{
	empty(&parked->lanes);
	parked->lanes = parked->loading;
	parked->loading = (struct parked_lanes){0};
	parked->known = true;
	parked->events.changed(parked->events.arg);
}

/* A lane that is left out would let its messages overtake. */
static bool
read_page(struct parked *parked, const struct call_reply *reply)
{
	struct parked_entry entry;
	struct parked_lane lane;
	for (size_t i = 0; i < parked_list_count(reply); i++) {
		if (!parked_list_read(reply, i, &entry, parked->after))
			return false;
		memcpy(lane.bytes, entry.lane, sizeof lane.bytes);
		if (was_freed(parked, &lane))
			continue;
		add(&parked->loading, &lane);
		if (entry.decided.len > 0)
			parked->events.decided(parked->events.arg, &entry);
	}
	return true;
}

static void
on_page(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	struct parked *parked = call->arg;
	if (parked == NULL)
		return;
	parked->call = NULL;
	shared_ended(&parked->shared, "parked", call, error, parked->known);
	if (how != CALL_ANSWERED || parked->again ||
	    !read_page(parked, reply))
		timer_set(&parked->timer, parked->again ? 0 : RETRY_MS);
	else if (parked_list_count(reply) == PAGE)
		ask_page(parked);
	else
		loaded(parked);
}

static void
load_again(struct parked *parked)
{
	parked->again = true;
	timer_set(&parked->timer, 0);
}

void
parked_load(struct parked *parked)
{
	parked->known = false;
	load_again(parked);
}

static void
on_parked_notice(void *arg, struct span notice)
{
	struct parked *parked = arg;
	struct parked_lane lane;
	struct span what;
	if (!shared_notice(&parked->shared, notice, &what))
		return;
	if (what.len == 0) {
		load_again(parked);
		return;
	}
	bool is_parked = span_starts(what, SPAN("+"));
	if (!is_parked && !span_starts(what, SPAN("-")))
		return;
	if (hex_decode(span_from(what, 1), lane.bytes, sizeof lane.bytes) &&
	    note(parked, &lane, is_parked) && parked->known)
		parked->events.changed(parked->events.arg);
}

/* --- life --- */

void
parked_start(struct parked *parked, struct store *store, struct loop *loop,
    const char *kind, const char *name, const struct parked_events *events)
{
	*parked = (struct parked){.events = *events};
	shared_init(&parked->shared, store, kind, name);
	timer_init(&parked->timer, loop, on_load_timer, parked);
	parked->hearing = (struct subscriber_hearing){
	    .heard = on_parked_notice, .arg = parked};
	subscriber_hear(store, &parked->hearing);
	timer_set(&parked->timer, 0);
}

void
parked_stop(struct parked *parked)
{
	if (parked->shared.store == NULL)
		return;
	timer_clear(&parked->timer);
	subscriber_unhear(&parked->hearing);
	if (parked->call != NULL)
		parked->call->arg = NULL;
	empty(&parked->lanes);
	empty(&parked->loading);
	empty(&parked->freed);
	*parked = (struct parked){0};
}

/* --- changes --- */

/* Whether the copy is another one than before. */
static bool
take_change(struct parked_op *op, const struct call_reply *reply)
{
	op->op.verdict = reply->verdict;
	if (reply->n_extra > 0) {
		op->count = shared_number(reply, 0);
		op->first = arena_dup(op->arena, call_reply_text(reply, 1));
	}
	bool is_parked = reply->verdict == VERDICT_DONE &&
	    op->act != PARKED_UNPARK &&
	    ((op->act != PARKED_NEXT && op->act != PARKED_SKIP) ||
		op->count > 0);
	return op->copy != NULL &&
	    (reply->verdict == VERDICT_DONE ||
		reply->verdict == VERDICT_GONE) &&
	    note(op->copy, &op->lane, is_parked);
}

static void
on_changed(struct store_call *call, enum call_end how, int error,
    const struct call_reply *reply)
{
	if (call->op == NULL)
		return;
	struct parked_op *op = CONTAINER_OF(call->op, struct parked_op, op);
	struct parked *copy = op->copy;
	bool is_new = how == CALL_ANSWERED && take_change(op, reply);
	call_end_op(call, error);
	/* Its channel tells nothing new, then. */
	if (is_new && copy->known)
		copy->events.changed(copy->events.arg);
}

static void
change(const struct shared *shared, struct parked_op *op,
    const struct parked_lane *lane, struct span position,
    const struct leadership *leader)
{
	static const char *const acts[] = {"park", "behind", "look", "back",
	    "drop", "next", "skip", "unpark"};
	char more[1 + DIGEST_HEX + 1] = ":";
	hex_encode(lane->bytes, sizeof lane->bytes, more + 1);
	call_begin_op(shared->store, &op->op);
	op->lane = *lane;
	op->count = 0;
	op->first = SPAN("");
	struct store_call *call = shared_call(shared, SCRIPT_park, 11);
	resp_number(&call->args, 4);
	shared_arg_key(shared, call, "parked", "");
	shared_arg_key(shared, call, "parked", more);
	shared_arg_key(shared, call, "leadership", "");
	shared_arg_key(shared, call, "decided", "");
	resp_arg(&call->args, span_str(acts[op->act]));
	resp_arg(&call->args, span_str(more + 1));
	resp_arg(&call->args, position);
	if (leader != NULL)
		leadership_arg_token(leader, call);
	else
		resp_arg(&call->args, SPAN(""));
	resp_number(&call->args, PARKED_LANES_MAX);
	shared_arg_notice(shared, call);
	call->done = on_changed;
	call_join_op(call, &op->op);
	call_start(call);
}

static void
change_here(struct parked *parked, struct parked_op *op, enum parked_act act,
    const struct parked_lane *lane, struct span position,
    const struct leadership *leader)
{
	op->act = act;
	op->copy = parked;
	change(&parked->shared, op, lane, position, leader);
}

void
parked_park(struct parked *parked, struct parked_op *op,
    const struct parked_lane *lane, struct span position,
    const struct leadership *leader)
{
	change_here(parked, op, PARKED_PARK, lane, position, leader);
}

void
parked_behind(struct parked *parked, struct parked_op *op,
    const struct parked_lane *lane, struct span position,
    const struct leadership *leader)
{
	change_here(parked, op, PARKED_BEHIND, lane, position, leader);
}

void
parked_look(struct parked *parked, struct parked_op *op,
    const struct parked_lane *lane, const struct leadership *leader)
{
	change_here(parked, op, PARKED_LOOK, lane, SPAN(""), leader);
}

void
parked_decide(struct parked *parked, struct parked_op *op,
    const struct parked_lane *lane, struct span position, bool drop,
    const struct leadership *leader)
{
	change_here(parked, op, drop ? PARKED_DROP : PARKED_BACK, lane,
	    position, leader);
}

void
parked_next(struct parked *parked, struct parked_op *op,
    const struct parked_lane *lane, struct span position,
    const struct leadership *leader)
{
	change_here(parked, op, PARKED_NEXT, lane, position, leader);
}

void
parked_skip(struct parked *parked, struct parked_op *op,
    const struct parked_lane *lane, struct span position,
    const struct leadership *leader)
{
	change_here(parked, op, PARKED_SKIP, lane, position, leader);
}

void
parked_unpark(const struct shared *shared, struct parked_op *op,
    const struct parked_lane *lane)
{
	op->act = PARKED_UNPARK;
	op->copy = NULL;
	change(shared, op, lane, SPAN(""), NULL);
}
