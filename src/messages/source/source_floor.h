/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/source/source.h"

/*
 * The floors of a source (shared/floors.h), between Redis, which keeps them,
 * and its reader, which begins at them where its broker lets a group be set
 * back, and operators, who decide of what stands.  It knows no partitions.  The
 * worker's thread only; arg is the source.
 */
void source_floor_start(struct source *source);
void source_floor_stop(struct source *source);

/* What the reader says: of struct broker_events. */
void source_floor_wanted(void *arg, const char *part);
void source_floor_reached(
    void *arg, const char *part, struct span floor, bool anew);
void source_floor_unproven(void *arg, const char *part);
