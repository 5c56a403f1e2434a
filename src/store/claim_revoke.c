/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "store/claim_revoke.h"
#include "store/operation.h"
#include "store/record/redis_keys.h"
#include "store/topology.h"

enum {
	AGAIN_MS = 1000, /* after a refusal by Redis */
	/* Beyond it the oldest are left until their leases expire. */
	CLAIM_REVOKES_MAX = 16384,
};

struct claim_revoke {
	struct claim_revoke *next;
	struct claim_revoke **link; /* what points to it; NULL: not started */
	struct store *store;
	struct claim_revoke_what what;
	int64_t deadline_ms; /* the claim's, by Redis' clock */
	unsigned node;       /* number of the node the claim was sent to */
	int64_t due_us;      /* when it is to be sent (again) */
	bool in_flight;
	struct journal_op saving;
	bool tried; /* to save it … */
	bool saved; /* … which worked: the journal has it, and it only ends */
};

struct claim_revoke_what
claim_revoke_what(const struct claim *claim)
{
	return (struct claim_revoke_what){
	    .key_id = claim->key_id,
	    .owner = claim->owner,
	    .retention_ms = claim->policy->retention_ms,
	    .unknown_retention_ms = claim->policy->unknown_retention_ms,
	};
}

/* Makes the timer fire by then; claim_revoke_pump finds out who is due. */
static void
wake_by(struct store *store, int64_t due_us)
{
	struct timer *timer = &store->claim_revoke_timer;
	int64_t wait_ms = (due_us - clock_us() + 999) / 1000;
	wait_ms = wait_ms > 0 ? wait_ms : 0;
	if (!timer_is_set(timer) ||
	    timer->at_ms > loop_now_ms(store->loop) + wait_ms)
		timer_set(timer, wait_ms);
}

static void
end_revoke(struct store *store, struct claim_revoke *revoke)
{
	op_cancel(&revoke->saving.op);
	*revoke->link = revoke->next;
	if (revoke->next != NULL)
		revoke->next->link = revoke->link;
	if (!revoke->saved)
		store->n_claim_revokes--;
	free(revoke);
}

/*
 * DONE: the claim was executed, and is revoked.  Any other answer: it was not
 * executed so far.  That is final once its deadline has passed; or where
 * another node has the record now, which never gets that claim.
 */
static bool
is_final(const struct store_call *call, const struct claim_revoke *revoke,
    const struct call_reply *reply)
{
	return reply->verdict == VERDICT_DONE ||
	    reply->now_ms > revoke->deadline_ms ||
	    call->node->number != revoke->node || !INVARIANT(giveback_again);
}

static void
on_released(struct store_call *call, enum call_end end, int error,
    const struct call_reply *reply)
{
	struct store *store = call->store;
	struct claim_revoke *revoke = call->arg;
	revoke->in_flight = false;
	if (revoke->saved ||
	    (end == CALL_ANSWERED && is_final(call, revoke, reply))) {
		end_revoke(store, revoke);
		return;
	}
	int64_t wait_ms = 0; /* lost: when the link is up again */
	if (end == CALL_ANSWERED)
		wait_ms = revoke->deadline_ms - reply->now_ms + 1;
	else if (error == E_STORE_REFUSED)
		wait_ms = AGAIN_MS;
	revoke->due_us = clock_us() + wait_ms * 1000;
	/* The link may be about to go down, so nothing is sent from here. */
	wake_by(store, revoke->due_us);
}

static void
send_release(struct store *store, struct claim_revoke *revoke)
{
	struct store_call *call =
	    operation_call(store, SCRIPT_release, &revoke->what.key_id, 6);
	operation_arg_owner(call, &revoke->what.owner);
	operation_arg_attempt(call, 0);
	resp_arg(&call->args, SPAN("0"));
	resp_number(&call->args, revoke->what.retention_ms);
	resp_number(&call->args, revoke->what.unknown_retention_ms);
	resp_number(&call->args, store->longest_ms);
	call->done = on_released;
	call->arg = revoke;
	revoke->in_flight = true;
	call_start(call);
}

