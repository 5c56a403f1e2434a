/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * Looks at a topic from outside of any gateway, for `doctor`.  It changes
 * nothing and does not judge.  It blocks, up to 5 s; any thread that may.
 */
enum kafka_look {
	KAFKA_LOOK_THERE,
	KAFKA_LOOK_NONE, /* no topic, or none for us */
	KAFKA_LOOK_AWAY, /* no broker answers, or lets us in */
};

enum { KAFKA_LOOK_WORDS = 200 };

/* ret_words: why, unless it is there. */
enum kafka_look kafka_look_topic(const struct conf_broker *broker,
    const char *topic, char ret_words[KAFKA_LOOK_WORDS]);
