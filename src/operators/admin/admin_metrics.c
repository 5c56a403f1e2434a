/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/loop/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "gate/access_log.h"
#include "gate/execution.h"
#include "gate/trust.h"
#include "gate/worker.h"
#include "messages/relay/relays.h"
#include "messages/source/source_standing.h"
#include "messages/source/sources.h"
#include "operators/admin/admin_metrics.h"
#include "operators/admin/admin_private.h"

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
	const struct records_count *count; /* NULL: nobody knows */
	struct body *out; /* without a budget */
	/* The metric that is written now, and where its counter is. */
	enum metric id;
	const char *name;
	size_t offset;
};

/* --- samples of the text format --- */

static void put(struct metrics *m, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void
put(struct metrics *m, const char *fmt, ...)
{
	char text[512];
	va_list args;
	va_start(args, fmt);
	int len = vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	must(len >= 0 && (size_t)len < sizeof text);
	must(body_append(m->out, text, (size_t)len) == 0);
}

/*
 * Writes label="value", with the escapes that the format has: the first of a
 * sample, whose name has that suffix; or (NULL) another one.
 */
static void
put_label(struct metrics *m, const char *suffix, const char *label,
    const char *value)
{
	if (suffix != NULL)
		put(m, "%s%s{%s=\"", m->name, suffix, label);
	else
		put(m, ",%s=\"", label);
	for (; *value != '\0'; value++) {
		if (*value == '\\' || *value == '"')
			put(m, "\\%c", *value);
		else if (*value == '\n')
			put(m, "\\n");
		else
			put(m, "%c", *value);
	}
	put(m, "\"");
}

static void
put_value(struct metrics *m, uint64_t value)
{
	put(m, "%s %" PRIu64 "\n", m->name, value);
}

static void
put_of(struct metrics *m, const char *label, const char *of, uint64_t value)
{
	put_label(m, "", label, of);
	put(m, "} %" PRIu64 "\n", value);
}

static void
put_of_two(struct metrics *m, const char *label, const char *of,
    const char *label_2, const char *of_2, uint64_t value)
{
	put_label(m, "", label, of);
	put_label(m, NULL, label_2, of_2);
	put(m, "} %" PRIu64 "\n", value);
}

/* Ends a sample with microseconds, which are shown as seconds. */
static void
put_seconds_of(struct metrics *m, uint64_t us)
{
	put(m, " %" PRIu64 ".%06" PRIu64 "\n", us / 1000000, us % 1000000);
}

/* Histograms that are added up: their buckets, and the sum. */
struct gathered {
	uint64_t buckets[HISTOGRAM_BOUNDS + 1];
	uint64_t sum;
};

static void
gather(struct gathered *to, const struct histogram *from)
{
	for (int i = 0; i <= HISTOGRAM_BOUNDS; i++)
		to->buckets[i] += counter_read(&from->buckets[i]);
	to->sum += counter_read(&from->sum_us);
}

/*
 * A bucket counts those that took at most so long as its bound.  unit_us is
 * what the histogram counts, 1 µs mostly; bounds and sum are in seconds.
 */
static void
put_histogram(struct metrics *m, const char *label, const char *of,
    const struct gathered *h, uint64_t unit_us)
{
	uint64_t count = 0;
	for (int i = 0; i <= HISTOGRAM_BOUNDS; i++) {
		char bound[32] = "+Inf";
		if (i < HISTOGRAM_BOUNDS)
			snprintf(bound, sizeof bound, "%g",
			    (double)(histogram_bounds_us[i] * unit_us) / 1e6);
		count += h->buckets[i];
		put_label(m, "_bucket", label, of);
		put(m, ",le=\"%s\"} %" PRIu64 "\n", bound, count);
	}
	put_label(m, "_sum", label, of);
	put(m, "}");
	put_seconds_of(m, h->sum * unit_us);
	put_label(m, "_count", label, of);
	put(m, "} %" PRIu64 "\n", count);
}

static uint64_t
counter_at(const void *base, size_t offset)
{
	const char *bytes = base;
	return counter_read(
	    (const struct counter *)(const void *)(bytes + offset));
}

/* --- routes and upstreams --- */

static const struct series *
series_named(const struct series *s, const char *name)
{
	while (s != NULL && strcmp(s->name, name) != 0)
		s = atomic_load(&s->next);
	return s;
}

/* All workers have the same names, but for moments of a reload. */
static void
put_seconds(struct metrics *m)
{
	bool routes = m->id == METRIC_REQUEST_SECONDS;
	const struct meter *meter = &m->workers[0]->meter;
	const struct series *s =
	    atomic_load(routes ? &meter->routes : &meter->upstreams);
	for (; s != NULL; s = atomic_load(&s->next)) {
		struct gathered all = {0};
		for (int64_t i = 0; i < m->n_workers; i++) {
			meter = &m->workers[i]->meter;
			const struct series *its = series_named(
			    atomic_load(
				routes ? &meter->routes : &meter->upstreams),
			    s->name);
			if (its != NULL)
				gather(&all, &its->seconds);
		}
		put_histogram(m, routes ? "route" : "upstream", s->name, &all,
		    1);
	}
}

uint64_t
admin_metrics_of_route(
    const struct admin *admin, const char *route, size_t offset, size_t i)
{
	uint64_t sum = 0;
	for (int64_t w = 0; w < admin->conf->workers; w++) {
		const struct series *its = series_named(
		    atomic_load(&admin->view.workers[w]->meter.routes), route);
		if (its != NULL)
			sum += counter_at(
			    its, offset + i * sizeof(struct counter));
	}
	return sum;
}

static void
put_routes(struct metrics *m)
{
	static const char *const classes[METER_CLASSES] = {
	    "1xx", "2xx", "3xx", "4xx", "5xx"};
	bool requests = m->id == METRIC_REQUESTS;
	bool responses = m->id == METRIC_RESPONSES;
	const char *label = requests ? "outcome"
	    : responses		     ? "class"
				     : "would";
	size_t count = requests ? OUTCOME_COUNT_
	    : responses		? METER_CLASSES
				: OBSERVED_COUNT_;
	const struct series *s = atomic_load(&m->workers[0]->meter.routes);
	for (; s != NULL; s = atomic_load(&s->next))
		for (size_t i = 0; i < count; i++) {
			uint64_t sum = admin_metrics_of_route(
			    m->admin, s->name, m->offset, i);
			if (sum > 0)
				put_of_two(m, "route", s->name, label,
				    requests	  ? access_log_outcomes[i]
					: responses ? classes[i]
						    : duplicates_lines[i].word,
				    sum);
		}
}

/*
 * Each question may be another gateway's: of a route that is asked about there
 * are samples of 0, so that a first one is seen as an increase.
 */
static void
put_asked(struct metrics *m)
{
	static const char *const askers[METER_ASKERS] = {
	    "request", "sweep", "operator"};
	const struct conf *conf = m->admin->now;
	const struct series *s = atomic_load(&m->workers[0]->meter.routes);
	for (; s != NULL; s = atomic_load(&s->next)) {
		bool all = false;
		for (size_t i = 0; i < conf->n_routes; i++)
			all |= !strcmp(conf->routes[i].name, s->name) &&
			    conf->routes[i].idempotency != NULL &&
			    conf_asks_alone(conf->routes[i].idempotency);
		for (size_t i = 0; i < METER_ASKERS * METER_ANSWERS; i++) {
			uint64_t sum = admin_metrics_of_route(
			    m->admin, s->name, m->offset, i);
			enum asked answer = (enum asked)(i % METER_ANSWERS);
			if (sum == 0 && !all)
				continue;
			put_label(m, "", "route", s->name);
			put(m, ",by=\"%s\",answer=\"%s\"} %" PRIu64 "\n",
			    askers[i / METER_ANSWERS],
			    execution_question_words[answer], sum);
		}
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
			put_of_two(m, "upstream",
			    upstream->name, "target", url, up);
			free(name);
		}
}

/* Trusted: a worker has proof, and none knows that trust is at an end. */
static void
put_witnesses(struct metrics *m)
{
	const struct conf *conf = m->admin->now;
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_route *route = &conf->routes[i];
		bool trusted = false, ended = false;
		if (!conf_has_witness(route))
			continue;
		for (int64_t w = 0; w < m->n_workers; w++) {
			enum trust_state state;
			int64_t ended_ms;
			if (!trust_view(m->workers[w]->trusts, route->name,
				&state, &ended_ms))
				continue;
			trusted = trusted || trust_is_trusted(state);
			ended = ended || ended_ms != 0;
		}
		put_of(m, "route", route->name, trusted && !ended);
	}
}

