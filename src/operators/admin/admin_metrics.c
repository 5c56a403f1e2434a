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
#include "messages/relay/relays.h"
#include "messages/source/source_standing.h"
#include "messages/source/sources.h"
#include "operators/admin/admin_metrics.h"
#include "operators/admin/admin_private.h"
#include "operators/admin/metrics_text.h"

_Static_assert((int)OUTCOME_COUNT_ <= (int)METER_OUTCOMES, "too many results");

enum metric {
#define METRIC(id, ...) METRIC_##id,
#include "tbl/metrics.h"
#undef METRIC
	METRIC_COUNT_,
};

struct metrics {
	const struct admin *admin;
	struct worker *const *workers;
	int64_t n_workers;
	const uint64_t *records;
	struct metrics_text text;
	/* The metric that is written now, and where its counter is. */
	enum metric id;
	size_t offset;
};

static uint64_t
counter_at(const void *base, size_t offset)
{
	const char *bytes = base;
	return counter_read(
	    (const struct counter *)(const void *)(bytes + offset));
}

/* --- routes and upstreams --- */

static const struct series *
series_of(const struct metrics *m, int64_t worker, bool routes)
{
	const struct meter *meter = &m->workers[worker]->meter;
	return atomic_load(routes ? &meter->routes : &meter->upstreams);
}

static const struct series *
series_named(const struct series *s, const char *name)
{
	while (s != NULL && strcmp(s->name, name) != 0)
		s = atomic_load(&s->next);
	return s;
}

/* All workers have the same names, but for moments of a reload. */
static void
put_seconds(struct metrics *m, bool routes, const char *label)
{
	const struct series *s = series_of(m, 0, routes);
	for (; s != NULL; s = atomic_load(&s->next)) {
		struct metrics_gathered all = {0};
		for (int64_t i = 0; i < m->n_workers; i++) {
			const struct series *its = series_named(
			    series_of(m, i, routes), s->name);
			if (its != NULL)
				metrics_text_gather(&all, &its->seconds);
		}
		metrics_text_histogram(&m->text, label, s->name, &all, 1);
	}
}

static void
put_request_seconds(struct metrics *m)
{
	put_seconds(m, true, "route");
}

static void
put_upstream_seconds(struct metrics *m)
{
	put_seconds(m, false, "upstream");
}

/* The i-th counter of a route, of all workers; nothing where it is 0. */
static void
put_of_route(struct metrics *m, const char *route, const char *label,
    const char *word, size_t i)
{
	uint64_t sum = 0;
	for (int64_t w = 0; w < m->n_workers; w++) {
		const struct series *its =
		    series_named(series_of(m, w, true), route);
		if (its != NULL)
			sum += counter_at(
			    its, m->offset + i * sizeof(struct counter));
	}
	if (sum > 0)
		metrics_text_of_two(
		    &m->text, "route", route, label, word, sum);
}

static void
put_routes(struct metrics *m)
{
	static const char *const outcomes[] = {
#define OUTCOME(name, word, ...) word,
#include "tbl/outcomes.h"
#undef OUTCOME
	};
	static const char *const classes[METER_CLASSES] = {
	    "1xx", "2xx", "3xx", "4xx", "5xx"};
	const struct series *s = series_of(m, 0, true);
	for (; s != NULL; s = atomic_load(&s->next)) {
		if (m->id == METRIC_REQUESTS)
			for (size_t i = 0; i < OUTCOME_COUNT_; i++)
				put_of_route(
				    m, s->name, "outcome", outcomes[i], i);
		else if (m->id == METRIC_RESPONSES)
			for (size_t i = 0; i < METER_CLASSES; i++)
				put_of_route(
				    m, s->name, "class", classes[i], i);
		else
			for (enum observed i = 0; i < OBSERVED_COUNT_; i++)
				put_of_route(m, s->name, "would",
				    duplicates_word(i), i);
	}
}

/* A target is up where one worker at least reaches it. */
static void
put_targets(struct metrics *m)
{
	const struct conf *conf = m->admin->now;
	for (size_t i = 0; i < conf->n_upstreams; i++)
		for (size_t k = 0; k < conf->upstreams[i].n_targets; k++) {
			const struct conf_upstream *upstream =
			    &conf->upstreams[i];
			const char *url = upstream->targets[k].url;
			char *name = mem_printf("%s\n%s", upstream->name, url);
			bool up = false;
			for (int64_t w = 0; w < m->n_workers && !up; w++) {
				const struct series *s = series_named(
				    atomic_load(&m->workers[w]->meter.targets),
				    name);
				up = s != NULL && counter_read(&s->up) != 0;
			}
			metrics_text_of_two(&m->text, "upstream",
			    upstream->name, "target", url, up);
			free(name);
		}
}

