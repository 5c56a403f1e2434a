/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/loop/log.h"
#include "base/mem.h"
#include "gate/claimant.h"
#include "gate/worker.h"
#include "http/front/places.h"
#include "operators/admin/admin_metrics.h"
#include "operators/admin/metrics_relays.h"
#include "operators/admin/metrics_sources.h"
#include "operators/admin/metrics_text.h"

_Static_assert((int)OUTCOME_COUNT_ <= (int)METER_OUTCOMES, "too many results");

struct admin_metrics {
	const struct admin_metrics_source *from;
	struct metrics_text text;
};

static void
put_value(struct admin_metrics *e, uint64_t value)
{
	metrics_text_value(&e->text, value);
}

/* --- from all workers --- */

static const struct meter *
meter_of(const struct admin_metrics *e, int64_t worker)
{
	return &e->from->workers[worker]->meter;
}

static uint64_t
sum_of(const struct admin_metrics *e, size_t offset)
{
	uint64_t sum = 0;
	for (int64_t i = 0; i < e->from->n_workers; i++) {
		const char *meter = (const char *)meter_of(e, i);
		sum += counter_read(
		    (const struct counter *)(const void *)(meter + offset));
	}
	return sum;
}

static const struct series *
list_of(const struct meter *meter, bool routes)
{
	return atomic_load(routes ? &meter->routes : &meter->upstreams);
}

static const struct series *
series_named(const struct admin_metrics *e, int64_t worker, bool routes,
    const char *name)
{
	const struct series *s = list_of(meter_of(e, worker), routes);
	while (s != NULL && strcmp(s->name, name) != 0)
		s = atomic_load(&s->next);
	return s;
}

/* All workers have the same names, but for moments of a reload. */
static void
put_seconds_of(struct admin_metrics *e, bool routes, const char *label)
{
	const struct series *s = list_of(meter_of(e, 0), routes);
	for (; s != NULL; s = atomic_load(&s->next)) {
		struct metrics_gathered all = {0};
		for (int64_t i = 0; i < e->from->n_workers; i++) {
			const struct series *its =
			    series_named(e, i, routes, s->name);
			if (its != NULL)
				metrics_text_gather(&all, &its->seconds);
		}
		metrics_text_histogram(&e->text, label, s->name, &all, 1);
	}
}

static const char *const outcome_words[] = {
#define OUTCOME(name, word, ...) word,
#include "tbl/outcomes.h"
#undef OUTCOME
};

/* The sum of one of a route's counters, by its place in the series. */
static uint64_t
sum_of_route(const struct admin_metrics *e, const char *route, size_t offset)
{
	uint64_t sum = 0;
	for (int64_t i = 0; i < e->from->n_workers; i++) {
		const char *its =
		    (const char *)series_named(e, i, true, route);
		if (its != NULL)
			sum += counter_read((const struct counter *)(
			    const void *)(its + offset));
	}
	return sum;
}

static void
put_of_route(struct admin_metrics *e, const char *route, const char *label,
    const char *word, size_t offset)
{
	uint64_t count = sum_of_route(e, route, offset);
	if (count > 0)
		metrics_text_of_two(
		    &e->text, "route", route, label, word, count);
}

static void
put_outcomes(struct admin_metrics *e, const char *route)
{
	for (int i = 0; i < OUTCOME_COUNT_; i++)
		put_of_route(e, route, "outcome", outcome_words[i],
		    offsetof(struct series, outcomes[i]));
}

/* --- one function for each metric --- */

static void
put_REQUESTS(struct admin_metrics *e)
{
	const struct series *s = list_of(meter_of(e, 0), true);
	for (; s != NULL; s = atomic_load(&s->next))
		put_outcomes(e, s->name);
}

static void
put_RESPONSES(struct admin_metrics *e)
{
	static const char *const classes[METER_CLASSES] = {
	    "1xx", "2xx", "3xx", "4xx", "5xx"};
	const struct series *s = list_of(meter_of(e, 0), true);
	for (; s != NULL; s = atomic_load(&s->next))
		for (size_t i = 0; i < METER_CLASSES; i++)
			put_of_route(e, s->name, "class", classes[i],
			    offsetof(struct series, classes[i]));
}

static void
put_OBSERVED(struct admin_metrics *e)
{
	const struct series *s = list_of(meter_of(e, 0), true);
	for (; s != NULL; s = atomic_load(&s->next))
		for (enum observed i = 0; i < OBSERVED_COUNT_; i++)
			put_of_route(e, s->name, "would", duplicates_word(i),
			    offsetof(struct series, observed[i]));
}

static void
put_REQUEST_SECONDS(struct admin_metrics *e)
{
	put_seconds_of(e, true, "route");
}

static void
put_UPSTREAM_SECONDS(struct admin_metrics *e)
{
	put_seconds_of(e, false, "upstream");
}