/* --- workers --- */

static void
put_sum(struct metrics *m)
{
	uint64_t sum = 0;
	for (int64_t i = 0; i < m->n_workers; i++)
		sum += m->id == METRIC_IN_FLIGHT
		    ? atomic_load(&m->workers[i]->executions.count)
		    : counter_at(&m->workers[i]->meter, m->offset);
	if (m->id != METRIC_CONNECTIONS) {
		put_value(m, sum);
		return;
	}
	put_of(m, "side", "client",
	    atomic_load(&m->workers[0]->places->taken));
	put_of(m, "side", "upstream", sum);
}

/* --- Redis --- */

/* The admin interface counts the calls for operators itself. */
static void
put_store_seconds(struct metrics *m)
{
	for (unsigned op = 0; op < SCRIPT_COUNT_; op++) {
		struct gathered all = {0};
		/* Of those each call counts, as what it is (store/batch.h). */
		if (op == SCRIPT_claims || op == SCRIPT_completes ||
		    op == SCRIPT_seeks)
			continue;
		gather(&all, &m->admin->store_took[op]);
		for (int64_t i = 0; i < m->n_workers; i++)
			gather(
			    &all, &m->workers[i]->meter.store[op]);
		put_histogram(m, "operation", script_words[op], &all, 1);
	}
}