/* --- workers --- */

static uint64_t
sum_of(const struct metrics *m, size_t offset)
{
	uint64_t sum = 0;
	for (int64_t i = 0; i < m->n_workers; i++)
		sum += counter_at(&m->workers[i]->meter, offset);
	return sum;
}

static void
put_sum(struct metrics *m)
{
	metrics_text_value(&m->text, sum_of(m, m->offset));
}

/* What a worker's parts count themselves. */
static void
put_parts(struct metrics *m)
{
	uint64_t sum = 0;
	for (int64_t i = 0; i < m->n_workers; i++) {
		const struct worker *worker = m->workers[i];
		if (m->id == METRIC_IN_FLIGHT)
			sum += atomic_load(&worker->executions.count);
		else if (m->id == METRIC_WAITING)
			sum += counter_read(&worker->waiters.waiting);
		else if (m->id == METRIC_CACHE_BYTES)
			sum += cache_bytes(worker->cache);
		else
			sum += cache_hits(worker->cache);
	}
	metrics_text_value(&m->text, sum);
}

static void
put_connections(struct metrics *m)
{
	metrics_text_of(&m->text, "side", "client",
	    atomic_load(&m->workers[0]->places->taken));
	metrics_text_of(&m->text, "side", "upstream", sum_of(m, m->offset));
}

/* Those of operators are the admin interface's own. */
static void
put_spun(struct metrics *m)
{
	metrics_text_value(&m->text,
	    sum_of(m, m->offset) + counter_read(&m->admin->spun));
}

/* --- Redis --- */

/* Operators' acts and looks are the admin interface's own. */
static void
put_store_seconds(struct metrics *m)
{
	for (unsigned op = 0; op < SCRIPT_COUNT_; op++) {
		struct metrics_gathered all = {0};
		/* Of those each call counts, as what it is (store/joint.h). */
		if (op == SCRIPT_claims || op == SCRIPT_completes)
			continue;
		metrics_text_gather(&all, &m->admin->store_took[op]);
		for (int64_t i = 0; i < m->n_workers; i++)
			metrics_text_gather(
			    &all, &m->workers[i]->meter.store[op]);
		metrics_text_histogram(
		    &m->text, "operation", script_word(op), &all, 1);
	}
}

static void
put_records(struct metrics *m)
{
	if (m->records == NULL)
		return;
	metrics_text_of(&m->text, "state", "PROCESSING",
	    m->records[STATE_PROCESSING]);
	metrics_text_of(
	    &m->text, "state", "UNKNOWN", m->records[STATE_UNKNOWN]);
	metrics_text_of(&m->text, "state", "FAILED", m->records[STATE_FAILED]);
}

static void
put_store_up(struct metrics *m)
{
	metrics_text_value(&m->text, store_is_up(m->admin->store));
}

static void
put_store_memory(struct metrics *m)
{
	uint64_t bytes, max_bytes;
	if (store_memory(m->admin->store, &bytes, &max_bytes))
		metrics_text_value(&m->text,
		    m->id == METRIC_STORE_MEMORY ? bytes : max_bytes);
}

/* --- sources --- */

/*
 * A source goes by its name, also where it was read from another broker before
 * a reload: then several series of one worker have the name, of which one at
 * most is present, that is, configured now.
 */
static const struct source_meter *
first_meter(const struct metrics *m, int64_t worker)
{
	const struct sources *sources = sources_of(m->workers[worker]);
	return sources != NULL ? atomic_load(&sources->meters.first) : NULL;
}

static const struct source_meter *
named(const struct source_meter *s, const char *name)
{
	while (s != NULL && strcmp(s->name, name) != 0)
		s = atomic_load(&s->next);
	return s;
}

static const struct source_meter *
present(const struct source_meter *s)
{
	const char *name = s->name;
	while (s != NULL && counter_read(&s->present) == 0)
		s = named(atomic_load(&s->next), name);
	return s;
}

