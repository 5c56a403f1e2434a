/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/container.h"
#include "base/error.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "gate/execution.h"
#include "gate/lease_renewal.h"
#include "gate/worker.h"

enum {
	/* Leases due so soon are renewed together with the one that is. */
	BATCH_MS = 50,
	/* How soon a batch that failed is tried again. */
	AGAIN_MS = 100,
};

static void on_renewal_due(void *arg);
static void on_batch_renewed(void *arg);

void
lease_renewal_start(struct leases *leases, struct worker *worker)
{
	*leases = (struct leases){.worker = worker};
	timer_init(&leases->timer, worker->loop, on_renewal_due, leases);
	op_init(&leases->renewing.op, worker->loop, on_batch_renewed, leases);
}

void
lease_renewal_stop(struct leases *leases)
{
	timer_clear(&leases->timer);
	op_cancel(&leases->renewing.op);
	free(leases->renewals);
	leases->renewals = NULL;
}

/* Sets the timer, unless it goes off earlier anyway. */
static void
wake_at(struct leases *leases, int64_t at_ms)
{
	if (timer_is_set(&leases->timer) && leases->timer.at_ms <= at_ms)
		return;
	timer_set(&leases->timer, at_ms - loop_now_ms(leases->worker->loop));
}

void
lease_renewal_begin(struct leases *leases, struct lease *lease,
    int64_t asked_us, int64_t lease_ms)
{
	lease_extend(lease, asked_us, lease_ms);
	lease->renewing = 0;
	int64_t now_ms = loop_now_ms(leases->worker->loop);
	lease->renew_at_ms = now_ms + lease_ms / 3;
	wake_at(leases, lease->renew_at_ms);
}

/* Calls visit for each execution of the worker. */
static void
each_execution(struct leases *leases,
    void (*visit)(struct leases *leases, struct execution *e))
{
	struct machines *all = &leases->worker->executions;
	for (unsigned step = 0; step < MACHINE_STEPS_MAX; step++)
		for (struct machine *m = all->steps[step]; m; m = m->next)
			visit(
			    leases, CONTAINER_OF(m, struct execution, machine));
}

/*
 * A short step under way ends the claim, or is tried again after a pause.  A
 * large answer may be on its way for longer than a lease.
 */
static bool
is_ending(const struct execution *e)
{
	return op_pending(&e->store.op) && !execution_is_completing(e);
}

static void
add_due(struct leases *leases, struct execution *e)
{
	int64_t now_ms = loop_now_ms(leases->worker->loop);
	if (e->lease.renew_at_ms > now_ms + BATCH_MS)
		return;
	e->lease.renew_at_ms = now_ms + e->held.policy->lease_ms / 3;
	if (is_ending(e) || !INVARIANT(lease_renewed))
		return;
	leases->renewals[leases->count++] =
	    (struct renewal){.held = e->held};
	e->lease.renewing = leases->count;
}

static void
wake_for(struct leases *leases, struct execution *e)
{
	wake_at(leases, e->lease.renew_at_ms);
}

/*
 * A refusal that took long kept the connection busy, waiting for replicas:
 * others get as much time.
 */
static void
renew_soon(struct leases *leases, struct execution *e)
{
	const struct op *op = &leases->renewing.op;
	int64_t busy_ms =
	    op->error == E_STORE_REFUSED ? op->took_us / 1000 : 0;
	e->lease.renew_at_ms = loop_now_ms(leases->worker->loop) +
	    (busy_ms > AGAIN_MS ? busy_ms : AGAIN_MS);
}

/*
 * One batch at a time: while one is under way the next waits for its end,
 * which comes when Redis answers, or has been silent for store.timeout.
 */
static void
on_renewal_due(void *arg)
{
	struct leases *leases = arg;
	unsigned count = leases->worker->executions.count;
	if (op_pending(&leases->renewing.op) || count == 0)
		return;
	leases->renewals = mem_grow(
	    leases->renewals, count * sizeof *leases->renewals);
	leases->count = 0;
	each_execution(leases, add_due);
	if (leases->count > 0)
		renew_leases(leases->worker->store, &leases->renewing,
		    leases->renewals, leases->count);
	else
		each_execution(leases, wake_for);
}

/* NULL: it has ended meanwhile, or is about to, and has lost nothing. */
static const struct execution *
held_by(const struct leases *leases, const struct held *held)
{
	struct machines *all = &leases->worker->executions;
	for (unsigned step = 0; step < MACHINE_STEPS_MAX; step++)
		for (struct machine *m = all->steps[step]; m; m = m->next) {
			const struct execution *e =
			    CONTAINER_OF(m, struct execution, machine);
			if (!memcmp(&e->held.owner, &held->owner,
				sizeof held->owner))
				return op_pending(&e->store.op) ? NULL : e;
		}
	return NULL;
}

static void
log_lease_lost(struct leases *leases, const struct renewal *renewal)
{
	const struct execution *e = held_by(leases, &renewal->held);
	if (e == NULL)
		return;
	counter_add(&leases->worker->meter.leases_lost, 1);
	struct logline line = log_begin(EV_lease_lost);
	execution_log(e, &line);
	log_end(&line);
}

/* One that is lost stays ours until its time is over, and not longer. */
static void
take_renewal(struct leases *leases, struct execution *e)
{
	size_t place = e->lease.renewing;
	e->lease.renewing = 0;
	if (place == 0 || leases->renewing.op.error != 0 ||
	    leases->renewals[place - 1].lost)
		return;
	lease_extend(&e->lease, leases->renewing.op.began_us,
	    e->held.policy->lease_ms);
}

static void
on_batch_renewed(void *arg)
{
	struct leases *leases = arg;
	each_execution(leases, take_renewal);
	if (leases->renewing.op.error != 0)
		each_execution(leases, renew_soon);
	else
		for (size_t i = 0; i < leases->count; i++)
			if (leases->renewals[i].lost)
				log_lease_lost(leases, &leases->renewals[i]);
	each_execution(leases, wake_for);
}
