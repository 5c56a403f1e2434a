/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/container.h"
#include "base/loop/timer.h"
#include "gate/execution.h"
#include "gate/request.h"
#include "replay/fakes.h"
#include "replay/messages.h"
#include "replay/state.h"
#include "store/call.h"
#include "store/node.h"

static uint64_t
hash_op(uint64_t hash, const struct op *op)
{
	hash = mix(hash, op->state);
	return mix(hash, (uint64_t)(int64_t)op->error);
}

/* One that was never started has no list of them. */
static bool
has_calls(const struct store_op *op)
{
	return list_linked(&op->calls) && !list_empty(&op->calls);
}

static uint64_t
hash_store_op(uint64_t hash, const struct store_op *op)
{
	hash = hash_op(hash, &op->op);
	hash = mix(hash, op->verdict);
	hash = mix(hash, op->attempt);
	return mix(hash, (uint64_t)op->gone << 1 | has_calls(op));
}

static uint64_t
hash_owner(uint64_t hash, const struct owner *owner)
{
	return mix_bytes(hash, owner->bytes, sizeof owner->bytes);
}

static uint64_t
hash_request(const struct request *r)
{
	uint64_t hash = mix(1, r->machine.step);
	hash = mix(hash, (uint64_t)(fake_front_client(r->x) - world.clients));
	hash = hash_store_op(hash, &r->c.claim_op);
	hash = hash_owner(hash, &r->c.claim.owner);
	hash = hash_op(hash, &r->waiter.op);
	hash = mix(hash, (uint64_t)r->waiter.heard << 1 |
	    (r->waiter.waiters != NULL));
	hash = mix(hash, (uint64_t)r->wait_until_ms);
	hash = mix(hash, r->waited);
	hash = hash_op(hash, &r->c.join);
	hash = hash_op(hash, &r->forward.op);
	hash = hash_op(hash, &r->x->op);
	return mix(hash, (uint64_t)r->x->gone << 1 | (r->c.execution != NULL));
}

static uint64_t
hash_execution(const struct execution *e)
{
	uint64_t hash = mix(2, e->machine.step);
	hash = mix_bytes(hash, e->owned.key_id.bytes, DIGEST_BYTES);
	hash = hash_owner(hash, &e->owned.owner);
	hash = mix(hash, e->owned.attempt);
	hash = mix(hash, (uint64_t)e->lease.renew_at_ms);
	hash = mix(hash, (uint64_t)e->release << 6 |
	    (uint64_t)e->counts << 4 | (uint64_t)e->reconciles << 3 |
	    (uint64_t)e->sent << 2 |
	    (uint64_t)(e->answer != NULL) << 1 | (e->given != NULL));
	hash = hash_op(hash, &e->forward.op);
	hash = mix(hash, e->forward.result);
	hash = hash_op(hash, &e->witness.op);
	hash = mix(hash, (uint64_t)e->witness.answer << 1 |
	    e->witness.inserted);
	hash = mix(hash, e->reason);
	hash = hash_store_op(hash, &e->store);
	hash = mix(hash, e->settling);
	hash = mix(hash, e->tries);
	hash = mix(hash, (uint64_t)e->expected << 1 | e->withheld);
	hash = hash_op(hash, &e->journal.op);
	hash = hash_op(hash, &e->pause);
	return mix(hash, e->claimant != NULL);
}

static uint64_t
hash_machines(const struct machines *all,
    uint64_t (*hash)(struct machine *machine))
{
	uint64_t sum = 0;
	struct machine *m;
	LIST_EACH(m, &all->list, item)
		sum += hash(m);
	return sum;
}

static uint64_t
hash_request_machine(struct machine *machine)
{
	return hash_request(CONTAINER_OF(machine, struct request, machine));
}

static uint64_t
hash_execution_machine(struct machine *machine)
{
	return hash_execution(CONTAINER_OF(machine, struct execution, machine));
}

/* Calls whose replies wait for replicas: OURS, RECONCILE or DONE. */
static uint64_t
hash_delayed(const struct replicas *replicas)
{
	uint64_t hash = (uint64_t)replicas->wanted << 2 |
	    (uint64_t)replicas->under_way << 1 | replicas->few;
	const struct store_call *c;
	LIST_EACH(c, &replicas->delayed, delayed.in_channel)
		hash = mix_bytes(
		    mix(hash, c->run.script + 2U * (c->op != NULL)),
		    &c->key_id, sizeof c->key_id);
	return hash;
}

