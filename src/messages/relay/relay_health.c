/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "messages/relay/relay_health.h"

struct logline
relay_health_log(const struct relay_run *run, enum event event)
{
	struct logline line = log_begin(event);
	log_str(&line, "relay", run->relay->name);
	return line;
}

void
relay_health_say(const struct relay_run *run, enum event event)
{
	struct logline line = relay_health_log(run, event);
	log_end(&line);
}

/* --- how well it is --- */

int64_t
relay_health_lag(const struct relay_run *run)
{
	int64_t lag = 0;
	if (!run->reads && !run->compares)
		return -1;
	for (unsigned i = 0; i < run->stream.n_shards; i++) {
		int64_t count = run->stream.shards[i].mark.count;
		int64_t added = run->stream.shards[i].added;
		if (count >= 0 && added > count)
			lag += added - count;
	}
	for (const struct relay_parcel *p = run->first; p != NULL; p = p->next)
		lag += (int64_t)p->entries;
	if (run->forming != NULL)
		lag += (int64_t)run->forming->entries;
	if (run->target != NULL)
		lag += (int64_t)run->target->kind->health(run->target).waiting;
	return lag;
}

/*
 * Why nothing can be brought; NULL: all is well; "": it is only not connected
 * yet.
 */
static const char *
trouble_of(const struct relay_run *run)
{
	if (run->target != NULL) {
		struct relay_target_health health =
		    run->target->kind->health(run->target);
		if (!health.up)
			return health.message;
	}
	if (run->reads && run->stream.trouble[0] != '\0')
		return run->stream.trouble;
	return NULL;
}

void
relay_health_look(struct relay_run *run)
{
	const char *trouble = trouble_of(run);
	bool runs = run->target != NULL;
	bool up = runs && trouble == NULL;
	bool other = trouble != NULL && strcmp(trouble, run->why) != 0;
	const char *why = trouble != NULL ? trouble : "";
	if (strcmp(run->why, why) != 0) {
		snprintf(run->why, sizeof run->why, "%s", why);
		relay_meter_say(run->meter, run->why);
	}
	counter_set(&run->meter->runs, runs);
	counter_set(&run->meter->up, up && run->reads);
	int64_t lag = relay_health_lag(run);
	counter_set(&run->meter->lag, lag > 0 ? (uint64_t)lag : 0);
	if (up && run->reads && !run->up) {
		run->up = true;
		relay_health_say(run, EV_relay_up);
	} else if (runs && (run->up || other) && trouble != NULL &&
	    *trouble != '\0') {
		run->up = false;
		struct logline line = relay_health_log(run, EV_relay_down);
		log_str(&line, "error", trouble);
		log_end(&line);
	}
}

void
relay_health_lost(struct relay_run *run, uint64_t count, const char *why)
{
	counter_add(&run->meter->lost, count);
	struct logline line = relay_health_log(run, EV_relay_lost);
	log_int(&line, "count", (int64_t)count);
	log_str(&line, "error", why);
	log_end(&line);
}
