/* SPDX-License-Identifier: BSD-2-Clause */
#include "messages/source/delivery_private.h"
#include "replay/fakes.h"
#include "replay/messages.h"

/*
 * A hash of all that decides how messages go on (state.h): deliveries, replays,
 * and what their source knows.
 */
static uint64_t
hash_op(uint64_t hash, const struct op *op)
{
	return mix(mix(hash, op->state), (uint64_t)(int64_t)op->error);
}

static uint64_t
hash_store_op(uint64_t hash, const struct store_op *op)
{
	return mix(hash_op(hash, &op->op), op->verdict);
}

static uint64_t
hash_text(uint64_t hash, const char *text)
{
	return mix_bytes(hash, text, strlen(text));
}

/* --- deliveries and replays --- */

static uint64_t
hash_request(const struct delivery *d)
{
	uint64_t hash = mix(d->charged, (uint64_t)d->met);
	hash = hash_op(hash, &d->waiter.op);
	hash = mix(hash, (uint64_t)d->waiter.heard << 1 |
		(d->waiter.waiters != NULL));
	if (d->c.arena == NULL)
		return hash;
	hash = hash_store_op(hash, &d->c.claim_op);
	hash = mix(hash, d->c.claim_op.attempt);
	hash = mix_bytes(hash, d->c.claim.owner.bytes,
	    sizeof d->c.claim.owner.bytes);
	hash = hash_op(hash, &d->c.join);
	return mix(hash, (uint64_t)d->c.outcome << 2 |
		(uint64_t)d->c.stored << 1 | (d->c.execution != NULL));
}

/* As its source's count rises without end. */
static uint64_t
hash_refusals(const struct source *s, const struct source_refusals *refusals)
{
	return (uint64_t)refusals->count << 2 |
	    (uint64_t)(refusals->run == s->executed) << 1 |
	    (refusals->attempted == s->executed);
}

static uint64_t
hash_letter_op(uint64_t hash, const struct letter_op *op)
{
	hash = hash_store_op(hash, &op->op);
	return mix(hash, (uint64_t)op->letter.state << 2 |
		(uint64_t)op->has_next << 1 | op->sealed_shut);
}

static uint64_t
hash_ways(const struct delivery *d)
{
	const bool all[] = {d->placed, d->old, d->tried, d->there, d->lost,
	    d->parks, d->stand.probes, d->stand.to_finish, d->resting,
	    d->finishing, d->rejected, d->refused, d->burying, d->buried,
	    d->was_letter, d->sought, d->dropped != NULL, d->busy, d->whole,
	    d->asks, d->looks};
	return mix_bytes(d->sent, all, sizeof all);
}

static uint64_t
hash_replay(const struct replay *r)
{
	uint64_t hash = mix(4, r->act);
	hash = mix_bytes(hash, r->name.id, sizeof r->name.id);
	hash = mix_bytes(hash, r->owner.bytes, sizeof r->owner.bytes);
	hash = mix(hash, (uint64_t)r->until_us);
	hash = hash_letter_op(hash, &r->renewal);
	hash = hash_store_op(hash, &r->record.op);
	return mix(hash, (uint64_t)r->shut << 1 | r->tried);
}

static uint64_t
hash_delivery(struct machine *m)
{
	const struct delivery *d = delivery_of(m);
	uint64_t hash = mix(3, d->machine.step);
	if (d->message != NULL) {
		struct span position = d->message->position;
		hash = mix_bytes(hash, position.ptr, position.len);
		hash = mix(hash, d->message->again);
	}
	hash = mix(hash, hash_request(d));
	hash = mix(hash, hash_ways(d));
	hash = hash_op(hash, &d->place.turn);
	hash = hash_letter_op(hash, &d->written);
	hash = hash_op(hash, &d->finish.op);
	hash = mix(hash, (uint64_t)d->finish.finished << 8 | d->finish.fault);
	hash = mix(hash, hash_refusals(d->source, &d->refusals));
	hash = mix(hash, (uint64_t)d->tries << 32 | d->yields);
	hash = mix(hash, (uint64_t)d->held_since_ms);
	hash = mix(hash, d->next);
	hash = mix(hash, (uint64_t)d->outcome << 8 | d->reason);
	return d->replay != NULL ? mix(hash, hash_replay(d->replay)) : hash;
}

static uint64_t
hash_machines(const struct machines *all)
{
	uint64_t sum = 0;
	struct machine *m;
	LIST_EACH(m, &all->list, item)
		sum += hash_delivery(m);
	return sum;
}

/* --- what the source knows --- */

static uint64_t
sum_of(const struct hash *table)
{
	uint64_t sum = table->count;
	const struct hash_item *item = NULL;
	while ((item = hash_next(table, item)) != NULL)
		sum += mix(5, item->hash);
	return sum;
}

static uint64_t
hash_letters(const struct letters *letters)
{
	uint64_t hash = mix(sum_of(&letters->lanes), sum_of(&letters->written));
	hash = mix(hash, letters->dead << 32 | letters->parked);
	hash = mix(hash,
	    (uint64_t)letters->n_unknown << 32 | letters->n_failed);
	for (int64_t i = 0; i < letters->shared.store->conf->store.shards; i++)
		hash = mix(hash, (uint64_t)letters->shards[i].due << 1 |
			(letters->shards[i].call != NULL));
	return hash;
}

static uint64_t
hash_shared(const struct source *s)
{
	uint64_t hash = mix((uint64_t)s->leadership.until_us,
	    (uint64_t)(s->leadership.term != 0) << 2 |
		(uint64_t)(s->leadership.watch.call != NULL) << 1 |
		s->leadership.watch.again);
	hash = mix(hash, (uint64_t)s->pause.known << 3 |
		(uint64_t)s->pause.on << 2 |
		(uint64_t)(s->pause.watch.call != NULL) << 1 |
		s->pause.watch.again);
	return mix(hash, hash_letters(&s->letters));
}

/* Which store it is, and what became of that. */
static uint64_t
hash_proof(const struct source *s)
{
	uint64_t hash = hash_text(s->meter->sent.members.count, s->store_id);
	hash = hash_text(hash, s->other_store);
	return mix(hash, (uint64_t)(s->origin_us != 0) << 4 |
		(uint64_t)s->asked << 3 |
		(uint64_t)(s->emptied_at != 0) << 2 |
		(uint64_t)s->doubted << 1 | s->heard);
}

static uint64_t
hash_standing(const struct source *s)
{
	uint64_t hash = s->standing;
	hash = mix(hash, (uint64_t)s->unsent << 32 | s->refused);
	hash = mix(hash, (uint64_t)s->refused_by_api << 32 | s->api_standing);
	hash = mix(hash, (uint64_t)s->unshared << 1 | s->token_refused);
	return mix(hash, (uint64_t)s->probe_ms << 16 | s->probing);
}

uint64_t
messages_hash(const struct gateway *g)
{
	const struct source *s = messages_source(g);
	if (s == NULL)
		return 0;
	uint64_t hash = mix(
	    hash_machines(&s->deliveries), hash_machines(&s->replays));
	hash = mix(hash, (uint64_t)s->in_flight << 32 | s->resting);
	hash = mix(hash, (uint64_t)s->bytes << 32 | s->credit);
	hash = mix(hash, (uint64_t)s->finishing << 32 | s->burying);
	hash = mix(hash, (uint64_t)s->rejected << 3 | (uint64_t)s->left << 2 |
		(uint64_t)s->member.draining << 1 | (s->reader != NULL));
	hash = mix(hash, hash_standing(s));
	hash = mix(hash, hash_proof(s));
	return mix(hash, hash_shared(s));
}