/* Operators' acts and looks are the admin interface's own. */
static void
put_STORE_SECONDS(struct admin_metrics *e)
{
	for (unsigned op = 0; op < SCRIPT_COUNT_; op++) {
		struct metrics_gathered all = {0};
		/* Of those each call counts, as what it is (store/joint.h). */
		if (op == SCRIPT_claims || op == SCRIPT_completes)
			continue;
		metrics_text_gather(&all, &e->from->store_took[op]);
		for (int64_t i = 0; i < e->from->n_workers; i++)
			metrics_text_gather(&all, &meter_of(e, i)->store[op]);
		metrics_text_histogram(
		    &e->text, "operation", script_word(op), &all, 1);
	}
}

static void
put_IN_FLIGHT(struct admin_metrics *e)
{
	uint64_t count = 0;
	for (int64_t i = 0; i < e->from->n_workers; i++)
		count +=
		    atomic_load(&e->from->workers[i]->executions.count);
	put_value(e, count);
}

static void
put_WAITING(struct admin_metrics *e)
{
	uint64_t count = 0;
	for (int64_t i = 0; i < e->from->n_workers; i++)
		count += counter_read(
		    &e->from->workers[i]->waiters.waiting);
	put_value(e, count);
}

static void
put_RECORDS(struct admin_metrics *e)
{
	static const struct {
		enum record_state state;
		const char *word;
	} states[] = {
	    {STATE_PROCESSING, "PROCESSING"},
	    {STATE_UNKNOWN, "UNKNOWN"},
	    {STATE_FAILED, "FAILED"},
	};
	for (int i = 0; e->from->records != NULL && i < 3; i++) {
		metrics_text_of(&e->text, "state", states[i].word,
		    e->from->records[states[i].state]);
	}
}

static void
put_JOURNAL_ENTRIES(struct admin_metrics *e)
{
	put_value(e, sum_of(e, offsetof(struct meter, journal_entries)));
}

static void
put_JOURNAL_BLOCKED(struct admin_metrics *e)
{
	put_value(e, sum_of(e, offsetof(struct meter, journal_broken)));
}

static void
put_JOURNAL_FOREIGN(struct admin_metrics *e)
{
	put_value(e, sum_of(e, offsetof(struct meter, journal_foreign)));
}

static void
put_JOURNAL_DAMAGED(struct admin_metrics *e)
{
	put_value(e, sum_of(e, offsetof(struct meter, journal_aside)));
}

static void
put_STORE_UP(struct admin_metrics *e)
{
	put_value(e, store_is_up(e->from->store));
}

static void
put_STORE_MEMORY(struct admin_metrics *e)
{
	uint64_t bytes, max_bytes;
	if (store_memory(e->from->store, &bytes, &max_bytes))
		put_value(e, bytes);
}

static void
put_STORE_MEMORY_MAX(struct admin_metrics *e)
{
	uint64_t bytes, max_bytes;
	if (store_memory(e->from->store, &bytes, &max_bytes))
		put_value(e, max_bytes);
}

static void
put_CACHE_BYTES(struct admin_metrics *e)
{
	uint64_t bytes = 0;
	for (int64_t i = 0; i < e->from->n_workers; i++)
		bytes += cache_bytes(e->from->workers[i]->cache);
	put_value(e, bytes);
}

static void
put_CACHE_HITS(struct admin_metrics *e)
{
	uint64_t hits = 0;
	for (int64_t i = 0; i < e->from->n_workers; i++)
		hits += cache_hits(e->from->workers[i]->cache);
	put_value(e, hits);
}

static void
put_FENCED(struct admin_metrics *e)
{
	put_value(e, sum_of(e, offsetof(struct meter, fenced)));
}

static void
put_LEASES_LOST(struct admin_metrics *e)
{
	put_value(e, sum_of(e, offsetof(struct meter, leases_lost)));
}

/* To one worker at least. */
static bool
is_target_up(const struct admin_metrics *e, const char *name)
{
	for (int64_t i = 0; i < e->from->n_workers; i++) {
		const struct series *s = atomic_load(&meter_of(e, i)->targets);
		while (s != NULL && strcmp(s->name, name) != 0)
			s = atomic_load(&s->next);
		if (s != NULL && counter_read(&s->up) != 0)
			return true;
	}
	return false;
}

static void
put_UPSTREAM_UP(struct admin_metrics *e)
{
	const struct conf *conf = e->from->conf;
	for (size_t i = 0; i < conf->n_upstreams; i++)
		for (size_t k = 0; k < conf->upstreams[i].n_targets; k++) {
			const char *url = conf->upstreams[i].targets[k].url;
			char *name = mem_printf(
			    "%s\n%s", conf->upstreams[i].name, url);
			metrics_text_of_two(&e->text, "upstream",
			    conf->upstreams[i].name, "target", url,
			    is_target_up(e, name));
			free(name);
		}
}

