/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/load/loader_private.h"

/*
 * The settings of a broker of Kafka (a type of conf/types.h), which librdkafka
 * is asked about: each by itself, and all of them together.  No connection is
 * made.  Main thread.
 */
/* Complains, at that place, where no client can be made with all of them. */
void kafka_settings_check(struct loader *l, const struct json_place *at,
    const struct conf_settings *settings);
