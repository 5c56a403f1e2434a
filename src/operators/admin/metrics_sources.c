/* SPDX-License-Identifier: BSD-2-Clause */
#include <stddef.h>
#include <string.h>

#include "gate/worker.h"
#include "messages/source/source_standing.h"
#include "messages/source/sources.h"
#include "operators/admin/metrics_sources.h"

/* --- the series --- */

/* The first of a worker's; NULL: it has none. */
static const struct source_meter *
first_meter(const struct metrics_sources *all, int64_t worker)
{
	const struct sources *sources = sources_of(all->workers[worker]);
	return sources != NULL ? atomic_load(&sources->meters.first) : NULL;
}

static const struct source_meter *
named(const struct source_meter *m, const char *name)
{
	while (m != NULL && strcmp(m->name, name) != 0)
		m = atomic_load(&m->next);
	return m;
}

/* The one of that name that is configured now; NULL: none. */
static const struct source_meter *
present(const struct source_meter *m)
{
	const char *name = m->name;
	while (m != NULL && counter_read(&m->present) == 0)
		m = named(atomic_load(&m->next), name);
	return m;
}

typedef void put_source(const struct metrics_sources *all,
    const struct source_meter *m, size_t offset);

/* Once for each name; m is its first, and a name is of one worker. */
static void
each_source(
    const struct metrics_sources *all, put_source *put, size_t offset)
{
	for (int64_t i = 0; i < all->n_workers; i++) {
		const struct source_meter *first = first_meter(all, i);
		const struct source_meter *m = first;
		for (; m != NULL; m = atomic_load(&m->next))
			if (named(first, m->name) == m)
				put(all, m, offset);
	}
}

static const void *
member(const struct source_meter *m, size_t offset)
{
	return (const char *)m + offset;
}

/* A counter of all series of that name. */
static uint64_t
sum_of(const struct source_meter *m, size_t offset)
{
	const char *name = m->name;
	uint64_t sum = 0;
	for (; m != NULL; m = named(atomic_load(&m->next), name))
		sum += counter_read(
		    (const struct counter *)member(m, offset));
	return sum;
}

/* --- samples --- */

static void
put_counter(const struct metrics_sources *all, const struct source_meter *m,
    size_t offset)
{
	metrics_text_of(all->text, "source", m->name, sum_of(m, offset));
}

static void
put_gauge(const struct metrics_sources *all, const struct source_meter *m,
    size_t offset)
{
	const struct source_meter *now = present(m);
	if (now != NULL)
		metrics_text_of(all->text, "source", m->name,
		    counter_read(
			(const struct counter *)member(now, offset)));
}

static void
put_histogram(const struct metrics_sources *all, const struct source_meter *m,
    size_t offset)
{
	const char *name = m->name;
	struct metrics_gathered gathered = {0};
	for (; m != NULL; m = named(atomic_load(&m->next), name))
		metrics_text_gather(&gathered,
		    (const struct histogram *)member(m, offset));
	metrics_text_histogram(all->text, "source", name, &gathered,
	    offset == offsetof(struct source_meter, age) ? 1000 : 1);
}

static void
put_lag(const struct metrics_sources *all, const struct source_meter *m,
    size_t offset)
{
	const struct source_meter *now = present(m);
	if (now != NULL && counter_read(&now->lag) != SOURCE_METER_NO_LAG)
		put_gauge(all, m, offset);
}

static size_t
at(size_t offset, size_t i)
{
	return offset + i * sizeof(struct counter);
}

/* Also those that are 0: a first one is to be seen as an increase. */
static void
put_outcomes(const struct metrics_sources *all, const struct source_meter *m,
    size_t offset)
{
	for (size_t i = 0; i < MESSAGE_COUNT_; i++)
		metrics_text_of_two(all->text, "source", m->name, "outcome",
		    source_meter_outcome((enum message_outcome)i),
		    sum_of(m, at(offset, i)));
}

static void
put_dead_letters(const struct metrics_sources *all,
    const struct source_meter *m, size_t offset)
{
	static const enum message_outcome reasons[] = {
#define MESSAGE_OUTCOME(name, word)
#define MESSAGE_REASON(name, word) MESSAGE_##name,
#include "tbl/message_outcomes.h"
	};
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
		metrics_text_of_two(all->text, "source", m->name, "reason",
		    source_meter_outcome(reasons[i]),
		    sum_of(m, at(offset, reasons[i])));
}

static void
put_lost(const struct metrics_sources *all, const struct source_meter *m,
    size_t offset)
{
	for (size_t i = 0; i < BROKER_LOSS_COUNT_; i++)
		metrics_text_of_two(all->text, "source", m->name, "how",
		    source_meter_loss((enum broker_loss)i),
		    sum_of(m, at(offset, i)));
}

