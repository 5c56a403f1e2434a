/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "base/must.h"
#include "store/record/state.h"

static const char letters[] = {
#define STATE(name, letter, ...) letter,
#include "tbl/states.h"
#undef STATE
};

bool
state_of(char letter, enum record_state *ret_state)
{
	const char *at = memchr(letters, letter, sizeof letters);
	if (at != NULL)
		*ret_state = (enum record_state)(at - letters);
	return at != NULL;
}

char
state_letter(enum record_state state)
{
	must((unsigned)state < STATE_COUNT_);
	return letters[state];
}
