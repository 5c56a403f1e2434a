/* SPDX-License-Identifier: BSD-2-Clause */
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/must.h"
#include "replay/check.h"
#include "replay/choice.h"
#include "replay/events.h"
#include "replay/explore.h"
#include "replay/fakes.h"
#include "replay/state.h"

enum {
	/* Runs; a scenario that needs more is too large to be explored. */
	RUNS_MAX = 5000000,
	/* As many of each have the tiers quick and all. */
	RUNS_QUICK = 1000,
	RUNS_ALL = 30000,
	EVENTS_OF_A_RUN_MAX = 1000,
};

static uint64_t seed; /* of a run that was drawn */

/* Without one it is quick (tests/README). */
static bool
is_tier(const char *name)
{
	const char *tier = getenv("ONCE_TIER");
	return strcmp(tier ? tier : "quick", name) == 0;
}

/* --- failing --- */

void
world_say(const char *fmt, ...)
{
	if (!world.loud)
		return;
	va_list ap;
	va_start(ap, fmt);
	fputs("# ", stderr);
	vfprintf(stderr, fmt, ap);
	fputs("\n", stderr);
	va_end(ap);
}

/* Replays a run, from a process that is about to end. */
static void
say_how(void)
{
	const struct scenario *s = world.scenario;
	if (s == NULL)
		return;
	fprintf(stderr, "# in \"%s\"\n", s->name);
	if (seed != 0)
		fprintf(stderr, "# REPLAY_RUNS=1 REPLAY_SEED=%llu\n",
		    (unsigned long long)seed);
	else
		fprintf(stderr, "# REPLAY_CHOICES=%s\n", choice_list());
}

void
world_failed(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	fprintf(stdout, "not ok - %s\n# ",
	    world.scenario ? world.scenario->name : "");
	vfprintf(stdout, fmt, ap);
	fputs("\n", stdout);
	fflush(stdout);
	va_end(ap);
	say_how();
	_exit(1);
}

static void
on_abort(int number)
{
	(void)number;
	say_how();
}

/* --- one run --- */

/* One event, or as many as share a turn. */
static void
happen(const struct chance *event)
{
	events_happen(event);
	while (world.close > 0) {
		bool work = false;
		for (unsigned i = 0; i < world.scenario->gateways; i++)
			work |= gateway_lives(&world.gateways[i]) &&
			    fake_loop_has_work(world.gateways[i].loop);
		if (!work)
			return;
		struct chance list[EVENTS_MAX];
		unsigned weights[EVENTS_MAX + 1] = {12};
		unsigned count = events_close(list, events_list(list));
		for (unsigned i = 0; i < count; i++)
			weights[i + 1] = 1;
		unsigned chosen = choose_weighted(count + 1, weights);
		if (chosen == 0)
			return;
		world.close--;
		events_happen(&list[chosen - 1]);
	}
}

/* False: an earlier run was here, so the rest is known. */
static bool
run(bool by_states)
{
	struct chance events[EVENTS_MAX];
	unsigned weights[EVENTS_MAX];
	for (unsigned n = 0;; n++) {
		while (events_settle())
			continue;
		check_now();
		unsigned count = events_list(events);
		if (by_states && !choice_is_repeating() &&
		    !state_is_new(world_hash()))
			return false;
		if (count == 0)
			break;
		CHECK(n < EVENTS_OF_A_RUN_MAX, "it does not come to an end");
		for (unsigned i = 0; i < count; i++)
			weights[i] = events[i].weight;
		happen(&events[choose_weighted(count, weights)]);
	}
	/* Whatever led to this state, all that follows is the same. */
	if (by_states && !state_is_new(mix(world_hash_at_end(), UINT64_MAX)))
		return false;
	check_end();
	return true;
}

/* --- many runs --- */

static void
run_alone(const struct scenario *scenario, const char *list)
{
	world.loud = 1;
	choice_repeat(list);
	world_begin(scenario);
	run(false);
	world_end();
}

static void
explore(const struct scenario *scenario)
{
	unsigned runs = 0, ends = 0;
	unsigned most = is_tier("quick") ? RUNS_QUICK
	    : is_tier("all")             ? RUNS_ALL
					 : RUNS_MAX;
	bool more;
	choice_explore();
	do {
		CHECK(runs < RUNS_MAX, "%u runs do not suffice", runs);
		world_begin(scenario);
		ends += run(true);
		world_end();
		runs++;
		more = choice_next();
	} while (more && runs < most);
	printf("# %u runs%s, %u states, %u ends\n", runs,
	    more ? " of more" : "", state_forget(), ends);
}

static void
begin_tests(void)
{
	signal(SIGABRT, on_abort);
	setvbuf(stdout, NULL, _IOLBF, 0);
}

/* The arguments name it; or they name none, and it is not too vast. */
static bool
is_wanted(const struct scenario *scenario, int argc, char **argv)
{
	if (argc > 1)
		return strcmp(argv[1], scenario->name) == 0;
	return !scenario->vast || !is_tier("quick");
}

int
explore_all(const struct scenario *list, size_t count, int argc, char **argv)
{
	const char *choices = getenv("REPLAY_CHOICES");
	size_t wanted = 0, done = 0;
	begin_tests();
	for (size_t i = 0; i < count; i++)
		wanted += is_wanted(&list[i], argc, argv);
	printf("1..%zu\n", wanted);
	for (size_t i = 0; i < count; i++) {
		if (!is_wanted(&list[i], argc, argv))
			continue;
		if (choices != NULL)
			run_alone(&list[i], choices);
		else
			explore(&list[i]);
		printf("ok %zu - %s\n", ++done, list[i].name);
	}
	world_forget();
	return 0;
}

static uint64_t
number_of(const char *variable, uint64_t otherwise)
{
	const char *text = getenv(variable);
	return text ? strtoull(text, NULL, 10) : otherwise;
}

int
simulate_all(void (*draw)(uint64_t seed, struct scenario *ret_scenario),
    unsigned runs)
{
	/*
	 * Two by turns, because a new world recognizes a scenario by its
	 * address.
	 */
	static struct scenario scenarios[2];
	uint64_t first = number_of("REPLAY_SEED", 1);
	uint64_t count = number_of("REPLAY_RUNS", runs);
	begin_tests();
	world.loud = count == 1;
	printf("1..1\n");
	for (uint64_t i = 0; i < count; i++) {
		struct scenario *scenario = &scenarios[i % 2];
		seed = first + i;
		draw(seed, scenario);
		choice_draw(seed);
		world_begin(scenario);
		run(false);
		world_end();
	}
	printf("ok 1 - drawn mixes: REPLAY_RUNS=%llu REPLAY_SEED=%llu\n",
	    (unsigned long long)count, (unsigned long long)first);
	world_forget();
	return 0;
}
