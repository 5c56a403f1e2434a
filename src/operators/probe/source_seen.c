/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "operators/probe/source_seen.h"

void
source_seen_clear(struct source_seen *seen)
{
	free(seen->message);
	free(seen->missing);
	free(seen->rights);
	free(seen->grant);
	free(seen->policy);
	free(seen->deleting);
	free(seen->index);
	free(seen->snapshot);
	free(seen->no_place);
	free(seen->few_copies);
	free(seen->too_small);
	free(seen->offsets);
	free(seen->others);
	*seen = (struct source_seen){0};
}
