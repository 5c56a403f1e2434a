/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Everything in a run that could go one way or another is decided here, so a
 * run is determined by its list of choices.  Exploring, the next run differs
 * from the last in its last choice that has an alternative left; so all lists
 * are gone through, depth first.  At random, they are drawn from a seed.
 * Choice 0 is always the normal course.
 */

/* One way of count: 0 to count - 1. */
unsigned choose(unsigned count);
/* The same; at random, ways are drawn by their weights. */
unsigned choose_weighted(unsigned count, const unsigned *weights);
/* While it is true every choice is the normal course, and is not listed. */
void choice_rest(bool rest);

/* The first run of an exploration. */
void choice_explore(void);
/* A run drawn from a seed. */
void choice_draw(uint64_t seed);
/* A run as its list of choices says: "1.0.2"; behind it, all 0. */
void choice_repeat(const char *list);
/* On to the next run of an exploration; false: that was the last one. */
bool choice_next(void);

/* True while choices are made that an earlier run made too. */
bool choice_is_repeating(void);
/* The list of this run so far, as choice_repeat takes it. */
const char *choice_list(void);

/* Notes a state of the world; false: an earlier run was there. */
bool state_is_new(uint64_t hash);
/* Forgets all states; the number of them. */
unsigned state_forget(void);
