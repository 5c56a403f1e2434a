/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Everything in a run that could go one way or another is decided here, so a
 * run is determined by its list of choices.  When exploring, the next run
 * differs from the last one in its last choice that has an alternative left; so
 * all lists are tried, depth first.  At random, choices are drawn from a seed.
 * Choice 0 is always the normal course.
 */

/* One way of count: 0 to count - 1. */
unsigned choose(unsigned count);
/* The same; at random, ways are drawn by their weights. */
unsigned choose_weighted(unsigned count, const unsigned *weights);
/* While true, every choice is the normal course, and is not listed. */
void choice_rest(bool rest);

/* The first run of an exploration. */
void choice_explore(void);
/* A run drawn from a seed. */
void choice_draw(uint64_t seed);
/* A run by a list of choices, such as "1.0.2"; after it, all are 0. */
void choice_repeat(const char *list);
/* On to the next run of an exploration; false: that was the last one. */
bool choice_next(void);

/* True while choices are made that an earlier run made too. */
bool choice_is_repeating(void);
/* The list of this run so far, as choice_repeat takes it. */
const char *choice_list(void);

/* Notes a state of the world; false: an earlier run has seen it. */
bool state_is_new(uint64_t hash);
/* Forgets all states; returns how many there were. */
unsigned state_forget(void);