static void
put_records(struct metrics *m)
{
	if (m->count == NULL)
		return;
	const uint64_t *records = m->count->records;
	put_of(m, "state", "PROCESSING", records[STATE_PROCESSING]);
	put_of(m, "state", "UNKNOWN", records[STATE_UNKNOWN]);
	put_of(m, "state", "FAILED", records[STATE_FAILED]);
}

static void
put_unknown_age(struct metrics *m)
{
	for (size_t i = 0; m->count != NULL && i < m->count->n_groups; i++) {
		const struct records_group *group = &m->count->groups[i];
		int64_t age_ms = clock_wall_ms() - group->oldest_ms;
		/* A record that is damaged may have any. */
		if (group->state != STATE_UNKNOWN ||
		    !utf8_is_valid(group->route))
			continue;
		char *route = mem_str(group->route);
		put_of_two(m, "route", route, "reason",
		    reason_words[group->reason],
		    age_ms > 0 ? (uint64_t)age_ms / 1000 : 0);
		free(route);
	}
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
	const struct sources *sources =
	    members_of(m->workers[worker], &sources_kind);
	return sources != NULL ? atomic_load(&sources->meters) : NULL;
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

/* Adds up the i-th counter of all series of a name, of which s is the first. */
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
	put_of(m, "source", s->name, sum_of_source(s, m->offset, 0));
}

static void
put_gauge(struct metrics *m, const struct source_meter *s)
{
	const struct source_meter *now = present(s);
	if (now == NULL || (m->id == METRIC_SOURCE_LAG &&
			       counter_read(&now->lag) == SOURCE_METER_NO_LAG))
		return;
	put_of(m, "source", s->name, counter_at(now, m->offset));
}

/* An age is counted in milliseconds. */
static void
put_times(struct metrics *m, const struct source_meter *s)
{
	const char *name = s->name;
	bool age = m->id == METRIC_MESSAGE_AGE;
	struct gathered all = {0};
	for (; s != NULL; s = named(atomic_load(&s->next), name))
		gather(&all, age ? &s->age : &s->seconds);
	put_histogram(m, "source", name, &all, age ? 1000 : 1);
}

static void
put_word(struct metrics *m, const struct source_meter *s, const char *label,
    const char *word, size_t i)
{
	put_of_two(m, "source", s->name, label, word,
	    sum_of_source(s, m->offset, i));
}

/*
 * A sample for each word, also where it is 0: a first one is to be seen as an
 * increase.  Of a broker that has no transactions there are no samples.
 */
