/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/source/source.h"

/*
 * Whether one gateway at a time reads a source, and whether that is this one.
 * The worker's thread only.
 */

/* Nobody else reads it while this gateway does. */
bool source_leadership_is_needed(const struct source *source);
/* The leadership that it needs and has; NULL: it needs none. */
const struct leadership *source_leadership(const struct source *source);
/*
 * Whether what it has taken may be begun: it needs no leadership, or has it at
 * this moment, whatever the loop has come to.
 */
bool source_leadership_lets_begin(const struct source *source);
