/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/must.h"
#include "replay/choice.h"

enum { CHOICES_MAX = 4096 };

static struct choice {
	unsigned chosen;
	unsigned count; /* 0: not known yet */
} choices[CHOICES_MAX];
static unsigned n_choices; /* of the list */
static unsigned at;        /* how many of them were made in this run */
static bool resting;
static bool drawing;
static uint64_t random_state;

/* splitmix64: any seed is as good as another. */
static uint64_t
draw(void)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static unsigned
draw_weighted(unsigned count, const unsigned *weights)
{
	unsigned sum = 0;
	for (unsigned i = 0; i < count; i++)
		sum += weights ? weights[i] : 1;
	unsigned left = (unsigned)(draw() % sum);
	for (unsigned i = 0; i < count; i++) {
		unsigned weight = weights ? weights[i] : 1;
		if (left < weight)
			return i;
		left -= weight;
	}
	must(false);
	return 0;
}

unsigned
choose_weighted(unsigned count, const unsigned *weights)
{
	if (count <= 1 || resting)
		return 0;
	if (at == n_choices) {
		must(n_choices < CHOICES_MAX);
		choices[n_choices++] = (struct choice){
		    drawing ? draw_weighted(count, weights) : 0, count};
	}
	struct choice *choice = &choices[at++];
	/* Otherwise the run depends on more than its choices. */
	must(choice->count == count || choice->count == 0);
	choice->count = count;
	must(choice->chosen < count);
	return choice->chosen;
}

unsigned
choose(unsigned count)
{
	return choose_weighted(count, NULL);
}

void
choice_rest(bool rest)
{
	resting = rest;
}

void
choice_explore(void)
{
	n_choices = at = 0;
	drawing = resting = false;
}

void
choice_draw(uint64_t seed)
{
	choice_explore();
	drawing = true;
	random_state = seed;
}

void
choice_repeat(const char *list)
{
	choice_explore();
	while (*list != '\0') {
		char *end;
		unsigned chosen = (unsigned)strtoul(list, &end, 10);
		must(end != list && n_choices < CHOICES_MAX);
		choices[n_choices++] = (struct choice){chosen, 0};
		list = *end == '.' ? end + 1 : end;
	}
}

bool
choice_next(void)
{
	n_choices = at;
	while (n_choices > 0) {
		struct choice *last = &choices[n_choices - 1];
		if (++last->chosen < last->count)
			break;
		n_choices--;
	}
	at = 0;
	resting = false;
	return n_choices > 0;
}

bool
choice_is_repeating(void)
{
	return at < n_choices;
}

const char *
choice_list(void)
{
	static char text[CHOICES_MAX * 4];
	size_t len = 0;
	text[0] = '\0';
	unsigned end = at ? at : n_choices;
	for (unsigned i = 0; i < end && len + 12 < sizeof text; i++)
		len += (size_t)snprintf(text + len, sizeof text - len,
		    "%s%u", i > 0 ? "." : "", choices[i].chosen);
	return text;
}

/* --- states --- */

static uint64_t *states; /* an open table; 0: free */
static size_t n_places;
static size_t n_states;

static void
grow(void)
{
	uint64_t *old = states;
	size_t n_old = n_places;
	n_places = n_places ? 2 * n_places : 1024;
	states = mem_zero(n_places * sizeof *states);
	n_states = 0;
	for (size_t i = 0; i < n_old; i++)
		if (old[i] != 0)
			state_is_new(old[i]);
	free(old);
}

bool
state_is_new(uint64_t hash)
{
	if (2 * n_states >= n_places)
		grow();
	hash = hash ? hash : 1;
	size_t place = hash & (n_places - 1);
	while (states[place] != 0 && states[place] != hash)
		place = (place + 1) & (n_places - 1);
	if (states[place] == hash)
		return false;
	states[place] = hash;
	n_states++;
	return true;
}

unsigned
state_forget(void)
{
	unsigned count = (unsigned)n_states;
	free(states);
	states = NULL;
	n_states = n_places = 0;
	return count;
}