/* What waits for the disk is known from whom it is for. */
static uint64_t
hash_writer(const struct journal_writer *writer)
{
	return (uint64_t)writer->writable << 2 |
	    (uint64_t)(writer->work != NULL) << 1 |
	    !list_empty(&writer->queue);
}

static uint64_t timers_sum;

static bool
sum_timer(const struct gateway *gateway, const struct timer *timer)
{
	(void)gateway;
	timers_sum += mix((uint64_t)timer->at_ms,
	    (uint64_t)(uintptr_t)timer->fire);
	return false;
}

static uint64_t
hash_worker(const struct gateway *g)
{
	const struct node *node = LIST_FIRST(
	    &g->worker->store->nodes, struct node, in_store);
	const struct worker *w = g->worker;
	must(node != NULL);
	uint64_t hash =
	    hash_machines(&w->requests, hash_request_machine);
	hash = mix(hash,
	    hash_machines(&w->executions, hash_execution_machine));
	timers_sum = 0;
	fake_loop_any(g->loop, sum_timer);
	hash = mix(hash, timers_sum);
	hash = hash_op(hash, &w->leases.renewal.op);
	hash = hash_op(hash, &w->journal_replay.small.op.op);
	hash = hash_op(hash, &w->journal_replay.large.op.op);
	hash = mix(hash, hash_writer(&w->journal_replay.writer));
	hash = mix(hash, w->journal_replay.after);
	hash = mix(hash, w->journal_replay.passed_over.members.count << 8 |
		w->journal_replay.failures);
	hash = mix(hash, w->store->n_claim_revokes);
	hash = mix(hash, w->store->sweep_shard);
	hash = mix(hash, w->draining);
	hash = mix(hash, (uint64_t)node->subscriber.heard_us);
	hash = mix(hash, hash_delayed(&node->small.replicas));
	hash = mix(hash, hash_delayed(&node->large.replicas));
	for (unsigned i = 0; i < GATEWAY_LINKS; i++)
		if (g->links[i] != NULL)
			hash = mix(hash, link_hash(g->links[i]));
	return mix(hash, link_hash(g->subscriber));
}

static uint64_t
hash_gateway(const struct gateway *g)
{
	uint64_t hash = mix((uint64_t)g->stalled << 4 |
		(uint64_t)g->draining << 3 | (uint64_t)g->reloaded << 2 |
		(uint64_t)g->disk_full << 1 | g->was_killed,
	    g->index);
	hash = mix(hash, (uint64_t)g->adopted_us);
	if (!gateway_lives(g))
		return hash;
	hash = mix(hash, hash_worker(g));
	return mix(hash, messages_hash(g));
}

static uint64_t
hash_client(const struct client *client)
{
	uint64_t hash = mix(client->state, client->seen);
	return mix(hash, client->x != NULL);
}

uint64_t
world_hash(void)
{
	return mix(world_hash_at_end(),
	    (uint64_t)world.ills << 32 | (uint64_t)world.fault << 24 |
		(uint64_t)world.late << 16 |
		(uint64_t)world.slow << 8 | world.close);
}

uint64_t
world_hash_at_end(void)
{
	uint64_t hash = mix((uint64_t)world.now_us, redis_hash());
	hash = mix(hash, (uint64_t)world.lapsed << 5 |
	    (uint64_t)world.memory_short << 4 |
	    (uint64_t)world.forgot << 3 |
	    (uint64_t)world.redis_down << 2 |
	    (uint64_t)world.faulty << 1 | world.hurried);
	for (unsigned i = 0; i < world.scenario->gateways; i++)
		hash = mix(hash, hash_gateway(&world.gateways[i]));
	for (unsigned i = 0; i < world.n_clients; i++)
		hash = mix(hash, hash_client(&world.clients[i]));
	for (unsigned i = 0; i < ACTS_MAX; i++)
		hash = mix(hash, world.acted[i]);
	for (unsigned i = 0; i < KEYS_MAX; i++)
		if (world.truths[i].key[0] != '\0')
			hash = mix_bytes(hash, &world.truths[i],
			    sizeof world.truths[i]);
	hash = mix(hash, messages_counts_hash());
	hash = mix(hash, message_letters_hash());
	hash = mix(hash, message_counts_hash());
	hash = mix(hash, ghosts_hash());
	hash = mix(hash, fake_journals_hash());
	hash = mix(hash, fake_broker_hash());
	return mix(hash, forwards_hash());
}