/* Of a broker that has none there are no samples. */
static void
put_transactions(const struct metrics_sources *all,
    const struct source_meter *m, size_t offset)
{
	if (sum_of(m, offsetof(struct source_meter, transacts)) == 0)
		return;
	for (size_t i = 0; i < BROKER_TRANSACTION_COUNT_; i++)
		metrics_text_of_two(all->text, "source", m->name, "result",
		    source_meter_transaction((enum broker_transaction)i),
		    sum_of(m, at(offset, i)));
}

static void
put_standing(const struct metrics_sources *all, const struct source_meter *m,
    size_t offset)
{
	const struct source_meter *now = present(m);
	(void)offset;
	for (unsigned i = 0; now != NULL && i < STANDING_COUNT_; i++)
		metrics_text_of_two(all->text, "source", m->name, "reason",
		    source_standing_word(1u << i),
		    counter_read(&now->standing) >> i & 1);
}

/* --- brokers --- */

/* The next one that is configured; NULL: there are no more. */
static const struct source_meter *
next_present(
    const struct metrics_sources *all, const struct source_meter *m, int64_t *i)
{
	m = m != NULL ? atomic_load(&m->next) : first_meter(all, *i);
	for (;;) {
		while (m != NULL && counter_read(&m->present) == 0)
			m = atomic_load(&m->next);
		if (m != NULL || ++*i >= all->n_workers)
			return m;
		m = first_meter(all, *i);
	}
}

/* All sources of that broker reach it; *ret_first: it was not met before m. */
static bool
is_up(const struct metrics_sources *all, const struct source_meter *m,
    bool *ret_first)
{
	bool up = true;
	int64_t i = 0;
	*ret_first = true;
	bool before = true;
	for (const struct source_meter *other = next_present(all, NULL, &i);
	     other != NULL; other = next_present(all, other, &i)) {
		before = before && other != m;
		if (strcmp(other->broker, m->broker) != 0)
			continue;
		*ret_first = *ret_first && !before;
		up = up && counter_read(&other->up) != 0;
	}
	return up;
}

METRICS_SOURCES(BROKER_UP)
{
	int64_t i = 0;
	for (const struct source_meter *m = next_present(all, NULL, &i);
	     m != NULL; m = next_present(all, m, &i)) {
		bool is_first, up = is_up(all, m, &is_first);
		if (is_first)
			metrics_text_of(all->text, "broker", m->broker, up);
	}
}

/* --- one function for each metric --- */

#define MEMBER(name) offsetof(struct source_meter, name)

METRICS_SOURCES(MESSAGES)
{
	each_source(all, put_outcomes, MEMBER(outcomes));
}

METRICS_SOURCES(MESSAGE_SECONDS)
{
	each_source(all, put_histogram, MEMBER(seconds));
}

METRICS_SOURCES(MESSAGE_AGE)
{
	each_source(all, put_histogram, MEMBER(age));
}

METRICS_SOURCES(SOURCE_IN_FLIGHT)
{
	each_source(all, put_gauge, MEMBER(in_flight));
}

METRICS_SOURCES(SOURCE_HELD)
{
	each_source(all, put_gauge, MEMBER(held));
}

METRICS_SOURCES(SOURCE_PARKED)
{
	each_source(all, put_gauge, MEMBER(parked));
}

METRICS_SOURCES(SOURCE_RETRYING)
{
	each_source(all, put_gauge, MEMBER(retrying));
}

METRICS_SOURCES(SOURCE_LAG)
{
	each_source(all, put_lag, MEMBER(lag));
}

METRICS_SOURCES(SOURCE_GAP)
{
	each_source(all, put_gauge, MEMBER(gap));
}

METRICS_SOURCES(SOURCE_STANDING)
{
	each_source(all, put_standing, MEMBER(standing));
}

METRICS_SOURCES(SOURCE_PARTS_STANDING)
{
	each_source(all, put_gauge, MEMBER(parts_standing));
}

METRICS_SOURCES(SOURCE_LOST)
{
	each_source(all, put_lost, MEMBER(lost));
}

METRICS_SOURCES(SOURCE_REBALANCES)
{
	each_source(all, put_counter, MEMBER(rebalances));
}

METRICS_SOURCES(DEAD_LETTERS)
{
	each_source(all, put_dead_letters, MEMBER(dead_letters));
}

METRICS_SOURCES(RESULTS)
{
	each_source(all, put_counter, MEMBER(results));
}

METRICS_SOURCES(TRANSACTIONS)
{
	each_source(all, put_transactions, MEMBER(transactions));
}