static void
put_words(struct metrics *m, const struct source_meter *s)
{
	static const enum message_outcome reasons[] = {
#define MESSAGE_OUTCOME(name, word)
#define MESSAGE_REASON(name, word) MESSAGE_##name,
#include "tbl/message_outcomes.h"
	};
	enum { REASONS = sizeof reasons / sizeof *reasons };
	bool transacts = m->id == METRIC_TRANSACTIONS &&
	    sum_of_source(s, offsetof(struct source_meter, transacts), 0) > 0;
	if (m->id == METRIC_MESSAGES)
		for (unsigned i = 0; i < MESSAGE_COUNT_; i++)
			put_word(m, s, "outcome", source_meter_outcomes[i], i);
	else if (m->id == METRIC_DEAD_LETTERS)
		for (unsigned i = 0; i < REASONS; i++)
			put_word(m, s, "reason",
			    source_meter_outcomes[reasons[i]], reasons[i]);
	else if (m->id == METRIC_SOURCE_LOST)
		for (unsigned i = 0; i < BROKER_LOSS_COUNT_; i++)
			put_word(m, s, "how", broker_losses[i], i);
	else if (transacts)
		for (unsigned i = 0; i < BROKER_TRANSACTION_COUNT_; i++)
			put_word(
			    m, s, "result", source_meter_transactions[i], i);
}

static void
put_standing(struct metrics *m, const struct source_meter *s)
{
	const struct source_meter *now = present(s);
	for (unsigned i = 0; now != NULL && i < STANDING_COUNT_; i++)
		put_of_two(m, "source", s->name, "reason",
		    source_standing_text(1u << i).word,
		    counter_read(&now->standing) >> i & 1);
}

/* A broker is up where all of its sources reach it. */
static void
put_brokers(struct metrics *m)
{
	const struct conf *conf = m->admin->now;
	for (size_t i = 0; i < conf->n_brokers; i++) {
		const char *name = conf->brokers[i].name;
		bool some = false, up = true;
		for (int64_t w = 0; w < m->n_workers; w++) {
			const struct source_meter *s = first_meter(m, w);
			for (; s != NULL; s = atomic_load(&s->next)) {
				if (counter_read(&s->present) == 0 ||
				    strcmp(s->broker, name) != 0)
					continue;
				some = true;
				up = up && counter_read(&s->up) != 0;
			}
		}
		if (some)
			put_of(m, "broker", name, up);
	}
}

/* --- relays --- */

/* A gauge has a sample only where the relay runs here now. */
static void
put_relays(struct metrics *m)
{
	bool gauge = m->id == METRIC_RELAY_LAG || m->id == METRIC_RELAY_UP;
	for (int64_t i = 0; i < m->n_workers; i++) {
		const struct relays *relays =
		    members_of(m->workers[i], &relays_kind);
		const struct relay_meter *r =
		    relays != NULL ? relays->meters : NULL;
		for (; r != NULL; r = r->next)
			if (!gauge || counter_read(&r->runs) > 0)
				put_of(m, "relay", r->name,
				    counter_at(r, m->offset));
	}
}

/* --- the process --- */

static void
put_certificates(struct metrics *m)
{
	const struct conf *conf = m->admin->now;
	for (size_t i = 0; i < conf->n_listen; i++)
		if (conf->listen[i].tls.certificate != NULL)
			put_of(m, "address",
			    conf->listen[i].address.text,
			    (uint64_t)conf->listen[i].tls.valid_until_s);
}

