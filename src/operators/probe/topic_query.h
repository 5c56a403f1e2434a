/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/probe/source_seen.h"

/*
 * Puts the questions of source_query.h to the brokers of topics: whether they
 * answer, what they have, how far the group is, and how safe they keep what is
 * put.  It joins no group and makes no topic.  It blocks, some seconds with
 * each question; any thread that may.  Fills seen in, which says BROKER_SEEN
 * and nothing else.
 */
void topic_query(const struct conf_source *source, struct source_seen *seen);
