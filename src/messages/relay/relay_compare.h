/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/relay/relay_run.h"

/*
 * How far a relay is behind while its target, which knows where it stands, does
 * not say so: what the streams of events have beyond the place that Redis has.
 * It reads no entries, and loses none.  The worker's thread only.
 */

/* From those marks, one for each shard, until the run's stream is stopped. */
void relay_compare_begin(
    struct relay_run *run, const struct relay_mark *marks);
