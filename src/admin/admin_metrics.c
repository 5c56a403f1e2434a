/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "admin/admin_metrics.h"
#include "gate/claimant.h"
#include "gate/worker.h"

_Static_assert((int)OUTCOME_COUNT_ <= (int)METER_OUTCOMES, "too many results");

struct admin_metrics {
	const struct admin_metrics_source *from;
	struct body *out;
	const char *name; /* of the metric */
};

/* --- text --- */

static void PRINTF_LIKE(2, 3)
write_text(struct admin_metrics *e, const char *fmt, ...)
{
	char text[512];
	va_list args;
	va_start(args, fmt);
	int len = vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	must(len >= 0 && (size_t)len < sizeof text);
	must(body_append(e->out, text, (size_t)len) == 0);
}

/* label="value", with the escapes that the format has. */
static void
put_label(struct admin_metrics *e, const char *label, const char *value)
{
	write_text(e, "%s=\"", label);
	for (; *value != '\0'; value++) {
		if (*value == '\\' || *value == '"')
			write_text(e, "\\%c", *value);
		else if (*value == '\n')
			write_text(e, "\\n");
		else
			write_text(e, "%c", *value);
	}
	write_text(e, "\"");
}

static void
put_value(struct admin_metrics *e, uint64_t value)
{
	write_text(e, "%s %" PRIu64 "\n", e->name, value);
}

/* Microseconds as seconds. */
static void
put_seconds(struct admin_metrics *e, uint64_t us)
{
	write_text(
	    e, " %" PRIu64 ".%06" PRIu64 "\n", us / 1000000, us % 1000000);
}

static void
put_bucket(struct admin_metrics *e, const char *label, const char *value,
    const char *bound, uint64_t count)
{
	write_text(e, "%s_bucket{", e->name);
	put_label(e, label, value);
	write_text(e, ",le=\"%s\"} %" PRIu64 "\n", bound, count);
}

/* The histograms of all workers, added up: buckets, and the sum. */
struct gathered {
	uint64_t buckets[HISTOGRAM_BOUNDS + 1];
	uint64_t sum_us;
};

static void
gather(struct gathered *to, const struct histogram *from)
{
	for (int i = 0; i <= HISTOGRAM_BOUNDS; i++)
		to->buckets[i] += counter_read(&from->buckets[i]);
	to->sum_us += counter_read(&from->sum_us);
}

static void
put_histogram(struct admin_metrics *e, const char *label, const char *value,
    const struct gathered *h)
{
	uint64_t count = 0;
	for (int i = 0; i < HISTOGRAM_BOUNDS; i++) {
		char bound[32];
		snprintf(bound, sizeof bound, "%g",
		    (double)histogram_bounds_us[i] / 1e6);
		count += h->buckets[i];
		put_bucket(e, label, value, bound, count);
	}
	count += h->buckets[HISTOGRAM_BOUNDS];
	put_bucket(e, label, value, "+Inf", count);
	write_text(e, "%s_sum{", e->name);
	put_label(e, label, value);
	write_text(e, "}");
	put_seconds(e, h->sum_us);
	write_text(e, "%s_count{", e->name);
	put_label(e, label, value);
	write_text(e, "} %" PRIu64 "\n", count);
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
		struct gathered all = {0};
		for (int64_t i = 0; i < e->from->n_workers; i++) {
			const struct series *its =
			    series_named(e, i, routes, s->name);
			if (its != NULL)
				gather(&all, &its->seconds);
		}
		put_histogram(e, label, s->name, &all);
	}
}

static const char *const outcome_words[] = {
#define OUTCOME(name, word, ...) word,
#include "tbl/outcomes.h"
#undef OUTCOME
};

static void
put_outcomes(struct admin_metrics *e, const char *route)
{
	for (int outcome = 0; outcome < OUTCOME_COUNT_; outcome++) {
		uint64_t count = 0;
		for (int64_t i = 0; i < e->from->n_workers; i++) {
			const struct series *its =
			    series_named(e, i, true, route);
			if (its != NULL)
				count += counter_read(&its->outcomes[outcome]);
		}
		if (count == 0)
			continue;
		write_text(e, "%s{", e->name);
		put_label(e, "route", route);
		write_text(e, ",");
		put_label(e, "outcome", outcome_words[outcome]);
		write_text(e, "} %" PRIu64 "\n", count);
	}
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
		struct gathered all = {0};
		gather(&all, &e->from->store_took[op]);
		for (int64_t i = 0; i < e->from->n_workers; i++)
			gather(&all, &meter_of(e, i)->store[op]);
		put_histogram(e, "operation", script_word(op), &all);
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
		write_text(e, "%s{", e->name);
		put_label(e, "state", states[i].word);
		write_text(
		    e, "} %" PRIu64 "\n", e->from->records[states[i].state]);
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

static void
put_SPUN(struct admin_metrics *e)
{
	put_value(e, sum_of(e, offsetof(struct meter, spun)) +
		counter_read(e->from->spun));
}

static void
put_BUILD_INFO(struct admin_metrics *e)
{
	write_text(e, "%s{", e->name);
	put_label(e, "version", PACKAGE_VERSION);
	write_text(e, "} 1\n");
}

static void
put_CPU_SECONDS(struct admin_metrics *e)
{
	struct rusage usage;
	must(getrusage(RUSAGE_SELF, &usage) == 0);
	write_text(e, "%s", e->name);
	put_seconds(e,
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
	write_text(
	    e, "%s %" PRId64 ".%03d\n", e->name, ms / 1000, (int)(ms % 1000));
}

void
admin_metrics_write(const struct admin_metrics_source *from, struct body *out)
{
	struct admin_metrics e = {from, out, NULL};
#define METRIC(id, kind, its_name, help) \
	e.name = its_name; \
	write_text( \
	    &e, "# HELP %s %s\n# TYPE %s " #kind "\n", e.name, help, e.name); \
	put_##id(&e);
#include "tbl/metrics.h"
#undef METRIC
}
