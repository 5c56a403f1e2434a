/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "gate/access_log.h"
#include "gate/claimant.h"
#include "gate/worker.h"
#include "operators/admin/admin_answer.h"
#include "operators/admin/admin_body.h"
#include "operators/admin/admin_private.h"

/*
 * The traffic of the last hour, for whoever looks at three in the morning: what
 * all workers have counted is read once a minute and kept in a ring, and the
 * difference of two readings is what came between them.  Requests pay nothing
 * for it.
 */
enum { MINUTE_MS = 60000, READINGS = 60 + 1 };

enum times { OF_REQUESTS, OF_UPSTREAMS, OF_REDIS, TIMES };

/* What was counted since the start; counts wrap, differences do not. */
struct reading {
	int64_t at_ms; /* since 1970 */
	uint32_t outcomes[OUTCOME_COUNT_];
	uint32_t took[TIMES][HISTOGRAM_BOUNDS + 1];
};

struct traffic {
	struct timer timer;
	struct worker *const *workers;
	int64_t n_workers;
	unsigned count; /* of readings, since the start */
	struct reading ring[READINGS];
};

static void
add_times(uint32_t took[HISTOGRAM_BOUNDS + 1], const struct histogram *from)
{
	for (int i = 0; i <= HISTOGRAM_BOUNDS; i++)
		took[i] += (uint32_t)counter_read(&from->buckets[i]);
}

static struct reading
read_all(const struct traffic *t)
{
	struct reading now = {.at_ms = clock_wall_ms()};
	for (int64_t i = 0; i < t->n_workers; i++) {
		const struct meter *meter = &t->workers[i]->meter;
		const struct series *s = atomic_load(&meter->routes);
		for (; s != NULL; s = atomic_load(&s->next)) {
			for (int o = 0; o < OUTCOME_COUNT_; o++)
				now.outcomes[o] +=
				    (uint32_t)counter_read(&s->outcomes[o]);
			add_times(now.took[OF_REQUESTS], &s->seconds);
		}
		s = atomic_load(&meter->upstreams);
		for (; s != NULL; s = atomic_load(&s->next))
			add_times(now.took[OF_UPSTREAMS], &s->seconds);
		/* What requests wait for. */
		add_times(now.took[OF_REDIS], &meter->store[SCRIPT_claim]);
		add_times(now.took[OF_REDIS], &meter->store[SCRIPT_complete]);
	}
	return now;
}

void
admin_traffic_turn(struct traffic *t)
{
	t->ring[t->count++ % READINGS] = read_all(t);
}

static void
on_minute(void *arg)
{
	struct traffic *t = arg;
	admin_traffic_turn(t);
	timer_set(&t->timer, MINUTE_MS);
}

struct traffic *
admin_traffic_new(
    struct loop *loop, struct worker *const *workers, int64_t n_workers)
{
	struct traffic *t = mem_zero(sizeof *t);
	t->workers = workers;
	t->n_workers = n_workers;
	timer_init(&t->timer, loop, on_minute, t);
	on_minute(t);
	return t;
}

void
admin_traffic_free(struct traffic **traffic)
{
	timer_clear(&(*traffic)->timer);
	free(*traffic);
	*traffic = NULL;
}

/* --- shown --- */

static json_t *
times_json(const struct reading *from, const struct reading *to, enum times of)
{
	json_t *counts = json_array();
	bool any = false;
	for (int i = 0; i <= HISTOGRAM_BOUNDS; i++) {
		uint32_t count = to->took[of][i] - from->took[of][i];
		any = any || count > 0;
		json_array_append_new(counts, json_integer(count));
	}
	if (!any)
		json_array_clear(counts);
	return counts;
}

static json_t *
minute_json(const struct reading *from, const struct reading *to)
{
	json_t *outcomes = json_object();
	for (int i = 0; i < OUTCOME_COUNT_; i++) {
		uint32_t count = to->outcomes[i] - from->outcomes[i];
		if (count > 0)
			json_object_set_new(
			    outcomes, access_log_outcomes[i],
			    json_integer(count));
	}
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}",
	    "from", admin_body_time(from->at_ms),
	    "to", admin_body_time(to->at_ms), "outcomes", outcomes,
	    "requests", times_json(from, to, OF_REQUESTS),
	    "upstreams", times_json(from, to, OF_UPSTREAMS),
	    "redis", times_json(from, to, OF_REDIS));
}

json_t *
admin_traffic_json(const struct traffic *t)
{
	const struct reading now = read_all(t);
	json_t *minutes = json_array(), *bounds = json_array();
	unsigned first = t->count > READINGS ? t->count - READINGS : 0;
	for (unsigned i = first; i < t->count; i++)
		json_array_append_new(minutes,
		    minute_json(&t->ring[i % READINGS],
			i + 1 < t->count ? &t->ring[(i + 1) % READINGS]
					 : &now));
	for (int i = 0; i < HISTOGRAM_BOUNDS; i++)
		json_array_append_new(
		    bounds, json_real((double)histogram_bounds_us[i] / 1e6));
	return json_pack("{s:o, s:o, s:o}", "now", admin_body_time(now.at_ms),
	    "bounds", bounds, "minutes", minutes);
}

enum after
admin_traffic(struct admin_request *a)
{
	return admin_answer_json(
	    a, 200, admin_traffic_json(a->admin->traffic));
}