/* Whether a call would be sent at once, and not fail. */
static bool
is_reachable(const struct store *store, const struct claim_revoke *revoke)
{
	unsigned shard = redis_keys_shard(store->conf, &revoke->what.key_id);
	const struct node *node = topology_node_of(store, shard);
	return node != NULL && link_is_up(node->small.link);
}

void
claim_revoke_pump(struct store *store)
{
	int64_t now_us = clock_us();
	for (struct claim_revoke *g = store->claim_revokes; g != NULL;
	     g = g->next) {
		if (g->in_flight || g->saved || !is_reachable(store, g))
			continue;
		if (g->due_us <= now_us)
			send_release(store, g);
		else
			wake_by(store, g->due_us);
	}
}

/* --- to the journal --- */

/* What the disk does not have goes on as before. */
static void
on_saved(void *arg)
{
	struct claim_revoke *revoke = arg;
	if (revoke->saving.op.error != 0)
		return;
	revoke->saved = true;
	revoke->store->n_claim_revokes--;
	/* Where a call is under way, its end is awaited. */
	if (!revoke->in_flight)
		end_revoke(revoke->store, revoke);
}

void
claim_revoke_save(struct store *store, struct journal_writer *writer)
{
	for (struct claim_revoke *g = store->claim_revokes; g != NULL;
	     g = g->next) {
		if (g->tried)
			continue;
		g->tried = true;
		const struct journal_entry entry = {
		    .kind = JOURNAL_RELEASE,
		    .key_id = g->what.key_id,
		    .owner = g->what.owner,
		    .retention_ms = g->what.retention_ms,
		    .unknown_retention_ms = g->what.unknown_retention_ms,
		    .deadline_ms = g->deadline_ms,
		    .origin = store->identity.origin,
		    .provenance = SPAN(""),
		    .answer = SPAN(""),
		};
		journal_writer_append(writer, &g->saving, &entry);
	}
}

/* --- life --- */

void
claim_revoke_start(struct store *store,
    const struct claim_revoke_what *what, const struct node *node,
    int64_t deadline_ms)
{
	struct claim_revoke *revoke = mem_zero(sizeof *revoke);
	revoke->what = *what;
	revoke->deadline_ms = deadline_ms;
	revoke->node = node != NULL ? node->number : 0;
	revoke->due_us = clock_us();
	revoke->store = store;
	op_init(&revoke->saving.op, store->loop, on_saved, revoke);
	revoke->next = store->claim_revokes;
	revoke->link = &store->claim_revokes;
	if (revoke->next != NULL)
		revoke->next->link = &revoke->next;
	store->claim_revokes = revoke;
	store->n_claim_revokes++;
	wake_by(store, revoke->due_us);
	if (store->n_claim_revokes > CLAIM_REVOKES_MAX) {
		struct claim_revoke *oldest = revoke;
		for (struct claim_revoke *g = revoke; g != NULL; g = g->next)
			oldest = g->in_flight ? oldest : g;
		end_revoke(store, oldest);
	}
}

bool
claim_revoke_has(const struct store *store, const struct owner *owner)
{
	for (struct claim_revoke *g = store->claim_revokes; g != NULL;
	     g = g->next)
		if (!memcmp(&g->what.owner, owner, sizeof *owner))
			return true;
	return false;
}

static void
on_revoke_timer(void *arg)
{
	claim_revoke_pump(arg);
}

void
claim_revoke_init(struct store *store)
{
	timer_init(&store->claim_revoke_timer, store->loop, on_revoke_timer,
	    store);
}

void
claim_revoke_free(struct store *store)
{
	while (store->claim_revokes != NULL)
		end_revoke(store, store->claim_revokes);
	timer_clear(&store->claim_revoke_timer);
}