/* The i-th counter of all series of that name, of which s is the first. */
static uint64_t
sum_of_source(const struct source_meter *s, size_t offset, size_t i)
{
	const char *name = s->name;
	uint64_t sum = 0;
	for (; s != NULL; s = named(atomic_load(&s->next), name))
		sum += counter_at(s, offset + i * sizeof(struct counter));
	return sum;
}

static void
put_counter(struct metrics *m, const struct source_meter *s)
{
	metrics_text_of(
	    &m->text, "source", s->name, sum_of_source(s, m->offset, 0));
}

static void
put_gauge(struct metrics *m, const struct source_meter *s)
{
	const struct source_meter *now = present(s);
	if (now == NULL || (m->id == METRIC_SOURCE_LAG &&
			       counter_read(&now->lag) == SOURCE_METER_NO_LAG))
		return;
	metrics_text_of(
	    &m->text, "source", s->name, counter_at(now, m->offset));
}

/* An age is counted in milliseconds. */
static void
put_histogram(struct metrics *m, const struct source_meter *s)
{
	const char *name = s->name;
	bool age = m->id == METRIC_MESSAGE_AGE;
	struct metrics_gathered all = {0};
	for (; s != NULL; s = named(atomic_load(&s->next), name))
		metrics_text_gather(&all, age ? &s->age : &s->seconds);
	metrics_text_histogram(
	    &m->text, "source", name, &all, age ? 1000 : 1);
}

/* Also those that are 0: a first one is to be seen as an increase. */
static void
put_outcomes(struct metrics *m, const struct source_meter *s)
{
	for (size_t i = 0; i < MESSAGE_COUNT_; i++)
		metrics_text_of_two(&m->text, "source", s->name, "outcome",
		    source_meter_outcome((enum message_outcome)i),
		    sum_of_source(s, m->offset, i));
}

static void
put_dead_letters(struct metrics *m, const struct source_meter *s)
{
	static const enum message_outcome reasons[] = {
#define MESSAGE_OUTCOME(name, word)
#define MESSAGE_REASON(name, word) MESSAGE_##name,
#include "tbl/message_outcomes.h"
	};
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
		metrics_text_of_two(&m->text, "source", s->name, "reason",
		    source_meter_outcome(reasons[i]),
		    sum_of_source(s, m->offset, reasons[i]));
}

static void
put_lost(struct metrics *m, const struct source_meter *s)
{
	for (size_t i = 0; i < BROKER_LOSS_COUNT_; i++)
		metrics_text_of_two(&m->text, "source", s->name, "how",
		    source_meter_loss((enum broker_loss)i),
		    sum_of_source(s, m->offset, i));
}

/* Of a broker that has none there are no samples. */
static void
put_transactions(struct metrics *m, const struct source_meter *s)
{
	if (sum_of_source(s, offsetof(struct source_meter, transacts), 0) == 0)
		return;
	for (size_t i = 0; i < BROKER_TRANSACTION_COUNT_; i++)
		metrics_text_of_two(&m->text, "source", s->name, "result",
		    source_meter_transaction((enum broker_transaction)i),
		    sum_of_source(s, m->offset, i));
}

static void
put_standing(struct metrics *m, const struct source_meter *s)
{
	const struct source_meter *now = present(s);
	for (unsigned i = 0; now != NULL && i < STANDING_COUNT_; i++)
		metrics_text_of_two(&m->text, "source", s->name, "reason",
		    source_standing_word(1u << i),
		    counter_read(&now->standing) >> i & 1);
}

/* The present series behind s, or the first one from worker *i on. */
static const struct source_meter *
next_present(const struct metrics *m, const struct source_meter *s, int64_t *i)
{
	s = s != NULL ? atomic_load(&s->next) : first_meter(m, *i);
	for (;;) {
		while (s != NULL && counter_read(&s->present) == 0)
			s = atomic_load(&s->next);
		if (s != NULL || ++*i >= m->n_workers)
			return s;
		s = first_meter(m, *i);
	}
}

