/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>

/*
 * The states of a record (tbl/states.h), and the letters that stand for them in
 * a record and in what scripts answer.  Which transitions are legal is the
 * scripts' business alone (src/store/record/lua/).  Pure; any thread.
 */
enum record_state {
#define STATE(name, letter, ...) STATE_##name,
#include "tbl/states.h"
#undef STATE
	STATE_COUNT_,
};

/* The state of a letter; false: there is none. */
bool state_of(char letter, enum record_state *ret_state);
/* The letter of each state. */
extern const char state_letters[STATE_COUNT_];
