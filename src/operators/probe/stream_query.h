/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/probe/source_seen.h"

/*
 * Puts the questions of source_query.h to the Redis of a stream, or to the
 * server of a cluster that has it.  It blocks, up to the broker's timeout with
 * each question; any thread that may.  Fills seen in, which says BROKER_SEEN
 * and nothing else.
 */
void stream_query(const struct conf_source *source, struct source_seen *seen);
