/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "base/test_build.h"
#include "record/redis_keys.h"
#include "store/call.h"
#include "store/claim_revoke.h"
#include "store/operation.h"

enum {
	AGAIN_MS = 1000, /* after Redis refused it */
	/* Beyond it the oldest are left to the end of their leases. */
	GIVEBACKS_MAX = 16384,
};

struct giveback {
	struct giveback *next;
	struct giveback **link; /* what points to it; NULL: not started */
	struct key_id key_id;
	struct owner owner;
	int64_t retention_ms;
	int64_t unknown_retention_ms;
	int64_t deadline_ms; /* of the claim, on Redis' clock */
	unsigned node;       /* the number of the one it was sent to */
	int64_t due_us;      /* when it is sent (again) */
	bool in_flight;
};

struct giveback *
giveback_new(const struct claim *claim)
{
	struct giveback *giveback = mem_zero(sizeof *giveback);
	giveback->key_id = claim->key_id;
	giveback->owner = claim->owner;
	giveback->retention_ms = claim->policy->retention_ms;
	giveback->unknown_retention_ms = claim->policy->unknown_retention_ms;
	return giveback;
}

void
giveback_drop(struct giveback **giveback)
{
	free(*giveback);
	*giveback = NULL;
}

/* The timer fires by then, or before: giveback_pump looks who is due. */
static void
wake_by(struct store *store, int64_t due_us)
{
	struct timer *timer = &store->giveback_timer;
	int64_t wait_ms = (due_us - clock_us() + 999) / 1000;
	wait_ms = wait_ms > 0 ? wait_ms : 0;
	if (!timer_is_set(timer) ||
	    timer->at_ms > loop_now_ms(store->loop) + wait_ms)
		timer_set(timer, wait_ms);
}

static void
settle(struct store *store, struct giveback *giveback)
{
	*giveback->link = giveback->next;
	if (giveback->next != NULL)
		giveback->next->link = giveback->link;
	store->n_givebacks--;
	free(giveback);
}

/*
 * DONE is the claim itself, taken back.  Any other answer says that it had
 * not been executed by then, which is final once its deadline has passed; or
 * where another has the record now, who would turn it away.
 */
static bool
is_final(const struct store_call *call, const struct giveback *giveback,
    const struct call_reply *reply)
{
	return reply->verdict == VERDICT_DONE ||
	    reply->now_ms > giveback->deadline_ms ||
	    call->node->number != giveback->node || !GUARD(giveback_again);
}

static void
on_done(struct store_call *call, enum call_end end, int error,
    const struct call_reply *reply)
{
	struct store *store = call->store;
	struct giveback *giveback = call->arg;
	giveback->in_flight = false;
	if (end == CALL_ANSWERED && is_final(call, giveback, reply)) {
		settle(store, giveback);
		return;
	}
	int64_t wait_ms = 0; /* lost: as soon as the link is up again */
	if (end == CALL_ANSWERED)
		wait_ms = giveback->deadline_ms - reply->now_ms + 1;
	else if (error == E_STORE_REFUSED)
		wait_ms = AGAIN_MS;
	giveback->due_us = clock_us() + wait_ms * 1000;
	/* The link may be about to go down: nothing is sent from here. */
	wake_by(store, giveback->due_us);
}

static void
send(struct store *store, struct giveback *giveback)
{
	struct store_call *call =
	    verb_call(store, SCRIPT_release, &giveback->key_id, 6);
	verb_owner(call, &giveback->owner);
	verb_attempt(call, 0);
	resp_arg(&call->args, SPAN("0"));
	resp_number(&call->args, giveback->retention_ms);
	resp_number(&call->args, giveback->unknown_retention_ms);
	resp_number(&call->args, store->longest_ms);
	call->done = on_done;
	call->arg = giveback;
	giveback->in_flight = true;
	call_start(call);
}

/* It is too early for one that would end at once. */
static bool
is_reachable(const struct store *store, const struct giveback *giveback)
{
	unsigned shard = shard_of(store->conf, &giveback->key_id);
	const struct node *node = store_node(store, shard);
	return node != NULL && link_is_up(node->link);
}

void
giveback_pump(struct store *store)
{
	int64_t now_us = clock_us();
	for (struct giveback *g = store->givebacks; g != NULL; g = g->next) {
		if (g->in_flight || !is_reachable(store, g))
			continue;
		if (g->due_us <= now_us)
			send(store, g);
		else
			wake_by(store, g->due_us);
	}
}

void
giveback_start(struct store_call *claim)
{
	struct store *store = claim->store;
	struct giveback *giveback = claim->giveback;
	giveback->deadline_ms = claim->deadline_ms;
	giveback->node = claim->node != NULL ? claim->node->number : 0;
	giveback->due_us = clock_us();
	giveback->next = store->givebacks;
	giveback->link = &store->givebacks;
	if (giveback->next != NULL)
		giveback->next->link = &giveback->next;
	store->givebacks = giveback;
	store->n_givebacks++;
	wake_by(store, giveback->due_us);
	if (store->n_givebacks > GIVEBACKS_MAX) {
		struct giveback *oldest = giveback;
		for (struct giveback *g = giveback; g != NULL; g = g->next)
			oldest = g->in_flight ? oldest : g;
		settle(store, oldest);
	}
}

bool
giveback_has(const struct store *store, const struct owner *owner)
{
	for (struct giveback *g = store->givebacks; g != NULL; g = g->next)
		if (!memcmp(&g->owner, owner, sizeof *owner))
			return true;
	return false;
}

void
giveback_free(struct store *store)
{
	while (store->givebacks != NULL)
		settle(store, store->givebacks);
	timer_clear(&store->giveback_timer);
}
