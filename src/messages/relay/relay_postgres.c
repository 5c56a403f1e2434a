/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/digits.h"
#include "base/hex.h"
#include "base/mem.h"
#include "messages/broker/postgres/postgres_ledger.h"
#include "messages/relay/relay_postgres.h"
#include "messages/relay/relay_text.h"

struct relay_postgres {
	struct relay_target target; /* first */
	struct relay_target_events events;
	struct postgres_ledger *ledger;
	struct postgres_ledger_put put;
	struct relay_batch *batch; /* that is put; NULL: none */
	struct relay_position *stands; /* of each shard, with what is done */
	bool opened;
	unsigned shards;
};

/* --- places --- */

/* "MS-SEQ"; what is none is the beginning, and what comes again is no harm. */
static bool
read_put_entry(struct span entry, struct relay_position *mark)
{
	int64_t ms, seq;
	if (digits_take(&entry, INT64_MAX, &ms) == 0 || entry.len == 0 ||
	    *entry.ptr != '-' ||
	    !digits_read(span_from(entry, 1), INT64_MAX, &seq))
		return false;
	mark->ms = (uint64_t)ms;
	mark->seq = (uint64_t)seq;
	return true;
}

/* Of all shards; those that are missing are at the beginning. */
static struct relay_position *
read_places(const struct relay_postgres *p,
    const struct postgres_ledger_place *places, size_t n_places)
{
	struct relay_position *marks = mem_zero(p->shards * sizeof *marks);
	for (unsigned i = 0; i < p->shards; i++)
		marks[i] = (struct relay_position){.shard = i, .count = -1};
	for (size_t i = 0; i < n_places; i++) {
		struct relay_position mark = {.shard = places[i].shard,
		    .count = places[i].count};
		if (places[i].shard < p->shards &&
		    read_put_entry(places[i].entry, &mark))
			marks[mark.shard] = mark;
	}
	return marks;
}

static bool
are_alike(const struct relay_position *a, const struct relay_position *b)
{
	return a->ms == b->ms && a->seq == b->seq && a->count == b->count;
}

static void
settle_batch(struct relay_postgres *p)
{
	struct relay_batch *batch = p->batch;
	p->batch = NULL;
	for (size_t i = 0; i < batch->n_positions; i++)
		p->stands[batch->positions[i].shard] = batch->positions[i];
	if (op_pending(&batch->op))
		op_done(&batch->op, 0);
}

/* What is under way was committed before the connection broke. */
static bool
is_there(const struct relay_postgres *p, const struct relay_position *marks)
{
	const struct relay_batch *batch = p->batch;
	for (size_t i = 0; batch != NULL && i < batch->n_positions; i++)
		if (!are_alike(&batch->positions[i],
			&marks[batch->positions[i].shard]))
			return false;
	return batch != NULL;
}

static bool
stands_at(const struct relay_postgres *p, const struct relay_position *marks)
{
	for (unsigned i = 0; i < p->shards; i++)
		if (!are_alike(&p->stands[i], &marks[i]))
			return false;
	return true;
}

/* Also after a failover, which may have undone what was done. */
static void
on_opened(void *arg, const struct postgres_ledger_place *places,
    size_t n_places)
{
	struct relay_postgres *p = arg;
	struct relay_position *marks = read_places(p, places, n_places);
	if (is_there(p, marks))
		settle_batch(p);
	if (p->opened && stands_at(p, marks)) {
		free(marks);
		if (p->batch != NULL)
			postgres_ledger_put(p->ledger, &p->put);
		return;
	}
	free(p->stands);
	p->stands = marks;
	p->batch = NULL;
	p->opened = true;
	p->events.opened(p->events.arg, marks, p->shards);
}

static struct span
places_text(const struct relay_batch *batch)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	must(out != NULL);
	fputc('[', out);
	for (size_t i = 0; i < batch->n_positions; i++) {
		const struct relay_position *mark = &batch->positions[i];
		fprintf(out,
		    "%s{\"shard\":%u,\"entry\":\"%llu-%llu\",\"count\":%lld}",
		    i > 0 ? "," : "", mark->shard,
		    (unsigned long long)mark->ms,
		    (unsigned long long)mark->seq, (long long)mark->count);
	}
	fputc(']', out);
	must(fclose(out) == 0);
	struct span copy = arena_dup(batch->arena, span_of(text, len));
	free(text);
	return copy;
}

/* --- the target --- */

static void
ledger_changed(void *arg)
{
	struct relay_postgres *p = arg;
	p->events.changed(p->events.arg);
}

static void
on_fenced(void *arg)
{
	struct relay_postgres *p = arg;
	p->events.fenced(p->events.arg);
}

static void
on_done(struct postgres_ledger_put *put)
{
	struct relay_postgres *p =
	    CONTAINER_OF(put, struct relay_postgres, put);
	settle_batch(p);
}

static struct relay_target *
target_open(const struct relay_target_start *start)
{
	struct relay_postgres *p = mem_zero(sizeof *p);
	const struct postgres_ledger_events events = {
	    on_opened, ledger_changed, on_fenced, p};
	char store[DIGEST_HEX + 1];
	hex_encode(store_origin(start->worker->store)->id, DIGEST_BYTES,
	    store);
	p->target.kind = &relay_postgres_kind;
	p->events = *start->events;
	p->shards = (unsigned)start->worker->conf->store.shards;
	const struct postgres_ledger_start ledger = {
	    .loop = start->worker->loop,
	    .broker = start->relay->broker,
	    .instance = start->conf->instance,
	    .table = start->relay->table,
	    .store = span_str(store),
	    .relay = start->relay->name,
	    .turn = start->term,
	    .events = &events,
	};
	p->ledger = postgres_ledger_open(&ledger);
	return &p->target;
}

static struct relay_postgres *
of(struct relay_target *target)
{
	return (struct relay_postgres *)(void *)target;
}

static void
target_put(struct relay_target *target, struct relay_batch *batch)
{
	struct relay_postgres *p = of(target);
	must(p->batch == NULL);
	p->batch = batch;
	struct postgres_ledger_row *rows =
	    arena_alloc(batch->arena, (batch->n_events + 1) * sizeof *rows);
	for (size_t i = 0; i < batch->n_events; i++)
		rows[i] = (struct postgres_ledger_row){batch->events[i].id,
		    relay_text_event(batch->arena, &batch->events[i])};
	p->put = (struct postgres_ledger_put){
	    .rows = rows,
	    .n_rows = batch->n_events,
	    .places = places_text(batch),
	    .done = on_done,
	};
	op_start(&batch->op, 0, NULL);
	postgres_ledger_put(p->ledger, &p->put);
}

static struct relay_target_health
target_health(const struct relay_target *target)
{
	const struct relay_postgres *p =
	    (const struct relay_postgres *)(const void *)target;
	return (struct relay_target_health){
	    .up = postgres_ledger_is_up(p->ledger),
	    .message = postgres_ledger_message(p->ledger)};
}

static void
target_close(struct relay_target *target)
{
	struct relay_postgres *p = of(target);
	postgres_ledger_close(&p->ledger);
	free(p->stands);
	free(p);
}

const struct relay_target_kind relay_postgres_kind = {
    .keeps_position = true,
    .events = 1000,
    .open = target_open,
    .put = target_put,
    .health = target_health,
    .close = target_close,
};