/* A broker is up where all of its sources reach it; it is shown once. */
static void
put_brokers(struct metrics *m)
{
	int64_t i = 0;
	for (const struct source_meter *s = next_present(m, NULL, &i);
	     s != NULL; s = next_present(m, s, &i)) {
		bool up = true, before = true, shown = false;
		int64_t k = 0;
		for (const struct source_meter *other =
			 next_present(m, NULL, &k);
		     other != NULL; other = next_present(m, other, &k)) {
			before = before && other != s;
			if (strcmp(other->broker, s->broker) != 0)
				continue;
			shown = shown || before;
			up = up && counter_read(&other->up) != 0;
		}
		if (!shown)
			metrics_text_of(&m->text, "broker", s->broker, up);
	}
}

/* --- relays --- */

/* A gauge is that of a relay which runs here now. */
static void
put_relays(struct metrics *m)
{
	bool gauge = m->id == METRIC_RELAY_LAG || m->id == METRIC_RELAY_UP;
	for (int64_t i = 0; i < m->n_workers; i++) {
		const struct relays *relays = relays_of(m->workers[i]);
		const struct relay_meter *r =
		    relays != NULL ? relays->meters.first : NULL;
		for (; r != NULL; r = r->next)
			if (!gauge || counter_read(&r->runs) > 0)
				metrics_text_of(&m->text, "relay", r->name,
				    counter_at(r, m->offset));
	}
}

/* --- the process --- */

static void
put_reloads(struct metrics *m)
{
	metrics_text_of(
	    &m->text, "result", "loaded", m->admin->reloads[true]);
	metrics_text_of(
	    &m->text, "result", "refused", m->admin->reloads[false]);
}

static void
put_certificates(struct metrics *m)
{
	const struct conf *conf = m->admin->now;
	for (size_t i = 0; i < conf->n_listen; i++)
		if (conf->listen[i].tls.certificate != NULL)
			metrics_text_of(&m->text, "address",
			    conf->listen[i].address.text,
			    (uint64_t)conf->listen[i].tls.valid_until_s);
}

static void
put_log_dropped(struct metrics *m)
{
	metrics_text_value(&m->text, log_dropped());
}

static void
put_build_info(struct metrics *m)
{
	metrics_text_of(&m->text, "version", PACKAGE_VERSION, 1);
}

static void
put_cpu_seconds(struct metrics *m)
{
	struct rusage usage;
	must(getrusage(RUSAGE_SELF, &usage) == 0);
	metrics_text(&m->text, "%s", m->text.name);
	metrics_text_seconds(&m->text,
	    (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) *
		    1000000 +
		(uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec));
}

static void
put_resident_bytes(struct metrics *m)
{
	uint64_t pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");
	if (file == NULL)
		return;
	if (fscanf(file, "%*u %" SCNu64, &pages) == 1)
		metrics_text_value(
		    &m->text, pages * (uint64_t)sysconf(_SC_PAGESIZE));
	fclose(file);
}

static void
put_open_fds(struct metrics *m)
{
	uint64_t count = 0;
	DIR *folder = opendir("/proc/self/fd");
	if (folder == NULL)
		return;
	for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
		count += entry->d_name[0] != '.';
	closedir(folder);
	/* All but the one that counts them. */
	metrics_text_value(&m->text, count - 1);
}

static void
put_start_time(struct metrics *m)
{
	int64_t ms = m->admin->started_ms;
	metrics_text(&m->text, "%s %" PRId64 ".%03d\n", m->text.name,
	    ms / 1000, (int)(ms % 1000));
}

/* --- all of them --- */

/*
 * How the samples of a metric are written: by put, once, or by put_source, for
 * each name of a source.
 */
