/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "gate/lease.h"

enum {
	/* Leases due so soon are renewed together with the one that is. */
	BATCH_MS = 50,
	/* How soon a batch that failed is tried again. */
	AGAIN_MS = 100,
};

/*
 * One batch at a time: while one is under way the next waits for its end,
 * which comes when Redis answers, or has been silent for store.timeout.
 */
static void
on_renewal_due(void *arg)
{
	struct leases *leases = arg;
	struct lease *lease;
	int64_t now_ms = loop_now_ms(leases->loop);
	size_t most = 0;
	if (leases->renewal.op.state == OP_PENDING || list_empty(&leases->list))
		return;
	LIST_EACH(lease, &leases->list, item)
		most++;
	leases->batch = mem_grow(leases->batch, most * sizeof *leases->batch);
	leases->count = 0;
	LIST_EACH(lease, &leases->list, item) {
		if (lease->renew_at_ms > now_ms + BATCH_MS)
			continue;
		lease->renew_at_ms =
		    now_ms + lease->owned->policy->lease_ms / 3;
		if (lease->owner->is_ending(lease) ||
		    !INVARIANT(lease_renewed))
			continue;
		leases->batch[leases->count++] =
		    (struct renewal){.owned = *lease->owned};
		lease->renewing = leases->count;
	}
	if (leases->count > 0)
		leases_renew(leases->store, &leases->renewal, leases->batch,
		    leases->count);
	else
		LIST_EACH(lease, &leases->list, item)
			timer_set_by(&leases->timer, lease->renew_at_ms);
}

/* A lease that is lost stays ours until its time is over, and not longer. */
static void
on_batch_renewed(void *arg)
{
	struct leases *leases = arg;
	struct lease *lease;
	const struct op *op = &leases->renewal.op;
	int64_t again_ms = AGAIN_MS;
	/*
	 * A refusal that took long kept the connection busy, waiting for
	 * replicas: others get as much time.
	 */
	if (op->error == E_STORE_REFUSED && op->took_us / 1000 > again_ms)
		again_ms = op->took_us / 1000;
	LIST_EACH(lease, &leases->list, item) {
		size_t place = lease->renewing;
		lease->renewing = 0;
		if (op->error != 0)
			lease->renew_at_ms =
			    loop_now_ms(leases->loop) + again_ms;
		else if (place != 0 && leases->batch[place - 1].lost)
			lease->owner->on_lost(lease);
		else if (place != 0)
			lease_extend(lease, op->began_us);
		timer_set_by(&leases->timer, lease->renew_at_ms);
	}
}

void
lease_init(struct leases *leases, struct loop *loop, struct store *store)
{
	*leases = (struct leases){.loop = loop, .store = store};
	list_init(&leases->list);
	timer_init(&leases->timer, loop, on_renewal_due, leases);
	op_init(&leases->renewal.op, loop, on_batch_renewed, leases);
}

void
lease_clear(struct leases *leases)
{
	timer_clear(&leases->timer);
	op_cancel(&leases->renewal.op);
	free(leases->batch);
	leases->batch = NULL;
}

void
lease_begin(struct leases *leases, struct lease *lease,
    const struct lease_owner *owner, const struct owned_claim *owned,
    int64_t asked_us)
{
	lease->owner = owner;
	lease->owned = owned;
	lease->renewing = 0;
	lease->renew_at_ms =
	    loop_now_ms(leases->loop) + owned->policy->lease_ms / 3;
	lease_extend(lease, asked_us);
	list_add_last(&leases->list, &lease->item);
	timer_set_by(&leases->timer, lease->renew_at_ms);
}
