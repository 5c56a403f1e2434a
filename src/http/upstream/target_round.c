/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "http/upstream/target_round.h"

void
target_round_begin(struct target_round *round, struct target_list *targets)
{
	if (round->size < targets->count) {
		round->tried = mem_grow(
		    round->tried, targets->count * sizeof *round->tried);
		round->size = targets->count;
	}
	memset(round->tried, 0, targets->count * sizeof *round->tried);
	round->targets = targets;
	round->first = targets->turn;
}

static struct target *
find_untried(struct target_round *round, bool and_down, int64_t now_ms)
{
	struct target_list *targets = round->targets;
	for (size_t i = 0; i < targets->count; i++) {
		size_t at = (round->first + i) % targets->count;
		struct target *target = &targets->list[at];
		if (!round->tried[at] &&
		    (and_down ||
			(now_ms >= target->down_until_ms && !target->out))) {
			round->tried[at] = true;
			/* Else who stands behind a down one had its turns. */
			targets->turn = (at + 1) % targets->count;
			return target;
		}
	}
	return NULL;
}

struct target *
target_round_next(struct target_round *round, int64_t now_ms)
{
	struct target *target = find_untried(round, false, now_ms);
	return target ? target : find_untried(round, true, now_ms);
}

void
target_round_free(struct target_round *round)
{
	free(round->tried);
	*round = (struct target_round){0};
}
