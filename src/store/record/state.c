/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "store/record/state.h"

const char state_letters[STATE_COUNT_] = {
#define STATE(name, letter, ...) letter,
#include "tbl/states.h"
#undef STATE
};

bool
state_of(char letter, enum record_state *ret_state)
{
	const char *at = memchr(state_letters, letter, sizeof state_letters);
	if (at != NULL)
		*ret_state = (enum record_state)(at - state_letters);
	return at != NULL;
}