static const struct {
	void (*put)(struct metrics *m);
	void (*put_source)(struct metrics *m, const struct source_meter *s);
	size_t offset; /* of the first counter in what is walked */
} writers[METRIC_COUNT_] = {
#define OF(id, writer, of, member)                                            \
	[METRIC_##id] = {writer, NULL, offsetof(struct of, member)}
#define BY(id, writer) [METRIC_##id] = {writer, NULL, 0}
#define OF_SOURCE(id, writer, member)                                         \
	[METRIC_##id] = {NULL, writer, offsetof(struct source_meter, member)}
    OF(REQUESTS, put_routes, series, outcomes),
    OF(RESPONSES, put_routes, series, classes),
    OF(OBSERVED, put_routes, series, observed),
    BY(REQUEST_SECONDS, put_request_seconds),
    BY(UPSTREAM_SECONDS, put_upstream_seconds),
    BY(STORE_SECONDS, put_store_seconds),
    BY(IN_FLIGHT, put_parts),
    BY(WAITING, put_parts),
    BY(RECORDS, put_records),
    OF(JOURNAL_ENTRIES, put_sum, meter, journal_entries),
    OF(JOURNAL_BLOCKED, put_sum, meter, journal_broken),
    OF(JOURNAL_FOREIGN, put_sum, meter, journal_foreign),
    OF(JOURNAL_DAMAGED, put_sum, meter, journal_aside),
    BY(STORE_UP, put_store_up),
    BY(STORE_MEMORY, put_store_memory),
    BY(STORE_MEMORY_MAX, put_store_memory),
    BY(CACHE_BYTES, put_parts),
    BY(CACHE_HITS, put_parts),
    OF(FENCED, put_sum, meter, fenced),
    OF(LEASES_LOST, put_sum, meter, leases_lost),
    BY(UPSTREAM_UP, put_targets),
    OF(CONNECTIONS, put_connections, meter, connections),
    BY(RELOADS, put_reloads),
    BY(LOG_DROPPED, put_log_dropped),
    BY(CERTIFICATE, put_certificates),
    OF(SPUN, put_spun, meter, spun),
    OF_SOURCE(MESSAGES, put_outcomes, outcomes),
    OF_SOURCE(MESSAGE_SECONDS, put_histogram, seconds),
    OF_SOURCE(MESSAGE_AGE, put_histogram, age),
    OF_SOURCE(SOURCE_IN_FLIGHT, put_gauge, in_flight),
    OF_SOURCE(SOURCE_HELD, put_gauge, held),
    OF_SOURCE(SOURCE_PARKED, put_gauge, parked),
    OF_SOURCE(SOURCE_RETRYING, put_gauge, retrying),
    OF_SOURCE(SOURCE_LAG, put_gauge, lag),
    OF_SOURCE(SOURCE_GAP, put_gauge, gap),
    OF_SOURCE(SOURCE_STANDING, put_standing, standing),
    OF_SOURCE(SOURCE_PARTS_STANDING, put_gauge, parts_standing),
    OF_SOURCE(SOURCE_LOST, put_lost, lost),
    OF_SOURCE(SOURCE_REBALANCES, put_counter, rebalances),
    OF_SOURCE(DEAD_LETTERS, put_dead_letters, dead_letters),
    OF_SOURCE(RESULTS, put_counter, results),
    OF_SOURCE(TRANSACTIONS, put_transactions, transactions),
    BY(BROKER_UP, put_brokers),
    OF(RELAY_EVENTS, put_relays, relay_meter, events),
    OF(RELAY_LAG, put_relays, relay_meter, lag),
    OF(RELAY_LOST, put_relays, relay_meter, lost),
    OF(RELAY_UP, put_relays, relay_meter, up),
    BY(BUILD_INFO, put_build_info),
    BY(CPU_SECONDS, put_cpu_seconds),
    BY(RESIDENT_BYTES, put_resident_bytes),
    BY(OPEN_FDS, put_open_fds),
    BY(START_TIME, put_start_time),
#undef OF
#undef BY
#undef OF_SOURCE
};

static void
write_metric(struct metrics *m)
{
	m->offset = writers[m->id].offset;
	if (writers[m->id].put != NULL) {
		writers[m->id].put(m);
		return;
	}
	for (int64_t i = 0; i < m->n_workers; i++) {
		const struct source_meter *first = first_meter(m, i);
		const struct source_meter *s = first;
		for (; s != NULL; s = atomic_load(&s->next))
			if (named(first, s->name) == s)
				writers[m->id].put_source(m, s);
	}
}

void
admin_metrics_write(
    const struct admin *admin, const uint64_t *records, struct body *out)
{
	static const struct {
		const char *name, *head;
	} texts[] = {
#define METRIC(id, kind, name, help)                                          \
	{name, "# HELP " name " " help "\n# TYPE " name " " #kind "\n"},
#include "tbl/metrics.h"
#undef METRIC
	};
	struct metrics m = {
	    .admin = admin,
	    .workers = admin->workers,
	    .n_workers = admin->conf->workers,
	    .records = records,
	    .text = {out, NULL},
	};
	for (m.id = 0; m.id < METRIC_COUNT_; m.id++) {
		m.text.name = texts[m.id].name;
		metrics_text(&m.text, "%s", texts[m.id].head);
		write_metric(&m);
	}
}