static void
put_CONNECTIONS(struct admin_metrics *e)
{
	const struct worker *any = e->from->workers[0];
	metrics_text_of(&e->text, "side", "client",
	    atomic_load(&any->places->taken));
	metrics_text_of(&e->text, "side", "upstream",
	    sum_of(e, offsetof(struct meter, connections)));
}

static void
put_RELOADS(struct admin_metrics *e)
{
	metrics_text_of(&e->text, "result", "loaded", e->from->reloads[true]);
	metrics_text_of(
	    &e->text, "result", "refused", e->from->reloads[false]);
}

static void
put_LOG_DROPPED(struct admin_metrics *e)
{
	put_value(e, log_dropped());
}

static void
put_CERTIFICATE(struct admin_metrics *e)
{
	const struct conf *conf = e->from->conf;
	for (size_t i = 0; i < conf->n_listen; i++)
		if (conf->listen[i].tls.certificate != NULL)
			metrics_text_of(&e->text, "address",
			    conf->listen[i].address.text,
			    (uint64_t)conf->listen[i].tls.valid_until_s);
}

static void
put_SPUN(struct admin_metrics *e)
{
	put_value(e, sum_of(e, offsetof(struct meter, spun)) +
		counter_read(e->from->spun));
}

/* Those of sources are in metrics_sources.c. */
#define OF_SOURCES(id)                                                        \
	static void put_##id(struct admin_metrics *e)                         \
	{                                                                     \
		metrics_sources_##id(&(struct metrics_sources){               \
		    &e->text, e->from->workers, e->from->n_workers});         \
	}
OF_SOURCES(MESSAGES)
OF_SOURCES(MESSAGE_SECONDS)
OF_SOURCES(MESSAGE_AGE)
OF_SOURCES(SOURCE_IN_FLIGHT)
OF_SOURCES(SOURCE_HELD)
OF_SOURCES(SOURCE_PARKED)
OF_SOURCES(SOURCE_RETRYING)
OF_SOURCES(SOURCE_LAG)
OF_SOURCES(SOURCE_GAP)
OF_SOURCES(SOURCE_STANDING)
OF_SOURCES(SOURCE_PARTS_STANDING)
OF_SOURCES(SOURCE_LOST)
OF_SOURCES(SOURCE_REBALANCES)
OF_SOURCES(DEAD_LETTERS)
OF_SOURCES(RESULTS)
OF_SOURCES(TRANSACTIONS)
OF_SOURCES(BROKER_UP)
#undef OF_SOURCES

#define OF_RELAYS(id)                                                         \
	static void put_##id(struct admin_metrics *e)                         \
	{                                                                     \
		metrics_relays_##id(&(struct metrics_relays){                 \
		    &e->text, e->from->workers, e->from->n_workers});         \
	}
OF_RELAYS(RELAY_EVENTS)
OF_RELAYS(RELAY_LAG)
OF_RELAYS(RELAY_LOST)
OF_RELAYS(RELAY_UP)
#undef OF_RELAYS

static void
put_BUILD_INFO(struct admin_metrics *e)
{
	metrics_text_of(&e->text, "version", PACKAGE_VERSION, 1);
}

static void
put_CPU_SECONDS(struct admin_metrics *e)
{
	struct rusage usage;
	must(getrusage(RUSAGE_SELF, &usage) == 0);
	metrics_text(&e->text, "%s", e->text.name);
	metrics_text_seconds(&e->text,
	    (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) *
		    1000000 +
		(uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec));
}

static void
put_RESIDENT_BYTES(struct admin_metrics *e)
{
	uint64_t pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");
	if (file == NULL)
		return;
	if (fscanf(file, "%*u %" SCNu64, &pages) == 1)
		put_value(e, pages * (uint64_t)sysconf(_SC_PAGESIZE));
	fclose(file);
}

static void
put_OPEN_FDS(struct admin_metrics *e)
{
	uint64_t count = 0;
	DIR *folder = opendir("/proc/self/fd");
	if (folder == NULL)
		return;
	for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
		count += entry->d_name[0] != '.';
	closedir(folder);
	put_value(e, count - 1); /* but for the one that counts them */
}

static void
put_START_TIME(struct admin_metrics *e)
{
	int64_t ms = e->from->started_ms;
	metrics_text(&e->text, "%s %" PRId64 ".%03d\n", e->text.name,
	    ms / 1000, (int)(ms % 1000));
}

void
admin_metrics_write(const struct admin_metrics_source *from, struct body *out)
{
	struct admin_metrics e = {from, {out, NULL}};
#define METRIC(id, kind, its_name, help) \
	e.text.name = its_name; \
	metrics_text(&e.text, "# HELP %s %s\n# TYPE %s " #kind "\n", \
	    its_name, help, its_name); \
	put_##id(&e);
#include "tbl/metrics.h"
#undef METRIC
}
