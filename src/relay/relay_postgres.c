/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/digits.h"
#include "base/hex.h"
#include "base/mem.h"
#include "broker/postgres_ledger.h"
#include "relay/relay_postgres.h"
#include "relay/relay_text.h"

struct relay_postgres {
	struct relay_target target; /* first */
	struct relay_target_events events;
	struct postgres_ledger *ledger;
	struct postgres_ledger_put put;
	struct relay_batch *batch; /* that is put; NULL: none */
	unsigned shards;
};

/* --- places --- */

/* "MS-SEQ"; what is none is the beginning, and what comes again is no harm. */
static bool
read_put_entry(struct span entry, struct relay_mark *mark)
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

static void
on_opened(void *arg, const struct postgres_ledger_place *places,
    size_t n_places)
{
	struct relay_postgres *p = arg;
	struct relay_mark *marks = mem_zero((n_places + 1) * sizeof *marks);
	size_t n_marks = 0;
	for (size_t i = 0; i < n_places; i++) {
		struct relay_mark mark = {.shard = places[i].shard,
		    .count = places[i].count};
		if (places[i].shard < p->shards &&
		    read_put_entry(places[i].entry, &mark))
			marks[n_marks++] = mark;
	}
	p->events.opened(p->events.arg, marks, n_marks);
	free(marks);
}

static struct span
places_text(const struct relay_batch *batch)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	must(out != NULL);
	fputc('[', out);
	for (size_t i = 0; i < batch->n_marks; i++) {
		const struct relay_mark *mark = &batch->marks[i];
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
	struct relay_batch *batch = p->batch;
	p->batch = NULL;
	if (op_pending(&batch->op))
		op_done(&batch->op, 0);
}

/* The ledger has what it needs of the batch until it is closed. */
static void
on_detached(struct op *op, int error)
{
	(void)op;
	(void)error;
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
	    .turn = start->turn_number,
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
	p->put = (struct postgres_ledger_put){
	    .rows = relay_text_events(batch->arena, batch),
	    .places = places_text(batch),
	    .done = on_done,
	};
	op_start(&batch->op, 0, on_detached);
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
	free(p);
}

const struct relay_target_kind relay_postgres_kind = {
    .keeps_place = true,
    .batches = 1,
    .events = 1000,
    .open = target_open,
    .put = target_put,
    .health = target_health,
    .close = target_close,
};