static void
put_cpu_seconds(struct metrics *m)
{
	struct rusage usage;
	must(getrusage(RUSAGE_SELF, &usage) == 0);
	put(m, "%s", m->name);
	put_seconds_of(m,
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
		put_value(m, pages * (uint64_t)sysconf(_SC_PAGESIZE));
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
	put_value(m, count - 1);
}

/* Writes what has one sample, and what is known without a walk. */
static void
put_known(struct metrics *m)
{
	const struct admin *admin = m->admin;
	uint64_t bytes, max_bytes;
	if (m->id == METRIC_RELOADS) {
		put_of(m, "result", "loaded", admin->reloads[true]);
		put_of(m, "result", "refused", admin->reloads[false]);
	} else if (m->id == METRIC_STORE_UP) {
		put_value(m, store_is_up(admin->store));
	} else if (m->id == METRIC_LOG_DROPPED) {
		put_value(m, log_dropped);
	} else if (m->id == METRIC_BUILD_INFO) {
		put_of(m, "version", PACKAGE_VERSION, 1);
	} else if (m->id == METRIC_START_TIME) {
		put(m, "%s %" PRId64 ".%03d\n", m->name,
		    admin->view.started_ms / 1000,
		    (int)(admin->view.started_ms % 1000));
	} else if (store_memory(admin->store, &bytes, &max_bytes)) {
		put_value(
		    m, m->id == METRIC_STORE_MEMORY ? bytes : max_bytes);
	}
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
    OF(ASKED, put_asked, series, asked),
    BY(REQUEST_SECONDS, put_seconds),
    BY(UPSTREAM_SECONDS, put_seconds),
    BY(STORE_SECONDS, put_store_seconds),
    BY(IN_FLIGHT, put_sum),
    OF(WAITING, put_sum, meter, waiting),
    BY(RECORDS, put_records),
    BY(UNKNOWN_AGE, put_unknown_age),
    OF(JOURNAL_ENTRIES, put_sum, meter, journal_entries),
    OF(JOURNAL_BLOCKED, put_sum, meter, journal_broken),
    OF(JOURNAL_FOREIGN, put_sum, meter, journal_foreign),
    OF(JOURNAL_DAMAGED, put_sum, meter, journal_aside),
    BY(STORE_UP, put_known),
    BY(STORE_MEMORY, put_known),
    BY(STORE_MEMORY_MAX, put_known),
    OF(CACHE_BYTES, put_sum, meter, cache_bytes),
    OF(CACHE_HITS, put_sum, meter, cache_hits),
    OF(FENCED, put_sum, meter, fenced),
    OF(LEASES_LOST, put_sum, meter, leases_lost),
    BY(UPSTREAM_UP, put_targets),
    BY(WITNESS_TRUSTED, put_witnesses),
    OF(CONNECTIONS, put_sum, meter, connections),
    BY(RELOADS, put_known),
    BY(LOG_DROPPED, put_known),
    BY(CERTIFICATE, put_certificates),
    OF_SOURCE(MESSAGES, put_words, outcomes),
    OF_SOURCE(MESSAGE_SECONDS, put_times, seconds),
    OF_SOURCE(MESSAGE_AGE, put_times, age),
    OF_SOURCE(SOURCE_IN_FLIGHT, put_gauge, in_flight),
    OF_SOURCE(SOURCE_HELD, put_gauge, held),
    OF_SOURCE(SOURCE_PARKED, put_gauge, parked),
    OF_SOURCE(SOURCE_RETRYING, put_gauge, retrying),
    OF_SOURCE(SOURCE_LAG, put_gauge, lag),
    OF_SOURCE(SOURCE_GAP, put_gauge, gap),
    OF_SOURCE(SOURCE_STANDING, put_standing, standing),
    OF_SOURCE(SOURCE_PARTS_STANDING, put_gauge, parts_standing),
    OF_SOURCE(SOURCE_LOST, put_words, lost),
    OF_SOURCE(SOURCE_REBALANCES, put_counter, rebalances),
    OF_SOURCE(DEAD_LETTERS, put_words, dead_letters),
    OF_SOURCE(RESULTS, put_counter, results),
    OF_SOURCE(TRANSACTIONS, put_words, transactions),
    BY(BROKER_UP, put_brokers),
    OF(RELAY_EVENTS, put_relays, relay_meter, events),
    OF(RELAY_LAG, put_relays, relay_meter, lag),
    OF(RELAY_LOST, put_relays, relay_meter, lost),
    OF(RELAY_UP, put_relays, relay_meter, up),
    BY(BUILD_INFO, put_known),
    BY(CPU_SECONDS, put_cpu_seconds),
    BY(RESIDENT_BYTES, put_resident_bytes),
    BY(OPEN_FDS, put_open_fds),
    BY(START_TIME, put_known),
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
admin_metrics_write(const struct admin *admin,
    const struct records_count *count, struct body *out)
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
	    .workers = admin->view.workers,
	    .n_workers = admin->conf->workers,
	    .count = count,
	    .out = out,
	};
	for (m.id = 0; m.id < METRIC_COUNT_; m.id++) {
		m.name = texts[m.id].name;
		put(&m, "%s", texts[m.id].head);
		write_metric(&m);
	}
}
