/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/doctor/findings_private.h"

/*
 * What `doctor` asks a Kafka of its sources and relays, besides what
 * probe/topic_query.h asks: what depends on the names that we have there.  It
 * changes nothing and does not judge.  It blocks for seconds.  Main thread.
 */

/* More of a source that was seen: whether we may use our names there. */
void doctor_kafka_source(const struct doctor *doctor,
    const struct conf_source *source, struct source_seen *seen);
/* All of a relay to a topic. */
void doctor_kafka_relay(const struct doctor *doctor,
    const struct conf_relay *relay, struct source_seen *seen);
