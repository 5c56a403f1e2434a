/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/source/source.h"

/*
 * An operator's pause of a source (shared/pause.h), as the source meets it:
 * nothing is taken or claimed, not even to try for all others; what was claimed
 * goes on to its end.  The worker's thread only.
 */

/* Follows what operators say from now on. */
void source_pause_start(struct source *source);
void source_pause_stop(struct source *source);
