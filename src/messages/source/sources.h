/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/source/source.h"

/*
 * The sources of one worker, as its part (members_of), and what they count.
 */
struct sources {
	struct members members; /* first; struct source, by member */
	struct source_meter *_Atomic meters; /* any thread reads them */
};

extern const struct worker_part_kind sources_kind;
