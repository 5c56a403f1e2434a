/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/probe/source_seen.h"

/*
 * Puts the questions of source_query.h to the PostgreSQL of a table (libpq).
 * It blocks, up to 5 s with each question and each host; any thread that may.
 * Fills seen in, which says BROKER_SEEN and nothing else.
 */
void outbox_query(const struct conf_source *source, struct source_seen *seen);
